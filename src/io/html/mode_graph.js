// The modes as a graph: circles as large as the time that they held, arrows for the events between them.
const graph_width = 560;

const place_modes = (nodes) => {
  // on an ellipse, in the order of the run
  const n = nodes.length,
    height = n <= 2 ? 210 : Math.min(430, 250 + 16 * n),
    centre = { x: graph_width / 2, y: height / 2 };
  const total = nodes.reduce((sum, m) => sum + m.duration, 0) || 1,
    largest = n <= 8 ? 34 : n <= 16 ? 24 : 16;
  const places = nodes.map((m, k) => {
    const angle = n === 1 ? 0 : (2 * Math.PI * k) / n - (n === 2 ? Math.PI : Math.PI / 2),
      r = Math.max(11, largest * Math.sqrt(m.duration / total));
    const rx = n === 1 ? 0 : n === 2 ? 160 : graph_width / 2 - 92,
      ry = n === 1 ? 0 : height / 2 - 58;
    return { x: centre.x + rx * Math.cos(angle), y: centre.y + ry * Math.sin(angle), r, angle };
  });
  const low = Math.min(...places.map((p) => p.y - p.r)) - 52,
    high = Math.max(...places.map((p) => p.y + p.r)) + 52;
  return { places, top: low, height: high - low, centre };
};

const edge_shape = (edge, places, centre) => {
  // a curve from circle to circle, the place of its number, and its direction at the end
  const a = places[edge.from],
    b = places[edge.to];
  if (edge.from === edge.to) {
    // a loop on the outer side
    let ox = a.x - centre.x,
      oy = a.y - centre.y;
    const length = Math.hypot(ox, oy);
    if (length < 1) {
      ox = 0;
      oy = -1;
    } else {
      ox /= length;
      oy /= length;
    }
    const d = a.r + 34,
      sx = -oy * 0.6,
      sy = ox * 0.6;
    const from = { x: a.x + (ox * 0.8 + sx) * a.r, y: a.y + (oy * 0.8 + sy) * a.r },
      to = { x: a.x + (ox * 0.8 - sx) * (a.r + 3), y: a.y + (oy * 0.8 - sy) * (a.r + 3) };
    const c1 = { x: a.x + (ox + sx) * d, y: a.y + (oy + sy) * d },
      c2 = { x: a.x + (ox - sx) * d, y: a.y + (oy - sy) * d };
    return {
      d: `M${from.x} ${from.y} C${c1.x} ${c1.y} ${c2.x} ${c2.y} ${to.x} ${to.y}`,
      x: a.x + ox * (a.r + 27),
      y: a.y + oy * (a.r + 27),
    };
  }
  const dx = b.x - a.x,
    dy = b.y - a.y,
    length = Math.hypot(dx, dy) || 1,
    bend = Math.min(46, 0.2 * length);
  // to the right of the way
  const m = { x: (a.x + b.x) / 2 - (dy / length) * bend, y: (a.y + b.y) / 2 + (dx / length) * bend };
  const towards = (p, r) => {
    const ux = m.x - p.x,
      uy = m.y - p.y,
      l = Math.hypot(ux, uy) || 1;
    return { x: p.x + (ux / l) * r, y: p.y + (uy / l) * r };
  };
  const from = towards(a, a.r + 1),
    to = towards(b, b.r + 4);
  // the number stands on the outer side of the curve, nearer to its begin, so that those of neighbours do not meet
  const out = { x: -dy / length, y: dx / length };
  const on_curve = (key) => 0.3844 * from[key] + 0.4712 * m[key] + 0.1444 * to[key]; // at 0.38
  return {
    d: `M${from.x} ${from.y} Q${m.x} ${m.y} ${to.x} ${to.y}`,
    x: on_curve("x") + out.x * 9,
    y: on_curve("y") + out.y * 13,
    anchor: out.x > 0.35 ? "start" : out.x < -0.35 ? "end" : "middle",
  };
};

const select_mode = (k) => {
  // -1: none
  state.mode = k;
  document
    .querySelectorAll("#mode-graph g[data-modes]")
    .forEach((g) => g.classList.toggle("faint", k >= 0 && !g.dataset.modes.split(" ").includes(String(k))));
  document.querySelectorAll("#mode-table tbody tr").forEach((row, j) => row.classList.toggle("on", j === k));
  draw();
};

