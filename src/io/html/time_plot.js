// Curves over time: one panel for each unit, rows for discrete variables, above them the band of modes and the flags.
const panels = [];
const row_height = 36; // the name and the boxes below it

// Piecewise constant with few integer values: drawn as a row of labelled boxes instead of a curve.
const boxes = new Map();
const boxes_of = (k) => {
  if (!boxes.has(k)) {
    const c = curves[k],
      values = new Set(c.y.map((y) => Math.round(y))),
      list = [];
    const integers =
      data.variables[k].steps && values.size <= 12 && c.y.every((y) => Math.abs(y - Math.round(y)) < 1e-6);
    if (integers) {
      for (let j = 1; j < c.t.length; ++j) {
        if (c.t[j] === c.t[j - 1]) continue;
        const value = Math.round(c.y[j]);
        if (list.length && list.at(-1).value === value) list.at(-1).to = c.t[j];
        else list.push({ from: c.t[j - 1], to: c.t[j], value });
      }
    }
    boxes.set(k, integers && list.length ? { list, values: [...values].sort((a, b) => a - b) } : null);
  }
  return boxes.get(k);
};
const size_of = (k) => curves[k].y.reduce((size, y) => Math.max(size, Math.abs(y) || 0), 0);
// Variables of one unit share a panel; without a unit, those whose sizes differ by less than a hundred.
const share_panel = (a, b) => {
  if (data.variables[a].unit !== data.variables[b].unit) return false;
  const one = size_of(a),
    other = size_of(b);
  return data.variables[a].unit !== "" || one * other === 0 || Math.max(one / other, other / one) < 100;
};

const draw_band = (g, x_of, right) => {
  for (const [from, to, mode] of data.modes.band) {
    const a = Math.max(x_of(from), margin_left),
      b = Math.min(x_of(to), right);
    if (b <= a) continue;
    g.globalAlpha = state.mode < 0 || state.mode === mode ? 1 : 0.2;
    g.fillStyle = mode_colour(mode);
    g.beginPath();
    g.roundRect(a, 2, Math.max(b - a - 0.7, 0.6), 13, 2.5);
    g.fill();
    const label = String(mode + 1);
    if (b - a > 8 + 7 * label.length) {
      g.fillStyle = "#14181f";
      g.font = `600 10px ${letters}`;
      g.textAlign = "center";
      g.textBaseline = "middle";
      g.fillText(label, (a + b) / 2, 9);
    }
  }
  g.globalAlpha = 1;
  g.font = `11.5px ${letters}`;
};

// Lines of events fade where they are many, so that they do not bury the curves; flags that fall on one pixel are one.
const draw_events = (g, x_of, top, bottom, with_flags) => {
  const [low, high] = state.window,
    visible = flags_in(state.window);
  const crowd = visible.length / Math.max(1, (x_of(high) - x_of(low)) / 9),
    strength = Math.min(0.42, 0.42 / crowd);
  let last = -9;
  for (const f of visible) {
    const x = x_of(f.t),
      on = f.event >= 0 && f.event === state.event;
    if (x - last < 0.8 && !on) continue;
    last = x;
    g.strokeStyle = g.fillStyle = kind_colour(f.kind);
    if (on || strength > 0.03) {
      g.globalAlpha = on ? 1 : strength;
      g.lineWidth = on ? 2 : 1;
      g.setLineDash(on ? [] : [3, 3]);
      g.beginPath();
      g.moveTo(x, top);
      g.lineTo(x, bottom);
      g.stroke();
      g.setLineDash([]);
    }
    if (with_flags) {
      g.globalAlpha = on ? 1 : Math.max(0.35, 1 - 0.12 * crowd);
      const s = on ? 6 : crowd > 2 ? 2.6 : 4;
      g.beginPath();
      g.moveTo(x - s, top - 2 * s + 2);
      g.lineTo(x + s, top - 2 * s + 2);
      g.lineTo(x, top + 2);
      g.fill();
    }
  }
  g.globalAlpha = 1;
};

const draw_time_axis = (g, x_of, top, bottom, width, with_numbers) => {
  const marks = ticks(...state.window, Math.max(3, width / 110));
  g.strokeStyle = palette.grid;
  g.fillStyle = palette.soft;
  g.lineWidth = 1;
  g.textAlign = "center";
  g.textBaseline = "top";
  for (const x of marks) {
    g.beginPath();
    g.moveTo(x_of(x), top);
    g.lineTo(x_of(x), bottom);
    g.stroke();
    if (with_numbers) g.fillText(tick_text(x, marks), x_of(x), bottom + 7);
  }
  if (with_numbers) g.fillText("time", (margin_left + width - margin_right) / 2, bottom + 23);
};

