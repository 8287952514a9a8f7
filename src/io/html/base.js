// What all parts share: the data of the run, the state of the page, colours, numbers, elements.
const data = JSON.parse(document.getElementById("run").textContent);
const root = document.documentElement;
const $ = (selector) => document.querySelector(selector);

// An element with attributes and children. Children that are texts become text nodes: no text of the model is markup.
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "className") element.className = value;
    else if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};
const drawn = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

const unpack = (text, Type) => new Type(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const number = (x, digits = 6) =>
  typeof x === "number" && Number.isFinite(x) ? String(Number(x.toPrecision(digits))) : "–";
// A value of a variable as people write it: true or false, a literal, a number.
const value_text = (v, x, digits) => {
  if (v.type === "Boolean" && (x === 0 || x === 1)) return x === 1 ? "true" : "false";
  const literal = v.literals && v.literals[Math.round(x) - 1];
  return literal !== undefined && Math.abs(x - Math.round(x)) < 1e-6 ? literal : number(x, digits);
};
const thousands = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const some = (n, word, words = word + "s") => `${thousands(n)} ${n === 1 ? word : words}`;
const shorter = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
const with_unit = (text, unit) => (unit ? `${text} ${unit}` : text);

// --- colours: names of the style sheet, read once for each theme
let palette = {};
const names_of_colours = [
  "ink",
  "soft",
  "line",
  "grid",
  "card",
  "accent",
  "bad",
  "shade",
  "c0",
  "c1",
  "c2",
  "c3",
  "c4",
  "c5",
  "c6",
  "c7",
];
const prefers_dark = matchMedia("(prefers-color-scheme: dark)");
const is_dark = () => root.dataset.theme === "dark";
const set_theme = (dark) => {
  root.dataset.theme = dark ? "dark" : "light";
  const style = getComputedStyle(root);
  palette = Object.fromEntries(names_of_colours.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
};
set_theme(prefers_dark.matches);
const kind_colours = {
  reset: "c1",
  crossing: "c7",
  slide_enter: "c2",
  slide_exit: "c6",
  contact: "c3",
  release: "c5",
  transition: "c0",
  terminal: "bad",
  time: "c4",
  touch: "c5",
  record: "c7",
  initial: "c7",
};
const kind_colour = (kind) => palette[kind_colours[kind] || "c7"];
// neighbours in the list of modes differ by the golden angle
const mode_colour = (k) => `hsl(${(k * 137.508 + 205) % 360} ${is_dark() ? "52% 68%" : "52% 74%"})`;

// --- state
const full = [data.from ?? 0, data.to ?? 0];
if (full[1] <= full[0]) full[1] = full[0] + 1;
const state = { shown: new Set(data.shown), window: [...full], cursor: null, event: -1, mode: -1 };
const numbers_of_colours = new Map();
const colour = (k) => {
  if (!numbers_of_colours.has(k)) numbers_of_colours.set(k, numbers_of_colours.size % 8);
  return palette["c" + numbers_of_colours.get(k)];
};
data.shown.forEach(colour);

// Flags of all events in the order of time: those that are explained know their place in data.events, others have -1.
const flags = data.events.map((e, k) => ({ t: e.t, kind: e.kind, event: k }));
if (data.marks) {
  const times = unpack(data.marks.t, Float64Array),
    kinds = unpack(data.marks.kind, Uint8Array);
  times.forEach((t, k) => flags.push({ t, kind: data.marks.kinds[kinds[k]], event: -1 }));
}
flags.sort((a, b) => a.t - b.t);
const flags_in = ([low, high]) => {
  const first = (x, after) => {
    let a = 0;
    let b = flags.length;
    while (a < b) {
      const middle = (a + b) >> 1;
      if (flags[middle].t < x || (after && flags[middle].t === x)) a = middle + 1;
      else b = middle;
    }
    return a;
  };
  return flags.slice(first(low, false), first(high, true));
};

// Texts of events: their title, and the mode that they lead to.
for (const e of data.events) {
  e.title = data.titles[e.kind] || e.kind;
  if (e.mode !== undefined) e.lines.push(`mode ${e.mode + 1}: ${data.modes.nodes[e.mode].name}`);
}

// What tells a mode from the others: the parts of its words that hold in at most half of them.
const mode_parts = data.modes.nodes.map((m) => (m.merged > 1 ? [m.name] : m.name.split(", ")));
const in_modes = (part) => mode_parts.filter((parts) => parts.includes(part)).length;
const is_special = (part) => in_modes(part) <= mode_parts.length / 2;
const short_names = mode_parts.map((parts, k) => {
  const special = parts.filter(is_special),
    different = parts.filter((part) => in_modes(part) < mode_parts.length);
  return (special.length ? special : different.length ? different : parts).join(", ") || "the only mode";
});
const short_name = (name) => {
  const k = data.modes.nodes.findIndex((m) => m.name === name);
  return k >= 0 ? short_names[k] : name;
};
