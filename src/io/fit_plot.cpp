#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/io/fit_files.hpp>

#include <algorithm>
#include <iterator>

#include "io/gnuplot.hpp"
#include "io/plot_script.hpp"

namespace saltus {

namespace {

/// What one panel shows.
struct FitPanel {
  std::string label, variable;
  std::vector<const FitResidual*> points;
};

std::vector<FitPanel> panels_of(const Fit& fit) {
  std::vector<FitPanel> panels;
  for (const FitResidual& r : fit.residuals) {
    if (r.variable.empty()) continue;
    const auto found = std::ranges::find(panels, r.label, &FitPanel::label);
    FitPanel& panel = found != panels.end() ? *found : panels.emplace_back(FitPanel{r.label, r.variable, {}});
    panel.points.push_back(&r);
  }
  if (!panels.empty() || !fit.run) return panels;
  for (const VariableInfo& v : fit.run->variables())  // only times of events were measured
    if (panels.size() < 3) panels.push_back({v.name, v.name, {}});
  return panels;
}

}  // namespace

void write_fit_plot(const Fit& fit, const std::string& file, const std::string& title, const PlotSize& size) {
  if (!fit.run) throw UsageError("there is no run to draw: the fit has failed");
  const Trajectory& run = *fit.run;
  const std::vector<FitPanel> panels = panels_of(fit);
  double last = run.t_start();
  for (const FitResidual& r : fit.residuals) last = std::max(last, r.t);
  last = std::min(last, run.t_end());
  const int height = size.height > 0 ? size.height : 90 + 230 * static_cast<int>(panels.size());
  std::string script = gnuplot_terminal(file, size.width, height, size.font);
  auto out = std::back_inserter(script);
  fmt::format_to(
      out,
      "\nset encoding utf8\nset border 3\nset tics nomirror out\nset multiplot layout {},1 "
      "title {} noenhanced\nset xrange [{:.17g}:{:.17g}]\nset key right top noenhanced\nset offsets 0, 0, graph "
      "0.05, graph 0.05\n",
      panels.size(), plot_text(title), run.t_start(), last);
  for (const FitResidual& r : fit.residuals)
    if (r.variable.empty())
      fmt::format_to(out, "set arrow from {0:.17g},graph 0 to {0:.17g},graph 1 nohead back {1}\n", r.measured,
                     plot_event_line);
  const Trajectory::Samples samples = run.sample(1000);
  for (std::size_t k = 0; k < panels.size(); ++k) {
    const FitPanel& panel = panels[k];
    const std::size_t place = run.index(panel.variable);
    fmt::format_to(out, "$model{} << EOD\n", k);
    for (std::size_t i = 0; i < samples.t.size(); ++i)
      fmt::format_to(out, "{:.10g} {:.10g}\n", samples.t[i], samples.values[i][place]);
    fmt::format_to(out, "EOD\n$data{} << EOD\n", k);
    for (const FitResidual* r : panel.points) fmt::format_to(out, "{:.10g} {:.10g}\n", r->t, r->measured);
    fmt::format_to(out, "EOD\nset ylabel {} noenhanced\n{}plot $model{} with lines lw 1.5 lc rgb '{}' title 'model'",
                   plot_text(plot_label(panel.label, run.variable(place).details->unit)),
                   k + 1 == panels.size() ? "set xlabel 'time'\n" : "", k, plot_colours[0]);
    if (!panel.points.empty())
      fmt::format_to(out, ", $data{} with points pt 7 ps 0.5 lc rgb '{}' title 'data'", k, plot_colours[1]);
    script += '\n';
  }
  script += "unset multiplot\n";
  run_gnuplot(script, file);
}

}  // namespace saltus