const draw_rows = (g, keys, x_of, top, right) => {
  keys.forEach((k, row) => {
    const y = top + row * row_height + 16,
      height = row_height - 20,
      { list, values } = boxes_of(k);
    const { type } = data.variables[k];
    const logical = type === "Boolean" || (!type && values.every((v) => v === 0 || v === 1));
    g.textAlign = "left";
    g.textBaseline = "middle";
    g.fillStyle = colour(k);
    g.font = `600 12px ${letters}`;
    g.fillText(with_unit(shorter(data.variables[k].name, 60), data.variables[k].unit), margin_left, y - 9);
    g.font = `11px ${letters}`;
    g.textAlign = "center";
    for (const box of list) {
      const a = Math.max(x_of(box.from), margin_left),
        b = Math.min(x_of(box.to), right);
      if (b <= a) continue;
      const share = values.length > 1 ? values.indexOf(box.value) / (values.length - 1) : 1;
      g.fillStyle = colour(k);
      if (logical && box.value === 0) {
        g.globalAlpha = 0.9;
        g.fillRect(a, y + height - 1.6, b - a, 1.6);
      } else {
        g.globalAlpha = logical ? 0.75 : 0.2 + 0.55 * share;
        g.beginPath();
        g.roundRect(a, y, Math.max(b - a - 0.7, 0.6), height, 3);
        g.fill();
      }
      g.globalAlpha = 1;
      const text = value_text(data.variables[k], box.value);
      if (!logical && b - a > 8 + 7 * text.length) {
        g.fillStyle = palette.ink;
        g.fillText(text, (a + b) / 2, y + height / 2 + 0.5);
      }
    }
  });
};

const draw_curves = (g, panel, keys, x_of, top, bottom, width) => {
  let low = Infinity,
    high = -Infinity;
  for (const k of keys) {
    const [a, b] = extremes(k, state.window);
    low = Math.min(low, a);
    high = Math.max(high, b);
  }
  if (!(high - low > 1e-13 * Math.max(Math.abs(low), Math.abs(high)))) {
    const middle = Number.isFinite(low) ? low : 0;
    low = middle - (Math.abs(middle) || 1) * 0.5;
    high = middle + (Math.abs(middle) || 1) * 0.5;
  }
  const margin = 0.06 * (high - low);
  low -= margin;
  high += margin;
  const y_of = (y) => bottom - ((y - low) / (high - low)) * (bottom - top),
    marks = ticks(low, high, (bottom - top) / 48);
  g.strokeStyle = palette.grid;
  g.fillStyle = palette.soft;
  g.lineWidth = 1;
  g.textAlign = "right";
  g.textBaseline = "middle";
  for (const y of marks) {
    g.beginPath();
    g.moveTo(margin_left, y_of(y));
    g.lineTo(width - margin_right, y_of(y));
    g.stroke();
    g.fillText(tick_text(y, marks), margin_left - 8, y_of(y));
  }
  if (panel.unit) {
    g.save();
    g.translate(11, (bottom + top) / 2);
    g.rotate(-Math.PI / 2);
    g.textAlign = "center";
    g.fillText(panel.unit, 0, 0);
    g.restore();
  }
  g.save();
  g.beginPath();
  g.rect(margin_left, top, width - margin_left - margin_right, bottom - top);
  g.clip();
  g.lineWidth = 1.8;
  for (const k of keys) {
    g.strokeStyle = colour(k);
    draw_curve(g, curves[k], x_of, y_of, state.window, width);
  }
  g.restore();
  g.textAlign = "left";
  g.textBaseline = "middle";
  g.font = `600 12px ${letters}`;
  let x = margin_left;
  for (const k of keys) {
    // names above the curves
    const name = shorter(data.variables[k].name, 40),
      w = g.measureText(name).width;
    if (x + w + 20 > width - margin_right) {
      g.fillStyle = palette.soft;
      g.fillText("…", x, panel.names);
      break;
    }
    g.fillStyle = colour(k);
    g.beginPath();
    g.roundRect(x, panel.names - 1.5, 13, 3, 1.5);
    g.fill();
    g.fillText(name, x + 18, panel.names);
    x += w + 36;
  }
  g.font = `11.5px ${letters}`;
  return y_of;
};

