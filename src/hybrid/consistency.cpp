#include "hybrid/consistency.hpp"

#include <fmt/format.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/jump.hpp>
#include <saltus/dae/solution_series.hpp>
#include <saltus/dae/start_search.hpp>
#include <saltus/linalg/decomposition.hpp>
#include <saltus/linalg/rank.hpp>

#include <algorithm>
#include <cmath>

#include "hybrid/failure_places.hpp"
#include "hybrid/far_root.hpp"
#include "hybrid/large_modes.hpp"
#include "hybrid/short_lists.hpp"
#include "hybrid/singular_start.hpp"
#include "base/finite.hpp"
#include "dae/structured_array.hpp"

namespace saltus {

namespace {

constexpr int largest_reduction = 500;  // variables: its decompositions are dense
// Corrections up to this size leave no question which components should stay: the choice would differ by their squares.
constexpr double small_correction = 1e-7;
constexpr double fair_correction = 1e-5;  // inside of steps, where rounding errors leave no better one
constexpr int enough_tries = 3;  // to analyse a mode: another point may be better, but not for ever
constexpr int least_order = 5;  // of series, so that one set of stages serves all who ask

/// A failure if a derivative or a value is not finite. `x`: the point where they were found.
Failure check_finite(System& system, double t, std::span<const double> x, std::span<const double> values,
                     const char* what) {
  Failure failure;
  if (std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); })) return failure;
  for (std::size_t j = 0; j < values.size(); ++j)
    if (!std::isfinite(values[j])) failure.culprits.push_back(system.variable_name(static_cast<int>(j)));
  failure.code = StatusCode::not_finite;
  failure.message = fmt::format("the {} of '{}' cannot be evaluated at t = {:.9g}{}", what, failure.culprits.front(), t,
                                undefined_equation(system, t, 1, x, std::vector<double>(x.size(), 0.0)));
  return failure;
}

Failure describe(const Initialisation& result, const System& system) {
  Failure failure{StatusCode::initialisation_failed, result.message, {}};
  for (const Violation& v : result.violations) failure.culprits.push_back(v.name);
  for (const int j : result.conflicting) failure.culprits.push_back(system.variable_name(j));
  return failure;
}

/// As many equations as variables, but at the guess they do not determine these (f^2 = 4 at f = 0), and contradict each other.
Failure describe_singular_guess(const Initialisation& result, const System& system) {
  Failure failure = describe(result, system);
  const std::string worst =
      result.violations.empty() ? "" : fmt::format("; worst: '{}' by {:.3g}", result.violations[0].name, result.violations[0].residual);
  failure.message = "no consistent values were found: at the guess the equations are singular and contradict each other" + worst +
                    "; give other start values, or remove what contradicts";
  return failure;
}

/// More equations than can hold, and they are not linear: steps would follow least squares of a linearisation only.
Failure describe_contradiction(const Initialisation& result, const System& system, double t) {
  Failure failure = describe(result, system);
  const std::string worst =
      result.violations.empty()
          ? ""
          : fmt::format("; worst: '{}' by {:.3g}", result.violations[0].name, result.violations[0].residual);
  failure.message = fmt::format("at t = {:.9g} the equations contradict each other{}; least squares are taken of linear "
                                "equations only: remove what contradicts",
                                t, worst);
  return failure;
}

/// Modes that were analysed densely have.
bool has_projectors(const CharacteristicValues& values, const System& system) {
  return values.T2.rows() == system.structure().variables;
}

// Large modes without hidden constraints have a solver of their own, which needs less memory.
bool has_stages(const CharacteristicValues& values, const System& system) {
  return system.structure().taylor && !values.index_one && values.certificate.valid && !values.structure.singular();
}

}  // namespace

Consistency::Analysis& Consistency::analyse(System& system, double t, std::span<const double> x,
                                            const CharacteristicOptions& options) {
  const auto [it, fresh] = analyses_.try_emplace(system.structure().id.number());
  if (!fresh) return it->second;
  Analysis& analysis = it->second;
  if (family_ && !kept_analyses_) kept_analyses_ = KeptAnalyses::of(*family_);
  CharacteristicValues& values = analysis.values = kept_analyses_ ? kept_analyses_->find(system, t, x, options)
                                                                  : characteristic_values(system, t, x, options);
  if (values.certificate.valid && has_projectors(values, system)) {  // then nothing depends on the options
    analysis.here = values;
    analysis.t_here = t;
    analysis.x_here.assign(x.begin(), x.end());
  }
  // Large modes without hidden constraints: slopes that are found by a linear system need no guess, and nobody asks for the blocks.
  if (values.index_one && values.certificate.valid) {
    if (system.structure().constant_mass) std::vector<double>().swap(values.X);
    values.structure.blocks = {};
  }
  return analysis;
}

