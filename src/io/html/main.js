// Puts the page together.
const draw_all = () => {
  panels.forEach((panel, k) => draw_panel(panel, k === 0, k === panels.length - 1));
  draw_phase();
  const partly = state.window[0] > full[0] || state.window[1] < full[1];
  $("#window-text").textContent = partly ? `${number(state.window[0], 7)} – ${number(state.window[1], 7)}` : "";
  root.dataset.window = state.window.join(" ");
};
let queued = false;
const draw = () => {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    draw_all();
  });
};

const painters = [];
const write_variables = () => {
  const list = $("#variables");
  data.variables.forEach((v, k) => {
    const box = make("input", { type: "checkbox", checked: state.shown.has(k) }),
      swatch = make("span", { className: "swatch" });
    const paint = () => {
      swatch.style.background = state.shown.has(k) ? colour(k) : "";
    };
    painters.push(paint);
    box.addEventListener("change", () => {
      if (box.checked) state.shown.add(k);
      else state.shown.delete(k);
      paint();
      layout();
    });
    list.append(
      make(
        "label",
        { title: v.description ? `${v.name}: ${v.description}` : v.name },
        box,
        swatch,
        make("span", { className: "name" }, v.name),
        make("span", { className: "unit" }, v.unit),
      ),
    );
    for (const id of ["#phase-x", "#phase-y"])
      $(id).append(make("option", { value: String(k) }, shorter(v.name, 60)));
  });
  $("#filter").addEventListener("input", (e) => {
    const wanted = e.target.value.toLowerCase();
    list.querySelectorAll("label").forEach((row) => {
      row.hidden = !row.title.toLowerCase().includes(wanted);
    });
  });
  if (data.variables.length <= 8) $("#filter").hidden = true;
  data.phase.forEach((k, n) => {
    $(n === 0 ? "#phase-x" : "#phase-y").value = String(k);
  });
  const name_phase = () => {
    const names = ["#phase-x", "#phase-y"].map((id) => $(id).selectedOptions[0]?.textContent || "");
    $("#phase canvas").setAttribute("aria-label", `Phase portrait: ${names[1]} over ${names[0]}`);
  };
  for (const id of ["#phase-x", "#phase-y"])
    $(id).addEventListener("change", () => {
      name_phase();
      draw();
    });
  name_phase();
};

const paint = () => {
  // everything that has a colour of its own
  painters.forEach((p) => p());
  paint_events();
  draw_modes();
  draw_structure();
  layout();
};

write_head();
write_variables();
write_source();
write_events();
write_details();
listen_phase();
show_event();
if (data.variables.length === 0) $("#plot").hidden = true;
if (data.variables.length < 2) {
  $("#phase").hidden = true;
  $('nav a[href="#phase"]').hidden = true;
}
$("#previous").addEventListener("click", () => next_event(-1));
$("#next").addEventListener("click", () => next_event(1));
$("#whole").addEventListener("click", () => zoom_to(...full));
$("#closer").addEventListener("click", () => {
  const e = data.events[state.event],
    others = flags.map((f) => Math.abs(f.t - e.t)).filter((d) => d > 0);
  const half = Math.min((full[1] - full[0]) / 20, 3 * Math.min(full[1] - full[0], ...others.slice(0, 2000)));
  zoom_to(e.t - half, e.t + half);
});
$("#theme").addEventListener("click", () => {
  set_theme(!is_dark());
  paint();
});
prefers_dark.addEventListener("change", () => {
  set_theme(prefers_dark.matches);
  paint();
});
addEventListener("resize", draw);
let theme_before_print = false;
addEventListener("beforeprint", () => {
  theme_before_print = is_dark();
  set_theme(false);
  paint();
  draw_all();
});
addEventListener("afterprint", () => {
  set_theme(theme_before_print);
  paint();
});
paint();
window.saltusReport = { state, data, curves, value_at, zoom_to, select_event }; // for tests
