#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/base/names.hpp>
#include <saltus/io/cycle_files.hpp>

#include <algorithm>
#include <iterator>

#include "io/gnuplot.hpp"
#include "io/plot_script.hpp"

namespace saltus {

namespace {

double drawn_value(const BranchPoint& point, std::size_t variable, BranchValue value) {
  switch (value) {
    case BranchValue::start:
      return point.start[variable];
    case BranchValue::lowest:
      return point.lowest[variable];
    case BranchValue::highest:
      return point.highest[variable];
  }
  return 0.0;
}

}  // namespace

void write_branch_plot(const Branch& branch, const std::string& file, const BranchPlotOptions& options) {
  if (branch.points.empty()) throw UsageError("there is no branch to draw: " + branch.message);
  const std::string name = options.variable.empty() ? branch.variables.front() : options.variable;
  const NameTable names(branch.variables);
  const auto found = names.find(name);
  if (!found) throw UsageError(fmt::format("'{}' is no variable of the state of the cycle{}", name, names.hint(name)));
  const std::size_t variable = *found;
  const int height = options.size.height > 0 ? options.size.height : options.size.width * 2 / 3;
  std::string script = gnuplot_terminal(file, options.size.width, height, options.size.font);
  auto out = std::back_inserter(script);
  const std::string label = options.value == BranchValue::start    ? name + " at the begin"
                            : options.value == BranchValue::lowest ? "lowest " + name
                                                                   : "highest " + name;
  fmt::format_to(out,
                 "\nset encoding utf8\nset border 3\nset tics nomirror out\nset title {} noenhanced\nset "
                 "xlabel {} noenhanced\nset ylabel {} noenhanced\nset key below noenhanced\nset offsets graph "
                 "0.03, graph 0.03, graph 0.05, graph 0.05\n",
                 plot_text(options.title), plot_text(branch.parameter), plot_text(label));
  // a part begins with the last point of the other kind, so that there are no gaps
  for (const bool stable : {true, false}) {
    fmt::format_to(out, "${} << EOD\n", stable ? "stable" : "unstable");
    for (std::size_t k = 0; k < branch.points.size(); ++k) {
      const BranchPoint& point = branch.points[k];
      const bool neighbour = !stable && ((k > 0 && !branch.points[k - 1].stable) ||
                                         (k + 1 < branch.points.size() && !branch.points[k + 1].stable));
      if (point.stable == stable || neighbour)
        fmt::format_to(out, "{:.10g} {:.10g}\n", point.parameter, drawn_value(point, variable, options.value));
      else
        script += "\n";
    }
    script += "EOD\n";
  }
  std::string curves = fmt::format(
      "$stable with lines lw 2 lc rgb '{}' title 'stable', $unstable with lines lw 2 dt 2 lc rgb '{}' title "
      "'unstable'",
      plot_colours[0], plot_colours[1]);
  for (std::size_t k = 0; k < branch.bifurcations.size(); ++k) {
    const Bifurcation& b = branch.bifurcations[k];
    fmt::format_to(out, "$b{} << EOD\n{:.10g} {:.10g}\nEOD\n", k, b.point.parameter,
                   drawn_value(b.point, variable, options.value));
    curves += fmt::format(", $b{} with points pt {} ps 1.3 lc rgb '#000000' title {}", k, k % 6 + 4,
                          plot_text(fmt::format("{} at {:.6g}", to_string(b.kind), b.point.parameter)));
  }
  script += "plot " + curves + "\n";
  run_gnuplot(script, file);
}

}  // namespace saltus
