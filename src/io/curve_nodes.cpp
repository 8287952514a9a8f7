// The dense output of a run is cut at its events. Each stretch between two of them is halved, at ends of steps and then
// inside of steps, until the cubic through the values and slopes of both ends agrees with the dense output at four
// points of every step. A cubic over time is a Bezier curve with control points at its thirds, which is what canvases
// draw.
#include "io/curve_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace saltus {

namespace {

constexpr int points_in_step = 4;               // intervals into which a step is cut for the comparison
constexpr std::size_t longest_stretch = 2'000;  // steps; longer ones are cut, so that memory stays small
constexpr int deepest = 12;                     // halvings of a step
constexpr int noise_in_row = 4;                 // shortest pieces side by side that a jump or a kink does not explain
constexpr double coarse_factor = 100.0;

/// Consecutive steps without an event between them.
struct Stretch {
  const Trajectory::Step* first;
  const Trajectory::Step* last;  ///< included

  double begin() const { return first->polynomial.t0; }
  double end() const { return last->t_end; }
};

std::vector<Stretch> stretches_of(const Trajectory& run) {
  std::vector<Stretch> stretches;
  const std::vector<Event>& events = run.events();
  const double direction = run.t_end() >= run.t_start() ? 1.0 : -1.0;
  std::size_t event = 0;
  for (const auto& segment : run.segments()) {
    bool fresh = true;
    for (const auto& step : segment.steps) {
      const double begin = step.polynomial.t0;
      if (step.t_end == begin) continue;
      while (event < events.size() && (events[event].t - begin) * direction < 0.0) ++event;
      const bool at_event = event < events.size() && events[event].t == begin;
      if (fresh || at_event || static_cast<std::size_t>(&step - stretches.back().first) >= longest_stretch)
        stretches.push_back({&step, &step});
      stretches.back().last = &step;
      fresh = false;
    }
  }
  return stretches;
}

/// Values of the picked variables at the ends of the steps of a stretch and at points between. Variables are named by
/// their place among those that were picked: models may have very many more.
class StretchSamples {
 public:
  StretchSamples(const Trajectory& run, const Stretch& stretch, const std::vector<std::size_t>& picked)
      : run_(run), stretch_(stretch), picked_(picked), places_(picked.begin(), picked.end()) {
    for (const auto* step = stretch.first; step <= stretch.last; ++step) {
      const double a = step->polynomial.t0, b = step->t_end;
      for (const double share : {0.0, 0.21, 0.47, 0.79}) t_.push_back(a + (b - a) * share);  // out of step with swings
    }
    t_.push_back(stretch.end());
    for (const double t : t_) values_.push_back(value(t));
    slopes_.resize(t_.size());
  }

  std::size_t size() const { return t_.size(); }
  double t(std::size_t i) const { return t_[i]; }
  double y(std::size_t i, std::size_t variable) const { return values_[i][variable]; }

  /// The derivative at a point, by differences inside of the step that begins there; at the end of the stretch inside
  /// of the last one.
  double slope(std::size_t i, std::size_t variable) {
    if (slopes_[i].empty()) {
      const bool last = i + 1 == t_.size();
      const auto* step = stretch_.first + std::min(i / points_in_step, steps() - 1);
      const double distance = (last ? -1.0 : 1.0) * (step->t_end - step->polynomial.t0) * 1e-3;
      slopes_[i] = difference(t_[i], values_[i], distance);
    }
    return slopes_[i][variable];
  }

  const std::vector<double>& inside(double t) {
    const auto [place, fresh] = inside_.try_emplace(t);
    if (fresh) place->second = value(t);
    return place->second;
  }
  double slope_inside(double t, double length, std::size_t variable) {
    const auto [place, fresh] = slopes_inside_.try_emplace(t);
    if (fresh) place->second = difference(t, inside(t), length * 1e-3);
    return place->second[variable];
  }

 private:
  std::size_t steps() const { return static_cast<std::size_t>(stretch_.last - stretch_.first) + 1; }
  std::vector<double> value(double t) const {
    const unsigned char before = t == stretch_.end();
    std::vector<double> values(picked_.size());
    run_.sample({&t, 1}, places_, values, {&before, 1});
    return values;
  }

