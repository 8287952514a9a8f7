// Words and tables: the summary, the figures, the source with the lines that fired, the events, the details.
const cells = (...texts) => texts.map(([text, kind]) => make("td", { className: kind || "" }, text));
const seconds = (s) =>
  s >= 1 ? `${number(s, 3)} s` : s >= 1e-3 ? `${number(1e3 * s, 3)} ms` : `${number(1e6 * s, 3)} µs`;

const write_head = () => {
  const { status, statistics } = data,
    { nodes } = data.modes;
  $("#name").textContent = data.model;
  $("#title").textContent = data.model;
  $("#description").textContent = data.description;
  $("#version").textContent = data.saltus;
  $("#pill").textContent = status.code.replaceAll("_", " ");
  $("#pill").classList.add(status.ok ? "good" : "bad");
  const seen = nodes.reduce((sum, m) => sum + m.merged, 0),
    total = nodes.reduce((sum, m) => sum + m.duration, 0);
  const longest = nodes.reduce((a, b) => (b.duration > a.duration ? b : a), nodes[0]);
  const [from, to] = data.backwards ? [data.to, data.from] : [data.from, data.to];
  let text = `The run went from t = ${number(from)} to ${number(to)}${status.ok ? "" : " and failed there"}. `;
  text += data.event_count
    ? `There ${data.event_count === 1 ? "was" : "were"} ${some(data.event_count, "event")}`
    : "There were no events";
  text += seen > 1 ? ` and ${some(seen, "mode")}` : "";
  if (seen > 1 && total > 0 && longest.name && longest.merged === 1) {
    const share = number((100 * longest.duration) / total, 2);
    text += `; the one that held longest, “${shorter(short_name(longest.name), 90)}”, took ${share} % of the time`;
  }
  $("#summary").textContent = text + ".";
  const figure = (label, value) => make("div", {}, make("span", {}, label), make("strong", {}, value));
  $("#figures").append(
    figure("from – to", `${number(from, 5)} – ${number(to, 5)}`),
    figure("events", thousands(data.event_count)),
    figure("modes seen", thousands(seen)),
    figure("steps", thousands(statistics.steps)),
    figure("rejected", thousands(statistics.rejected)),
    figure("evaluations", thousands(statistics.evaluations)),
    figure("computed in", seconds(statistics.seconds)),
    figure("unproved steps", thousands(statistics.unproved)),
  );
  if (!status.ok) {
    const lines = [
      status.meaning,
      status.message,
      status.advice && !status.message.includes(status.advice) && "What to try: " + status.advice,
      status.culprits.length ? "Involved: " + shorter(status.culprits.join("; "), 600) : "",
      status.mode && `Mode: ${status.mode}`,
    ];
    $("#alert").hidden = false;
    $("#alert").append(
      make("h2", {}, `The run failed at t = ${number(status.t, 12)}: ${status.code.replaceAll("_", " ")}`),
      ...lines.filter(Boolean).map((line) => make("p", {}, line)),
    );
  }
};

// --- the source
const keywords =
  "algorithm and annotation assert block break class connect connector constant constrainedby der discrete each " +
  "else elseif elsewhen encapsulated end enumeration equation expandable extends external false final flow for " +
  "function if import impure in initial inner input loop model not operator or outer output package parameter " +
  "partial pre protected public pure record redeclare reinit replaceable return stream terminate then true type " +
  "when while within Real Integer Boolean String";