// Where the structure was enough so far, and which components can be held is the question.
void Consistency::find_projectors(Analysis& analysis, System& system, double t, std::span<const double> x) {
  const CharacteristicValues& values = analysis.values;
  if (system.structure().variables > certified_dense_limit || has_projectors(values, system) || values.index_one ||
      !values.certificate.valid)
    return;
  CharacteristicValues found = characteristic_values(system, t, x, {.certified_dense_limit = certified_dense_limit});
  // Values before a jump are not consistent. Where no consistent point is found from them, ranks mean nothing.
  if (!found.certificate.valid || !has_projectors(found, system)) return;
  analysis.here = analysis.values = std::move(found);
  analysis.t_here = t;
  analysis.x_here.assign(x.begin(), x.end());
}

// Which components can be held while others become consistent depends on the point where there are hidden constraints: a pendulum that
// hangs straight down cannot keep its height. Modes without dense analysis have no such choice to make.
const CharacteristicValues& Consistency::values_at(Analysis& analysis, System& system, double t, std::span<const double> x) {
  find_projectors(analysis, system, t, x);
  const CharacteristicValues& first = analysis.values;
  if (first->mu == 0 || !has_projectors(first, system)) return first;
  if (t != analysis.t_here || analysis.x_here.empty() || !std::equal(x.begin(), x.end(), analysis.x_here.begin(), analysis.x_here.end())) {
    analysis.here = characteristic_values(system, t, x, {.neighbours = false});
    analysis.here.constant_components = first.constant_components;  // chosen once
    analysis.t_here = t;
    analysis.x_here.assign(x.begin(), x.end());
  }
  return analysis.here.numbers == first.numbers ? analysis.here : first;
}

// After a reset of a mode with a certificate: the stages have reached a consistent point, and the array cut to the
// structural offsets has full rank there, so no rank is to be decided.
const CharacteristicValues& Consistency::values_after_reset(Analysis& analysis, System& system, double t,
                                                            std::span<const double> x) {
  const CharacteristicValues& known = analysis.values;
  if (!stages_found_ || !known.certificate.valid || known.structure.singular() || !has_projectors(known, system))
    return values_at(analysis, system, t, x);
  StructuredArray array(system, known.structure);
  const std::size_t n = x.size(), size = static_cast<std::size_t>(std::max(array.level(), known->mu) + 2) * n;
  if (X_.size() < size) X_.resize(size, 0.0);
  std::optional<Matrix> directions = array.directions(t, X_, known.variable_scale, known.time_scale);
  if (!directions) return values_at(analysis, system, t, x);
  if (!has_projectors(analysis.here, system)) analysis.here = known;
  analysis.here.T2 = std::move(*directions);
  analysis.here.X.assign(X_.begin(), X_.begin() + static_cast<std::ptrdiff_t>(size));
  analysis.x_here.clear();  // the other projectors are those of another point
  return analysis.here;
}

int Consistency::structural_index(const System& system) {
  const Structure& s = system.structure();
  if (s.explicit_ode) return 0;
  const auto [it, fresh] = structural_index_.try_emplace(s.id.number(), -1);
  if (!fresh || s.equations != s.variables) return it->second;
  if (const StructuralAnalysis analysis = analyse_structure(s); !analysis.singular()) it->second = analysis.index;
  return it->second;
}

bool Consistency::possible(const System& system) { return structural_index(system) >= 0; }

bool Consistency::plain(const System& system) {
  const int index = structural_index(system);
  return index == 0 || index == 1;
}

[[gnu::hot]] bool Consistency::evaluate(System& system, double t, std::span<const double> x, std::vector<double>& xp) {
  if (!system.structure().explicit_ode) return false;
  if (!remark_.empty()) remark_.clear();
  resize(xp, x.size());
  system.rhs(t, x, xp);
  for (const double slope : xp)
    if (!std::isfinite(slope)) return false;
  return true;
}