  // (-3 y(t) + 4 y(t + d) - y(t + 2 d)) / (2 d): of second order, on one side
  std::vector<double> difference(double t, const std::vector<double>& y, double d) const {
    const std::vector<double> one = value(t + d), two = value(t + 2.0 * d);
    std::vector<double> slope(y.size());
    for (std::size_t k = 0; k < y.size(); ++k) slope[k] = (-3.0 * y[k] + 4.0 * one[k] - two[k]) / (2.0 * d);
    return slope;
  }

  const Trajectory& run_;
  Stretch stretch_;
  const std::vector<std::size_t>& picked_;
  std::vector<int> places_;
  std::vector<double> t_;
  std::vector<std::vector<double>> values_, slopes_;
  std::map<double, std::vector<double>> inside_, slopes_inside_;
};

struct CurvePoint {
  double t, y, slope;
};

double cubic(const CurvePoint& a, const CurvePoint& b, double t) {
  const double h = b.t - a.t, s = (t - a.t) / h, r = 1.0 - s;
  return a.y * r * r * (1.0 + 2.0 * s) + b.y * s * s * (3.0 - 2.0 * s) + h * s * r * (a.slope * r - b.slope * s);
}

/// The nodes of one variable, made piece after piece.
class CurveBuilder {
 public:
  CurveBuilder(std::size_t variable, double tolerance, std::size_t most)
      : variable_(variable), tolerance_(tolerance), most_(most) {}

  /// No cubics for this curve: they would be too many, or its values are rounding errors, which no cubic follows.
  bool full() const { return nodes_.size() > most_ || unfit_in_row_ >= noise_in_row; }
  std::vector<CurvePoint>& nodes() { return nodes_; }

  void add(StretchSamples& samples) {
    std::vector<std::pair<std::size_t, std::size_t>> todo = {{0, samples.size() - 1}};
    while (!todo.empty() && !full()) {
      const auto [i, j] = todo.back();
      todo.pop_back();
      const CurvePoint a = node(samples, i), b = node(samples, j);
      if (fits(samples, i, j, a, b)) {
        add_piece(a, b);
      } else if (j - i > points_in_step) {
        const std::size_t steps = (j - i) / points_in_step, middle = i + steps / 2 * points_in_step;
        todo.emplace_back(middle, j);  // the later half waits
        todo.emplace_back(i, middle);
      } else {
        refine(samples, a, b);
      }
    }
  }

 private:
  CurvePoint node(StretchSamples& samples, std::size_t i) const {
    return {samples.t(i), samples.y(i, variable_), samples.slope(i, variable_)};
  }

  bool fits(const StretchSamples& samples, std::size_t i, std::size_t j, const CurvePoint& a,
            const CurvePoint& b) const {
    for (std::size_t k = i + 1; k < j; ++k)
      if (!(std::abs(cubic(a, b, samples.t(k)) - samples.y(k, variable_)) <= tolerance_)) return false;
    return true;
  }

  // halves a step
  void refine(StretchSamples& samples, const CurvePoint& begin, const CurvePoint& end) {
    struct Piece {
      CurvePoint a, b;
      int depth;
    };
    std::vector<Piece> todo = {{begin, end, 0}};
    while (!todo.empty() && !full()) {
      const Piece piece = todo.back();
      todo.pop_back();
      const double length = piece.b.t - piece.a.t;
      bool good = piece.depth > 0;
      for (const double s : {0.19, 0.5, 0.83}) {
        if (!good) break;
        const double t = piece.a.t + s * length;
        good = std::abs(cubic(piece.a, piece.b, t) - samples.inside(t)[variable_]) <= tolerance_;
      }
      // a jump leaves one or two of the shortest pieces that do not fit
      const bool shortest = piece.depth >= deepest;
      unfit_in_row_ = good ? 0 : unfit_in_row_ + (shortest ? 1 : 0);
      if (good || shortest) {
        add_piece(piece.a, piece.b);
        continue;
      }
      const double middle = piece.a.t + 0.5 * length;
      const CurvePoint m = {middle, samples.inside(middle)[variable_], samples.slope_inside(middle, length, variable_)};
      todo.push_back({m, piece.b, piece.depth + 1});
      todo.push_back({piece.a, m, piece.depth + 1});
    }
  }

