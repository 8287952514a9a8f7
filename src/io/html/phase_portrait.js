// One variable over another: the path with arrows in the direction of the run, its start and end, events as dots.
let path = null; // the points of the whole path, kept while the variables stay the same

// An envelope has no path, only the extremes of short intervals.
const is_rough = (a, b) => !curves[a].m || !curves[b].m;
// What a path without detail is known to stay in: a rectangle for each of many intervals of time.
const phase_areas = (a, b) => {
  const areas = [],
    count = 200;
  for (let n = 0; n < count; ++n) {
    const window = [n, n + 1].map((k) => full[0] + ((full[1] - full[0]) * k) / count);
    areas.push({ t: window[0], x: extremes(a, window), y: extremes(b, window) });
  }
  return areas;
};

const phase_points = (a, b) => {
  // times, and values of both variables, at several points between nodes of either of them
  const nodes = [...curves[a].t, ...curves[b].t].sort((x, y) => x - y);
  const every = Math.ceil(nodes.length / 3000);
  // where nodes are few, the cubics between them are long
  const fine = Math.min(200, Math.max(2, Math.ceil(6000 / Math.max(nodes.length, 1))));
  const points = [];
  let last = nodes[0];
  const add = (t, after) => points.push({ t, x: value_at(a, t, after), y: value_at(b, t, after) });
  if (nodes.length) add(last, true);
  for (let j = every; j < nodes.length + every - 1; j += every) {
    const t = nodes[Math.min(j, nodes.length - 1)];
    if (t === last) continue;
    for (let i = 1; i <= fine; ++i) add(last + ((t - last) * i) / fine, false);
    last = t;
    if (t < full[1]) add(t, true);
  }
  return points.filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y));
};

const range_of = (points, key) => {
  let low = Infinity,
    high = -Infinity;
  for (const p of points) {
    if (p[key] < low) low = p[key];
    if (p[key] > high) high = p[key];
  }
  const size = high - low || Math.abs(high) || 1;
  return [low - 0.07 * size, high + 0.07 * size];
};

const draw_arrows = (g, places) => {
  // at equal lengths along the path on the screen
  let length = 0;
  const at = places.map((p, k) => (length += k ? Math.hypot(p.x - places[k - 1].x, p.y - places[k - 1].y) : 0));
  const count = Math.min(6, Math.max(1, Math.round(length / 260)));
  let k = 1;
  for (let n = 1; n <= count; ++n) {
    while (k < places.length - 1 && at[k] < (length * (n - 0.5)) / count) ++k;
    if (k < 1 || k >= places.length) return;
    let j = k; // a few pixels back, for the direction
    while (j > 0 && at[k] - at[j] < 4) --j;
    const p = places[k],
      angle = Math.atan2(p.y - places[j].y, p.x - places[j].x) + (data.backwards ? Math.PI : 0);
    g.save();
    g.translate(p.x, p.y);
    g.rotate(angle);
    g.beginPath();
    g.moveTo(7, 0);
    g.lineTo(-4, -4.5);
    g.lineTo(-4, 4.5);
    g.closePath();
    g.fill();
    g.restore();
  }
};