const draw_modes = () => {
  const { nodes, edges } = data.modes,
    host = $("#mode-graph");
  const total = nodes.reduce((sum, m) => sum + m.duration, 0) || 1,
    share = (m) => `${number((100 * m.duration) / total, 3)} %`;
  const { places, top, height, centre } = place_modes(nodes),
    most = Math.max(1, ...edges.map((e) => e.count));
  const kinds = `${some(nodes.length, "mode")} and ${some(edges.length, "kind")} of changes between them`;
  const label = `Graph of ${kinds}; the table below lists the modes.`;
  const svg = drawn("svg", {
    viewBox: `0 ${top} ${graph_width} ${height}`,
    width: graph_width,
    height,
    role: "img",
    "aria-label": label,
  });
  svg.append(
    drawn(
      "defs",
      {},
      drawn(
        "marker",
        {
          id: "arrow",
          viewBox: "0 0 10 10",
          refX: 7,
          refY: 5,
          markerWidth: 9,
          markerHeight: 9,
          orient: "auto",
          markerUnits: "userSpaceOnUse",
        },
        drawn("path", { d: "M0 0.8 L9.4 5 L0 9.2 Z", fill: palette.soft }),
      ),
    ),
  );
  for (const edge of edges) {
    const shape = edge_shape(edge, places, centre),
      group = drawn("g", { "data-modes": `${edge.from} ${edge.to}` });
    const words =
      edge.from === edge.to ? `mode ${edge.from + 1} stays` : `mode ${edge.from + 1} → mode ${edge.to + 1}`;
    group.append(drawn("title", {}, `${words}, ${some(edge.count, "time")}; the first time: ${edge.label}`));
    const width = 1.1 + (2.2 * Math.log(edge.count)) / Math.max(1, Math.log(most));
    group.append(drawn("path", { d: shape.d, class: "edge", "stroke-width": width, "marker-end": "url(#arrow)" }));
    if (nodes.length <= 12) {
      const text =
        nodes.length <= 3 && edge.label.length <= 30
          ? `${edge.label.replace(" becomes true", " ✓").replace(" becomes false", " ✗")}`
          : "";
      const count = edge.count > 1 ? `×${thousands(edge.count)}` : "";
      group.append(
        drawn(
          "text",
          { class: "count", x: shape.x, y: shape.y + 4, "text-anchor": shape.anchor || "middle" },
          [text, count].filter(Boolean).join("  "),
        ),
      );
    }
    const event = data.events.findIndex((e) => e.n === edge.first);
    if (event >= 0) group.addEventListener("click", () => select_event(event, true));
    svg.append(group);
  }
  nodes.forEach((m, k) => {
    const p = places[k],
      group = drawn("g", { class: "node", "data-modes": String(k) });
    group.append(drawn("title", {}, `mode ${k + 1}: ${m.name || "the only one"} (${share(m)} of the time)`));
    group.append(drawn("circle", { cx: p.x, cy: p.y, r: p.r, fill: mode_colour(k) }));
    group.append(drawn("text", { class: "inside", x: p.x, y: p.y + 4.5, "text-anchor": "middle" }, String(k + 1)));
    if (nodes.length <= 8 && m.name) {
      const below = p.y >= centre.y - 1;
      const loop = nodes.length > 2 && edges.some((e) => e.from === k && e.to === k);
      let y = below ? p.y + p.r + (loop ? 46 : 17) : p.y - p.r - (loop ? 40 : 8);
      if (nodes.length <= 2) y = p.y + Math.max(p.r, 30) + 24; // below the arrows
      const x = Math.min(Math.max(p.x, 112), graph_width - 112);
      group.append(
        drawn(
          "text",
          { class: "label", x, y: Math.min(Math.max(y, top + 12), top + height - 4), "text-anchor": "middle" },
          shorter(short_names[k], 34),
        ),
      );
    }
    group.addEventListener("pointerenter", () => select_mode(k));
    group.addEventListener("pointerleave", () => select_mode(-1));
    svg.append(group);
  });
  host.replaceChildren(svg);
  const body = $("#mode-table tbody");
  body.replaceChildren(
    ...nodes.map((m, k) => {
      const mark = make("span", { className: "dot" }, String(k + 1));
      mark.style.background = mode_colour(k);
      const name =
        m.merged > 1
          ? [`${thousands(m.merged)} other modes`]
          : mode_parts[k].flatMap((part, j) => [
              j ? ", " : "",
              make(nodes.length > 1 && is_special(part) ? "b" : "span", {}, part || "the only mode"),
            ]);
      const row = make(
        "tr",
        { tabIndex: 0 },
        make("td", {}, mark, ...name),
        make("td", { className: "num" }, thousands(m.entered)),
        make("td", { className: "num" }, share(m)),
      );
      row.addEventListener("click", () => select_mode(state.mode === k ? -1 : k));
      row.addEventListener("keydown", (e) => {
        if (e.key === "Enter") select_mode(state.mode === k ? -1 : k);
      });
      return row;
    }),
  );
  const seen = nodes.reduce((sum, m) => sum + m.merged, 0);
  $("#modes-count").textContent = `${some(seen, "mode")} seen`;
  const notes = [];
  if (data.modes.thinned)
    notes.push("Modes that hold too short to be seen are left out of the band above the plots.");
  if (data.modes.edges_left_out) notes.push(`${thousands(data.modes.edges_left_out)} rare changes are not drawn.`);
  if (nodes.length > 1) notes.push("An arrow is an event; a loop leaves the mode as it was.");
  if (nodes.length > 1 && nodes.length <= 3) notes.push("✓: the condition becomes true, ✗: false.");
  $("#modes-notes").textContent = notes.join(" ");
};
