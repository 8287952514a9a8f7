// The filter is that of R. Fletcher and S. Leyffer (Nonlinear programming without a penalty function, Mathematical
// Programming 91, 2002); elastic subproblems are always feasible, so that a row without derivatives does no harm.
#include "optimise/search.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace saltus {

namespace {

using Vector = Eigen::VectorXd;
using Mat = Eigen::MatrixXd;

/// An evaluation in scaled variables z = x / scale.
struct Point {
  Evaluation e;
  Vector z, g;
  Mat A;
};

/// A step that was tried.
struct Trial {
  std::optional<Point> point;
  Vector d;
  double fall = 0.0;  ///< of the objective, as the model has it
  std::string step;
};

class FilterSearch {
 public:
  FilterSearch(Problem& problem, const SearchOptions& options) : p_(problem), o_(options), small_(0.1 * o_.tolerance) {
    low_ = p_.lower.cwiseQuotient(p_.scale);
    high_ = p_.upper.cwiseQuotient(p_.scale);
    width_ = Vector::Constant(p_.n(), wide_);
    for (Eigen::Index k = 0; k < p_.n(); ++k)
      if (std::isfinite(high_[k] - low_[k])) width_[k] = std::min(high_[k] - low_[k], wide_);
  }

  SearchEnd from(const Vector& x) {
    end_.why = SearchEnd::Why::no_run;
    if (!begin(x)) return std::move(end_);
    while (iterate()) {
    }
    end_.multipliers *= objective_unit_;
    return std::move(end_);
  }

 private:
  using Why = SearchEnd::Why;

  bool stop(Why why, std::string kink = "") {
    end_.why = why;
    // of two feasible points the one where the search ended, not one that gains by what is violated
    if ((why == Why::stationary || why == Why::at_kink) && now_.e.v <= o_.tolerance) {
      end_.best = now_.e;
      measure(*end_.best, 1.0 / objective_unit_);
    }
    end_.kink = std::move(kink);
    return false;
  }
  Vector inside(const Vector& z) const { return z.cwiseMax(low_).cwiseMin(high_); }

  std::optional<Point> evaluate(const Vector& z) {
    if (p_.runs >= o_.last_run) {
      spent_ = true;
      return std::nullopt;
    }
    const Vector x = inside(z).cwiseProduct(p_.scale).cwiseMax(p_.lower).cwiseMin(p_.upper);
    auto e = p_.evaluate(x);
    if (p_.cancelled()) cancelled_ = true;
    if (!e) return std::nullopt;
    if (!end_.best || better(*e, *end_.best, o_.tolerance)) end_.best = *e;
    Point point{.e = std::move(*e), .z = inside(z)};
    measure(point.e, objective_unit_);
    point.g = point.e.g.cwiseProduct(p_.scale);
    point.A = point.e.A * p_.scale.asDiagonal();
    return point;
  }

  /// Counts the objective in other units, so that one of any size is near one.
  static void measure(Evaluation& e, double unit) {
    e.f /= unit;
    e.g /= unit;
    e.squares /= unit;
  }

  bool begin(const Vector& x) {
    Vector z = inside(x.cwiseQuotient(p_.scale));
    std::mt19937_64 random(7);
    constexpr int tries = 5;
    auto first = evaluate(z);
    for (int k = 0; k < tries && !first && !spent_ && !cancelled_; ++k) {
      for (Eigen::Index i = 0; i < p_.n(); ++i) z[i] += 1e-3 * width_[i] * uniform(random);
      first = evaluate(z = inside(z));
    }
    if (!first) return stop(cancelled_ ? Why::interrupted : Why::no_run);
    now_ = std::move(*first);
    const double size = std::max(std::abs(now_.e.f), now_.g.cwiseAbs().maxCoeff());
    if (size > 0.0) {
      objective_unit_ = size;
      measure(now_.e, size);
      now_.g /= size;
    }
    most_violation_ = 100.0 * std::max(1.0, now_.e.v);
    radius_ = first_radius_ = 1.0;
    curvature_ = fresh_curvature();
    return true;
  }

  static double uniform(std::mt19937_64& random) {
    return 2.0 * static_cast<double>(random() >> 11) / 9007199254740992.0 - 1.0;
  }