void Consistency::note(const std::string& text) {
  if (text.empty()) return;
  remark_ += (remark_.empty() ? "" : "; ") + text;
}

void Consistency::note_other_start(const System& system, std::span<const double> guess, std::span<const double> found,
                                   bool at_start) {
  int farthest = 0;
  const auto move = [&](int j) { return std::abs(found[j] - guess[j]) / std::abs(system.nominal(j)); };
  for (int j = 1; j < system.structure().variables; ++j)
    if (move(j) > move(farthest)) farthest = j;
  note(fmt::format("no solution was found {}, one with {} = {:.6g} was found from others; give {} near the solution that is "
                   "meant",
                   at_start ? "from the start values" : "from the values before the event", system.variable_name(farthest),
                   found[farthest], at_start ? "start values" : "values"));
}

Failure Consistency::find(System& system, double t, Cause cause, std::span<const int> fixed, ExtraConditions* conditions,
                          std::vector<double>& x, std::vector<double>& xp) {
  Failure failure = find_near(system, t, cause, fixed, conditions, x, xp);
  if (failure && searches_ && cause != Cause::start && find_elsewhere(system, t, x, xp)) return {};
  return failure;
}

bool Consistency::find_elsewhere(System& system, double t, std::vector<double>& x, std::vector<double>& xp) {
  const Structure& s = system.structure();
  if (s.explicit_ode || s.equations != s.variables || !plain(system)) return false;
  StartSearch other = search_start(system, t, x);
  if (!other.found) return false;
  note_other_start(system, x, other.start.x, false);
  undecided_.erase(s.id.number());
  analyses_[s.id.number()].values = std::move(other.values);
  x = std::move(other.start.x);
  xp = std::move(other.start.xp);
  if (!other.start.all_slopes) find_missing_slopes(analyses_[s.id.number()], system, t, x, xp);
  return true;
}