const draw_phase = () => {
  if (data.variables.length < 2) return;
  const canvas = $("#phase canvas");
  const a = +$("#phase-x").value,
    b = +$("#phase-y").value;
  if (!path || path.a !== a || path.b !== b) {
    const areas = is_rough(a, b) ? phase_areas(a, b) : [],
      corners = areas.flatMap(({ x, y }) => [0, 1].map((k) => ({ x: x[k], y: y[k] }))),
      points = areas.length ? [] : phase_points(a, b),
      all = areas.length ? corners : points;
    path = { a, b, points, areas, x: range_of(all, "x"), y: range_of(all, "y") };
    $("#phase-notes").textContent = areas.length
      ? "The path has more detail than this page holds; it stays within the shaded area."
      : "";
  }
  const { g, width, height } = prepare(canvas, Math.min(440, Math.max(300, canvas.parentElement.clientWidth * 0.74)));
  if (path.points.length + path.areas.length === 0) return;
  const bottom = height - 42,
    top = 8,
    right = width - margin_right;
  const x_of = (x) => margin_left + ((x - path.x[0]) / (path.x[1] - path.x[0])) * (right - margin_left);
  const y_of = (y) => bottom - ((y - path.y[0]) / (path.y[1] - path.y[0])) * (bottom - top);
  const across = ticks(...path.x, width / 100),
    up = ticks(...path.y, height / 55);
  g.strokeStyle = palette.grid;
  g.fillStyle = palette.soft;
  g.lineWidth = 1;
  g.textBaseline = "middle";
  g.textAlign = "right";
  for (const y of up) {
    g.beginPath();
    g.moveTo(margin_left, y_of(y));
    g.lineTo(right, y_of(y));
    g.stroke();
    g.fillText(tick_text(y, up), margin_left - 8, y_of(y));
  }
  g.textAlign = "center";
  g.textBaseline = "top";
  for (const x of across) {
    g.beginPath();
    g.moveTo(x_of(x), top);
    g.lineTo(x_of(x), bottom);
    g.stroke();
    g.fillText(tick_text(x, across), x_of(x), bottom + 7);
  }
  const label = (k) =>
    shorter(data.variables[k].name, 40) + (data.variables[k].unit ? " / " + data.variables[k].unit : "");
  g.fillText(label(a), (margin_left + right) / 2, height - 17);
  g.save();
  g.translate(8, (top + bottom) / 2);
  g.rotate(-Math.PI / 2);
  g.fillText(label(b), 0, -4);
  g.restore();

  const stroke = (points) => {
    // leaves out points within half a pixel of the one before; returns the others
    const places = [];
    g.beginPath();
    for (const p of points) {
      const x = x_of(p.x),
        y = y_of(p.y),
        last = places.at(-1);
      if (last && Math.abs(x - last.x) < 0.5 && Math.abs(y - last.y) < 0.5) continue;
      if (last) g.lineTo(x, y);
      else g.moveTo(x, y);
      places.push({ x, y, t: p.t });
    }
    g.stroke();
    return places;
  };
  const [low, high] = state.window,
    partly = low > full[0] || high < full[1];
  g.lineWidth = 1.5;
  g.strokeStyle = g.fillStyle = palette.c0;
  g.globalAlpha = partly ? 0.22 : 1;
  path.places = stroke(path.points);
  g.globalAlpha = 0.1;
  for (const { t, x, y } of path.areas) {
    if (t < low || t > high) continue;
    const left = x_of(x[0]),
      upper = y_of(y[1]);
    g.fillRect(left, upper, Math.max(x_of(x[1]) - left, 1), Math.max(y_of(y[0]) - upper, 1));
  }
  g.globalAlpha = 1;
  let inside = path.places;
  if (partly) {
    g.lineWidth = 2.2;
    inside = stroke(path.points.filter((p) => p.t >= low && p.t <= high));
  }
  draw_arrows(g, inside);
  const dot = (t, radius, fill, edge, after) => {
    g.beginPath();
    g.arc(x_of(value_at(a, t, after)), y_of(value_at(b, t, after)), radius, 0, 7);
    g.fillStyle = fill;
    g.fill();
    if (edge) {
      g.strokeStyle = edge;
      g.lineWidth = 1.6;
      g.stroke();
    }
  };
  const visible = path.areas.length ? [] : flags_in(state.window),
    every = Math.ceil(visible.length / 1500);
  visible.forEach((f, k) => {
    const on = f.event >= 0 && f.event === state.event;
    if (!on && k % every) return;
    g.globalAlpha = on ? 1 : 0.8;
    dot(f.t, on ? 6.5 : 3, kind_colour(f.kind), on ? palette.card : null, false);
  });
  g.globalAlpha = 1;
  dot(data.backwards ? full[1] : full[0], 4.8, palette.card, palette.ink, !data.backwards);
  dot(data.backwards ? full[0] : full[1], 4.8, palette.ink, palette.ink, false);
  if (state.cursor !== null) dot(state.cursor, 5.5, palette.accent, palette.card, false);
};

const listen_phase = () => {
  const canvas = $("#phase canvas");
  canvas.addEventListener("pointermove", (e) => {
    // the nearest point of the path is shown in the plots over time, too
    let best = null,
      distance = 14;
    for (const p of path?.places || []) {
      const d = Math.hypot(p.x - e.offsetX, p.y - e.offsetY);
      if (d < distance) {
        distance = d;
        best = p;
      }
    }
    state.cursor = best ? best.t : null;
    if (best) {
      const lines = [
        `time ${number(best.t, 7)}`,
        ...[path.a, path.b].map(
          (k) =>
            `${shorter(data.variables[k].name, 60)} = ` +
            with_unit(value_text(data.variables[k], value_at(k, best.t), 7), data.variables[k].unit),
        ),
      ];
      tip.replaceChildren(...lines.map((line) => make("div", { className: "num" }, line)));
      tip.style.display = "block";
      tip.style.left = Math.min(e.clientX + 16, innerWidth - 200) + "px";
      tip.style.top = e.clientY + 16 + "px";
    } else hide_tip();
    draw();
  });
  canvas.addEventListener("pointerleave", () => {
    state.cursor = null;
    hide_tip();
    draw();
  });
};