  Mat squares(const Point& at) const { return p_.scale.asDiagonal() * at.e.squares * p_.scale.asDiagonal(); }
  /// What is guessed beside the squares.
  Mat fresh_curvature() const {
    const double size = now_.g.cwiseAbs().maxCoeff() / first_radius_;
    const bool none = o_.exact || (!p_.transcript().squares().empty() && updates_ == 0 && resets_ == 0);
    return Mat::Identity(p_.n(), p_.n()) * (none ? 0.0 : std::max(1e-6, size));
  }
  Mat hessian() const {
    return squares(now_) + curvature_ +
           1e-9 * std::max(1.0, now_.g.cwiseAbs().maxCoeff()) * Mat::Identity(p_.n(), p_.n());
  }

  LinearPiece moved(const Point& from) const {
    const Vector d = now_.z - from.z;
    LinearPiece piece{.f = from.e.f + from.g.dot(d), .g = from.g, .c = from.e.c, .A = from.A};
    if (p_.m() > 0) piece.c += from.A * d;
    return piece;
  }

  ElasticStep solve_step(std::vector<LinearPiece> pieces, const Mat& B, double radius,
                         const std::vector<std::size_t>& order = {}) const {
    ElasticProgramme q{.B = B, .pieces = std::move(pieces), .row_low = p_.row_low, .row_high = p_.row_high};
    q.penalty = penalty_;
    q.low = (low_ - now_.z).cwiseMax(-radius).cwiseMin(0.0);
    q.high = (high_ - now_.z).cwiseMin(radius).cwiseMax(0.0);
    // a variable at both of its bounds needs some room in the interior-point method
    for (Eigen::Index k = 0; k < p_.n(); ++k)
      if (!(q.high[k] > q.low[k])) q.high[k] = q.low[k] + 1e-15;
    if (!order.empty()) {
      const Eigen::Index m = p_.m(), more = static_cast<Eigen::Index>(order.size());
      q.row_low.conservativeResize(m + more);
      q.row_high.conservativeResize(m + more);
      LinearPiece& piece = q.pieces.front();
      piece.c.conservativeResize(m + more);
      piece.A.conservativeResize(m + more, p_.n());
      for (Eigen::Index i = 0; i < more; ++i) {
        const OrderRow& row = now_.e.order[order[static_cast<std::size_t>(i)]];
        const double size = 1.0 / run_length();
        q.row_low[m + i] = -unbounded;
        q.row_high[m + i] = 0.0;
        piece.c[m + i] = size * row.value;
        piece.A.row(m + i) = size * row.rate.cwiseProduct(p_.scale).transpose();
      }
    }
    return solve(q);
  }
  double run_length() const {
    const SimulateOptions& s = p_.transcript().simulate();
    return s.stop - s.start;
  }

  /// Rows of the order of events that a step breaks.
  std::vector<std::size_t> broken(const Vector& d) const {
    std::vector<std::size_t> result;
    if (!o_.keeps_order) return result;
    for (std::size_t k = 0; k < now_.e.order.size(); ++k) {
      const OrderRow& row = now_.e.order[k];
      if (row.value + row.rate.cwiseProduct(p_.scale).dot(d) > 1e-10 * run_length()) result.push_back(k);
    }
    return result;
  }
  Vector within_piece(const Mat& B, std::vector<std::size_t> rows) const {
    constexpr int tries = 3;  // a step that is held here may break the order elsewhere
    Vector d;
    for (int k = 0; k < tries; ++k) {
      d = solve_step({moved(now_)}, B, radius_, rows).d;
      std::vector<std::size_t> more = rows;
      for (const std::size_t r : broken(d))
        if (std::ranges::find(more, r) == more.end()) more.push_back(r);
      if (more.size() == rows.size()) break;
      rows = std::move(more);
    }
    return d;
  }

  double fall(const Vector& d, const Mat& B) const { return -(now_.g.dot(d) + 0.5 * d.dot(B * d)); }
  double violation_along(const Vector& d) const {
    if (p_.m() == 0) return 0.0;
    return violation_of(now_.e.c + now_.A * d, p_.row_low, p_.row_high);
  }
  double counted(const Evaluation& e) const { return std::max(e.v - small_, 0.0); }

  bool passes(const Evaluation& t, std::pair<double, double> present) const {
    if (t.v > most_violation_) return false;
    const auto dominated = [&](const std::pair<double, double>& entry) {
      return counted(t) > 0.999 * entry.first && t.f > entry.second - 1e-5 * counted(t) - 1e-15;
    };
    return !dominated(present) && std::ranges::none_of(filter_, dominated);
  }
  bool accept(const Evaluation& t, double promised) {
    const double v = counted(now_.e);
    if (!passes(t, {v, now_.e.f})) return false;
    if (promised > 0.0 && promised > 1e-4 * v * v && v < 1e-2) {  // a step for the objective
      return now_.e.f - t.f >= 1e-4 * promised ||
             (v > 0.0 && counted(t) <= 0.5 * v && promised < 1e-8 * (1.0 + std::abs(now_.e.f)));
    }
    filter_.emplace_back(v, now_.e.f);
    return true;
  }