const draw_panel = (panel, first, last) => {
  const keys = panel.keys.filter((k) => state.shown.has(k)),
    rows = panel.rows;
  const band = first && data.modes.band.length > 1 ? 20 : 0,
    flag_room = first && flags.length ? 10 : 0;
  const names = rows ? 4 : 22,
    top = band + names + flag_room,
    bottom_room = last ? 42 : 8;
  const inside = rows ? keys.length * row_height : panel.height;
  const { g, width, height } = prepare(panel.canvas, top + inside + bottom_room),
    bottom = height - bottom_room;
  panel.names = band + 9;
  const [low, high] = state.window,
    x_of = (x) => margin_left + ((x - low) / (high - low)) * (width - margin_left - margin_right);
  panel.geometry = { x_of, top, bottom, width };
  draw_time_axis(g, x_of, top, bottom, width, last);
  if (band) draw_band(g, x_of, width - margin_right);
  g.save();
  g.beginPath();
  g.rect(margin_left - 6, 0, width - margin_left - margin_right + 12, height);
  g.clip();
  draw_events(g, x_of, top, bottom, first);
  g.restore();
  const y_of = rows
    ? draw_rows(g, keys, x_of, top, width - margin_right)
    : draw_curves(g, panel, keys, x_of, top, bottom, width);
  if (state.cursor !== null && state.cursor >= low && state.cursor <= high) {
    const x = x_of(state.cursor);
    g.strokeStyle = palette.soft;
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(x, top);
    g.lineTo(x, bottom);
    g.stroke();
    if (y_of) {
      for (const k of keys) {
        g.fillStyle = colour(k);
        g.strokeStyle = palette.card;
        g.lineWidth = 1.4;
        g.beginPath();
        g.arc(x, y_of(value_at(k, state.cursor)), 4, 0, 7);
        g.fill();
        g.stroke();
      }
    }
  }
  if (state.drag && Math.abs(state.drag[1] - state.drag[0]) > 3) {
    g.fillStyle = palette.accent;
    g.globalAlpha = 0.14;
    g.fillRect(Math.min(...state.drag), top, Math.abs(state.drag[1] - state.drag[0]), bottom - top);
    g.globalAlpha = 1;
  }
};

const layout = () => {
  // makes the panels of the variables that are shown
  const shown = [...state.shown].sort((a, b) => a - b),
    rows = shown.filter((k) => boxes_of(k)),
    groups = [];
  for (const k of shown.filter((k) => !boxes_of(k))) {
    const group = groups.find((keys) => share_panel(keys[0], k));
    if (group) group.push(k);
    else groups.push([k]);
  }
  const host = $("#panels"),
    plots = groups.length;
  if (rows.length) groups.push(rows);
  host.replaceChildren();
  panels.length = 0;
  const height = plots <= 1 ? 320 : plots === 2 ? 210 : plots === 3 ? 160 : 130;
  for (const keys of groups) {
    const unit = keys === rows ? "" : data.variables[keys[0]].unit,
      names = keys.map((k) => data.variables[k].name).join(", ");
    const label =
      `Over time: ${shorter(names, 300)}${unit ? " in " + unit : ""}. The table of events says the same in words. ` +
      "Arrow keys move, plus and minus zoom, zero shows the whole run, n and p go to the next and the previous event.";
    const canvas = make("canvas", { tabIndex: 0, role: "img", "aria-label": label });
    host.append(make("div", { className: "panel" }, canvas));
    const panel = { canvas, unit, keys, height, rows: keys === rows };
    panels.push(panel);
    listen(panel);
  }
  draw();
};

const zoom_to = (a, b) => {
  const whole = full[1] - full[0],
    least = Math.max(whole * 1e-10, 1e-12 * Math.max(Math.abs(a), Math.abs(b))),
    span = Math.max(b - a, least);
  let low = Math.max(full[0], a);
  const high = Math.min(full[1], low + span);
  low = Math.max(full[0], high - span);
  state.window = [low, high];
  draw();
};
const zoom = (factor, at = (state.window[0] + state.window[1]) / 2) =>
  zoom_to(at + (state.window[0] - at) * factor, at + (state.window[1] - at) * factor);

