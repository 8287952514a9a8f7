#include <fmt/format.h>
#include <saltus/io/plot.hpp>
#include <saltus/io/result_files.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
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

std::string label(const VariableInfo& v) { return v.unit.empty() ? v.name : v.name + " [" + v.unit + "]"; }

}  // namespace

std::string plot_script(const Trajectory& run, const std::string& file, const PlotOptions& options) {
  const bool phase = !options.phase_x.empty();
  auto chosen = select_variables(run, phase ? std::vector{options.phase_x, options.phase_y} : options.variables);
  if (chosen.size() > most_curves && options.variables.empty()) chosen.resize(most_curves);
  const auto samples = run.sample(options.intervals);
  std::map<std::string, std::vector<std::size_t>> panels;  // by unit
  if (!phase)
    for (const std::size_t c : chosen) panels[run.variables()[c].unit].push_back(c);

  std::string script = terminal(file, phase ? 2 : static_cast<int>(panels.size())) + "\n";
  auto out = std::back_inserter(script);
  fmt::format_to(out, "set output {}\nset encoding utf8\nset grid lc rgb '#dddddd' lt 1\nset key outside right top noenhanced\n", quoted(file));
  fmt::format_to(out, "set border 3\nset tics nomirror out\n");
  const std::string title = options.title.empty() ? "" : options.title;
  if (phase) {
    write_data(script, "curve", samples, chosen[0], chosen[1], false);
    script += "$events << EOD\n";
    for (const Event& e : run.events()) fmt::format_to(out, "{:.10g} {:.10g}\n", e.after[chosen[0]], e.after[chosen[1]]);
    script += "EOD\n";
    fmt::format_to(out, "set title {} noenhanced\nset xlabel {} noenhanced\nset ylabel {} noenhanced\n", quoted(title),
                   quoted(label(run.variables()[chosen[0]])), quoted(label(run.variables()[chosen[1]])));
    fmt::format_to(out, "plot $curve with lines lw 1.6 lc rgb '{}' notitle", colours[0]);
    if (!run.events().empty()) fmt::format_to(out, ", $events with points pt 7 ps 0.5 lc rgb '{}' title 'events'", colours[1]);
    script += "\n";
    return script;
  }
  fmt::format_to(out, "set multiplot layout {},1 title {} noenhanced\n", panels.size(), quoted(title));
  const double low = std::min(run.t_start(), run.t_end()), high = std::max(run.t_start(), run.t_end());
  fmt::format_to(out, "set xrange [{:.17g}:{:.17g}]\n", low, high > low ? high : low + 1.0);
  std::size_t shaded = 0;
  for (const auto& segment : run.segments()) {
    if (!segment.mode.on_surfaces() || segment.steps.empty() || ++shaded > 400) continue;
    fmt::format_to(out, "set object rectangle from {:.10g},graph 0 to {:.10g},graph 1 fc rgb '#e8e8e8' fs solid noborder behind\n",
                   segment.steps.front().polynomial.t0, segment.steps.back().t_end);
  }
  constexpr std::size_t most_marks = 400;
  if (run.events().size() <= most_marks)
    for (const Event& e : run.events())
      fmt::format_to(out, "set arrow from {0:.10g},graph 0 to {0:.10g},graph 1 nohead lc rgb '#999999' lw 0.7 dt 3 back\n", e.t);
  std::size_t curve = 0, panel = 0;
  for (const auto& [unit, columns] : panels) {
    for (const std::size_t c : columns) write_data(script, fmt::format("d{}", c), samples, c, c, true);
    fmt::format_to(out, "set ylabel {} noenhanced\n", quoted(unit.empty() ? (columns.size() == 1 ? run.variables()[columns[0]].name : "") : "[" + unit + "]"));
    fmt::format_to(out, "set xlabel '{}'\nplot ", ++panel == panels.size() ? "time" : "");
    for (std::size_t k = 0; k < columns.size(); ++k, ++curve)
      fmt::format_to(out, "{}$d{} with lines lw 1.8 dt {} lc rgb '{}' title {}", k ? ", " : "", columns[k],
                     dashes[curve % std::size(dashes)], colours[curve % std::size(colours)],
                     quoted(run.variables()[columns[k]].name));
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
