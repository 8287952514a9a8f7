#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/child_process.hpp>
#include <saltus/io/plot.hpp>
#include <saltus/io/result_files.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>

#include "io/gnuplot.hpp"
#include "io/plot_layout.hpp"
#include "io/plot_panels.hpp"
#include "io/plot_script.hpp"

namespace saltus {

std::string plot_text(const std::string& text) {
  std::string result;
  const bool plain = text.find('\'') == std::string::npos;
  for (const char c : text) {
    if (!plain && (c == '\'' || c == '"' || c == '\\' || c == '`'))
      result += fmt::format("\\{:03o}", static_cast<unsigned>(c));
    else
      result += c == '\n' ? ' ' : c;
  }
  return plain ? "'" + result + "'" : "\"" + result + "\"";
}

bool on_surfaces(const Trajectory::Segment& segment) {
  return (segment.slides || segment.in_contact) && !segment.steps.empty();
}

std::string name_of_shading(const Trajectory& run) {
  bool sliding = false, contact = false;
  for (const auto& segment : run.segments()) {
    sliding = sliding || (on_surfaces(segment) && segment.slides);
    contact = contact || (on_surfaces(segment) && segment.in_contact);
  }
  return std::string(sliding ? "sliding" : "") + (sliding && contact ? ", " : "") + (contact ? "contact" : "");
}

std::string plot_label(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : name + " [" + unit + "]";
}

namespace {

constexpr std::size_t columns = 700;    // that a picture of usual size can tell apart
constexpr std::size_t most_lines = 40;  // events that are lines across the panels; more of them are ticks above
constexpr int ticks_height = 10;

/// `font`: size of letters as the kind of file wants it.
std::string terminal(const std::string& file, int width, int height, double font, double lines) {
  const bool svg = file.ends_with(".svg"), png = file.ends_with(".png"), pdf = file.ends_with(".pdf");
  if (!svg && !png && !pdf) throw UsageError("plot: '" + file + "' must end in .svg, .png or .pdf");
  const std::string size =
      pdf ? fmt::format("{:.4g}in,{:.4g}in", width / 96.0, height / 96.0) : fmt::format("{},{}", width, height);
  return fmt::format("set terminal {} size {} font 'DejaVu Sans,{:.4g}' linewidth {:.3g}{}",
                     svg   ? "svg"
                     : png ? "pngcairo"
                           : "pdfcairo",
                     size, font, lines, svg ? " background '#ffffff'" : "");
}

/// Data block of one curve. The line is broken where the variable jumps.
void write_data(std::string& script, const PlotCurve& c, double time_scale, double scale) {
  auto out = std::back_inserter(script);
  fmt::format_to(out, "$d{} << EOD\n", c.variable);
  for (std::size_t k = 0; k < c.t.size(); ++k) {
    if (k < c.jumps.size() && c.jumps[k]) script += "\n";
    if (!std::isfinite(c.y[k])) {
      script += "\n";
      continue;
    }
    fmt::format_to(out, "{:.10g} {:.10g}", c.t[k] * time_scale, c.y[k] * scale);
    if (!c.upper.empty()) fmt::format_to(out, " {:.10g}", c.upper[k] * scale);
    script += "\n";
  }
  script += "EOD\n";
}

/// The names of a panel's curves and their unit, as far as there is room.
std::string panel_label(const Trajectory& run, const PlotPanel& panel, const PlotLayout& layout, double height) {
  const std::string unit = panel.unit.empty() ? "" : "[" + panel.unit + "]";
  std::string text;
  for (const PlotCurve& c : panel.curves) text += (text.empty() ? "" : ", ") + run.variable(c.variable).name;
  const std::string both = text + (unit.empty() ? "" : " ") + unit;
  if (text.size() <= 24 && layout.width_of(both) <= height) return both;
  return layout.width_of(unit) <= height ? unit : "";
}

/// Grey areas where the solution slides or is in contact; those that are nearer than a pixel are one.
std::size_t write_shading(std::string& script, const Trajectory& run, double time_scale) {
  const double pixel = std::abs(run.t_end() - run.t_start()) / static_cast<double>(columns);
  std::vector<std::pair<double, double>> areas;
  for (const auto& segment : run.segments()) {
    if (!on_surfaces(segment)) continue;
    const double a = segment.steps.front().polynomial.t0, b = segment.steps.back().t_end;
    areas.emplace_back(std::min(a, b), std::max(a, b));
  }
  std::ranges::sort(areas);
  std::vector<std::pair<double, double>> merged;
  for (const auto& area : areas) {
    if (!merged.empty() && area.first - merged.back().second < pixel)
      merged.back().second = std::max(merged.back().second, area.second);
    else
      merged.push_back(area);
  }
  for (const auto& [from, to] : merged)
    fmt::format_to(
        std::back_inserter(script),
        "set object rectangle from {:.10g},graph 0 to {:.10g},graph 1 fc rgb '{}' fs solid noborder behind\n",
        from * time_scale, to * time_scale, plot_shading);
  return merged.size();
}

/// Times of events; those that fall on one pixel are one.
std::vector<double> event_times(const Trajectory& run) {
  const double pixel = std::abs(run.t_end() - run.t_start()) / static_cast<double>(columns);
  std::vector<double> times;
  for (const Event& e : run.events())
    if (times.empty() || std::abs(e.t - times.back()) >= pixel) times.push_back(e.t);
  return times;
}

/// Boxes over time, one row for each variable, with their values in letters of this size where there is room.
void write_rows(std::string& script, const Trajectory& run, const PlotPanel& panel, double time_scale,
                const PlotLayout& layout, double font) {
  auto out = std::back_inserter(script);
  const double span = std::abs(run.t_end() - run.t_start());
  int object = 100'000;  // numbers of their own, to be taken away after the panel
  const std::size_t count = panel.curves.size();
  std::string labels;
  for (std::size_t row = 0; row < count; ++row) {
    const PlotCurve& c = panel.curves[row];
    const double base = static_cast<double>(count - 1 - row);
    const VariableDetails details = *run.variable(c.variable).details;
    const bool logical =
        details.type == VariableType::boolean || (details.type == VariableType::real && c.low >= 0.0 && c.high <= 1.0);
    const char* colour = plot_colours[row % plot_colours.size()];
    for (const PlotBox& box : c.boxes) {
      const double share = box.fast ? 0.45 : c.high > c.low ? (box.value - c.low) / (c.high - c.low) : 1.0;
      const bool empty = logical && !box.fast && box.value == 0.0;  // a line stands for false
      fmt::format_to(
          out, "set object {} rectangle from {:.10g},{:g} to {:.10g},{:g} fc rgb '{}' fs solid {:.2f} noborder front\n",
          ++object, box.from * time_scale, base + 0.18, box.to * time_scale, base + (empty ? 0.24 : 0.82), colour,
          logical && !box.fast ? 0.85 : 0.2 + 0.6 * share);
      const std::string value = shortened(value_text(details, box.value, 6), 12);
      const double room = (box.to - box.from) / span * (layout.right - layout.left);
      if (!logical && !box.fast &&
          room > (layout.width_of(value) + 0.5 * layout.letter) * layout.small_points / layout.points)
        fmt::format_to(out, "set label {} {} at {:.10g},{:g} center front noenhanced font ',{:.4g}'\n", object,
                       plot_text(value), 0.5 * (box.from + box.to) * time_scale, base + 0.5, font);
    }
    labels +=
        fmt::format("{}{} {:g}", row ? ", " : "", plot_text(shortened(run.variable(c.variable).name, 14)), base + 0.5);
  }
  fmt::format_to(out,
                 "set yrange [0:{}]\nset ytics ({}) noenhanced scale 0\nunset ylabel\nunset grid\nplot NaN notitle\n",
                 count, labels);
  fmt::format_to(out, "do for [n=100001:{}] {{ unset object n; unset label n }}\n", object);
}

/// What the marks mean: entries of the key without data.
struct Marks {
  std::string events, shading;  ///< their names, or nothing

  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const std::string& name : {events, shading})
      if (!name.empty()) list.push_back(name);
    return list;
  }
  std::string script() const {
    std::string text;
    if (!events.empty()) text += fmt::format(", NaN with lines {} title '{}'", plot_event_line, events);
    if (!shading.empty()) text += fmt::format(", NaN with lines lw 10 lc rgb '{}' title '{}'", plot_shading, shading);
    return text;
  }
};

