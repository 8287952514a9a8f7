#include "io/plot_panels.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "io/curve_nodes.hpp"

namespace saltus {

namespace {

constexpr std::size_t most_values = 12;  // of a variable that is drawn as boxes
constexpr double different_size = 100.0;

double value_between(const CurveNodes& c, std::size_t j, double t) {  // between nodes j - 1 and j
  const double h = c.t[j] - c.t[j - 1], s = (t - c.t[j - 1]) / h, r = 1.0 - s;
  if (c.kind == CurveNodes::Kind::envelope) return c.y[j - 1] * r + c.y[j] * s;
  return c.y[j - 1] * r * r * (1.0 + 2.0 * s) + c.y[j] * s * s * (3.0 - 2.0 * s) +
         h * s * r * (c.slope[j - 1] * r - c.slope[j] * s);
}

/// Boxes of a variable that has few integer values; none for others. Those that are too short to be seen are merged.
/// `constant`: a variable that never changes is a box, too.
std::vector<PlotBox> boxes_of(const CurveNodes& c, double shortest, bool constant) {
  std::vector<PlotBox> boxes;
  std::set<double> values;
  const bool steps =
      c.kind == CurveNodes::Kind::cubic && std::ranges::all_of(c.slope, [](double m) { return m == 0.0; });
  if (!steps || (c.t.size() <= 2 && !constant)) return boxes;
  for (std::size_t j = 1; j < c.t.size(); ++j) {
    if (c.t[j] == c.t[j - 1]) continue;
    const double value = std::round(c.y[j]);
    if (std::abs(c.y[j] - value) > 1e-6) return {};
    values.insert(value);
    if (values.size() > most_values) return {};
    if (!boxes.empty() && boxes.back().value == value)
      boxes.back().to = c.t[j];
    else
      boxes.push_back({c.t[j - 1], c.t[j], value});
  }
  std::vector<PlotBox> seen;
  for (const PlotBox& box : boxes) {
    if (box.to - box.from >= shortest)
      seen.push_back(box);
    else if (!seen.empty() && seen.back().fast)
      seen.back().to = box.to;
    else
      seen.push_back({box.from, box.to, box.value, true});
  }
  // one short box alone is no fast motion
  for (PlotBox& box : seen)
    if (box.fast && box.to - box.from < shortest) box.fast = false;
  return seen;
}

/// The lowest and highest value of each column of the picture.
void make_envelope(const CurveNodes& c, std::size_t columns, PlotCurve& curve) {
  const double begin = c.t.front(), width = (c.t.back() - begin) / static_cast<double>(columns);
  std::size_t column = 0;
  double low = c.y.front(), high = low;
  const auto flush = [&] {
    curve.t.push_back(begin + width * (static_cast<double>(column) + 0.5));
    curve.y.push_back(low);
    curve.upper.push_back(high);
  };
  for (std::size_t j = 1; j < c.t.size(); ++j) {
    const auto here = width > 0.0 ? std::min(columns - 1, static_cast<std::size_t>((c.t[j] - begin) / width)) : 0;
    if (here != column) {
      flush();
      column = here;
      low = high = c.y[j];
    }
    const double middle = c.t[j] > c.t[j - 1] ? value_between(c, j, 0.5 * (c.t[j] + c.t[j - 1])) : c.y[j];
    low = std::min({low, c.y[j], middle});
    high = std::max({high, c.y[j], middle});
  }
  flush();
  // a band that is thin everywhere is a line
  double widest = 0.0;
  for (std::size_t k = 0; k < curve.t.size(); ++k) widest = std::max(widest, curve.upper[k] - curve.y[k]);
  if (widest > 0.02 * (c.high - c.low)) return;
  for (std::size_t k = 0; k < curve.t.size(); ++k) curve.y[k] = 0.5 * (curve.y[k] + curve.upper[k]);
  curve.upper.clear();
}

/// How often a curve turns back by more than a tenth of its range.
std::size_t swings(const CurveNodes& c) {
  const double enough = 0.1 * (c.high - c.low);
  std::size_t count = 0;
  double extreme = c.y.front();  // since the last turn
  int direction = 0;             // not known yet
  for (const double y : c.y) {
    if ((direction > 0 && y > extreme) || (direction < 0 && y < extreme)) {
      extreme = y;
    } else if (std::abs(y - extreme) > enough) {
      direction = y > extreme ? 1 : -1;
      extreme = y;
      ++count;
    }
  }
  return count;
}

PlotCurve curve_of(const CurveNodes& c, std::size_t variable, std::size_t columns, VariableType type) {
  PlotCurve curve{.variable = variable, .t = {}, .y = {}, .low = c.low, .high = c.high};
  if (c.t.empty()) return curve;
  const double span = c.t.back() - c.t.front();
  const bool named = type == VariableType::boolean || type == VariableType::enumeration;
  curve.boxes = boxes_of(c, span / static_cast<double>(columns) * 1.5, named);
  if (!curve.boxes.empty()) return curve;
  if (c.kind == CurveNodes::Kind::envelope || swings(c) > columns / 3) {
    make_envelope(c, columns, curve);
    return curve;
  }
  for (std::size_t j = 0; j < c.t.size(); ++j) {
    const bool jump = j > 0 && c.t[j] == c.t[j - 1];
    if (j > 0 && !jump) {  // points between, two for each column of the picture
      const double h = c.t[j] - c.t[j - 1];
      const auto more = static_cast<std::size_t>(2.0 * h / span * static_cast<double>(columns));
      for (std::size_t k = 1; k <= more; ++k) {
        const double t = c.t[j - 1] + h * static_cast<double>(k) / static_cast<double>(more + 1);
        curve.t.push_back(t);
        curve.y.push_back(value_between(c, j, t));
        curve.jumps.push_back(false);
      }
    }
    curve.t.push_back(c.t[j]);
    curve.y.push_back(c.y[j]);
    curve.jumps.push_back(jump && c.y[j] != c.y[j - 1]);
  }
  return curve;
}

bool takes_prefix(const std::string& unit) {
  static const std::set<std::string> units = {"m", "s", "A", "V",   "W", "J", "N",  "Pa",  "Hz",
                                              "F", "H", "C", "Ohm", "S", "T", "Wb", "N.m", "mol"};
  return units.contains(unit);
}

}  // namespace

SiPrefix si_prefix(const std::string& unit, double size) {
  if (!takes_prefix(unit) || !std::isfinite(size) || size <= 0.0 || (size >= 0.1 && size < 2e4)) return {unit, 1.0};
  static constexpr struct {
    const char* name;
    int exponent;
  } prefixes[] = {{"G", 9}, {"M", 6}, {"k", 3}, {"m", -3}, {"µ", -6}, {"n", -9}, {"p", -12}};
  for (const auto& prefix : prefixes) {
    const double scaled = size * std::pow(10.0, -prefix.exponent);
    if (scaled >= 1.0 && scaled < 1000.0) return {prefix.name + unit, std::pow(10.0, -prefix.exponent)};
  }
  return {unit, 1.0};
}

PlotCurve plot_curve(const Trajectory& run, std::size_t variable, std::size_t columns) {
  const std::vector<std::size_t> one = {variable};
  return curve_of(curve_nodes(run, one, {}).front(), variable, columns, run.variable(variable).details->type);
}

std::vector<PlotPanel> plot_panels(const Trajectory& run, const std::vector<std::size_t>& chosen, std::size_t columns) {
  const auto nodes = curve_nodes(run, chosen, {});
  std::vector<PlotPanel> panels;
  PlotPanel rows;
  rows.rows = true;
  const auto size_of = [](const PlotCurve& c) { return std::max(std::abs(c.low), std::abs(c.high)); };
  for (std::size_t n = 0; n < chosen.size(); ++n) {
    PlotCurve curve = curve_of(nodes[n], chosen[n], columns, run.variable(chosen[n]).details->type);
    if (!curve.boxes.empty()) {
      rows.curves.push_back(std::move(curve));
      continue;
    }
    const std::string unit = run.variable(chosen[n]).details->unit;
    const auto fits = [&](const PlotPanel& panel) {
      if (panel.unit != unit) return false;
      if (!unit.empty()) return true;
      const double a = size_of(curve), b = size_of(panel.curves.front());
      return a == 0.0 || b == 0.0 || (a < different_size * b && b < different_size * a);
    };
    auto panel = std::ranges::find_if(panels, fits);
    if (panel == panels.end())
      panel = panels.insert(panels.end(), PlotPanel{.curves = {}, .rows = false, .unit = unit});
    panel->curves.push_back(std::move(curve));
  }
  for (PlotPanel& panel : panels) {
    double size = 0.0;
    for (const PlotCurve& curve : panel.curves) size = std::max(size, size_of(curve));
    const SiPrefix prefix = si_prefix(panel.unit, size);
    panel.unit = prefix.unit;
    panel.scale = prefix.scale;
  }
  if (!rows.curves.empty()) panels.push_back(std::move(rows));
  return panels;
}

}  // namespace saltus
