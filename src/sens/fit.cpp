// Least squares by the method of Levenberg and Marquardt as in MINPACK (J. Moré, The Levenberg-Marquardt algorithm,
// Lecture Notes in Mathematics 630, 1978), from Eigen.
//
// Bounds: the search moves freely, and the model is run at the nearest point inside of the bounds. Beyond its bound a
// parameter has no influence and a derivative of zero, so that the search goes on with the others. Where it ends, a
// parameter whose derivative at the bound points inwards is set free, and the search starts again.
#include <fmt/format.h>
#include <saltus/linalg/decomposition.hpp>
#include <saltus/linalg/rank.hpp>
#include <saltus/sens/fit.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <unsupported/Eigen/NonLinearOptimization>
#include <utility>

#include "sens/fit_problem.hpp"
#include "sens/shooting.hpp"

namespace saltus {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// The residuals of a problem as Eigen asks for them.
template <class Problem>
struct BoundedResiduals {
  Problem& problem;
  std::function<void()> before_run = {};
  bool started = false;

  int inputs() const { return problem.parameters(); }
  int values() const { return problem.values(); }

  std::vector<double> inside(const Eigen::VectorXd& u) const {
    std::vector<double> p(u.begin(), u.end());
    for (std::size_t k = 0; k < p.size(); ++k)
      p[k] = std::clamp(p[k], problem.unknowns()[k].lower, problem.unknowns()[k].upper);
    return p;
  }
  /// A point at which the model cannot be run is refused like one with a large sum of squares.
  int operator()(const Eigen::VectorXd& u, Eigen::VectorXd& f) {
    if (before_run) before_run();
    const auto r = u.allFinite() ? problem.residuals(inside(u)) : std::nullopt;
    if (!r && !started) return -1;
    started = true;
    f = r ? Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(r->data(), values()))
          : Eigen::VectorXd::Constant(values(), 1e100);
    return 0;
  }
  int df(const Eigen::VectorXd& u, Eigen::MatrixXd& j) {
    const std::vector<double> p = inside(u);
    const auto found = problem.jacobian(p);
    if (!found) return -1;
    j = Eigen::Map<const Eigen::MatrixXd>(found->data(), values(), inputs());
    for (int k = 0; k < inputs(); ++k)
      if (u[k] != p[static_cast<std::size_t>(k)]) j.col(k).setZero();
    return 0;
  }
};

/// A point of the search with all that its end is judged by.
struct FitPoint {
  std::vector<double> p, r;
  Matrix jacobian;

  double sum() const {
    double result = 0.0;
    for (const double value : r) result += value * value;
    return result;
  }
  /// Half of the derivative of the sum of squares.
  double gradient(std::size_t k) const {
    double result = 0.0;
    for (std::size_t i = 0; i < r.size(); ++i) result += jacobian(static_cast<int>(i), static_cast<int>(k)) * r[i];
    return result;
  }
};

bool at_bound(const FitParameter& parameter, double value) {
  return value <= parameter.lower || value >= parameter.upper;
}

/// True if the sum of squares falls from the bound on into the range.
bool wants_inside(const FitPoint& point, const FitParameter& parameter, std::size_t k) {
  const double g = point.gradient(k);
  return point.p[k] <= parameter.lower ? g < 0.0 : g > 0.0;
}

/// How tightly the windows of multiple shooting are joined, one search after the other: gaps as shares of the state.
constexpr std::array continuities = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};

/// The search and the judgement of its end.
class Fitter {
 public:
  Fitter(FitProblem& problem, const FitOptions& options) : problem_(problem), options_(options) {}

  Fit run() {
    for (const FitParameter& p : problem_.unknowns()) point_.p.push_back(p.guess);
    report_progress();
    if (options_.windows > 1) shoot();
    const bool found = search();
    if (found) judge();
    report();
    return std::move(fit_);
  }

 private:
  void fail(FitStatus status, std::string message) {
    fit_.status = status;
    fit_.message = std::move(message);
  }

  /// Says how far the search is, before a run.
  void report_progress() {
    if (!options_.progress) return;
    const int searches = options_.windows > 1 ? 1 + static_cast<int>(continuities.size()) : 1;
    const int most = searches * options_.max_runs, now = std::min(shooting_runs_ + problem_.runs() + 1, most);
    options_.progress({.doing = fmt::format("run {} of at most {}", now, most),
                       .share = static_cast<double>(now - 1) / most,
                       .upper_bound = true});
  }