/// The curves of a panel with their axis and key.
void write_curves(std::string& script, const Trajectory& run, const PlotPanel& panel, double time_scale,
                  const PlotLayout& layout, double height, const std::string& marks) {
  auto out = std::back_inserter(script);
  double low = panel.curves.front().low, high = panel.curves.front().high;
  for (const PlotCurve& c : panel.curves) {
    write_data(script, c, time_scale, panel.scale);
    low = std::min(low, c.low);
    high = std::max(high, c.high);
  }
  const double ticks = tick_distance(low * panel.scale, high * panel.scale, height / (1.4 * layout.letter));
  script += "set grid lc rgb '#dddddd' lt 1\n";
  if (ticks > 0.0) {
    const double around = 0.08 * (high - low);
    fmt::format_to(out, "set yrange [{:.10g}:{:.10g}]\nset ytics {:.10g} scale 1\n", (low - around) * panel.scale,
                   (high + around) * panel.scale, ticks);
  } else {
    script += "set autoscale y\nset ytics auto scale 1\n";
  }
  fmt::format_to(out, "set ylabel {} noenhanced\nplot ", plot_text(panel_label(run, panel, layout, height)));
  for (std::size_t k = 0; k < panel.curves.size(); ++k) {
    const PlotCurve& c = panel.curves[k];
    const char* colour = plot_colours[k % plot_colours.size()];
    if (c.upper.empty())
      fmt::format_to(out, "{}$d{} with lines lw 1.8 dt {} lc rgb '{}' title {}", k ? ", " : "", c.variable,
                     plot_dashes[k % plot_dashes.size()], colour, plot_text(key_name(run, c)));
    else
      fmt::format_to(out, "{}$d{} using 1:2:3 with filledcurves fs transparent solid 0.4 noborder lc rgb '{}' title {}",
                     k ? ", " : "", c.variable, colour, plot_text(key_name(run, c)));
  }
  script += marks + "\n";
}