Failure Consistency::find_near(System& system, double t, Cause cause, std::span<const int> fixed, ExtraConditions* conditions,
                          std::vector<double>& x, std::vector<double>& xp) {
  xp.resize(x.size());
  remark_.clear();
  if (cause != Cause::start) conditions = nullptr;
  InitialisationOptions options{.conditions = conditions};
  if (cause == Cause::start) options.fixed.assign(fixed.begin(), fixed.end());
  if (cause == Cause::reset) options.preferred.assign(fixed.begin(), fixed.end());
  if (system.structure().explicit_ode) {
    if (conditions) {
      Initialisation result = initialise(system, t, x, options);
      if (!result.ok()) {
        StartSearch other = search_start(system, t, x, options);
        if (!other.found) return describe(result, system);
        result = std::move(other.start);
        note_other_start(system, x, result.x, true);
      }
      note(result.message);
      x = result.x;
    }
    system.rhs(t, x, xp);
    return check_finite(system, t, x, xp, "derivative");
  }
  if (const auto it = undecided_.find(system.structure().id.number()); it != undecided_.end() && it->second >= enough_tries)
    return {StatusCode::singular_mode, "the equations of this mode do not determine its variables", {}};
  // Behind an event values are consistent already or move by an impulse, as a rule, and the structure is enough for that.
  const bool structure_first = cause != Cause::start && structural_index(system) > 1;
  Analysis& analysis = analyse(system, t, x, {.certified_dense_limit = structure_first ? 0 : certified_dense_limit});
  const CharacteristicNumbers& numbers = analysis.values.numbers;
  if (cause == Cause::start && !regular(analysis, system) && possible(system)) {
    if (!searches_) return {StatusCode::singular_mode, "the equations of this mode are singular at its start values", {}};
    if (const auto answer = start_elsewhere(analysis, system, t, options, x, xp)) return *answer;
  }
  if (analysis.values.status == AnalysisStatus::undecided) {
    std::string guilty = describe_singularity(analysis.values.structure, system);
    if (guilty.empty()) guilty = analysis.values.reason;
    ++undecided_[system.structure().id.number()];
    analyses_.erase(system.structure().id.number());
    return {StatusCode::singular_mode,
            "the equations of this mode do not determine its variables" + (guilty.empty() ? "" : ": " + guilty), {}};
  }
  // a change of the mode moves the state along impulses, which is what the stages do; a reset decides what stays
  if (cause != Cause::start &&
      find_by_stages(analysis, system, t, cause == Cause::mode_change, options.preferred, x, xp))
    return check_finite(system, t, x, x, "value");
  find_projectors(analysis, system, t, x);
  std::vector<double> series;
  bool all_slopes = false;
  if (cause != Cause::start && initialise_in_place(system, t, analysis.values, x, xp)) {
    all_slopes = true;
  } else if (cause == Cause::mode_change) {
    Jump result = jump(system, t, x, analysis.values);
    if (!result.ok()) return {StatusCode::initialisation_failed, result.message, {}};
    x = std::move(result.x);
    xp = std::move(result.xp);
    series = std::move(result.X);
    all_slopes = result.all_slopes;
  } else {
    Initialisation result =
        initialise(system, t, x, cause == Cause::reset ? values_after_reset(analysis, system, t, x) : analysis.values,
                   options);
    if (!result.ok() && cause == Cause::start && searches_ && possible(system)) {
      if (const auto answer = start_elsewhere(analysis, system, t, options, x, xp)) return *answer;
      Initialisation again = initialise(system, t, x, analysis.values, options);
      if (again.ok()) result = std::move(again);
    }
    const Structure& s = system.structure();
    const bool least_squares = result.status == InitialisationStatus::inconsistent_least_squares;
    if (least_squares && s.equations == s.variables) return describe_singular_guess(result, system);
    if (!result.ok() && !least_squares) return describe(result, system);
    if (least_squares && !s.linear) return describe_contradiction(result, system, t);
    note(result.message);
    if (cause == Cause::start) note(describe_far_root(system, analysis.values.structure, t, x, result.x, result.xp));
    x = std::move(result.x);
    xp = std::move(result.xp);
    series = std::move(result.X);
    all_slopes = result.all_slopes;
  }
  if (saltus::needs_reduction(system.structure(), numbers)) {
    analysis.t_found = t;
    analysis.found = std::move(series);
    if (analysis.reduced) analysis.reduced->restart(t, analysis.found);
  }
  if (!all_slopes) find_missing_slopes(analysis, system, t, x, xp);
  return check_finite(system, t, x, x, "value");
}

std::optional<Failure> Consistency::start_elsewhere(Analysis& analysis, System& system, double t, const InitialisationOptions& options,
                                                    std::vector<double>& x, std::vector<double>& xp) {
  const Structure& s = system.structure();
  CharacteristicValues& values = analysis.values;
  const bool decided = values.status != AnalysisStatus::undecided && !analysis.starts_behind();
  const bool consistent = decided && initialise(system, t, x, values, options).ok();
  // linear equations that have no solution from one guess have none from others
  if (!consistent && !analysis.starts_behind() && !s.constant_jacobian) {
    if (StartSearch other = search_start(system, t, x, options); other.found) {
      note_other_start(system, x, other.start.x, true);
      values = std::move(other.values);
      x = std::move(other.start.x);
      return std::nullopt;
    }
  }
  if (span_ == 0.0 || options.conditions || s.equations != s.variables || values.structure.singular()) return std::nullopt;
  if (s.constant_jacobian && decided) return std::nullopt;  // the same at all times
  SingularStart found = start_behind(system, t, span_, x, options);
  if (found.result == SingularStart::Result::none) return std::nullopt;
  if (consistent && (found.result == SingularStart::Result::no_limit || found.values.numbers == values.numbers))
    return std::nullopt;  // the point is not special in time
  if (found.result == SingularStart::Result::no_limit)
    return Failure{StatusCode::singular_mode,
                   fmt::format("the equations are singular at the start, t = {:.9g}, and their solution has no limit there; start a little "
                               "later", t), {}};
  analysis.singular_at = t;
  analysis.regular_from = found.t;
  x = std::move(found.x);
  xp = std::move(found.xp);
  values = std::move(found.values);
  if (saltus::needs_reduction(s, values.numbers)) {
    analysis.t_found = found.t;
    analysis.found = values.X;
    if (analysis.reduced) analysis.reduced->restart(analysis.t_found, analysis.found);
  }
  return Failure{};
}

