#include <fmt/format.h>
#include <saltus/io/plot.hpp>
#include <saltus/io/result_files.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

namespace saltus {

namespace {

constexpr std::size_t most_curves = 8;
// one colour-blind friendly palette and one dash pattern per curve, so that prints in grey can be read too
constexpr const char* colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F"};
constexpr int dashes[] = {1, 2, 4, 5, 3, 6, 7, 8};

// Single quotes: gnuplot neither expands nor executes anything inside them.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') result += '\'';
    result += c == '\n' ? ' ' : c;
  }
  return result + "'";
}

std::string terminal(const std::string& file, int panels) {
  const int height = 140 + 260 * panels;
  if (file.ends_with(".svg")) return fmt::format("set terminal svg size 900,{} font 'DejaVu Sans,13' background '#ffffff'", height);
  if (file.ends_with(".png")) return fmt::format("set terminal pngcairo size 900,{} font 'DejaVu Sans,11'", height);
  if (file.ends_with(".pdf")) return "set terminal pdfcairo size 18cm,11cm font 'DejaVu Sans,11'";
  throw UsageError("plot: '" + file + "' must end in .svg, .png or .pdf");
}

/// Data block of one curve. At an event the line is broken where the variable jumps.
void write_data(std::string& script, const std::string& name, const Trajectory::Samples& s, std::size_t x, std::size_t y,
                bool over_time) {
  fmt::format_to(std::back_inserter(script), "${} << EOD\n", name);
  for (std::size_t k = 0; k < s.t.size(); ++k) {
    const double a = over_time ? s.t[k] : s.values[k][x], b = s.values[k][y];
    const bool event = k > 0 && s.t[k] == s.t[k - 1];
    if (event && (s.values[k][y] != s.values[k - 1][y] || (!over_time && s.values[k][x] != s.values[k - 1][x]))) script += "\n";
    if (std::isfinite(a) && std::isfinite(b))
      fmt::format_to(std::back_inserter(script), "{:.10g} {:.10g}\n", a, b);
    else
      script += "\n";
  }
  script += "EOD\n";
}

bool on_surfaces(const Trajectory::Segment& segment) { return segment.mode.on_surfaces() && !segment.steps.empty(); }

/// The parts of the curve on which the solution slides or is in contact.
void write_sliding(std::string& script, const Trajectory& run, const Trajectory::Samples& s, std::size_t x, std::size_t y) {
  script += "$sliding << EOD\n";
  for (const auto& segment : run.segments()) {
    if (!on_surfaces(segment)) continue;
    const double begin = segment.steps.front().polynomial.t0, end = segment.steps.back().t_end;
    for (std::size_t k = 0; k < s.t.size(); ++k) {
      if (s.t[k] < std::min(begin, end) || s.t[k] > std::max(begin, end)) continue;
      if (s.t[k] == begin && k + 1 < s.t.size() && s.t[k + 1] == begin) continue;  // what held before the slide
      if (s.t[k] == end && k > 0 && s.t[k - 1] == end) continue;                   // what held after it
      fmt::format_to(std::back_inserter(script), "{:.10g} {:.10g}\n", s.values[k][x], s.values[k][y]);
    }
    script += "\n";
  }
  script += "EOD\n";
}

/// What shaded parts are called in the key; empty if there are none.
std::string name_of_shading(const Trajectory& run) {
  bool sliding = false, contact = false;
  for (const auto& segment : run.segments()) {
    sliding = sliding || (on_surfaces(segment) && !segment.mode.sliding.empty());
    contact = contact || (on_surfaces(segment) && !segment.mode.contacts.empty());
  }
  return std::string(sliding ? "sliding" : "") + (sliding && contact ? ", " : "") + (contact ? "contact" : "");
}

std::string label(const VariableInfo& v) { return v.details->unit.empty() ? v.name : v.name + " [" + v.details->unit + "]"; }

/// The names of a panel's curves and their unit, as far as there is room.
std::string panel_label(const Trajectory& run, const std::vector<std::size_t>& columns) {
  const std::string& unit = run.variables()[columns.front()].details->unit;
  std::string text;
  for (const std::size_t c : columns) text += (text.empty() ? "" : ", ") + run.variables()[c].name;
  if (text.size() > 24) text.clear();
  if (!unit.empty()) text += (text.empty() ? "[" : " [") + unit + "]";
  return text;
}

constexpr const char* event_line = "lc rgb '#444444' lw 1 dt 3";
constexpr const char* sliding_colour = "#d8d8d8";

std::string phase_plot(const Trajectory& run, const Trajectory::Samples& samples, std::size_t x, std::size_t y,
                       const std::string& title) {
  std::string script;
  auto out = std::back_inserter(script);
  write_data(script, "curve", samples, x, y, false);
  write_sliding(script, run, samples, x, y);
  fmt::format_to(out, "$start << EOD\n{:.10g} {:.10g}\nEOD\n", samples.values.front()[x], samples.values.front()[y]);
  script += "$events << EOD\n";
  for (const Event& e : run.events()) fmt::format_to(out, "{:.10g} {:.10g}\n", e.after[x], e.after[y]);
  script += "EOD\n";
  fmt::format_to(out, "set title {} noenhanced\nset xlabel {} noenhanced\nset ylabel {} noenhanced\n", quoted(title),
                 quoted(label(run.variables()[x])), quoted(label(run.variables()[y])));
  if (const auto& unit = run.variables()[x].details->unit; unit == "m" && unit == run.variables()[y].details->unit) script += "set size ratio -1\n";
  const std::string shading = name_of_shading(run);
  fmt::format_to(out, "plot {0}$curve with lines lw 1.6 lc rgb '{1}' notitle, "
                      "$start with points pt 5 ps 0.9 lc rgb '{1}' title 'start'",
                 shading.empty() ? "" : fmt::format("$sliding with lines lw 7 lc rgb '{}' title '{}', ", sliding_colour, shading), colours[0]);
  if (!run.events().empty()) script += ", $events with points pt 6 ps 0.9 lw 1.4 lc rgb '#000000' title 'event'";
  return script + "\n";
}

}  // namespace