std::string time_plot_script(const Trajectory& run, const std::string& file, const PlotOptions& options,
                             const std::vector<std::size_t>& chosen) {
  const std::vector<PlotPanel> panels = plot_panels(run, chosen, columns);
  const std::vector<double> events = event_times(run);
  const bool lines = events.size() <= most_lines;
  const Marks marks{events.empty() ? ""
                    : lines        ? "event"
                                   : fmt::format("{} events", run.events().size()),
                    name_of_shading(run)};
  const PlotLayout layout = plot_layout(run, panels, options.size, file, marks.names());
  const bool units = std::ranges::any_of(panels, [](const PlotPanel& panel) { return !panel.unit.empty(); });
  const double low = std::min(run.t_start(), run.t_end()), high = std::max(run.t_start(), run.t_end());
  const SiPrefix time = units ? si_prefix("s", std::max(std::abs(low), std::abs(high))) : SiPrefix{"", 1.0};

  std::string script = terminal(file, layout.width, layout.height, layout.points, layout.scale) + "\n";
  auto out = std::back_inserter(script);
  fmt::format_to(out,
                 "set encoding utf8\nset key outside right top noenhanced\nset border 3\nset tics nomirror out\n"
                 "set offsets 0,0,graph 0.05,graph 0.05\nset multiplot title {} noenhanced\n",
                 plot_text(options.title));
  fmt::format_to(out, "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n", layout.left / layout.width,
                 layout.right / layout.width);
  fmt::format_to(out, "set xrange [{:.17g}:{:.17g}]\n", low * time.scale, (high > low ? high : low + 1.0) * time.scale);
  write_shading(script, run, time.scale);

  double top = layout.height - layout.above;
  for (const PlotPanel& panel : panels) {
    const bool first = &panel == &panels.front(), last = &panel == &panels.back();
    const PlotLayout::Panel& place = layout.panels[static_cast<std::size_t>(&panel - panels.data())];
    top -= place.key;
    const double bottom = top - place.height, edge = std::max(bottom + 1.0, top - ticks_height * layout.scale);
    fmt::format_to(out, "set tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n", edge / layout.height,
                   bottom / layout.height);
    if (first)
      for (const double t : events)
        fmt::format_to(out, "set arrow from {0:.10g},graph {1} to {0:.10g},graph {2} nohead {3}\n", t * time.scale,
                       lines ? 0.0 : 1.0, lines ? 1.0 : 1.0 + ticks_height / (top - bottom),
                       lines ? fmt::format("{} back", plot_event_line) : "lc rgb '#444444' lw 1 front");
    if (layout.key_above)
      fmt::format_to(out, "set key at screen {:.4f},screen {:.4f} left top horizontal Left reverse maxcols {}\n",
                     layout.left / layout.width, (top + place.key) / layout.height, place.columns);
    fmt::format_to(out, "set xlabel '{}'\nset format x '{}'\n",
                   last ? (units ? "time [" + time.unit + "]" : "time") : "", last ? "%g" : "");
    if (panel.rows)
      write_rows(script, run, panel, time.scale, layout, layout.small_points);
    else
      write_curves(script, run, panel, time.scale, layout, edge - bottom, first ? marks.script() : "");
    if (first && !lines) script += "unset arrow\n";  // ticks stand above the first panel only
    top = bottom - place.gap;
  }
  return script + "unset multiplot\n";
}

