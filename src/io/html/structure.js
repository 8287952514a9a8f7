// Which equation contains which unknown, with rows and columns in block triangular order.
const bits = { derivative: 1, algebraic: 2, state: 4 };
const cell_colour = (what) =>
  what & bits.derivative ? palette.c1 : what & bits.algebraic ? palette.c0 : palette.soft;

const matrix_svg = (s) => {
  const n = Math.max(s.rows.length, s.columns.length, 1);
  const unknown = (j) => (s.derivatives[j] ? `der(${s.columns[j]})` : s.columns[j]);
  const longest = (list, most) => Math.min(most, Math.max(0, ...list.map((x) => x.length)));
  const rows = s.rows.map((name) => name.replace(/ \([^()]*:\d+:\d+\)$/, "")); // without the place in the source
  const columns = s.columns.map((_, j) => unknown(j));
  const names = n <= 60;
  const left = names ? 16 + 6.7 * longest(rows, 42) : 6;
  const top = names ? 16 + 5.9 * longest(columns, 16) : 6;
  const room = ($("#matrix").clientWidth || 700) - left - 62;
  const cell = Math.max(names ? 11 : 4, Math.min(26, Math.floor(room / n)));
  const width = left + n * cell + (names ? 60 : 6),
    height = top + n * cell + 6;
  const svg = drawn("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": `Incidence matrix of ${some(s.equations, "equation")} in ${some(s.blocks, "diagonal block")}`,
  });
  for (let b = 0; b + 1 < s.block_start.length; ++b) {
    const at = s.block_start[b],
      size = s.block_start[b + 1] - at;
    svg.append(
      drawn("rect", {
        x: left + at * cell,
        y: top + at * cell,
        width: size * cell,
        height: size * cell,
        rx: 4,
        fill: palette.accent,
        "fill-opacity": size === 1 ? 0.1 : 0.2,
      }),
    );
  }
  for (let k = 0; k < s.cells.length; k += 3) {
    const [i, j, what] = s.cells.slice(k, k + 3),
      known = what === bits.state,
      size = known ? cell * 0.3 : cell - 5,
      shift = (cell - size) / 2;
    const name = known ? `${s.columns[j]} (known: a state)` : unknown(j);
    svg.append(
      drawn(
        "rect",
        {
          x: left + j * cell + shift,
          y: top + i * cell + shift,
          width: size,
          height: size,
          rx: known ? size / 2 : 2.5,
          fill: cell_colour(what),
        },
        drawn("title", {}, `${s.rows[i]}\n${name}`),
      ),
    );
  }
  if (names) {
    rows.forEach((name, i) =>
      svg.append(
        drawn(
          "text",
          { class: "code", x: left - 8, y: top + i * cell + cell / 2 + 4, "text-anchor": "end" },
          drawn("title", {}, s.rows[i]),
          shorter(name, 42),
        ),
      ),
    );
    s.columns.forEach((_, j) =>
      svg.append(
        drawn(
          "text",
          { class: "code", transform: `translate(${left + j * cell + cell / 2 + 4} ${top - 6}) rotate(-55)` },
          drawn("title", {}, unknown(j)),
          shorter(unknown(j), 16),
        ),
      ),
    );
  }
  return svg;
};

const matrix_canvas = (s) => {
  // large models: a pixel for many entries
  const canvas = make("canvas", {
    width: s.grid * 3,
    height: s.grid * 3,
    role: "img",
    "aria-label": `Incidence matrix of ${some(s.equations, "equation")}, reduced`,
  });
  const g = canvas.getContext("2d");
  for (let k = 0; k < s.cells.length; k += 3) {
    g.fillStyle = cell_colour(s.cells[k + 2]);
    g.fillRect(s.cells[k + 1] * 3, s.cells[k] * 3, 3, 3);
  }
  return canvas;
};

const show_structure = (chosen) => {
  const s = data.structure[chosen];
  $("#matrix").replaceChildren(s.rows.length ? matrix_svg(s) : matrix_canvas(s));
  const largest = Math.max(0, ...s.block_start.slice(1).map((end, b) => end - s.block_start[b]));
  const facts = [
    [
      "modes",
      s.modes.map((m) => short_name(m)).join("; ") +
        (s.modes_left_out ? `; ${thousands(s.modes_left_out)} more` : ""),
    ],
    ["equations", `${thousands(s.equations)}${s.linear ? ", linear" : ""}`],
    ["unknowns", thousands(s.variables)],
    ["index", s.singular ? "–" : String(s.index) + (s.explicit ? " (explicit differential equations)" : "")],
    ["degrees of freedom", s.singular ? "–" : thousands(s.freedom)],
    ["diagonal blocks", thousands(s.blocks) + (largest ? `, the largest has ${some(largest, "equation")}` : "")],
  ];
  if (s.condition !== null && s.condition >= 0) facts.push(["reciprocal condition", number(s.condition, 3)]);
  if (s.singular) facts.push(["singular", s.singular]);
  $("#structure-facts").replaceChildren(
    ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]),
  );
  $("#structure-words").textContent =
    (s.rows.length ? "" : "Each pixel stands for several equations and unknowns. ") +
    "Rows are equations, columns unknowns. Orange: a derivative. Blue: an algebraic unknown. Small dots: states, " +
    "which are known when derivatives are computed. Shaded: blocks of unknowns that depend on each other; a block " +
    "needs only those above it.";
  document
    .querySelectorAll("#structure-choice button")
    .forEach((button, k) => button.setAttribute("aria-pressed", String(k === chosen)));
  state.structure = chosen;
};

const draw_structure = () => {
  if (!data.structure || data.structure.length === 0) {
    $("#structure").hidden = true;
    $('nav a[href="#structure"]').hidden = true;
    return;
  }
  if (data.structure.length > 1 && !$("#structure-choice button")) {
    $("#structure-choice").append(
      ...data.structure.map((s, k) => {
        const button = make(
          "button",
          { type: "button" },
          shorter(short_name(s.modes[0]), 44) +
            (s.modes.length > 1 ? ` +${s.modes.length - 1 + s.modes_left_out}` : ""),
        );
        button.addEventListener("click", () => show_structure(k));
        return button;
      }),
    );
  }
  show_structure(state.structure || 0);
};
