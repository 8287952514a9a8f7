// Gauss-Newton on the derivative array with some components of x held (see array_newton.cpp), or Newton's method on the
// array cut to the structural offsets (see structured_array.cpp) where that is certified. Components, not combinations,
// are held: with cold multipliers a combination that contains them would move positions. Extra conditions are rows
// behind the dense array, one level higher than the mode itself needs: there the array determines all of x', so that a
// condition on the derivative of an algebraic variable restricts x.
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/solution_series.hpp>
#include <saltus/dae/staged_series.hpp>
#include <saltus/linalg/decomposition.hpp>
#include <saltus/linalg/rank.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "dae/array_newton.hpp"
#include "dae/block_array.hpp"
#include "dae/component_choice.hpp"
#include "dae/index_one.hpp"
#include "dae/preference.hpp"
#include "dae/sparse_start.hpp"
#include "dae/structured_array.hpp"

namespace saltus {

std::string_view to_string(InitialisationStatus status) {
  switch (status) {
    case InitialisationStatus::converged:
      return "converged";
    case InitialisationStatus::overfixed:
      return "overfixed";
    case InitialisationStatus::inconsistent_least_squares:
      return "inconsistent_least_squares";
    case InitialisationStatus::no_solution:
      return "no_solution";
    case InitialisationStatus::not_finite:
      return "not_finite";
  }
  return "";
}

namespace {

// Beyond this size a system without a certified structure is not attempted: dense linear algebra would take hours.
constexpr int dense_limit = 2000;
// The same with extra conditions, for the columns of the array.
constexpr int largest_extended_array = 2 * dense_limit;

class Initialiser {
 public:
  Initialiser(System& system, double t, std::span<const double> guess, const CharacteristicValues& values,
              const InitialisationOptions& options)
      : system_(system),
        s_(system.structure()),
        n_(static_cast<std::size_t>(s_.variables)),
        t_(t),
        guess_(guess),
        values_(values),
        options_(options),
        dense_(values.T2.rows() == s_.variables) {}

  Initialisation run() {
    choose_held();
    result_.undetermined = values_->u > 0;
    if (options_.conditions)
      solve_extended();
    else
      solve(result_.held);
    if (!result_.ok() && only_preferred_) {  // they contradict the constraints
      result_.held.clear();
      solve(result_.held);
    }
    if (overfixed_) judge_overfixed();
    // of a certified mode, those that occur in the equations are there already
    if (result_.ok() && !result_.all_slopes && !certified())
      result_.all_slopes = extend_series(system_, t_, values_, 1, result_.X);
    finish();
    return std::move(result_);
  }

 private:
  void choose_held() {
    std::vector<int>& held = result_.held;
    held = options_.fixed;
    if (dense_ && !held.empty()) {
      const Admissibility answer = check_fixed(values_.T2, held);
      if (!answer.admissible) {
        overfixed_ = true;
        result_.conflicting = answer.conflicting;
        result_.kept = answer.kept;
        held = answer.kept;
      }
    }
    if (options_.conditions || options_.hold != Hold::differential || (!held.empty() && !large_index_one())) return;
    if (dense_) {
      held = choose_components(values_.T2, s_, values_.structure, options_.preferred, values_.constant_components);
    } else if (by_blocks()) {
      held = values_.free_components;
    } else if (large_index_one()) {
      // no hidden constraints: the differentiated variables can be chosen freely, and the fixed ones among them are
      // held anyway
      const auto& d = values_.structure.variable_offset;
      if (std::ranges::all_of(held, [&](int j) { return d[j] > 0; })) {
        held.clear();
        for (int j = 0; j < s_.variables; ++j)
          if (d[j] > 0) held.push_back(j);
      }
    } else {  // the others move as constraints push them
      held = options_.preferred;
      only_preferred_ = !held.empty();
    }
  }