/// The end of what a program says about its errors, as one line.
std::string last_words(const std::string& errors) {
  constexpr std::size_t most = 400;
  std::string words;
  for (const char c : errors)
    if (c != '\n')
      words += c;
    else if (!words.empty() && words.back() != ' ')
      words += ' ';
  if (words.empty()) return "it has drawn nothing and says nothing";
  return words.size() > most ? "…" + words.substr(words.size() - most) : words;
}

}  // namespace

PlotSize parse_plot_size(const std::string& text) {
  if (text == "paper") return {.width = 340, .height = 0, .font = 8.0};
  if (text == "slide") return {.width = 1280, .height = 720, .font = 20.0};
  if (text == "wide") return {.width = 1400, .height = 0, .font = 0.0};
  int width = 0, height = 0, end = 0;
  if (std::sscanf(text.c_str(), "%5dx%5d%n", &width, &height, &end) != 2 || end != static_cast<int>(text.size()) ||
      width < 100 || height < 100)
    throw UsageError(
        "the size of a plot is paper, slide, wide or WIDTHxHEIGHT in pixels (at least 100), for example 1200x800; got "
        "'" +
        text + "'");
  return {.width = width, .height = height, .font = 0.0};
}

std::string plot_script(const Trajectory& run, const std::string& file, const PlotOptions& options) {
  const bool phase = !options.phase_x.empty();
  auto chosen = select_variables(run, phase ? std::vector{options.phase_x, options.phase_y} : options.variables);
  if (chosen.size() > plot_most_curves && options.variables.empty()) chosen.resize(plot_most_curves);
  if (!phase) return time_plot_script(run, file, options, chosen);
  const int height = options.size.height > 0 ? options.size.height : options.size.width * 11 / 15;
  std::string script = gnuplot_terminal(file, options.size.width, height, options.size.font) + "\n";
  script +=
      "set encoding utf8\nset grid lc rgb '#dddddd' lt 1\nset key outside right top noenhanced\n"
      "set border 3\nset tics nomirror out\n";
  return script + phase_plot_script(run, chosen[0], chosen[1], options);
}

std::string gnuplot_terminal(const std::string& file, int width, int height, double points) {
  const double usual = file.ends_with(".svg") ? 13.0 : 11.0;
  return points > 0.0 ? terminal(file, width, height, points * 96.0 / 72.0 / pixels_per_point(file), points / 11.0)
                      : terminal(file, width, height, usual, 1.0);
}

void run_gnuplot(const std::string& script, const std::string& file) {
  const ChildOutput drawn = run_program({"gnuplot"}, script);
  if (!drawn.started)
    throw UsageError("'" + file +
                     "' is not drawn: plots need the program gnuplot, which is not installed (Debian package: "
                     "gnuplot-nox)");
  if (!drawn.ended_well || drawn.out.empty())
    throw UsageError("gnuplot failed to draw '" + file + "': " + last_words(drawn.errors));
  write_atomically(file, drawn.out);
}

void write_plot(const Trajectory& run, const std::string& file, const PlotOptions& options) {
  run_gnuplot(plot_script(run, file, options), file);
}

}  // namespace saltus