bool Consistency::regular(const Analysis& analysis, const System& system) {
  const Structure& s = system.structure();
  const CharacteristicValues& values = analysis.values;
  if (values.status == AnalysisStatus::undecided || values.status == AnalysisStatus::singular_point || analysis.starts_behind()) return false;
  return s.equations != s.variables || (values->u == 0 && values->v == 0 && (values.certificate.valid || values.structure.singular()));
}

double Consistency::regular_time(const System& system, double t) const {
  const auto it = analyses_.find(system.structure().id.number());
  return it != analyses_.end() && it->second.singular_at == t ? it->second.regular_from : t;
}

bool Consistency::project_by_stages(Analysis& analysis, System& system, double t, std::span<const double> x, std::span<const double> xp,
                                    int order, double tolerance) {
  stages_found_ = false;
  const Structure& s = system.structure();
  const CharacteristicValues& values = analysis.values;
  if (!has_stages(values, system)) return false;
  if (!analysis.staged || analysis.staged->order() < order)
    analysis.staged = std::make_unique<StagedSeries>(s, values.structure, std::max(order, least_order));
  StagedSeries& staged = *analysis.staged;
  const auto n = static_cast<std::size_t>(s.variables);
  X_.assign(n * static_cast<std::size_t>(staged.coefficients()), 0.0);
  std::copy(x.begin(), x.end(), X_.begin());
  for (int j = 0; j < s.variables; ++j)
    if (s.differentiated(j) && std::isfinite(xp[j])) X_[n + static_cast<std::size_t>(j)] = xp[j];
  sizes_.resize(n);
  for (std::size_t j = 0; j < n; ++j)
    sizes_[j] = values.variable_scale.empty() ? std::abs(system.nominal(static_cast<int>(j))) : values.variable_scale[j];
  if (staged.project(system, t, X_, sizes_, values.time_scale, tolerance) != StagedSeries::Result::good || !staged.extend(system, X_))
    return false;
  // a correction by rounding errors would give values a sign that have none
  for (std::size_t j = 0; j < n; ++j)
    if (s.differentiated(static_cast<int>(j)) && std::abs(X_[j] - x[j]) <= 4.0 * eps * (sizes_[j] + std::abs(x[j]))) X_[j] = x[j];
  stages_found_ = true;
  return true;
}

bool Consistency::moves_state(const System& system, std::span<const double> x, std::span<const double> found) const {
  for (std::size_t j = 0; j < x.size(); ++j)
    if (system.structure().differentiated(static_cast<int>(j)) &&
        std::abs(found[j] - x[j]) > small_correction * (sizes_[j] + std::abs(x[j])))
      return true;
  return false;
}

bool Consistency::find_by_stages(Analysis& analysis, System& system, double t, bool any_size, std::span<const int> set,
                                 std::vector<double>& x, std::vector<double>& xp) {
  const Structure& s = system.structure();
  const CharacteristicNumbers& numbers = analysis.values.numbers;
  if (!project_by_stages(analysis, system, t, x, xp, std::max(numbers.mu, 1) + 1, small_correction)) return false;
  if (!any_size && moves_state(system, x, X_)) return false;
  for (const int j : set)  // however small it is: the last bounces of a ball are
    if (s.differentiated(j) && X_[static_cast<std::size_t>(j)] != x[static_cast<std::size_t>(j)]) return false;
  std::copy_n(X_.begin(), x.size(), x.begin());
  std::copy_n(X_.begin() + static_cast<std::ptrdiff_t>(x.size()), x.size(), xp.begin());
  if (saltus::needs_reduction(s, numbers)) {
    analysis.t_found = t;
    analysis.found.assign(X_.begin(), X_.begin() + static_cast<std::ptrdiff_t>(x.size()) * (numbers.mu + 2));
    if (analysis.reduced) analysis.reduced->restart(t, analysis.found);
  }
  return true;
}

bool Consistency::polish(System& system, double t, std::span<double> x, std::span<double> xp) {
  return polish(system, t, x, xp, false);
}

