#include "hybrid/input_course.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "base/finite.hpp"

namespace saltus {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Rows of a table. Rows between which nothing changes are no pieces of their own.
class TableCourse final : public InputCourse {
 public:
  TableCourse(const InputSignal::Data& table, const CourseSetup& setup) : direction_(setup.direction) {
    const std::vector<double>&t = table.times, &v = table.values;
    const bool steps = setup.degree == 0 || table.between == InputSignal::Between::steps;
    const std::size_t width = static_cast<std::size_t>(setup.degree) + 1;
    const auto add = [&](double begin, double since, double value, double slope) {
      if (!pieces_.empty() && slope == 0.0 && pieces_.back().c == constant(value, width)) return;
      InputPiece piece{.since = since, .c = constant(value, width)};
      if (slope != 0.0) piece.c[1] = slope;
      begins_.push_back(begin);
      pieces_.push_back(std::move(piece));
    };
    add(-infinity, t.front(), v.front(), 0.0);
    for (std::size_t k = 0; k < t.size(); ++k) {
      const bool last = k + 1 == t.size();
      if (!last && t[k + 1] == t[k]) continue;  // the first row of a jump ends the line before
      const double slope = last || steps ? 0.0 : (v[k + 1] - v[k]) / (t[k + 1] - t[k]);
      if (!std::isfinite(slope))
        throw UsageError(
            fmt::format("the input '{}' rises too steeply from t = {} to {}; write two rows with one time "
                        "for a jump",
                        setup.name, t[k], t[k + 1]));
      add(t[k], t[k], v[k], slope);
    }
  }

  InputPiece from(double t) override {
    // forward, a piece begins at its first time; backward it ends there
    const auto found = direction_ > 0 ? std::upper_bound(begins_.begin(), begins_.end(), t)
                                      : std::lower_bound(begins_.begin(), begins_.end(), t);
    const auto place = static_cast<std::size_t>(std::max<std::ptrdiff_t>(found - begins_.begin(), 1)) - 1;
    InputPiece piece = pieces_[place];
    if (direction_ > 0)
      piece.end = place + 1 < begins_.size() ? begins_[place + 1] : infinity;
    else
      piece.end = begins_[place];
    return piece;
  }

 private:
  static std::vector<double> constant(double value, std::size_t width) {
    std::vector<double> c(width, 0.0);
    c[0] = value;
    return c;
  }

  int direction_;
  std::vector<double> begins_;
  std::vector<InputPiece> pieces_;
};

/// Polynomials through the values of a function at the Chebyshev points of the second kind: neighbours share a value.
/// Their lengths follow from the errors that they have between these points. They begin at the origin of the run, so a
/// run that goes on from a saved state has the same ones.
class FunctionCourse final : public InputCourse {
 public:
  FunctionCourse(const InputSignal::Data& data, CourseSetup setup)
      : data_(data), setup_(std::move(setup)), end_(setup_.origin) {
    const double span = std::abs(setup_.stop - setup_.origin);
    longest_ = std::min(setup_.max_step, span / 64.0);
    length_ = longest_;
    if (longest_ == 0.0) end_piece(setup_.origin);  // a run of no length
  }

  InputPiece from(double t) override {
    while (pieces_.empty() || !ahead(pieces_.back().end, t)) extend();
    // ends increase in the direction of the run: the first one that lies behind t
    const auto found =
        std::find_if(pieces_.rbegin(), pieces_.rend(), [&](const InputPiece& p) { return !ahead(p.end, t); });
    return *found.base();
  }

 private:
  static constexpr int degree = 5;
  static constexpr std::size_t count = degree + 1;
  using Values = std::array<double, count>;

  bool ahead(double a, double b) const { return (a - b) * setup_.direction > 0.0; }

  double value(double t) const {
    const double u = data_.function(t);
    if (!std::isfinite(u))
      throw UsageError(fmt::format("the function of the input '{}' gives {} at t = {:.12g}", setup_.name, u, t));
    return u;
  }

  bool is_break(double t) const { return std::binary_search(data_.breaks.begin(), data_.breaks.end(), t); }
  /// The first break behind a time, or an infinite one.
  double next_break(double t) const {
    const auto& b = data_.breaks;
    if (setup_.direction > 0) {
      const auto it = std::upper_bound(b.begin(), b.end(), t);
      return it == b.end() ? infinity : *it;
    }
    const auto it = std::lower_bound(b.begin(), b.end(), t);
    return it == b.begin() ? -infinity : *(it - 1);
  }