  /// Comes nearer to the parameters by multiple shooting, whose windows are joined more and more tightly.
  void shoot() {
    if (!problem_.residuals(point_.p)) return;
    ShootingProblem windows(problem_, options_.windows, *problem_.run());
    Eigen::VectorXd u(windows.parameters());
    for (int k = 0; k < windows.parameters(); ++k) u[k] = windows.unknowns()[static_cast<std::size_t>(k)].guess;
    for (const double share : continuities) {
      windows.set_continuity(share);
      BoundedResiduals<ShootingProblem> function{windows, [this] {
                                                   report_progress();
                                                   ++shooting_runs_;
                                                 }};
      Eigen::LevenbergMarquardt<BoundedResiduals<ShootingProblem>> search(function);
      search.parameters.factor = 1.0;
      search.parameters.xtol = search.parameters.ftol = 1e-6;
      search.parameters.maxfev = options_.max_runs;
      if (search.minimizeInit(u) != Eigen::LevenbergMarquardtSpace::NotStarted) break;
      Eigen::LevenbergMarquardtSpace::Status status;
      do status = search.minimizeOneStep(u);
      while (status == Eigen::LevenbergMarquardtSpace::Running);
      if (status == Eigen::LevenbergMarquardtSpace::UserAsked) {
        fit_.notes.push_back("multiple shooting ended early: a window has no derivative, or starts on a surface");
        break;
      }
    }
    const std::vector<double> found = BoundedResiduals<ShootingProblem>{windows}.inside(u);
    std::copy_n(found.begin(), point_.p.size(), point_.p.begin());
  }

  /// Searches with values near jumps on the side where they fit and, if they are not all on their own side in the end,
  /// as they are. False: the model cannot be run or differentiated.
  bool search() {
    if (!evaluate(point_.p)) return false;
    problem_.set_jumps(FitProblem::Jumps::lenient);
    if (!search_once()) return false;
    const FitPoint lenient = point_;
    const FitStatus lenient_status = fit_.status;
    if (problem_.other_sides() == 0) return true;
    const int others = problem_.other_sides();
    problem_.set_jumps(FitProblem::Jumps::strict);
    if (!evaluate(lenient.p) || !search_once()) return false;
    if (lenient_status == FitStatus::not_converged || is_minimum(point_) || !is_minimum(lenient)) return true;
    problem_.set_jumps(FitProblem::Jumps::lenient);
    fit_.status = FitStatus::failed;
    fit_.notes.push_back(fmt::format(
        "{} value{} beside a jump {} compared with its other side: the data determine the time of the jump no better "
        "than that",
        others, others == 1 ? "" : "s", others == 1 ? "is" : "are"));
    return evaluate(lenient.p);
  }

  bool search_once() {
    fit_.status = FitStatus::failed;
    fit_.message.clear();
    using Status = Eigen::LevenbergMarquardtSpace::Status;
    const std::size_t most_restarts = 2 * point_.p.size() + 2;
    for (std::size_t k = 0; k < most_restarts; ++k) {
      BoundedResiduals<FitProblem> function{problem_, [this] { report_progress(); }};
      Eigen::LevenbergMarquardt<BoundedResiduals<FitProblem>> search(function);
      search.parameters.factor = 1.0;
      search.parameters.xtol = options_.tolerance;
      search.parameters.ftol = options_.tolerance;
      search.parameters.maxfev = std::max(1, options_.max_runs - problem_.runs());
      Eigen::VectorXd u = Eigen::Map<const Eigen::VectorXd>(point_.p.data(), problem_.parameters());
      const Status status = search.minimize(u);
      if (!evaluate(function.inside(u))) return false;
      if (status == Status::TooManyFunctionEvaluation) {
        fail(FitStatus::not_converged,
             fmt::format("the search was not over after {} runs; start from a better guess, or allow more runs",
                         problem_.runs()));
        return true;
      }
      if (!free_a_parameter()) return true;
    }
    fail(FitStatus::not_converged, "parameters move to and fro between their bounds; start from another guess");
    return true;
  }

  bool evaluate(std::vector<double> p) {
    point_.p = std::move(p);
    const auto r = problem_.residuals(point_.p);
    const auto jacobian = r ? problem_.jacobian(point_.p) : std::nullopt;
    if (!jacobian) {
      fail(FitStatus::failed, problem_.failure() + "; start from another guess");
      return false;
    }
    point_.r = *r;
    point_.jacobian = *jacobian;
    return true;
  }

  /// True if a parameter at a bound was freed and the search should go on: its sum of squares falls inwards.
  bool free_a_parameter() {
    const std::vector<FitParameter>& unknowns = problem_.unknowns();
    for (std::size_t k = 0; k < unknowns.size(); ++k) {
      if (!at_bound(unknowns[k], point_.p[k]) || !wants_inside(point_, unknowns[k], k)) continue;
      const double size = norm(point_.jacobian.column(static_cast<int>(k))) * std::sqrt(point_.sum());
      if (std::abs(point_.gradient(k)) > 1e-6 * size && freed_.insert({k, point_.sum()}).second) return true;
    }
    return false;
  }