bool Consistency::polish(System& system, double t, std::span<double> x, std::span<double> xp, bool inside) {
  const auto it = analyses_.find(system.structure().id.number());
  if (system.structure().explicit_ode || it == analyses_.end()) return true;
  if (refine_in_place(system, t, it->second.values, x, xp)) return true;
  if (project_by_stages(it->second, system, t, x, xp, 1, inside ? fair_correction : small_correction)) {
    std::copy_n(X_.begin(), x.size(), x.begin());
    std::copy_n(X_.begin() + static_cast<std::ptrdiff_t>(x.size()), x.size(), xp.begin());
    return true;
  }
  const Initialisation result = initialise(system, t, x, values_at(it->second, system, t, x));
  if (!result.ok()) return false;
  // Where the stages do not converge the equations are badly conditioned. Then the least correction of all variables
  // satisfies them, but may lie anywhere.
  if (inside && has_stages(it->second.values, system) && result.held.empty() && moves_state(system, x, result.x))
    return false;
  std::copy(result.x.begin(), result.x.end(), x.begin());
  std::copy(result.xp.begin(), result.xp.end(), xp.begin());
  if (!result.all_slopes) find_missing_slopes(it->second, system, t, x, xp);
  return true;
}

void Consistency::refine(System& system, double t, std::span<double> x, std::span<double> xp) {
  if (system.structure().explicit_ode) return;
  const bool known = analyses_.contains(system.structure().id.number());
  // a certificate is enough: which components can be held does not matter where nothing has jumped
  const CharacteristicValues& values = analyse(system, t, x, {.neighbours = false, .certified_dense_limit = 0}).values;
  if (!known && !values.certificate.valid && !values.structure.singular() && ++undecided_[system.structure().id.number()] < enough_tries) {
    analyses_.erase(system.structure().id.number());  // equations may be singular at one point, as the start, and regular elsewhere
    return;
  }
  if (values.status == AnalysisStatus::undecided) return;
  kept_.resize(2 * x.size());
  std::ranges::copy(x, kept_.begin());
  std::ranges::copy(xp, kept_.begin() + static_cast<std::ptrdiff_t>(x.size()));
  const auto all_finite = [](std::span<const double> list) {
    return std::ranges::all_of(list, [](double value) { return std::isfinite(value); });
  };
  if (!polish(system, t, x, xp, true) || !all_finite(x) || !all_finite(xp)) {
    std::copy_n(kept_.begin(), x.size(), x.begin());
    std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(x.size()), x.size(), xp.begin());
  }
  give_back(x.size(), kept_);
}

bool Consistency::series(System& system, double t, std::span<const double> x, int order, std::vector<double>& X) {
  static const CharacteristicValues none;
  const auto it = analyses_.find(system.structure().id.number());
  const bool explicit_ode = system.structure().explicit_ode;
  if (it == analyses_.end() && !explicit_ode) return false;
  if (!explicit_ode) {
    const std::vector<double> no_guess(x.size(), 0.0);
    if (project_by_stages(it->second, system, t, x, no_guess, order + 1, small_correction)) {
      X.assign(X_.begin(), X_.begin() + static_cast<std::ptrdiff_t>(x.size()) * (order + 2));
      return true;
    }
  }
  return solution_series(system, t, x, it == analyses_.end() ? none : values_at(it->second, system, t, x), order, X);
}

// Derivatives that the values were found without: those of never differentiated variables, which the equations do not
// contain, but guards on such variables must know; and without a certificate those that F_x' alone does not determine.
// Without Taylor coefficients: the slope between here and a consistent point a little later, where a change that the
// accuracy of the solution explains counts as none. The least correction then makes the equations hold.
void Consistency::find_missing_slopes(Analysis& analysis, System& system, double t, std::span<const double> x,
                                      std::span<double> xp) {
  const Structure& s = system.structure();
  const bool certified = analysis.values.certificate.valid;
  const auto missing = [&](int j) { return certified ? s.guards > 0 && !s.differentiated(j) : true; };
  bool any = false;
  for (int j = 0; j < s.variables; ++j) any = any || missing(j);
  if (!any) return;
  const CharacteristicValues& values = values_at(analysis, system, t, x);
  if (std::vector<double> X; solution_series(system, t, x, values, 0, X)) {
    for (int j = 0; j < s.variables; ++j)
      if (missing(j)) xp[j] = X[static_cast<std::size_t>(s.variables + j)];
    return;
  }
  const double h = 1e-6 * std::max(1.0, std::abs(t));
  std::vector<double> later(x.begin(), x.end());
  for (int j = 0; j < s.variables; ++j)
    if (s.differentiated(j)) later[j] += h * xp[j];
  const Initialisation result = initialise(system, t + h, later, values);
  if (!result.ok()) return;
  for (int j = 0; j < s.variables; ++j) {
    if (!missing(j)) continue;
    const double change = result.x[j] - x[j];
    xp[j] = std::abs(change) > 1e-11 * (system.nominal(j) + std::abs(x[j])) ? change / h : 0.0;
  }
  if (!certified && s.variables <= largest_reduction) satisfy_equations(system, t, x, xp);
}