  bool large_index_one() const {
    return !dense_ && certified() &&
           (values_.structure.equation_offset.empty() ||
            *std::ranges::max_element(values_.structure.equation_offset) == 0);
  }
  bool by_blocks() const { return !dense_ && !certified() && values_.status != AnalysisStatus::undecided; }
  bool certified() const { return values_.certificate.valid && !values_.structure.singular(); }

  std::vector<char> mask(const std::vector<int>& held) const {
    std::vector<char> fixed(n_, 0);
    for (int j : held) fixed[j] = 1;
    return fixed;
  }

  void solve(const std::vector<int>& held) {
    if (large_index_one() && solve_large_index_one(held)) return;
    if (!dense_ && certified() && solve_by_stages(held)) return;
    if (certified()) {
      // derivatives of the analysed point first (near the guess they are nearly right), then from zero
      solve_structured(held, true);
      if (!result_.ok()) solve_structured(held, false);
    } else if (by_blocks()) {
      solve_blocks(held, true);
      if (!result_.ok()) solve_blocks(held, false);
    } else if (dense_ || s_.variables <= dense_limit) {
      solve_dense(held);
    } else {
      result_.status = InitialisationStatus::no_solution;
      result_.X.assign(guess_.begin(), guess_.end());
      result_.X.resize(2 * n_, 0.0);
    }
  }

  // The usual case of large modes: all differentiated variables are held.
  bool solve_large_index_one(const std::vector<int>& held) {
    const auto& d = values_.structure.variable_offset;
    const auto differential = std::ranges::count_if(d, [](int order) { return order > 0; });
    if (static_cast<std::ptrdiff_t>(held.size()) != differential ||
        !std::ranges::all_of(held, [&](int j) { return d[j] > 0; }))
      return false;
    result_.X.assign(guess_.begin(), guess_.end());
    result_.X.resize(2 * n_, 0.0);
    for (std::size_t k = n_; k < std::min(result_.X.size(), values_.X.size()); ++k) result_.X[k] = values_.X[k];
    const auto solver =
        values_.index_one ? values_.index_one : std::make_shared<IndexOneSolver>(s_, values_.structure);
    IndexOneStart answer = solver->solve(system_, values_.structure, t_, std::span(result_.X).first(n_),
                                         std::span(result_.X).subspan(n_, n_), values_.variable_scale, values_.time_scale);
    if (!answer.solved) return false;
    result_.iterations = answer.iterations;
    result_.steps = std::move(answer.corrections);
    result_.status = InitialisationStatus::converged;
    result_.all_slopes = true;
    return true;
  }

  // Large modes with hidden constraints: a consistent guess stays as it is, another one is moved in the directions of forces of
  // constraint. That does not know what to hold: not solved if it moves such a variable.
  bool solve_by_stages(const std::vector<int>& held) {
    if (!s_.taylor) return false;
    StagedSeries staged(s_, values_.structure, std::max(values_->mu, 1));
    std::vector<double> X(static_cast<std::size_t>(staged.coefficients()) * n_, 0.0);
    std::ranges::copy(guess_, X.begin());
    const std::vector<double> sizes = typical_sizes();
    if (staged.project(system_, t_, X, sizes, values_.time_scale, 1e-9) != StagedSeries::Result::good || !staged.extend(system_, X)) return false;
    for (int j : held)
      if (std::abs(X[j] - guess_[j]) > 1e-12 * (sizes[j] + std::abs(guess_[j]))) return false;
    for (int j : held) X[j] = guess_[j];
    level_ = std::max(values_->mu, 0);
    X.resize(static_cast<std::size_t>(level_ + 2) * n_);
    result_.X = std::move(X);
    result_.iterations = staged.iterations();
    result_.status = InitialisationStatus::converged;
    result_.all_slopes = result_.along_impulses = true;
    return true;
  }

  std::vector<double> typical_sizes() const {
    std::vector<double> scale = values_.variable_scale;
    if (scale.empty())
      for (int j = 0; j < s_.variables; ++j) scale.push_back(std::abs(system_.nominal(j)));
    return scale;
  }