  /// The parameters that are not at a bound.
  std::vector<int> inner_parameters(const FitPoint& point) const {
    std::vector<int> result;
    for (std::size_t k = 0; k < point.p.size(); ++k)
      if (!at_bound(problem_.unknowns()[k], point.p[k])) result.push_back(static_cast<int>(k));
    return result;
  }

  void judge() {
    const std::vector<FitParameter>& unknowns = problem_.unknowns();
    const std::vector<int> inner = inner_parameters(point_);
    for (std::size_t k = 0; k < unknowns.size(); ++k)
      fit_.parameters.push_back({.name = unknowns[k].name,
                                 .value = point_.p[k],
                                 .lower = unknowns[k].lower,
                                 .upper = unknowns[k].upper,
                                 .at_bound = at_bound(unknowns[k], point_.p[k])});
    fit_.sum_of_squares = point_.sum();
    const int n = problem_.parameters();
    fit_.correlations = Matrix(n, n, not_a_number);
    const bool over = fit_.status == FitStatus::not_converged;
    std::string undetermined;
    if (!inner.empty()) undetermined = statistics(inner);
    if (over) return;
    if (!is_minimum(point_)) {
      fail(FitStatus::not_converged,
           "no step lowers the sum of squares, and its derivatives say that one should: it may jump where the sequence "
           "of events changes, or the tolerance of the runs is too loose; start from another guess, or tighten rtol");
    } else if (!undetermined.empty()) {
      fail(FitStatus::undetermined, undetermined);
    } else if (inner.size() < unknowns.size()) {
      std::string names;
      for (const FittedParameter& p : fit_.parameters)
        if (p.at_bound) names += (names.empty() ? "'" : ", '") + p.name + "'";
      fail(FitStatus::at_bound, "at a bound: " + names +
                                    "; it has no standard error, and those of the others hold for "
                                    "this value of it");
    } else {
      fit_.status = FitStatus::converged;
    }
  }

  /// J of some parameters, in columns of length one, and its decomposition.
  Svd decompose(const FitPoint& point, const std::vector<int>& inner, std::vector<double>& lengths) const {
    Matrix scaled = select_columns(point.jacobian, inner);
    for (int j = 0; j < scaled.columns(); ++j) {
      lengths.push_back(norm(scaled.column(j)));
      if (lengths.back() > 0.0)
        for (double& value : scaled.column(j)) value /= lengths.back();
    }
    return svd(scaled, SvdForm::thin);
  }

  int rank_of(const Svd& d) const {
    const double largest = d.s.empty() ? 0.0 : d.s.front();
    if (largest == 0.0) return 0;
    return rank_gap(d.s, problem_.values(), largest, options_.simulate.rtol * largest).rank;
  }

  /// Standard errors and correlations. Returns what the data do not determine, in words.
  std::string statistics(const std::vector<int>& inner) {
    std::vector<double> lengths;
    const Svd d = decompose(point_, inner, lengths);
    const int rank = rank_of(d), n = static_cast<int>(inner.size());
    fit_.degrees_of_freedom = problem_.values() - rank;
    double variance = 1.0;
    if (!problem_.has_sigmas()) {
      variance = fit_.degrees_of_freedom > 0 ? fit_.sum_of_squares / fit_.degrees_of_freedom : not_a_number;
      if (fit_.degrees_of_freedom > 0) fit_.deviation = std::sqrt(variance);
    }
    const std::string text = name_undetermined(d, rank, inner);
    Matrix covariance(n, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int k = 0; k < rank; ++k) {
          const double s = d.s[static_cast<std::size_t>(k)];
          covariance(i, j) += d.V(i, k) * d.V(j, k) / (s * s);
        }
    for (int i = 0; i < n; ++i) {
      FittedParameter& a = fit_.parameters[static_cast<std::size_t>(inner[static_cast<std::size_t>(i)])];
      if (a.undetermined) continue;
      a.error = std::sqrt(variance * covariance(i, i)) / lengths[static_cast<std::size_t>(i)];
      for (int j = 0; j < n; ++j) {
        const int other = inner[static_cast<std::size_t>(j)];
        if (fit_.parameters[static_cast<std::size_t>(other)].undetermined) continue;
        fit_.correlations(inner[static_cast<std::size_t>(i)], other) =
            i == j ? 1.0 : covariance(i, j) / std::sqrt(covariance(i, i) * covariance(j, j));
      }
    }
    return text;
  }