const tokens = new RegExp(
  `("(?:[^"\\\\]|\\\\.)*"?)|(//.*|/\\*.*?(?:\\*/|$))|\\b(${keywords.replaceAll(" ", "|")})\\b`,
  "g",
);
const coloured = (line) => {
  const parts = [];
  let at = 0;
  for (const match of line.matchAll(tokens)) {
    if (match.index > at) parts.push(line.slice(at, match.index));
    parts.push(make("span", { className: match[1] ? "s" : match[2] ? "c" : "k" }, match[0]));
    at = match.index + match[0].length;
  }
  parts.push(line.slice(at) || (parts.length ? "" : " "));
  return parts;
};
const write_source = () => {
  if (!data.source) {
    $("#source").hidden = true;
    $('nav a[href="#source"]').hidden = true;
    $("#source").parentElement.classList.remove("pair", "uneven");
    return;
  }
  const hits = new Map();
  for (const e of data.events) for (const line of e.places) hits.set(line, (hits.get(line) || 0) + 1);
  const failed = new Set();
  if (!data.status.ok) {
    // the message names places as FILE:LINE:COLUMN
    const parts = [data.status.message, ...data.status.culprits].join(" ").split(`${data.source.file}:`).slice(1);
    for (const part of parts) failed.add(parseInt(part, 10));
  }
  const listing = $("pre.source");
  listing.classList.toggle("quiet", hits.size + failed.size === 0);
  data.source.text
    .replace(/\s+$/, "")
    .split(/\r\n|\r|\n/)
    .forEach((text, k) => {
      const line = k + 1,
        count = hits.get(line),
        row = make(
          "div",
          {},
          make("span", { className: "n" }, String(line)),
          make("span", { className: "hits" }, failed.has(line) ? "failed" : count ? some(count, "event") : ""),
          make("span", {}, ...coloured(text)),
        );
      if (count) {
        row.className = "fired";
        row.tabIndex = 0;
        row.setAttribute("role", "button");
        row.setAttribute(
          "aria-label",
          `Line ${line}, ${some(count, "event")}: ${shorter(text.trim(), 120)}. Show the next one.`,
        );
        const go = () => {
          // the next event of this line after the one that is selected
          const matches = data.events.map((e, j) => j).filter((j) => data.events[j].places.includes(line));
          select_event(matches.find((j) => j > state.event) ?? matches[0], true);
        };
        row.addEventListener("click", go);
        row.addEventListener("keydown", (e) => {
          if (e.key === "Enter") go();
        });
      }
      if (failed.has(line)) row.classList.add("failed");
      listing.append(row);
    });
  $("#source-count").textContent =
    `${data.source.file}${hits.size ? `, ${some(hits.size, "line")} made events` : ""}`;
  const cut = data.source.cut ? "The text is longer than what is shown here. " : "";
  $("#source-notes").textContent = cut + (hits.size ? "A click on a marked line goes through its events." : "");
};

// --- events
const event_rows = [];
const write_events = () => {
  const body = $("#events tbody"),
    left_out = data.event_count - data.events.length;
  data.events.forEach((e, k) => {
    if (k > 0 && e.n !== data.events[k - 1].n + 1) {
      body.append(
        make(
          "tr",
          {},
          make(
            "td",
            { colSpan: 4 },
            `… ${thousands(left_out)} events in between have flags in the plots, but no words here`,
          ),
        ),
      );
    }
    const title = make("span", { className: "kind" }, e.title);
    const row = make(
      "tr",
      { tabIndex: 0 },
      ...cells([thousands(e.n), "num"], [number(e.t, 12), "num"]),
      make("td", {}, title, ...e.lines.map((line) => make("div", {}, line))),
      ...cells([e.places.join(", "), "num"]),
    );
    row.addEventListener("click", () => select_event(k, true));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter") select_event(k, true);
    });
    event_rows.push({ row, title, text: [e.title, e.kind, ...e.lines].join(" ").toLowerCase() });
    body.append(row);
  });
  $("#events-count").textContent =
    left_out > 0
      ? `${thousands(data.events.length)} of ${thousands(data.event_count)} are explained`
      : thousands(data.event_count);
  if (data.events.length === 0) body.append(make("tr", {}, make("td", { colSpan: 4 }, "no events")));
  $("#event-filter").addEventListener("input", (e) => {
    for (const { row, text } of event_rows) row.hidden = !text.includes(e.target.value.toLowerCase());
  });
};
const paint_events = () => {
  event_rows.forEach(({ title }, k) => {
    title.style.color = kind_colour(data.events[k].kind);
  });
  const kinds = [...new Set(flags.map((f) => f.kind))];
  $("#kinds").replaceChildren(
    ...kinds.map((kind) => {
      const mark = make("i");
      mark.style.borderTopColor = kind_colour(kind);
      return make("span", {}, mark, kind.replace("_", " "));
    }),
  );
};

