// Curves: each variable has nodes of its own (time, value, slope) and is a cubic between two of them; two nodes at one
// time are a jump. An envelope has no slopes: straight lines through the extremes of short intervals.
const decode = (v) => {
  const t = unpack(v.t, Float64Array),
    low = unpack(v.y, Float32Array),
    slopes = v.m === undefined ? null : unpack(v.m, Float32Array);
  const y = Float64Array.from(low, (x) => v.offset + v.scale * x),
    m = slopes && Float64Array.from(slopes, (x) => v.scale * x);
  return { t, y, m };
};
const curves = data.variables.map(decode);

const first_at = (t, x) => {
  // the first node at or after x
  let low = 0,
    high = t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
};
const between = (c, j, x) => {
  // the value between nodes j - 1 and j
  const h = c.t[j] - c.t[j - 1];
  if (h === 0) return c.y[j];
  const s = (x - c.t[j - 1]) / h,
    r = 1 - s;
  if (!c.m) return c.y[j - 1] * r + c.y[j] * s;
  return c.y[j - 1] * r * r * (1 + 2 * s) + c.y[j] * s * s * (3 - 2 * s) + h * s * r * (c.m[j - 1] * r - c.m[j] * s);
};
const value_at = (k, x, after = false) => {
  // at a jump what holds at smaller times, or at larger ones
  const c = curves[k];
  if (c.t.length === 0) return NaN;
  if (c.t.length === 1 || x < c.t[0]) return c.y[0];
  let j = first_at(c.t, x);
  if (after) while (j < c.t.length && c.t[j] <= x) ++j;
  if (j >= c.t.length) return c.y[c.t.length - 1];
  return between(c, Math.max(j, 1), x);
};
// the nodes that a window of time needs: from the one before it to the one behind it
const part = (c, window) => [
  Math.max(first_at(c.t, window[0]) - 1, 0),
  Math.min(first_at(c.t, window[1]) + 2, c.t.length),
];
const extremes = (k, window) => {
  // of nodes and of the middles between them, inside of the window
  const c = curves[k],
    [from, to] = part(c, window);
  let low = Infinity,
    high = -Infinity;
  const see = (x, v) => {
    if (x >= window[0] && x <= window[1]) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
  };
  for (let j = from; j < to; ++j) {
    see(c.t[j], c.y[j]);
    if (j > from && c.t[j] > c.t[j - 1]) {
      const x = (c.t[j] + c.t[j - 1]) / 2;
      see(x, between(c, j, x));
    }
  }
  for (const x of window) see(x, value_at(k, x));
  return [low, high];
};

// Draws a curve. A cubic over time is a Bézier curve with its control points at thirds of the time, so that what is
// drawn is exact at any zoom. Where many nodes fall on one column of pixels, the lowest and the highest are drawn.
const draw_curve = (g, c, x_of, y_of, window, width) => {
  const { t, y, m } = c,
    [from, to] = part(c, window);
  if (to <= from) return;
  g.beginPath();
  if (to - from <= 3 * width) {
    g.moveTo(x_of(t[from]), y_of(y[from]));
    for (let j = from + 1; j < to; ++j) {
      const h = (t[j] - t[j - 1]) / 3;
      if (h === 0 || !m) g.lineTo(x_of(t[j]), y_of(y[j]));
      else {
        g.bezierCurveTo(
          x_of(t[j - 1] + h),
          y_of(y[j - 1] + h * m[j - 1]),
          x_of(t[j] - h),
          y_of(y[j] - h * m[j]),
          x_of(t[j]),
          y_of(y[j]),
        );
      }
    }
  } else {
    let column = NaN,
      low = 0,
      high = 0;
    const flush = () => {
      g.lineTo(column, y_of(low));
      g.lineTo(column, y_of(high));
    };
    for (let j = from; j < to; ++j) {
      const x = Math.round(x_of(t[j]));
      if (x !== column) {
        if (!Number.isNaN(column)) flush();
        column = x;
        low = high = y[j];
      } else if (y[j] < low) low = y[j];
      else if (y[j] > high) high = y[j];
    }
    flush();
  }
  g.stroke();
};

const ticks = (low, high, wanted) => {
  const raw = (high - low) / Math.max(wanted, 1);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw)),
    step = [1, 2, 5, 10].find((f) => f * power >= raw * 0.999) * power,
    out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && out.length < 100; ++k)
    out.push(k * step);
  return out;
};
// digits that tell neighbouring ticks apart
const tick_text = (x, all) => {
  const step = all.length > 1 ? Math.abs(all[1] - all[0]) : 1,
    size = Math.max(...all.map(Math.abs), step);
  return number(Math.abs(x) < 1e-9 * step ? 0 : x, Math.min(15, Math.max(3, Math.ceil(Math.log10(size / step)) + 2)));
};

const letters = "system-ui, 'DejaVu Sans', sans-serif";
const prepare = (canvas, height) => {
  // a canvas that is as fine as the screen
  const ratio = devicePixelRatio || 1,
    width = canvas.parentElement.clientWidth || 600;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + "px";
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.font = `11.5px ${letters}`;
  g.lineJoin = "round";
  return { g, width, height };
};
const margin_left = 66,
  margin_right = 14;