// --- the box beside the pointer
const tip = $(".tip");
const hide_tip = () => {
  tip.style.display = "none";
};
const nearest_flag = (x, pixels, x_of) => {
  let best = null,
    distance = pixels;
  for (const f of flags_in(state.window)) {
    const d = Math.abs(x_of(f.t) - x);
    if (d < distance || (d === distance && best && best.event < 0)) {
      distance = d;
      best = f;
    }
  }
  return best;
};
const mode_at = (t) => data.modes.band.find(([from, to]) => t >= from && t <= to)?.[2];
const show_tip = (pointer, panel) => {
  const flag = nearest_flag(pointer.offsetX, 6, panel.geometry.x_of),
    time = flag ? flag.t : state.cursor;
  const row = (name, value, ink) => {
    const label = make("span", {}, name);
    if (ink) label.style.color = ink;
    return make("div", { className: "row" }, label, make("span", { className: "num" }, value));
  };
  tip.replaceChildren(row("time", number(time, 9)));
  const keys = [...state.shown].sort((a, b) => a - b);
  for (const k of keys.slice(0, 14)) {
    const before = value_at(k, time),
      after = value_at(k, time, true),
      { name, unit } = data.variables[k],
      text = (x) => value_text(data.variables[k], x, 7);
    const jumps = flag && Math.abs(after - before) > 1e-6 * data.variables[k].scale;
    tip.append(row(name, with_unit(text(before) + (jumps ? " → " + text(after) : ""), unit), colour(k)));
  }
  const mode = mode_at(time);
  if (!flag && mode !== undefined && data.modes.nodes.length > 1)
    tip.append(make("div", { className: "what" }, `mode ${mode + 1}: ${shorter(data.modes.nodes[mode].name, 160)}`));
  if (flag) {
    const e = data.events[flag.event],
      title = make("strong", {}, e ? e.title : flag.kind.replace("_", " "));
    title.style.color = kind_colour(flag.kind);
    const what = make(
      "div",
      { className: "what" },
      title,
      ...(e ? e.lines.slice(0, 8) : []).map((line) => make("div", {}, shorter(line, 220))),
    );
    tip.append(what);
  }
  tip.style.display = "block";
  const w = tip.offsetWidth,
    h = tip.offsetHeight;
  tip.style.left =
    Math.max(4, pointer.clientX + 16 + w > innerWidth - 8 ? pointer.clientX - w - 16 : pointer.clientX + 16) + "px";
  tip.style.top = Math.max(4, Math.min(pointer.clientY + 16, innerHeight - h - 8)) + "px";
};

// --- pointer and keys
const listen = (panel) => {
  const c = panel.canvas;
  const time_of = (x) => {
    const [low, high] = state.window;
    return low + ((x - margin_left) / (panel.geometry.width - margin_left - margin_right)) * (high - low);
  };
  c.addEventListener("pointermove", (e) => {
    if (state.pan) {
      const d = time_of(state.pan.x) - time_of(e.offsetX);
      zoom_to(state.pan.window[0] + d, state.pan.window[1] + d);
      return;
    }
    if (state.drag) state.drag[1] = e.offsetX;
    state.cursor = Math.min(Math.max(time_of(e.offsetX), full[0]), full[1]);
    show_tip(e, panel);
    draw();
  });
  c.addEventListener("pointerleave", () => {
    state.cursor = null;
    hide_tip();
    draw();
  });
  c.addEventListener("pointerdown", (e) => {
    c.setPointerCapture(e.pointerId);
    if (e.shiftKey || e.button === 1) state.pan = { x: e.offsetX, window: [...state.window] };
    else if (e.button === 0) state.drag = [e.offsetX, e.offsetX];
  });
  c.addEventListener("pointerup", (e) => {
    if (state.drag) {
      const [a, b] = state.drag;
      state.drag = null;
      if (Math.abs(b - a) > 5) zoom_to(time_of(Math.min(a, b)), time_of(Math.max(a, b)));
      else {
        const flag = nearest_flag(e.offsetX, 7, panel.geometry.x_of);
        if (flag && flag.event >= 0) select_event(flag.event, false);
      }
    }
    state.pan = null;
    draw();
  });
  c.addEventListener("pointercancel", () => {
    state.drag = state.pan = null;
    draw();
  });
  c.addEventListener("dblclick", () => zoom_to(...full));
  c.addEventListener(
    "wheel",
    (e) => {
      // the page scrolls on unless the plot was chosen
      if (!e.ctrlKey && document.activeElement !== c) return;
      e.preventDefault();
      zoom(Math.exp(Math.sign(e.deltaY) * 0.18), time_of(e.offsetX));
    },
    { passive: false },
  );
  c.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const span = state.window[1] - state.window[0],
      go = { ArrowLeft: -0.15, ArrowRight: 0.15 }[e.key];
    if (go) zoom_to(state.window[0] + go * span, state.window[1] + go * span);
    else if (e.key === "+" || e.key === "=") zoom(0.7);
    else if (e.key === "-") zoom(1 / 0.7);
    else if (e.key === "0" || e.key === "Escape") zoom_to(...full);
    else if (e.key === "n") next_event(1);
    else if (e.key === "p") next_event(-1);
    else return;
    e.preventDefault();
  });
};