const show_event = () => {
  // the card below the plots
  const e = data.events[state.event];
  $("#event-card").hidden = data.events.length === 0;
  for (const id of ["#closer", "#event-lines"]) $(id).hidden = !e;
  if (e) {
    $("#event-title").textContent =
      `Event ${thousands(e.n)} of ${thousands(data.event_count)} at t = ${number(e.t, 9)}: ${e.title}`;
    $("#event-lines").replaceChildren(...e.lines.map((line) => make("li", {}, line)));
  } else $("#event-title").textContent = `${some(data.event_count, "event")}: step through them`;
};
const select_event = (k, into_view) => {
  state.event = k;
  const e = data.events[k],
    span = state.window[1] - state.window[0];
  if (e.t < state.window[0] || e.t > state.window[1]) zoom_to(e.t - span / 2, e.t + span / 2);
  event_rows.forEach(({ row }, j) => row.classList.toggle("on", j === k));
  const box = $("#events .scroll"),
    row = event_rows[k].row;
  box.scrollTop = row.offsetTop - box.clientHeight / 2 + row.offsetHeight / 2;
  if (into_view) {
    const { top, bottom } = $("#plot").getBoundingClientRect();
    if (bottom < 160 || top > innerHeight - 160) $("#plot").scrollIntoView({ block: "start" });
  }
  show_event();
  draw();
};
const next_event = (step) => {
  if (data.events.length === 0) return;
  const first = state.event < 0 ? (step > 0 ? 0 : data.events.length - 1) : state.event + step;
  select_event((first + data.events.length) % data.events.length, false);
};

// --- details
const write_details = () => {
  const { statistics, status } = data;
  const row = (digits) => ([name, value, unit, meaning]) => {
    const text = typeof value === "string" ? value : number(value, digits);
    return make("tr", {}, ...cells([name], [text, "num"], [unit], [meaning]));
  };
  $("#parameters tbody").append(...data.parameters.map(row(9)));
  $("#final tbody").append(...data.final.map(row(12)));
  if (data.parameters.length === 0) $("#parameters").parentElement.hidden = true;
  const more = [];
  if (data.parameters_left_out) more.push(`${thousands(data.parameters_left_out)} more parameters are not listed.`);
  if (data.final_left_out) more.push(`${thousands(data.final_left_out)} more variables are not listed.`);
  $("#method").textContent =
    `${statistics.method}: ${some(statistics.steps, "step")}, ${some(statistics.jacobians, "Jacobian")}, ` +
    `${some(statistics.factorisations, "factorisation")}, ${some(statistics.restarts, "restart")}. ` +
    (status.mode ? `At the end: ${shorter(status.mode, 200)}. ` : "") +
    more.join(" ");
  const notes = [...data.notes];
  if (status.ok && status.message) notes.unshift(status.message);
  for (const c of data.chattering) {
    const when = `${thousands(c.events)} times between t = ${number(c.from)} and ${number(c.to)}`;
    const text = `Chattering: ${c.guards.join(" and ")} switched ${when}.`;
    if (!notes.some((note) => note.startsWith("chattering"))) notes.push(text);
  }
  // a warning quotes the line that it is about
  const item = ([first, ...quoted]) => {
    const lines = quoted.length ? [make("pre", {}, quoted.join("\n"))] : [];
    return make("li", {}, first, ...lines);
  };
  $("#notes").append(...notes.map((note) => item(note.split("\n"))));
  const rough = data.variables.filter((v) => v.kind !== "cubic").map((v) => v.name),
    words = [];
  if (rough.length)
    words.push(
      `${shorter(rough.join(", "), 200)}: the curve has more detail than this page holds; its extremes are kept.`,
    );
  if (data.variables_left_out)
    words.push(`${thousands(data.variables_left_out)} more variables have no curve here (--vars chooses).`);
  $("#plot-notes").textContent = words.join(" ");
};