  /// Marks the parameters that take part in directions without influence.
  std::string name_undetermined(const Svd& d, int rank, const std::vector<int>& inner) {
    std::string text;
    for (int k = rank; k < static_cast<int>(inner.size()); ++k) {
      std::vector<std::string> names;
      for (int j = 0; j < static_cast<int>(inner.size()); ++j) {
        if (std::abs(d.V(j, k)) < 1e-3) continue;
        FittedParameter& p = fit_.parameters[static_cast<std::size_t>(inner[static_cast<std::size_t>(j)])];
        p.undetermined = true;
        names.push_back("'" + p.name + "'");
      }
      std::string list;
      for (std::size_t j = 0; j < names.size(); ++j)
        list += (j == 0 ? "" : j + 1 == names.size() ? " and " : ", ") + names[j];
      text +=
          (text.empty() ? "" : "; ") +
          (names.size() == 1
               ? fmt::format("{} has no influence on the measured values; leave it out, or measure something else",
                             list)
               : fmt::format("{} can be changed together without any effect; keep one fixed, or measure something else",
                             list));
    }
    return text;
  }

  /// True if the step that would lead to the minimum of the linear problem is short: beside the standard errors, or
  /// beside the errors of the runs.
  bool is_minimum(const FitPoint& point) const {
    const std::vector<int> inner = inner_parameters(point);
    if (inner.empty()) return true;
    std::vector<double> lengths;
    const Svd d = decompose(point, inner, lengths);
    const int rank = rank_of(d);
    std::vector<double> step(inner.size(), 0.0);
    double gain = 0.0;
    for (int k = 0; k < rank; ++k) {
      double along = 0.0;
      for (int i = 0; i < d.U.rows(); ++i) along += d.U(i, k) * point.r[static_cast<std::size_t>(i)];
      gain += along * along;
      for (std::size_t j = 0; j < step.size(); ++j)
        step[j] += d.V(static_cast<int>(j), k) * along / d.s[static_cast<std::size_t>(k)];
    }
    const int freedom = problem_.values() - rank;
    const double variance = problem_.has_sigmas() ? 1.0 : point.sum() / std::max(freedom, 1);
    if (gain <= 1e-4 * variance) return true;
    const double small = 1e-6 + 100.0 * options_.simulate.rtol;
    for (std::size_t j = 0; j < step.size(); ++j) {
      const auto k = static_cast<std::size_t>(inner[j]);
      const double size = std::max(std::abs(point.p[k]), std::abs(problem_.unknowns()[k].guess));
      if (lengths[j] > 0.0 && !(std::abs(step[j] / lengths[j]) <= small * (size > 0.0 ? size : 1.0))) return false;
    }
    return true;
  }

  void report() {
    if (fit_.parameters.empty())
      for (std::size_t k = 0; k < point_.p.size(); ++k)
        fit_.parameters.push_back({.name = problem_.unknowns()[k].name,
                                   .value = point_.p[k],
                                   .lower = problem_.unknowns()[k].lower,
                                   .upper = problem_.unknowns()[k].upper});
    fit_.residuals = problem_.table();
    fit_.run = problem_.run();
    fit_.notes.insert(fit_.notes.end(), problem_.notes().begin(), problem_.notes().end());
    for (const std::string& event : problem_.missing_events())
      fit_.notes.push_back(
          fmt::format("the model does not have the event '{}'; it counts as if it were at the end of the run", event));
    fit_.runs = problem_.runs();
    fit_.derivatives = problem_.derivatives();
  }

  FitProblem& problem_;
  const FitOptions& options_;
  FitPoint point_;
  int shooting_runs_ = 0;
  std::set<std::pair<std::size_t, double>> freed_;  // parameters that were freed, with the sum of squares there
  Fit fit_;
};

}  // namespace

std::string_view to_string(FitStatus status) {
  switch (status) {
    case FitStatus::converged:
      return "converged";
    case FitStatus::at_bound:
      return "at_bound";
    case FitStatus::undetermined:
      return "undetermined";
    case FitStatus::not_converged:
      return "not_converged";
    case FitStatus::failed:
      return "failed";
  }
  return "";
}

Fit fit(const CompiledModel& model, const FitData& data, const std::vector<FitParameter>& parameters,
        const FitOptions& options) {
  FitProblem problem(model, data, parameters, options);
  return Fitter(problem, options).run();
}

Fit fit(const Model& model, const FitData& data, const std::vector<FitParameter>& parameters,
        const FitOptions& options) {
  return fit(CompiledModel(model), data, parameters, options);
}

}  // namespace saltus