std::string plot_script(const Trajectory& run, const std::string& file, const PlotOptions& options) {
  const bool phase = !options.phase_x.empty();
  auto chosen = select_variables(run, phase ? std::vector{options.phase_x, options.phase_y} : options.variables);
  if (chosen.size() > most_curves && options.variables.empty()) chosen.resize(most_curves);
  const auto samples = run.sample(options.intervals);
  std::vector<std::vector<std::size_t>> panels;  // one per unit, in the order of the variables
  const std::string shading = name_of_shading(run);
  std::size_t longest = std::max<std::size_t>(5, shading.size());  // letters of the longest name in the key, which has "event", too
  bool units = false;
  for (const std::size_t c : chosen) {
    const std::string& unit = run.variables()[c].details->unit;
    const auto same = [&](const auto& panel) { return run.variables()[panel.front()].details->unit == unit; };
    const auto panel = std::find_if(panels.begin(), panels.end(), same);
    if (panel == panels.end()) panels.push_back({c});
    else panel->push_back(c);
    longest = std::max(longest, run.variables()[c].name.size());
    units = units || !unit.empty();
  }

  std::string script = terminal(file, phase ? 2 : static_cast<int>(panels.size())) + "\n";
  auto out = std::back_inserter(script);
  fmt::format_to(out, "set output {}\nset encoding utf8\nset grid lc rgb '#dddddd' lt 1\nset key outside right top noenhanced\n", quoted(file));
  fmt::format_to(out, "set border 3\nset tics nomirror out\nset offsets 0,0,graph 0.05,graph 0.05\n");
  if (phase) return script + phase_plot(run, samples, chosen[0], chosen[1], options.title);

  fmt::format_to(out, "set multiplot layout {},1 title {} noenhanced\nset lmargin 13\nset rmargin {}\n", panels.size(),
                 quoted(options.title), std::min<std::size_t>(longest, 40) + 8);
  const double low = std::min(run.t_start(), run.t_end()), high = std::max(run.t_start(), run.t_end());
  fmt::format_to(out, "set xrange [{:.17g}:{:.17g}]\n", low, high > low ? high : low + 1.0);
  constexpr std::size_t most_marks = 400;
  std::size_t shaded = 0;
  for (const auto& segment : run.segments()) {
    if (!on_surfaces(segment) || ++shaded > most_marks) continue;
    fmt::format_to(out, "set object rectangle from {:.10g},graph 0 to {:.10g},graph 1 fc rgb '{}' fs solid noborder behind\n",
                   segment.steps.front().polynomial.t0, segment.steps.back().t_end, sliding_colour);
  }
  const bool marks = !run.events().empty() && run.events().size() <= most_marks;
  if (marks)
    for (const Event& e : run.events())
      fmt::format_to(out, "set arrow from {0:.10g},graph 0 to {0:.10g},graph 1 nohead {1} back\n", e.t, event_line);
  for (const auto& columns : panels) {
    for (const std::size_t c : columns) write_data(script, fmt::format("d{}", c), samples, c, c, true);
    const bool last = &columns == &panels.back();
    fmt::format_to(out, "set ylabel {} noenhanced\nset xlabel '{}'\nset format x '{}'\nplot ", quoted(panel_label(run, columns)),
                   last ? (units ? "time [s]" : "time") : "", last ? "%g" : "");
    for (std::size_t k = 0; k < columns.size(); ++k)
      fmt::format_to(out, "{}$d{} with lines lw 1.8 dt {} lc rgb '{}' title {}", k ? ", " : "", columns[k],
                     dashes[k % std::size(dashes)], colours[k % std::size(colours)], quoted(run.variables()[columns[k]].name));
    if (&columns == &panels.front()) {  // what the marks mean: entries of the key without data
      if (marks) fmt::format_to(out, ", NaN with lines {} title 'event'", event_line);
      if (shaded > 0) fmt::format_to(out, ", NaN with lines lw 10 lc rgb '{}' title '{}'", sliding_colour, shading);
    }
    script += "\n";
  }
  script += "unset multiplot\n";
  return script;
}

void write_plot(const Trajectory& run, const std::string& file, const PlotOptions& options) {
  const std::string script = plot_script(run, file, options);
  const auto close = [](std::FILE* p) { return p ? pclose(p) : -1; };
  if (std::system("command -v gnuplot >/dev/null 2>&1") != 0)
    throw UsageError("plots need the program gnuplot, which is not installed (Debian package: gnuplot-nox)");
  // gnuplot would draw on its standard output instead of telling that it cannot write the file
  if (!std::ofstream(file, std::ios::app)) throw UsageError("cannot write to '" + file + "'");
  std::FILE* pipe = popen("gnuplot >/dev/null 2>&1", "w");
  if (!pipe) throw UsageError("gnuplot cannot be started");
  const bool written = std::fwrite(script.data(), 1, script.size(), pipe) == script.size();
  if (close(pipe) != 0 || !written) throw UsageError("gnuplot failed to draw '" + file + "'");
}

}  // namespace saltus