  /// The function jumps at the end of the run: its value there, without asking beyond.
  void end_piece(double t) {
    const double beyond = t + setup_.direction * 16.0 * eps * std::max(std::abs(t), 1e-300);
    InputPiece piece{.since = t, .c = std::vector<double>(count, 0.0), .end = setup_.direction * infinity};
    piece.c[0] = value(is_break(t) ? beyond : t);
    pieces_.push_back(std::move(piece));
  }

  void extend() {
    const double begin = end_;
    if (!ahead(setup_.stop, begin)) return end_piece(begin);
    double limit = setup_.stop;
    if (const double next = next_break(begin); ahead(limit, next)) limit = next;
    for (double h = std::min(length_, longest_);; h *= 0.5) {
      double end = begin + setup_.direction * h;
      const double rest = std::abs(limit - end);
      if (ahead(end, limit) || rest < 0.25 * h) end = limit;  // no tiny piece at the end
      InputPiece piece;
      if (fit(begin, end, piece)) {
        length_ = 2.0 * h;
        end_ = end;
        // at the stop nothing changes any more, unless there is a break
        piece.end = end == setup_.stop && !is_break(end) ? setup_.direction * infinity : end;
        return pieces_.push_back(std::move(piece));
      }
      if (h < 1e-9 * std::abs(setup_.stop - setup_.origin) || h < 64.0 * eps * std::abs(begin))
        throw UsageError(
            fmt::format("the function of the input '{}' jumps near t = {:.12g}; list the time among its "
                        "breaks",
                        setup_.name, begin));
    }
  }

  /// True if the polynomial is near enough.
  bool fit(double begin, double end, InputPiece& piece) const {
    const double middle = 0.5 * (begin + end), half = 0.5 * (end - begin);
    const double inset = 16.0 * eps * std::max(std::abs(begin), std::abs(end));
    const auto at = [&](double s) {  // -1 … 1; at breaks the side of the piece counts
      double t = s == -1.0 ? begin : s == 1.0 ? end : middle + half * s;
      if (s == -1.0 && is_break(begin)) t += setup_.direction * inset;
      if (s == 1.0 && is_break(end)) t -= setup_.direction * inset;
      return value(t);
    };
    Values s{}, d{};
    double size = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      s[k] = k == 0 ? -1.0 : k == degree ? 1.0 : -std::cos(std::numbers::pi * static_cast<double>(k) / degree);
      d[k] = at(s[k]);
      size = std::max(size, std::abs(d[k]));
    }
    for (std::size_t level = 1; level < count; ++level)  // divided differences
      for (std::size_t k = count - 1; k >= level; --k) d[k] = (d[k] - d[k - 1]) / (s[k] - s[k - level]);
    Values c{};  // from Newton's form to powers of s
    for (std::size_t k = count; k-- > 0;) {
      for (std::size_t i = count - 1; i > 0; --i) c[i] = c[i - 1] - s[k] * c[i];
      c[0] = d[k] - s[k] * c[0];
    }
    const double error = std::max(0.01 * (setup_.atol + setup_.rtol * size), 64.0 * eps * size);
    for (std::size_t k = 0; k < degree; ++k) {
      const double place = 0.5 * (s[k] + s[k + 1]);
      double u = c[degree];
      for (std::size_t i = degree; i-- > 0;) u = c[i] + place * u;
      if (!(std::abs(u - at(place)) <= error)) return false;
    }
    piece.since = middle;
    piece.c.resize(count);
    double scale = 1.0;
    for (std::size_t i = 0; i < count; ++i, scale *= half) piece.c[i] = c[i] / scale;
    return true;
  }

  const InputSignal::Data& data_;
  CourseSetup setup_;
  double end_;                           // of the last piece
  double length_ = 0.0, longest_ = 0.0;  // of the next piece, at most
  std::vector<InputPiece> pieces_;
};

}  // namespace

std::unique_ptr<InputCourse> InputCourse::make(const InputSignal& signal, const CourseSetup& setup) {
  if (!signal.data().function) return std::make_unique<TableCourse>(signal.data(), setup);
  if (setup.degree < 5)
    throw UsageError(
        fmt::format("the input '{}' follows {} only, and is given a function; declare it with "
                    "InputCurve::smooth, or give a table",
                    setup.name, setup.degree == 0 ? "steps" : "straight lines"));
  return std::make_unique<FunctionCourse>(signal.data(), setup);
}

}  // namespace saltus
