#include "optimise/extrema.hpp"

#include <saltus/event/bernstein.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace saltus {

namespace {

/// A Chebyshev polynomial on an interval, from values at inner points.
class ChebyshevPiece {
 public:
  static constexpr int most = Bernstein::max_degree + 1;

  /// Reads the variable at `count` points.
  ChebyshevPiece(const Trajectory& run, int variable, int sign, double from, double to, int count)
      : from_(from), to_(to), count_(count) {
    std::array<double, most> t{}, y{};
    for (int k = 0; k < count; ++k)
      t[static_cast<std::size_t>(count - 1 - k)] =
          0.5 * (from + to) + 0.5 * (to - from) * std::cos(std::numbers::pi * (k + 0.5) / count);
    const auto points = static_cast<std::size_t>(count);
    const int variables[1] = {variable};
    run.sample(std::span(t).first(points), variables, std::span(y).first(points));
    for (int j = 0; j < count; ++j) {
      double sum = 0.0;
      for (int k = 0; k < count; ++k)
        sum += y[static_cast<std::size_t>(count - 1 - k)] * std::cos(std::numbers::pi * j * (k + 0.5) / count);
      a_[static_cast<std::size_t>(j)] = sign * (j == 0 ? 1.0 : 2.0) * sum / count;
    }
    for (std::size_t k = 0; k < points; ++k) size_ = std::max(size_, std::abs(y[k]));
  }

  /// Whether the last two numbers are next to nothing.
  bool resolved() const {
    constexpr double enough = 1e-9;  // of the largest value: far below the tolerance of conditions
    return std::abs(a(count_ - 1)) + std::abs(a(count_ - 2)) <= enough * std::max(size_, least());
  }
  double value(double t) const {
    const double s = (2.0 * t - from_ - to_) / (to_ - from_);
    double b1 = 0.0, b2 = 0.0;
    for (int j = count_; j-- > 1;) {
      const double b = a(j) + 2.0 * s * b1 - b2;
      b2 = b1;
      b1 = b;
    }
    return a(0) + s * b1 - b2;
  }
  /// Numbers of the derivative by the relative place from -1 to 1.
  std::vector<double> derivative() const {
    std::vector<double> d(static_cast<std::size_t>(count_ + 1), 0.0);
    for (int j = count_ - 1; j >= 1; --j)
      d[static_cast<std::size_t>(j - 1)] = (j + 1 < count_ ? d[static_cast<std::size_t>(j + 1)] : 0.0) + 2.0 * j * a(j);
    d[0] *= 0.5;
    d.resize(static_cast<std::size_t>(count_ - 1));
    return d;
  }
  double slope(double t) const {
    const std::vector<double> d = derivative();
    const double s = (2.0 * t - from_ - to_) / (to_ - from_);
    double sum = 0.0, before = 1.0, now = s;
    for (std::size_t j = 0; j < d.size(); ++j) {
      sum += d[j] * (j == 0 ? 1.0 : now);
      if (j == 0) continue;
      const double next = 2.0 * s * now - before;
      before = now;
      now = next;
    }
    return 2.0 * sum / (to_ - from_);
  }
  /// Places at which the derivative changes its sign or touches zero.
  std::vector<double> stationary() const {
    const std::vector<double> d = derivative();
    double size = 0.0;
    for (const double c : d) size += std::abs(c);
    constexpr double rounding = 1e-13;
    RootCells cells;
    isolate_roots(Bernstein::from_chebyshev(d, rounding * size), cells);
    const Bernstein p = Bernstein::from_chebyshev(d, rounding * size);
    std::vector<double> result;
    for (const RootCell& cell : cells) {
      double unused = 0.0;
      const bool single = cell.kind == RootKind::simple || cell.kind == RootKind::odd;
      const double s = single ? root_in(p, cell, unused) : 0.5 * (cell.low + cell.high);
      result.push_back(from_ + s * (to_ - from_));
    }
    return result;
  }

 private:
  double a(int j) const { return a_[static_cast<std::size_t>(j)]; }
  static double least() { return std::numeric_limits<double>::min(); }
  double from_, to_;
  int count_;
  double size_ = 0.0;
  std::array<double, most> a_{};
};

/// Follows the largest value over pieces of a run.
class Search {
 public:
  Search(const Trajectory& run, int variable, int sign) : run_(run), variable_(variable), sign_(sign) {
    best_.value = -std::numeric_limits<double>::infinity();
  }

  /// `left`, `right`: whether the ends are events or borders.
  void piece(double from, double to, bool left, bool right, int depth = 0) {
    constexpr int few = 9, deepest = 12;
    ChebyshevPiece p(run_, variable_, sign_, from, to, few);
    if (!p.resolved()) p = ChebyshevPiece(run_, variable_, sign_, from, to, ChebyshevPiece::most);
    if (!p.resolved() && depth < deepest) {
      const double middle = 0.5 * (from + to);
      piece(from, middle, left, false, depth + 1);
      piece(middle, to, false, right, depth + 1);
      return;
    }
    if (!p.resolved()) resolved_ = false;
    take(p, from, left ? Extremum::At::right : Extremum::At::inside);
    take(p, to, right ? Extremum::At::left : Extremum::At::inside);
    for (const double t : p.stationary()) take(p, t, Extremum::At::inside);
  }

  Extremum best() const {
    Extremum result = best_;
    result.resolved = resolved_;
    return result;
  }

 private:
  void take(const ChebyshevPiece& p, double t, Extremum::At at) {
    const double value = p.value(t);
    if (value <= best_.value) return;
    best_ = {.t = t, .value = value, .slope = at == Extremum::At::inside ? 0.0 : sign_ * p.slope(t), .at = at};
  }

  const Trajectory& run_;
  int variable_, sign_;
  Extremum best_;
  bool resolved_ = true;
};

}  // namespace

Extremum largest(const Trajectory& run, std::size_t variable, int sign, double from, double to) {
  struct Border {
    double t;
    bool event;
  };
  std::vector<Border> borders{{from, true}, {to, true}};
  for (const Trajectory::Segment& segment : run.segments())
    for (const Trajectory::Step& step : segment.steps)
      if (step.t_end > from && step.t_end < to) borders.push_back({step.t_end, false});
  for (const Event& event : run.events())
    if (event.t > from && event.t < to) borders.push_back({event.t, true});
  std::ranges::stable_sort(borders, {}, &Border::t);
  Search search(run, static_cast<int>(variable), sign);
  // what lies closer together is one instant
  const double shortest = instant_share * std::max({std::abs(from), std::abs(to), to - from});
  Border last = borders.front();
  for (const Border& border : borders) {
    if (border.t - last.t <= shortest) {
      if (border.event && !last.event) last.t = border.t;
      last.event = last.event || border.event;
      continue;
    }
    search.piece(last.t, border.t, last.event, border.event);
    last = border;
  }
  return search.best();
}

}  // namespace saltus