  bool iterate() {
    ++end_.iterations;
    if (spent_) return stop(Why::budget);
    if (cancelled_) return stop(Why::interrupted);
    penalty_ = 1e3 * std::max(1.0, now_.g.cwiseAbs().maxCoeff());
    const Mat B = hessian();
    const ElasticStep free = solve_step({moved(now_)}, B, radius_);
    end_.multipliers = free.multipliers;
    const std::vector<std::size_t> out = broken(free.d);
    const Vector held = out.empty() ? free.d : within_piece(B, out);
    const double promised = fall(held, B), scale = 1.0 + std::abs(now_.e.f);
    constexpr double negligible = 1e-9;
    if (now_.e.v <= o_.tolerance && promised <= negligible * scale && violation_along(held) <= o_.tolerance)
      return out.empty() ? stationary() : look_across(free.d, held, out);
    if (is_infeasible(free.d)) return stop(Why::infeasible);
    if (radius_ < 1e-9 * first_radius_ || free.d.cwiseAbs().maxCoeff() < 1e-13) return sample_gradients(B);
    Trial trial = try_steps(B, free, held, out);
    if (spent_ || cancelled_) return stop(cancelled_ ? Why::interrupted : Why::budget);
    if (!trial.point) {
      radius_ = std::min(0.3 * radius_, 0.5 * free.d.cwiseAbs().maxCoeff());
      return report("");
    }
    return take(std::move(trial), B);
  }

  bool report(const std::string& step) {
    const OptimiseIteration i{.runs = p_.runs,
                              .objective = now_.e.f * objective_unit_,
                              .violation = now_.e.v,
                              .radius = radius_,
                              .events = now_.e.events,
                              .step = step};
    if (o_.progress && !o_.progress(i)) return stop(Why::interrupted);
    return true;
  }

  bool is_infeasible(const Vector& d) const {
    return now_.e.v > o_.tolerance && now_.e.v - violation_along(d) < 1e-3 * now_.e.v &&
           radius_ > 1e-6 * first_radius_ && d.cwiseAbs().maxCoeff() < 0.9 * radius_;
  }

  /// The objective may have become so small that its first size says nothing about what is negligible.
  bool count_anew() {
    constexpr double small = 1e-2;
    constexpr int most = 5;
    const double size = std::max(std::abs(now_.e.f), now_.g.cwiseAbs().maxCoeff());
    if (size >= small || size == 0.0 || units_ >= most) return false;
    ++units_;
    objective_unit_ *= size;
    measure(now_.e, size);
    now_.g /= size;
    curvature_ /= size;
    filter_.clear();
    others_.clear();
    return true;
  }

  /// A small promise may only mean a large guess of second derivatives: the linear model is asked.
  bool stationary() {
    if (count_anew()) return true;
    const double tiny = 1e-3 * first_radius_;
    constexpr int most_resets = 4;
    const Mat flat = 1e-9 * Mat::Identity(p_.n(), p_.n());
    const Vector d = solve_step({moved(now_)}, flat, tiny).d;
    if (-now_.g.dot(d) / tiny > 1e-4 * (1.0 + std::abs(now_.e.f)) / first_radius_ && resets_ < most_resets &&
        !o_.exact) {
      ++resets_;
      updates_ = 0;
      curvature_ = fresh_curvature();
      radius_ = std::max(radius_, tiny);
      return true;
    }
    return stop(Why::stationary);
  }

  /// Stationary within its piece: is there a better point behind the border?
  bool look_across(const Vector& free, const Vector& held, const std::vector<std::size_t>& out) {
    const double scale = 1.0 + std::abs(now_.e.f);
    for (const double share : {1.0, 0.1, 0.01, 0.001}) {
      auto t = evaluate(inside(now_.z + held + share * (free - held)));
      if (spent_ || cancelled_) return stop(cancelled_ ? Why::interrupted : Why::budget);
      if (t && t->e.f + 100.0 * scale * counted(t->e) < now_.e.f + 100.0 * scale * counted(now_.e) - 1e-7 * scale) {
        now_ = std::move(*t);
        return report("across");
      }
    }
    return stop(Why::at_kink, now_.e.order[out.front()].what);
  }