  // `conditions`: those of the options, or null.
  void solve_structured(const std::vector<int>& held, bool warm, ExtraConditions* conditions = nullptr) {
    StructuredArray array(system_, values_.structure);
    level_ = std::max(array.level(), values_->mu);
    result_.X.assign(guess_.begin(), guess_.end());
    result_.X.resize(static_cast<std::size_t>(level_ + 2) * n_, 0.0);
    if (warm)
      for (std::size_t k = n_; k < std::min(result_.X.size(), values_.X.size()); ++k) result_.X[k] = values_.X[k];
    StructuredOptions options;
    options.fixed = mask(held);
    options.preference = correction_preference(s_, values_.structure);
    options.scale = typical_sizes();
    options.time_scale = values_.time_scale;
    options.conditions = conditions;
    auto part = std::span(result_.X).first(static_cast<std::size_t>(array.level() + 2) * n_);
    const StructuredResult answer = array.solve(t_, part, options);
    result_.iterations = answer.iterations;
    result_.steps = answer.corrections;
    if (!answer.finite)
      result_.status = InitialisationStatus::not_finite;
    else if (answer.converged)
      result_.status = InitialisationStatus::converged;
    else if (answer.singular && answer.iterations == 0 && !held.empty())
      result_.status = InitialisationStatus::overfixed;
    else
      result_.status = InitialisationStatus::no_solution;
    result_.all_slopes = answer.converged && s_.taylor && array.extend(t_, level_, result_.X);
  }

  // One level above mu, where the array determines all of x'.
  void solve_blocks(const std::vector<int>& held, bool warm) {
    BlockArray array(system_, values_.structure, largest_dense_block);
    level_ = values_->mu + 1;
    result_.X.assign(guess_.begin(), guess_.end());
    result_.X.resize(static_cast<std::size_t>(level_ + 2) * n_, 0.0);
    if (warm)
      for (std::size_t k = n_; k < std::min(result_.X.size(), values_.X.size()); ++k) result_.X[k] = values_.X[k];
    const bool solved = array.project(t_, level_, result_.X, mask(held));
    result_.iterations = array.iterations();
    result_.status = solved ? InitialisationStatus::converged : InitialisationStatus::no_solution;
    result_.all_slopes = solved;
  }

  void solve_dense(const std::vector<int>& held) {
    DerivativeArray array(system_);
    level_ = values_->mu;
    result_.X.assign(guess_.begin(), guess_.end());
    result_.X.resize(static_cast<std::size_t>(level_ + 2) * n_, 0.0);
    ArrayNewtonOptions options;
    options.fixed = mask(held);
    options.preference = correction_preference(s_, values_.structure);
    options.norm_as_written = true;
    ArrayScaling scaling;
    const ArrayNewtonResult answer = solve_array(array, scaling, t_, level_, result_.X, options);
    result_.iterations = answer.iterations;
    result_.steps = answer.corrections;
    if (!answer.finite)
      result_.status = InitialisationStatus::not_finite;
    else if (answer.converged)
      result_.status = answer.residual <= 1e-8 * (1.0 + answer.reference)
                           ? InitialisationStatus::converged
                           : InitialisationStatus::inconsistent_least_squares;
    else
      result_.status = InitialisationStatus::no_solution;
  }