  void add_piece(const CurvePoint& a, const CurvePoint& b) {
    const bool constant = a.y == b.y && std::abs(a.slope) * std::abs(b.t - a.t) <= tolerance_ &&
                          std::abs(b.slope) * std::abs(b.t - a.t) <= tolerance_;
    if (constant && constant_ && nodes_.back().y == a.y) {  // goes on as it was
      nodes_.back().t = b.t;
      return;
    }
    constant_ = constant;
    const CurvePoint from = {a.t, a.y, constant ? 0.0 : a.slope}, to = {b.t, b.y, constant ? 0.0 : b.slope};
    const bool same = !nodes_.empty() && std::abs(nodes_.back().y - from.y) <= 1e-3 * tolerance_ &&
                      std::abs(nodes_.back().slope - from.slope) * std::abs(b.t - a.t) <= tolerance_ &&
                      std::abs(nodes_.back().slope - from.slope) * last_length_ <= tolerance_;
    if (!same) nodes_.push_back(from);
    nodes_.push_back(to);
    last_length_ = std::abs(b.t - a.t);
  }

  std::size_t variable_;
  double tolerance_, last_length_ = 0.0;
  std::size_t most_;
  bool constant_ = false;
  int unfit_in_row_ = 0;  // shortest pieces
  std::vector<CurvePoint> nodes_;
};

struct NodeRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void see(double y) {
    if (!std::isfinite(y)) return;
    low = std::min(low, y);
    high = std::max(high, y);
  }
  bool empty() const { return !(low <= high); }
  double size() const { return empty() ? 0.0 : high - low; }
  /// Too small to be told from rounding errors.
  bool flat() const { return size() <= 1e-13 * std::max(std::abs(low), std::abs(high)); }
};

/// Whether a look at all steps would take long: every value of a run is found together with those of all variables.
bool is_long(const Trajectory& run, const std::vector<Stretch>& stretches) {
  constexpr double most_values = 3e7;
  double steps = 0.0;
  for (const Stretch& stretch : stretches) steps += static_cast<double>(stretch.last - stretch.first + 1);
  return steps * static_cast<double>(run.variables().size()) > most_values;
}

/// Ends of all steps and points inside, out of step with swings. In long runs times at equal distances.
template <class See>
void look_at_steps(const Trajectory& run, const std::vector<Stretch>& stretches, See see) {
  if (is_long(run, stretches)) {
    constexpr int most_points = 1000;
    const double a = run.t_start(), b = run.t_end();
    for (int k = 0; k < most_points; ++k) see(a + (b - a) * k / most_points, run.at(a + (b - a) * k / most_points));
    return see(b, run.before(b));
  }
  for (const Stretch& stretch : stretches)
    for (const auto* step = stretch.first; step <= stretch.last; ++step) {
      const double a = step->polynomial.t0, b = step->t_end;
      for (const double share : {0.0, 0.31, 0.74}) see(a + share * (b - a), run.at(a + share * (b - a)));
      if (step == stretch.last) see(b, run.before(b));
    }
}

/// The lowest and the highest point of each of many equal intervals.
std::vector<std::vector<CurvePoint>> envelopes(const Trajectory& run, const std::vector<Stretch>& stretches,
                                               const std::vector<std::size_t>& variables, std::size_t most_nodes) {
  const std::size_t buckets = std::max<std::size_t>(most_nodes / 2, 1);
  const double span = run.t_end() - run.t_start();
  struct Extremes {
    CurvePoint low, high;
    bool used = false;
  };
  std::vector<Extremes> current(variables.size());
  std::vector<std::vector<CurvePoint>> result(variables.size());
  std::size_t bucket = 0;
  const auto flush = [&] {
    for (std::size_t k = 0; k < variables.size(); ++k) {
      if (!current[k].used) continue;
      const auto& [low, high, used] = current[k];
      const bool low_first = (low.t - high.t) * span <= 0.0;
      result[k].push_back(low_first ? low : high);
      if (low.t != high.t || low.y != high.y) result[k].push_back(low_first ? high : low);
      current[k].used = false;
    }
  };
  look_at_steps(run, stretches, [&](double t, const std::vector<double>& y) {
    const auto here =
        std::min(buckets - 1,
                 static_cast<std::size_t>(std::max(0.0, (t - run.t_start()) / span * static_cast<double>(buckets))));
    if (here != bucket) flush();
    bucket = here;
    for (std::size_t k = 0; k < variables.size(); ++k) {
      const CurvePoint node = {t, y[variables[k]], 0.0};
      if (!std::isfinite(node.y)) continue;
      if (!current[k].used) current[k] = {node, node, true};
      if (node.y < current[k].low.y) current[k].low = node;
      if (node.y > current[k].high.y) current[k].high = node;
    }
  });
  flush();
  return result;
}