// The least correction of xp with which the equations hold, as far as xp can do that.
void Consistency::satisfy_equations(System& system, double t, std::span<const double> x, std::span<double> xp) {
  const Structure& s = system.structure();
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()),
      F(static_cast<std::size_t>(s.equations));
  system.jacobian(t, x, xp, Fx, Fxp);
  system.residual(t, x, xp, F);
  Matrix E(s.equations, s.variables);
  for (int j = 0; j < s.variables; ++j)
    for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k)
      E(s.derivative_pattern.row[k], j) = Fxp[static_cast<std::size_t>(k)];
  if (!all_finite(F) || !all_finite(Fxp)) return;
  LeastSquares solver(E);
  solver.truncate(rank_gap(solver.pivots(), std::max(s.equations, s.variables), norm2_estimate(E)).rank);
  const std::vector<double> step = solver.solve(F);
  for (std::size_t j = 0; j < xp.size(); ++j) xp[j] -= step[j];
}

bool Consistency::needs_reduction(const System& system) const {
  const auto it = analyses_.find(system.structure().id.number());
  return it != analyses_.end() && saltus::needs_reduction(system.structure(), it->second.values.numbers);
}

bool Consistency::can_be_reduced(const System& system) { return system.structure().variables <= largest_reduction; }

bool Consistency::reduce(System& system) {
  if (!needs_reduction(system)) return true;
  Analysis& analysis = analyses_.at(system.structure().id.number());
  if (analysis.reduced) return true;
  if (const auto n = static_cast<std::size_t>(system.structure().variables); analysis.values.T2.rows() != system.structure().variables) {
    // the structure was enough so far
    CharacteristicValues values = characteristic_values(system, analysis.t_found, std::span(analysis.found).first(n),
                                                        {.dense_limit = largest_reduction, .certified_dense_limit = largest_reduction});
    if (values.status == AnalysisStatus::undecided || values.T2.rows() != system.structure().variables) return false;
    analysis.values = std::move(values);
  }
  analysis.reduced = std::make_unique<ReducedSystem>(system, analysis.values);
  analysis.reduced->restart(analysis.t_found, analysis.found);
  return true;
}

System& Consistency::integrable(System& system) {
  const auto it = analyses_.find(system.structure().id.number());
  if (it == analyses_.end() || !it->second.reduced) return system;
  it->second.reduced->set_original(system);
  return *it->second.reduced;
}

void Consistency::restart_reduced(System& system, double t, std::span<const double> x) {
  const auto it = analyses_.find(system.structure().id.number());
  if (it == analyses_.end() || !needs_reduction(system)) return;
  std::vector<double> X;
  if (!series(system, t, x, it->second.values->mu, X)) return;
  it->second.t_found = t;
  it->second.found = std::move(X);
  if (it->second.reduced) it->second.reduced->restart(t, it->second.found);
}

bool Consistency::choose_constant_anew(System& system, double t, std::span<const double> x) {
  const auto it = analyses_.find(system.structure().id.number());
  if (it == analyses_.end() || !it->second.reduced || !it->second.reduced->choose_constant_anew()) return false;
  Analysis& analysis = it->second;
  analysis.values.constant_components = analysis.here.constant_components = analysis.reduced->constant_components();
  restart_reduced(system, t, x);
  return true;
}

const ReducedSystem* Consistency::reduced(const System& system) const {
  const auto it = analyses_.find(system.structure().id.number());
  return it == analyses_.end() ? nullptr : it->second.reduced.get();
}

const CharacteristicValues* Consistency::values(const System& system) const {
  const auto it = analyses_.find(system.structure().id.number());
  return it == analyses_.end() ? nullptr : &it->second.values;
}

}  // namespace saltus