  void solve_extended() {
    if (solve_extended_sparsely() || solve_extended_by_structure()) return;
    DerivativeArray array(system_);
    level_ = s_.explicit_ode ? 0 : std::min(values_->mu + 1, array.highest_level());
    result_.X.assign(guess_.begin(), guess_.end());
    result_.X.resize(static_cast<std::size_t>(level_ + 2) * n_, 0.0);
    if (array.columns(level_) > largest_extended_array) {
      result_.message = fmt::format("initial equations can be solved for at most {} variables of such a mode, not {}",
                                    largest_extended_array / (level_ + 2), s_.variables);
      return;
    }
    ArrayNewtonOptions options;
    options.fixed = mask(result_.held);
    options.preference = correction_preference(s_, values_.structure);
    // the derivatives of an explicit ODE follow from x and must not count in the choice of the smallest correction
    if (s_.explicit_ode) options.preference.assign(n_, 1e-7);
    options.conditions = options_.conditions;
    options.iterations = 50;
    ArrayScaling scaling;
    const ArrayNewtonResult answer = solve_array(array, scaling, t_, level_, result_.X, options);
    result_.iterations = answer.iterations;
    result_.steps = answer.corrections;
    if (!answer.finite || answer.values.empty()) {
      result_.status = InitialisationStatus::not_finite;
    } else if (answer.converged && answer.residual <= 1e-8 * (1.0 + answer.reference)) {
      result_.status = InitialisationStatus::converged;
      count_freedom(answer);
    } else if (answer.converged) {
      result_.status = InitialisationStatus::inconsistent_least_squares;
      find_contradiction(answer);
    }
  }

  // As many conditions as degrees of freedom, and no hidden constraints: the usual case, in any size.
  bool solve_extended_sparsely() {
    const bool index_one = certified() && (values_.structure.equation_offset.empty() ||
                                           *std::ranges::max_element(values_.structure.equation_offset) == 0);
    if (!s_.explicit_ode && !index_one) return false;
    result_.X.assign(guess_.begin(), guess_.end());
    result_.X.resize(2 * n_, 0.0);
    const SparseStart answer = solve_sparse_start(system_, *options_.conditions, t_, mask(result_.held), result_.X);
    if (!answer.solved) return false;
    result_.iterations = answer.iterations;
    result_.steps = answer.corrections;
    result_.status = InitialisationStatus::converged;
    return true;
  }

  // The same with hidden constraints, which the cut array contains. No rank is decided.
  bool solve_extended_by_structure() {
    if (s_.explicit_ode || !certified() || !s_.taylor) return false;
    const StructuredArray array(system_, values_.structure);
    const int freedom = array.freedom(static_cast<int>(result_.held.size()), options_.conditions->count());
    if (freedom < 0) return false;
    // where values are left to be chosen, the dense array does that if it can
    const int columns = s_.variables * (std::min(values_->mu + 1, DerivativeArray(system_).highest_level()) + 2);
    if (freedom > 0 && columns <= largest_extended_array) return false;
    solve_structured(result_.held, true, options_.conditions);
    if (!result_.ok()) solve_structured(result_.held, false, options_.conditions);
    if (!result_.ok()) {
      result_.status = InitialisationStatus::no_solution;
      return false;
    }
    result_.freedom = freedom;
    return true;
  }

  // Directions of x_[0] along which nothing changes to first order: those of all unknowns less those of the
  // derivatives.
  void count_freedom(const ArrayNewtonResult& answer) {
    std::vector<int> free, derivatives;
    const std::vector<char> held = mask(result_.held);
    for (int j = 0; j < answer.jacobian.columns(); ++j) {
      if (static_cast<std::size_t>(j) >= n_) derivatives.push_back(j);
      if (static_cast<std::size_t>(j) >= n_ || !held[j]) free.push_back(j);
    }
    const auto nullity = [&](const std::vector<int>& which) {
      const LeastSquares part(select_columns(answer.jacobian, which));
      return static_cast<int>(which.size()) - rank_gap(part.pivots(), answer.jacobian.columns(), answer.reference).rank;
    };
    result_.freedom = nullity(free) - nullity(derivatives);
  }

