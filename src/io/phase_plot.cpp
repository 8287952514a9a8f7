#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "io/curve_nodes.hpp"
#include "io/plot_panels.hpp"
#include "io/plot_script.hpp"

namespace saltus {

namespace {

constexpr std::size_t most_points = 6'000, most_dots = 400;

struct Point {
  double t, x, y;
  bool jump;  ///< reached by a jump
};

/// Two variables at a time.
std::array<double, 2> point_of(const Trajectory& run, double t, std::size_t x, std::size_t y, bool left = false) {
  const std::array<int, 2> places = {static_cast<int>(x), static_cast<int>(y)};
  const unsigned char before = left;
  std::array<double, 2> point;
  run.sample({&t, 1}, places, point, {&before, 1});
  return point;
}

/// Points along the path, dense enough for smooth lines.
std::vector<Point> path_of(const Trajectory& run, std::size_t x, std::size_t y) {
  std::vector<Point> path;
  std::vector<double> times;
  const std::vector<std::size_t> both = {x, y};
  for (const CurveNodes& c : curve_nodes(run, both, {.most_nodes = most_points}))
    for (const double t : c.t) times.push_back(t);
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  if (times.empty()) return path;
  const auto add = [&](double t, const std::array<double, 2>& point, bool jump) {
    if (std::isfinite(point[0]) && std::isfinite(point[1])) path.push_back({t, point[0], point[1], jump});
  };
  const bool backwards = run.t_end() < run.t_start();
  if (backwards) std::ranges::reverse(times);
  const std::size_t fine = std::clamp<std::size_t>(most_points / times.size(), 1, 60);
  add(times.front(), point_of(run, times.front(), x, y), false);
  for (std::size_t k = 1; k < times.size(); ++k) {
    for (std::size_t n = 1; n < fine; ++n) {
      const double t = times[k - 1] + (times[k] - times[k - 1]) * static_cast<double>(n) / static_cast<double>(fine);
      add(t, point_of(run, t, x, y), false);
    }
    const auto before = point_of(run, times[k], x, y, true), after = point_of(run, times[k], x, y);
    add(times[k], before, false);
    if (before != after) add(times[k], after, true);
  }
  return path;
}

struct PathRange {
  double low, high;
  double size() const { return high - low; }
};
PathRange range_of(const std::vector<Point>& path, double Point::*member) {
  PathRange range{path.front().*member, path.front().*member};
  for (const Point& p : path) {
    range.low = std::min(range.low, p.*member);
    range.high = std::max(range.high, p.*member);
  }
  const double margin = range.size() > 0.0 ? 0.06 * range.size() : std::max(std::abs(range.low), 1.0) * 0.5;
  return {range.low - margin, range.high + margin};
}

/// Heads of arrows at equal lengths along the path, in the units of the picture.
std::string arrows(const std::vector<Point>& path, const PathRange& x, const PathRange& y) {
  std::vector<double> length(path.size(), 0.0);
  const auto distance = [&](const Point& a, const Point& b) {
    return std::hypot((b.x - a.x) / x.size(), (b.y - a.y) / y.size());
  };
  for (std::size_t k = 1; k < path.size(); ++k)
    length[k] = length[k - 1] + (path[k].jump ? 0.0 : distance(path[k - 1], path[k]));
  const double total = length.back();
  if (total < 0.05) return {};
  const auto count = static_cast<std::size_t>(std::clamp(total / 0.5, 1.0, 8.0));
  std::string script;
  std::size_t k = 1;
  for (std::size_t n = 0; n < count; ++n) {
    const double wanted = total * (static_cast<double>(n) + 0.5) / static_cast<double>(count);
    while (k + 1 < path.size() && length[k] < wanted) ++k;
    std::size_t j = k;
    while (j > 0 && !path[j].jump && length[k] - length[j] < 0.01) --j;
    if (distance(path[j], path[k]) < 1e-4) continue;
    fmt::format_to(
        std::back_inserter(script),
        "set arrow from {:.10g},{:.10g} to {:.10g},{:.10g} head filled size screen 0.018,20,60 fixed lc rgb '{}' "
        "lw 1.6 front\n",
        path[j].x, path[j].y, path[k].x, path[k].y, plot_colours[0]);
  }
  return script;
}

/// Surfaces that are straight lines in the plane: guards that depend on the two variables alone.
std::string surfaces(const Trajectory& run, HybridSystem& system, std::size_t x, std::size_t y, const PathRange& xs,
                     const PathRange& ys) {
  std::map<std::string, std::size_t> place;  // of a variable of the systems among those that are observed
  for (std::size_t k = 0; k < run.variables().size(); ++k) place[run.variables()[k].name] = k;
  std::set<std::string> seen;
  std::string script;
  std::size_t looked = 0;
  for (const auto& segment : run.segments()) {
    if (segment.steps.empty() || ++looked > 64) continue;
    System& smooth = system.system(run.mode(segment));
    for (const LinearGuard& g : smooth.linear_guards()) {
      double a = 0.0, b = 0.0;
      bool here =
          g.time == 0.0 && g.guard < static_cast<int>(system.guards().size());  // others are weights, not surfaces
      for (std::size_t k = 0; k < g.variables.size() && here; ++k) {
        const auto found = place.find(smooth.variable_name(g.variables[k]));
        if (found != place.end() && found->second == x)
          a += g.coefficients[k];
        else if (found != place.end() && found->second == y)
          b += g.coefficients[k];
        else
          here = g.coefficients[k] == 0.0;
      }
      if (!here || (a == 0.0 && b == 0.0)) continue;
      // a x + b y + c = 0, between the sides of the picture
      const double c = g.constant;
      double from_x = xs.low, from_y = ys.low, to_x = xs.high, to_y = ys.high;
      if (std::abs(b) * ys.size() > std::abs(a) * xs.size()) {
        from_y = -(c + a * xs.low) / b;
        to_y = -(c + a * xs.high) / b;
      } else {
        from_x = -(c + b * ys.low) / a;
        to_x = -(c + b * ys.high) / a;
      }
      if (!std::isfinite(from_x + from_y + to_x + to_y)) continue;
      const std::string line = fmt::format("{:.9g} {:.9g}\n{:.9g} {:.9g}\n\n", from_x, from_y, to_x, to_y);
      if (seen.insert(line).second) script += line;
    }
  }
  return script;
}

/// The parts of the path on which the solution slides or is in contact.
std::string shaded_path(const Trajectory& run, const std::vector<Point>& path) {
  std::string script;
  for (const auto& segment : run.segments()) {
    if (!on_surfaces(segment)) continue;
    const double begin = segment.steps.front().polynomial.t0, end = segment.steps.back().t_end;
    const double low = std::min(begin, end), high = std::max(begin, end);
    for (std::size_t k = 0; k < path.size(); ++k) {
      if (path[k].t < low || path[k].t > high) continue;
      if (path[k].t == begin && k + 1 < path.size() && path[k + 1].t == begin) continue;  // what held before
      if (path[k].t == end && path[k].jump) continue;                                     // what held after
      fmt::format_to(std::back_inserter(script), "{:.10g} {:.10g}\n", path[k].x, path[k].y);
    }
    script += "\n";
  }
  return script;
}

}  // namespace

std::string phase_plot_script(const Trajectory& run, std::size_t x, std::size_t y, const PlotOptions& options) {
  std::string script;
  auto out = std::back_inserter(script);
  std::vector<Point> path = path_of(run, x, y);
  if (path.empty()) throw UsageError("the run has no values that could be drawn");
  const auto label = [&](std::size_t k) {
    return plot_text(plot_label(run.variable(k).name, run.variable(k).details->unit));
  };
  const PathRange xs = range_of(path, &Point::x), ys = range_of(path, &Point::y);
  const std::string shading = name_of_shading(run),
                    lines = options.system ? surfaces(run, *options.system, x, y, xs, ys) : "";
  script += "$curve << EOD\n";
  for (const Point& p : path) fmt::format_to(out, "{}{:.10g} {:.10g}\n", p.jump ? "\n" : "", p.x, p.y);
  script += "EOD\n$sliding << EOD\n" + shaded_path(run, path) + "EOD\n$surfaces << EOD\n" + lines + "EOD\n";
  fmt::format_to(out, "$start << EOD\n{:.10g} {:.10g}\nEOD\n$end << EOD\n{:.10g} {:.10g}\nEOD\n$events << EOD\n",
                 path.front().x, path.front().y, path.back().x, path.back().y);
  const std::size_t every = run.events().size() / most_dots + 1;
  for (std::size_t k = 0; k < run.events().size(); k += every) {
    const std::array<double, 2> point = point_of(run, run.events()[k].t, x, y);
    if (std::isfinite(point[0]) && std::isfinite(point[1]))
      fmt::format_to(out, "{:.10g} {:.10g}\n", point[0], point[1]);
  }
  script += "EOD\n";
  fmt::format_to(out, "set title {} noenhanced\nset xlabel {} noenhanced\nset ylabel {} noenhanced\n",
                 plot_text(options.title), label(x), label(y));
  fmt::format_to(out, "set xrange [{:.10g}:{:.10g}]\nset yrange [{:.10g}:{:.10g}]\n", xs.low, xs.high, ys.low, ys.high);
  const std::string unit = run.variable(x).details->unit;
  if (unit == "m" && unit == run.variable(y).details->unit) script += "set size ratio -1\n";
  script += arrows(path, xs, ys) + "plot ";
  if (!lines.empty()) script += "$surfaces with lines lw 1.2 dt 2 lc rgb '#8a6a00' title 'surface', ";
  if (!shading.empty()) fmt::format_to(out, "$sliding with lines lw 7 lc rgb '{}' title '{}', ", plot_shading, shading);
  fmt::format_to(
      out,
      "$curve with lines lw 1.6 lc rgb '{0}' notitle, $start with points pt 6 ps 1.1 lw 2 lc rgb '{0}' title 'start', "
      "$end with points pt 7 ps 1.1 lc rgb '{0}' title 'end'",
      plot_colours[0]);
  if (!run.events().empty()) {
    const std::string title = every > 1 ? fmt::format("event (every {}th)", every) : "event";
    fmt::format_to(out, ", $events with points pt 7 ps 0.5 lc rgb '#000000' title '{}'", title);
  }
  return script + "\n";
}

}  // namespace saltus