CurveNodes packed(std::vector<CurvePoint> nodes, const NodeRange& range, CurveNodes::Kind kind, bool backwards) {
  CurveNodes curve;
  curve.kind = kind;
  curve.low = range.empty() ? 0.0 : range.low;
  curve.high = range.empty() ? 0.0 : range.high;
  if (backwards) std::reverse(nodes.begin(), nodes.end());
  for (const CurvePoint& node : nodes) {
    curve.t.push_back(node.t);
    curve.y.push_back(node.y);
    curve.slope.push_back(node.slope);
  }
  return curve;
}

}  // namespace

std::vector<CurveNodes> curve_nodes(const Trajectory& run, std::span<const std::size_t> variables,
                                    const CurveOptions& options) {
  std::vector<CurveNodes> curves(variables.size());
  const std::vector<Stretch> stretches = stretches_of(run);
  if (stretches.empty()) return curves;
  std::vector<NodeRange> ranges(variables.size());
  look_at_steps(run, stretches, [&](double, const std::vector<double>& y) {
    for (std::size_t k = 0; k < variables.size(); ++k) ranges[k].see(y[variables[k]]);
  });
  const std::vector<double> final = run.at(run.t_end());
  for (std::size_t k = 0; k < variables.size(); ++k) ranges[k].see(final[variables[k]]);

  const bool backwards = run.t_end() < run.t_start();
  std::vector<std::size_t> open;  // places in `variables` that have no curve yet
  for (std::size_t k = 0; k < variables.size(); ++k) {
    if (ranges[k].flat()) {
      const double y = ranges[k].empty() ? 0.0 : ranges[k].low;
      if (!ranges[k].empty())
        curves[k] =
            packed({{run.t_start(), y, 0.0}, {run.t_end(), y, 0.0}}, ranges[k], CurveNodes::Kind::cubic, backwards);
    } else {
      open.push_back(k);
    }
  }
  for (const auto kind : {CurveNodes::Kind::cubic, CurveNodes::Kind::coarse}) {
    if (open.empty() || stretches.size() > 2 * options.most_nodes || is_long(run, stretches)) break;
    const double share = options.share * (kind == CurveNodes::Kind::coarse ? coarse_factor : 1.0);
    std::vector<CurveBuilder> builders;
    std::vector<std::size_t> picked;
    for (const std::size_t k : open) {
      const double rounding = 1e-14 * std::max(std::abs(ranges[k].low), std::abs(ranges[k].high));
      picked.push_back(variables[k]);
      builders.emplace_back(builders.size(), std::max(share * ranges[k].size(), rounding), options.most_nodes);
    }
    for (const Stretch& stretch : stretches) {
      if (std::ranges::all_of(builders, &CurveBuilder::full)) break;
      StretchSamples samples(run, stretch, picked);
      for (CurveBuilder& builder : builders)
        if (!builder.full()) builder.add(samples);
    }
    std::vector<std::size_t> still_open;
    for (std::size_t n = 0; n < open.size(); ++n) {
      const std::size_t k = open[n];
      if (builders[n].full()) {
        still_open.push_back(k);
        continue;
      }
      std::vector<CurvePoint>& nodes = builders[n].nodes();
      if (const double y = final[variables[k]]; std::isfinite(y) && y != nodes.back().y)
        nodes.push_back({run.t_end(), y, 0.0});  // a jump at the end
      curves[k] = packed(std::move(nodes), ranges[k], kind, backwards);
    }
    open = std::move(still_open);
  }
  if (open.empty()) return curves;
  std::vector<std::size_t> rest;
  for (const std::size_t k : open) rest.push_back(variables[k]);
  auto nodes = envelopes(run, stretches, rest, options.most_nodes);
  for (std::size_t n = 0; n < open.size(); ++n)
    curves[open[n]] = packed(std::move(nodes[n]), ranges[open[n]], CurveNodes::Kind::envelope, backwards);
  return curves;
}

}  // namespace saltus