  // At a point of least squares the residual is what no free unknown can reduce: the equations with a share in it are
  // those that contradict each other, and a fixed variable helps if its column is not orthogonal to it.
  void find_contradiction(const ArrayNewtonResult& answer) {
    double largest = 0.0;
    for (double g : answer.values) largest = std::max(largest, std::abs(g));
    const int system_rows = static_cast<int>(answer.values.size()) - options_.conditions->count();
    bool extra = false;
    std::vector<std::pair<double, Violation>> rows;
    for (int i = 0; i < static_cast<int>(answer.values.size()); ++i) {
      const double share = std::abs(answer.values[i]);
      if (share < 1e-3 * largest) continue;
      const double residual = answer.values[i] / answer.rows[i];
      extra |= i >= system_rows;
      rows.emplace_back(share, i < system_rows ? violation(i % s_.equations, i / s_.equations, residual)
                                               : violation(s_.equations + i - system_rows, 0, residual));
    }
    std::ranges::stable_sort(rows, std::greater{}, [](const auto& row) { return row.first; });
    for (std::size_t k = 0; k < rows.size() && k < 10; ++k) result_.violations.push_back(std::move(rows[k].second));
    const double size = norm(answer.values);
    for (int j : result_.held) {
      double product = 0.0, length = 0.0;
      for (int i = 0; i < answer.jacobian.rows(); ++i) {
        product += answer.jacobian(i, j) * answer.values[i];
        length += answer.jacobian(i, j) * answer.jacobian(i, j);
      }
      if (std::abs(product) > 1e-6 * size * std::sqrt(length)) result_.conflicting.push_back(j);
    }
    if (extra || !result_.conflicting.empty()) result_.status = InitialisationStatus::overfixed;
    for (int j : result_.held)
      if (std::ranges::find(result_.conflicting, j) == result_.conflicting.end()) result_.kept.push_back(j);
  }

  Violation violation(int equation, int order, double residual) const {
    Violation v{equation, order, residual, ""};
    v.name =
        equation < s_.equations ? system_.equation_name(equation) : options_.conditions->name(equation - s_.equations);
    if (order > 0) v.name += fmt::format(", differentiated {} time{}", order, order == 1 ? "" : "s");
    return v;
  }

  // The leading part of the fixed values could be kept; if the others came out as they were given, there is no
  // contradiction.
  void judge_overfixed() {
    if (!result_.ok()) return;
    bool agrees = true;
    for (int j : options_.fixed) {
      const double scale = std::max(std::abs(guess_[j]), values_.variable_scale[j]);
      agrees &= std::abs(result_.X[j] - guess_[j]) <= 1e-8 * scale;
    }
    if (agrees) {
      result_.conflicting.clear();
      result_.kept.clear();
      result_.held = options_.fixed;
      return;
    }
    result_.status = InitialisationStatus::overfixed;
    // which constraints are violated when all fixed values are kept: the rest of a least-squares solution
    Initialiser all(system_, t_, guess_, values_, options_);
    all.solve_dense(options_.fixed);
    all.find_violations();
    result_.violations = std::move(all.result_.violations);
  }

  void find_violations() {
    const std::vector<double>& X = result_.X;
    const int level = s_.taylor ? level_ : 0;
    const auto m = static_cast<std::size_t>(s_.equations);
    std::vector<double> F(m * static_cast<std::size_t>(level + 1));
    DerivativeArray(system_).evaluate(t_, level, std::span(X).first(static_cast<std::size_t>(level + 2) * n_), F);
    double power = 1.0;
    struct Row {
      double size;
      int equation, order;
      double value;
    };
    std::vector<Row> rows;
    for (int k = 0; k <= level; ++k, power *= values_.time_scale)
      for (std::size_t i = 0; i < m; ++i) {
        const double value = F[static_cast<std::size_t>(k) * m + i];
        const double size =
            std::abs(value) * power * (values_.equation_scale.empty() ? 1.0 : values_.equation_scale[i]);
        if (size > 1e-8 || !std::isfinite(size)) rows.push_back({size, static_cast<int>(i), k, value});
      }
    if (options_.conditions) {
      std::vector<double> h(static_cast<std::size_t>(options_.conditions->count()));
      options_.conditions->residual(t_, std::span(X).first(n_), std::span(X).subspan(n_, n_), h);
      for (std::size_t i = 0; i < h.size(); ++i)
        if (!(std::abs(h[i]) <= 1e-8)) rows.push_back({std::abs(h[i]), s_.equations + static_cast<int>(i), 0, h[i]});
    }
    std::ranges::stable_sort(rows, std::greater{}, &Row::size);
    result_.violations.clear();
    for (std::size_t k = 0; k < rows.size() && k < 10; ++k)
      result_.violations.push_back(violation(rows[k].equation, rows[k].order, rows[k].value));
  }