  Trial try_steps(const Mat& B, const ElasticStep& free, const Vector& held, const std::vector<std::size_t>& out) {
    Trial trial;
    const auto try_out = [&](const Vector& d, double promised, const char* step) {
      if (trial.point || d.cwiseAbs().maxCoeff() < 1e-12) return std::optional<Point>();
      auto t = evaluate(inside(now_.z + d));
      if (t && accept(t->e, promised)) trial = {.point = t, .d = d, .fall = promised, .step = step};
      return t;
    };
    const double free_size = free.d.cwiseAbs().maxCoeff(), held_size = held.cwiseAbs().maxCoeff();
    if (!out.empty() && held_size > 1e-9 * first_radius_) {
      const auto t = try_out(held, fall(held, B), "inside");
      if (trial.point && held_size < 0.05 * free_size) {  // held at the border
        auto beyond = evaluate(inside(now_.z + free.d));
        if (beyond && beyond->e.v <= std::max(t->e.v, o_.tolerance) && beyond->e.f < t->e.f)
          trial = {.point = std::move(beyond), .d = free.d, .fall = fall(free.d, B), .step = "plain"};
      }
    }
    if (trial.point) return trial;
    const double promised = fall(free.d, B);
    const auto t = try_out(free.d, promised, "plain");
    if (trial.point || !t) return trial;
    if (p_.m() > 0 && t->e.v > now_.e.v) {  // second-order correction
      LinearPiece piece = moved(now_);
      piece.c = t->e.c - now_.A * free.d;
      const Vector d = solve_step({piece}, B, radius_).d;
      if ((d - free.d).cwiseAbs().maxCoeff() > 1e-12) try_out(d, promised, "corrected");
    }
    if (!trial.point && t->e.piece != now_.e.piece) use_other_side(*t, B, free.d, trial);
    return trial;
  }

  void use_other_side(const Point& t, const Mat& B, const Vector& tried, Trial& trial) {
    std::erase_if(others_, [&](const Point& p) { return (p.z - now_.z).cwiseAbs().maxCoeff() >= 4.0 * radius_; });
    if (others_.size() > 2) others_.erase(others_.begin(), others_.end() - 2);
    others_.push_back(t);
    for (const bool both : {false, true}) {
      std::vector<LinearPiece> pieces;
      if (both) {
        pieces.push_back(moved(now_));
        for (const Point& p : others_) pieces.push_back(moved(p));
      } else {
        pieces.push_back(moved(t));
      }
      const Vector d = solve_step(pieces, B, radius_).d;
      if ((d - tried).cwiseAbs().maxCoeff() < 1e-12) continue;
      auto found = evaluate(inside(now_.z + d));
      double worst = pieces[0].f + pieces[0].g.dot(d);
      for (const LinearPiece& piece : pieces) worst = std::max(worst, piece.f + piece.g.dot(d));
      const double gain = std::max(now_.e.f - worst, 0.0);
      if (!found || !accept(found->e, gain)) continue;
      trial = {.point = std::move(found), .d = d, .fall = gain, .step = both ? "both sides" : "other side"};
      return;
    }
  }

  bool take(Trial trial, const Mat& B) {
    Point& t = *trial.point;
    if (t.e.piece == now_.e.piece && (trial.step == "plain" || trial.step == "corrected" || trial.step == "inside"))
      learn(t, B);
    const bool good =
        (trial.fall <= 0.0 || now_.e.f - t.e.f >= 0.5 * trial.fall) && t.e.v <= std::max(now_.e.v, o_.tolerance);
    const bool idle = std::abs(now_.e.f - t.e.f) < 1e-9 * (1.0 + std::abs(now_.e.f)) && t.e.v <= o_.tolerance &&
                      now_.e.v <= o_.tolerance;
    quiet_ = idle ? quiet_ + 1 : 0;
    now_ = std::move(t);
    if (good && trial.d.cwiseAbs().maxCoeff() > 0.8 * radius_) radius_ = std::min(2.0 * radius_, 10.0 * first_radius_);
    if (!report(trial.step)) return false;
    constexpr int patience = 8;
    return quiet_ < patience || stop(Why::no_progress);
  }