  // Differentiated variables whose corrections are nothing but rounding errors keep their values: a zero must not get a sign.
  void undo_rounding() {
    const std::vector<double> sizes = typical_sizes();
    constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
    for (std::size_t j = 0; j < n_; ++j)
      if (s_.differentiated(static_cast<int>(j)) && std::abs(result_.X[j] - guess_[j]) <= rounding * (sizes[j] + std::abs(guess_[j])))
        result_.X[j] = guess_[j];
  }

  void finish() {
    undo_rounding();
    result_.x.assign(result_.X.begin(), result_.X.begin() + s_.variables);
    result_.xp.assign(result_.X.begin() + s_.variables, result_.X.begin() + 2 * s_.variables);
    for (std::size_t j = 0; j < n_; ++j) result_.correction.push_back(result_.x[j] - guess_[j]);
    std::vector<double> F(static_cast<std::size_t>(s_.equations));
    system_.residual(t_, result_.x, result_.xp, F);
    for (double f : F) result_.residual = std::isfinite(f) ? std::max(result_.residual, std::abs(f)) : f;
    if (!result_.ok() && result_.violations.empty() && (dense_ || options_.conditions)) find_violations();
    describe();
  }

  void describe() {
    if (!result_.message.empty()) return;  // said already
    const auto names = [&](const std::vector<int>& list) {
      std::string text;
      for (std::size_t k = 0; k < list.size() && k < 8; ++k) text += (k ? ", " : "") + system_.variable_name(list[k]);
      return text;
    };
    std::string worst;
    if (!result_.violations.empty())
      worst = fmt::format("; worst: '{}' by {:.3g}", result_.violations[0].name, result_.violations[0].residual);
    switch (result_.status) {
      case InitialisationStatus::converged:
        if (options_.conditions && result_.freedom > 0)
          result_.message = fmt::format(
              "{} more initial equation{} or fixed start value{} could be given; values near the start values were "
              "taken",
              result_.freedom, result_.freedom == 1 ? "" : "s", result_.freedom == 1 ? "" : "s");
        break;
      case InitialisationStatus::overfixed:
        if (options_.conditions && !overfixed_) {
          describe_contradiction(names(result_.conflicting));
          break;
        }
        result_.message = fmt::format(
            "the fixed initial values of {} contradict the constraints at t = {:.9g}{}; free at least one of them{}",
            names(result_.conflicting.empty() ? options_.fixed : result_.conflicting), t_, worst,
            result_.kept.empty() ? "" : " (those of " + names(result_.kept) + " can stay fixed)");
        break;
      case InitialisationStatus::inconsistent_least_squares:
        result_.message = "the equations contradict each other; values of least squares were taken" + worst;
        break;
      case InitialisationStatus::no_solution:
        result_.message = "no consistent initial values were found near the guess" + worst +
                          "; give better start values, or fix fewer of them";
        break;
      case InitialisationStatus::not_finite:
        result_.message = "the equations cannot be evaluated at the start values; give other start values";
        break;
    }
  }

  void describe_contradiction(const std::string& freeable) {
    std::string equations;
    bool condition = false;
    for (std::size_t k = 0; k < result_.violations.size() && k < 8; ++k) {
      equations += (k ? ", '" : "'") + result_.violations[k].name + "'";
      condition |= result_.violations[k].equation >= s_.equations;
    }
    const bool one = result_.violations.size() == 1;
    result_.message = fmt::format("at the start {} cannot hold {} (largest residual {:.3g}); {}", equations,
                                  one ? "with the fixed start values" : "together", result_.violations.at(0).residual,
                                  condition ? "remove one of the initial equations" : "");
    if (!freeable.empty())
      result_.message += fmt::format("{}free the start value of one of {}", condition ? ", or " : "", freeable);
  }