  /// Damped BFGS, within a piece, for what the squares leave.
  void learn(const Point& t, const Mat& B) {
    if (o_.exact) return;
    Vector y = t.g - now_.g;
    if (p_.m() > 0) {
      Vector multipliers = end_.multipliers;
      for (double& value : multipliers)
        if (std::abs(value) >= 0.9 * penalty_) value = 0.0;
      y += (t.A - now_.A).transpose() * multipliers;
    }
    const Vector s = t.z - now_.z;
    y -= squares(t) * s;
    const double ss = s.squaredNorm();
    if (!(ss > 0.0)) return;
    if (updates_ == 0 && y.dot(s) > 0.0 && p_.transcript().squares().empty())
      curvature_ = Mat::Identity(p_.n(), p_.n()) * std::clamp(y.squaredNorm() / y.dot(s), 1e-6, 1e8);
    if (updates_ == 0 && !p_.transcript().squares().empty())
      curvature_ = Mat::Identity(p_.n(), p_.n()) * std::max(1e-12 * B.diagonal().maxCoeff(), std::abs(y.dot(s)) / ss);
    const Vector Bs = curvature_ * s;
    const double sBs = s.dot(Bs), sy = s.dot(y);
    if (!(sBs > 0.0)) return;
    const double theta = sy >= 0.2 * sBs ? 1.0 : 0.8 * sBs / (sBs - sy);
    const Vector r = theta * y + (1.0 - theta) * Bs;
    if (!(s.dot(r) > 0.0)) return;
    curvature_ += r * r.transpose() / s.dot(r) - Bs * Bs.transpose() / sBs;
    ++updates_;
  }

  /// The trust region has shrunk to nothing: points nearby show the other pieces.
  bool sample_gradients(const Mat& B) {
    constexpr int most = 2;
    if (sampled_ >= most) return shrunk();
    ++sampled_;
    radius_ = 1e-4 * first_radius_;
    std::mt19937_64 random(static_cast<std::uint64_t>(11 + sampled_));
    constexpr Eigen::Index points = 4;
    for (Eigen::Index k = 0; k < std::min(points, p_.n() + 1); ++k) {
      Vector z = now_.z;
      for (Eigen::Index i = 0; i < p_.n(); ++i) z[i] += radius_ * uniform(random);
      if (auto p = evaluate(inside(z))) others_.push_back(std::move(*p));
    }
    const auto merit = [&](const Evaluation& e) { return e.f + penalty_ * e.v; };
    while (radius_ > 1e-7 * first_radius_ && !spent_ && !cancelled_) {
      std::vector<LinearPiece> pieces{moved(now_)};
      for (std::size_t k = others_.size() > 5 ? others_.size() - 5 : 0; k < others_.size(); ++k)
        pieces.push_back(moved(others_[k]));
      const ElasticStep step = solve_step(pieces, B, radius_);
      auto t = evaluate(inside(now_.z + step.d));
      if (t && merit(t->e) < merit(now_.e) - 1e-4 * std::max(merit(now_.e) - step.model, 0.0) - 1e-13) {
        now_ = std::move(*t);
        radius_ = std::max(radius_, 1e-4 * first_radius_);
        return report("sampled");
      }
      radius_ *= 0.2;
    }
    if (spent_ || cancelled_) return stop(cancelled_ ? Why::interrupted : Why::budget);
    return shrunk();
  }
  bool shrunk() {
    std::string what = now_.e.order.empty() ? "" : nearest_order();
    return stop(Why::no_step, std::move(what));
  }
  /// The two events that are closest together.
  std::string nearest_order() const {
    const auto nearest = std::ranges::max_element(now_.e.order, {}, &OrderRow::value);
    return nearest->what;
  }

  static constexpr double wide_ = 10.0;
  Problem& p_;
  const SearchOptions& o_;
  double small_;  // violations below it count as none
  Vector low_, high_, width_;
  Point now_;
  Mat curvature_;
  std::vector<Point> others_;
  std::vector<std::pair<double, double>> filter_;
  double objective_unit_ = 1.0;
  double radius_ = 1.0, first_radius_ = 1.0, penalty_ = 1.0, most_violation_ = 0.0;
  int units_ = 0, updates_ = 0, resets_ = 0, sampled_ = 0, quiet_ = 0;
  bool spent_ = false, cancelled_ = false;
  SearchEnd end_;
};

}  // namespace

bool better(const Evaluation& a, const Evaluation& b, double tolerance) {
  const double va = std::max(a.v, tolerance), vb = std::max(b.v, tolerance);
  return va != vb ? va < vb : a.f < b.f;
}

SearchEnd search(Problem& problem, const Vector& from, const SearchOptions& options) {
  return FilterSearch(problem, options).from(from);
}

}  // namespace saltus