  System& system_;
  const Structure& s_;
  std::size_t n_;
  double t_;
  std::span<const double> guess_;
  const CharacteristicValues& values_;
  const InitialisationOptions& options_;
  bool dense_, overfixed_ = false, only_preferred_ = false;
  int level_ = 0;
  Initialisation result_;
};

void check_arguments(const Structure& s, std::span<const double> guess, const InitialisationOptions& options) {
  if (static_cast<int>(guess.size()) != s.variables)
    throw UsageError(
        fmt::format("initialise: the system has {} variables, but {} values were given", s.variables, guess.size()));
  for (const auto* list : {&options.fixed, &options.preferred})
    for (int j : *list)
      if (j < 0 || j >= s.variables)
        throw UsageError(fmt::format("initialise: there is no variable {} to fix, the system has {}", j, s.variables));
}

Initialisation initialise_ode(System& system, double t, std::span<const double> guess) {
  Initialisation result;
  result.x.assign(guess.begin(), guess.end());
  result.xp.resize(guess.size());
  result.correction.assign(guess.size(), 0.0);
  system.rhs(t, result.x, result.xp);
  result.X = result.x;
  result.X.insert(result.X.end(), result.xp.begin(), result.xp.end());
  for (std::size_t j = 0; j < guess.size(); ++j) result.held.push_back(static_cast<int>(j));
  const bool finite = std::ranges::all_of(result.xp, [](double v) { return std::isfinite(v); });
  result.status = finite ? InitialisationStatus::converged : InitialisationStatus::not_finite;
  if (!finite) result.message = "the equations cannot be evaluated at the start values; give other start values";
  return result;
}

}  // namespace

Initialisation initialise(System& system, double t, std::span<const double> guess, const CharacteristicValues& values,
                          const InitialisationOptions& options) {
  check_arguments(system.structure(), guess, options);
  if (system.structure().explicit_ode && !options.conditions) return initialise_ode(system, t, guess);
  return Initialiser(system, t, guess, values, options).run();
}

bool initialise_in_place(System& system, double t, const CharacteristicValues& values, std::span<double> x,
                         std::span<double> xp) {
  if (!values.index_one || !values.certificate.valid) return false;
  const std::size_t n = x.size();
  if (values.X.size() >= 2 * n)
    std::copy_n(values.X.begin() + static_cast<std::ptrdiff_t>(n), n, xp.begin());
  else
    std::ranges::fill(xp, 0.0);
  return refine_in_place(system, t, values, x, xp);
}

bool refine_in_place(System& system, double t, const CharacteristicValues& values, std::span<double> x,
                     std::span<double> xp) {
  if (!values.index_one || !values.certificate.valid) return false;
  const auto& d = values.structure.variable_offset;
  std::vector<double> guess;
  guess.reserve(static_cast<std::size_t>(std::ranges::count(d, 0)));
  for (std::size_t j = 0; j < d.size(); ++j)
    if (d[j] == 0) guess.push_back(x[j]);
  if (values.index_one->solve(system, values.structure, t, x, xp, values.variable_scale, values.time_scale).solved) return true;
  for (std::size_t j = 0, k = 0; j < d.size(); ++j)
    if (d[j] == 0) x[j] = guess[k++];
  return false;
}

Initialisation initialise(System& system, double t, std::span<const double> guess,
                          const InitialisationOptions& options) {
  check_arguments(system.structure(), guess, options);
  if (system.structure().explicit_ode) {
    CharacteristicValues values;
    values.numbers.d = system.structure().variables;
    return initialise(system, t, guess, values, options);
  }
  return initialise(system, t, guess, characteristic_values(system, t, guess), options);
}

}  // namespace saltus
