// Guesses that fail are replaced in three ways. One equation for one unknown: the sign change nearest to the guess,
// then bisection. Several: the Newton homotopy F(x) = (1 - lambda) F(x0) (E. L. Allgower, K. Georg, Numerical
// Continuation Methods, Springer 1990, section 11.4), which for a circuit at rest raises its sources from zero to their
// strength. And guesses that are perturbed by the typical sizes of the variables, where the Jacobian vanishes or F has
// no value.
#include <saltus/dae/start_search.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "base/finite.hpp"
#include "base/work_limit.hpp"
#include "dae/shifted_system.hpp"
#include "dae/sub_system.hpp"

namespace saltus {
namespace {

constexpr int largest_search = 2000;  // variables: each block evaluates the whole system

bool regular(const System& system, const CharacteristicValues& values) {
  const Structure& s = system.structure();
  if (s.explicit_ode) return true;
  return values.status != AnalysisStatus::undecided &&
         (s.equations != s.variables || (values->u == 0 && values->v == 0));
}

CharacteristicValues analyse(System& system, double t, std::span<const double> x) {
  CharacteristicValues values;
  if (!system.structure().explicit_ode) return characteristic_values(system, t, x);
  values.numbers.d = system.structure().variables;
  return values;
}

StartSearch attempt(System& system, double t, std::span<const double> guess, const InitialisationOptions& options) {
  StartSearch result;
  if (!all_finite(guess)) return result;
  const double n = system.structure().variables;
  WorkLimit::begin_trial(1e4 + n * n * n);
  result.values = analyse(system, t, guess);
  if (!regular(system, result.values)) return result;
  result.start = initialise(system, t, guess, result.values, options);
  result.found = result.start.ok() && all_finite(result.start.x) && all_finite(result.start.xp);
  return result;
}

// F_i as a function of one unknown of a block.
class OneUnknown {
 public:
  OneUnknown(System& system, double t, double guess) : system_(system), t_(t), guess_(guess) {}

  // A zero with a change of sign, the nearest to the guess among the intervals that are looked at; others follow where
  // that is a pole.
  std::optional<double> solve() {
    const double unit = std::max(std::abs(system_.nominal(0)), std::abs(guess_));
    Sample above{guess_, value(guess_)}, below = above;
    if (above.f == 0.0) return guess_;
    for (double distance = 1e-3 * unit; distance < 1e12 * unit; distance *= 1.5) {
      for (Sample* end : {&above, &below}) {
        const double x = guess_ + (end == &above ? distance : -distance);
        const Sample next{x, value(x)};
        const std::optional<double> zero = bisect(*end, next);
        if (zero) return zero;
        *end = next;
      }
    }
    return {};
  }

 private:
  struct Sample {
    double x, f;
  };

  double value(double x) {
    const double none = 0.0;
    double f = 0.0;
    system_.residual(t_, {&x, 1}, {&none, 1}, {&f, 1});
    return f;
  }

  std::optional<double> bisect(Sample a, Sample b) {
    if (!std::isfinite(a.f) || !std::isfinite(b.f) || std::signbit(a.f) == std::signbit(b.f)) return {};
    const double least = std::min(std::abs(a.f), std::abs(b.f));
    for (int k = 0; k < 200 && a.f != 0.0 && b.f != 0.0; ++k) {
      const double x = 0.5 * (a.x + b.x);
      if (x == a.x || x == b.x) break;
      const Sample middle{x, value(x)};
      if (!std::isfinite(middle.f)) return {};
      (std::signbit(middle.f) == std::signbit(a.f) ? a : b) = middle;
    }
    const Sample& best = std::abs(a.f) < std::abs(b.f) ? a : b;
    if (std::abs(best.f) > least) return {};  // a pole
    return best.x;
  }

  System& system_;
  double t_, guess_;
};

// A block, or a mode as a whole, from guesses near the given one.
class Search {
 public:
  Search(System& system, double t, std::span<const double> guess, const InitialisationOptions& options)
      : system_(system), s_(system.structure()), t_(t), guess_(guess.begin(), guess.end()), options_(options) {
    structure_ = s_.explicit_ode ? StructuralAnalysis{} : analyse_structure(s_);
    const std::vector<int>& c = structure_.equation_offset;
    hidden_ = !c.empty() && *std::ranges::max_element(c) > 0;
    movable_.assign(guess_.size(), 1);
    for (int j = 0; j < s_.variables; ++j)
      if (!options.conditions && !hidden_ && s_.differentiated(j)) movable_[j] = 0;
    for (const int j : options.fixed) movable_[j] = 0;
    // the guesses of others say nothing about positions; those of the user do
    perturbed_ = options;
    perturbed_.hold = hidden_ ? Hold::fixed_only : options.hold;
  }

  StartSearch run() {
    StartSearch result;
    if (std::ranges::none_of(movable_, [](char c) { return c != 0; })) return result;
    const bool alone = s_.variables == 1 && s_.equations == 1 && !s_.differentiated(0) && !options_.conditions;
    if (alone) {
      if (const auto zero = OneUnknown(system_, t_, guess_[0]).solve())
        result = attempt(system_, t_, {&*zero, 1}, options_);
    } else if (!options_.conditions && !hidden_ && structure_.blocks.blocks() > 1 && s_.equations == s_.variables) {
      result = attempt(system_, t_, by_blocks(), options_);
    }
    if (result.found) return result;
    result = continuation(guess_, options_);
    for (const double radius : {1.0, 0.1, 10.0, 0.01, 100.0})
      if (!result.found) result = nearest(radius);
    if (!result.found) result = continuation(perturbed(1.0, 0), perturbed_);
    return result;
  }

 private:
  // Each block with the values of those before it; blocks that fail keep the guess.
  std::vector<double> by_blocks() {
    const auto n = static_cast<std::size_t>(s_.variables);
    std::vector<double> X = guess_;
    X.resize(2 * n, 0.0);
    const BlockTriangularForm& blocks = structure_.blocks;
    for (int b = 0; b < blocks.blocks(); ++b) {
      const auto first = blocks.start[b], last = blocks.start[b + 1];
      const std::vector<int> equations(blocks.equation.begin() + first, blocks.equation.begin() + last);
      const std::vector<int> variables(blocks.variable.begin() + first, blocks.variable.begin() + last);
      SubSystem part(system_, equations, variables);
      part.set_inputs(X);
      InitialisationOptions options;
      std::vector<double> own;
      for (std::size_t k = 0; k < variables.size(); ++k) {
        own.push_back(X[static_cast<std::size_t>(variables[k])]);
        if (std::ranges::find(options_.fixed, variables[k]) != options_.fixed.end())
          options.fixed.push_back(static_cast<int>(k));
      }
      StartSearch found = attempt(part, t_, own, options);
      if (!found.found) found = Search(part, t_, own, options).run();
      if (!found.found) continue;
      for (std::size_t k = 0; k < variables.size(); ++k) {
        X[static_cast<std::size_t>(variables[k])] = found.start.x[k];
        X[n + static_cast<std::size_t>(variables[k])] = found.start.xp[k];
      }
    }
    X.resize(n);
    return X;
  }

  // All variables that may move, by the radius times their typical sizes: up, down, and two mixtures of both. The
  // factors are all different, because models have symmetries.
  std::vector<double> perturbed(double radius, int pattern) const {
    std::vector<double> x = guess_;
    std::mt19937 bits(static_cast<unsigned>(pattern));
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double golden = 0.6180339887498949 * static_cast<double>(j + 1);
      const double factor = 0.5 + (golden - std::floor(golden));
      const bool down = pattern == 1 || (pattern > 1 && (bits() & 1U) != 0);
      if (movable_[j] == 0) continue;
      x[j] += (down ? -1.0 : 1.0) * radius * factor *
              std::max(std::abs(system_.nominal(static_cast<int>(j))), std::abs(x[j]));
    }
    return x;
  }

  // Of the points that are found from perturbations of one radius the one that is nearest to the guess.
  StartSearch nearest(double radius) {
    StartSearch best;
    double distance = 0.0;
    for (int pattern = 0; pattern < 4; ++pattern) {
      StartSearch found = attempt(system_, t_, perturbed(radius, pattern), perturbed_);
      if (!found.found) continue;
      double far = 0.0;
      for (std::size_t j = 0; j < guess_.size(); ++j)
        far += std::pow((found.start.x[j] - guess_[j]) / system_.nominal(static_cast<int>(j)), 2);
      if (best.found && !(far < distance * (1.0 - 1e-6))) continue;  // of two at the same distance the upper one
      distance = far;
      best = std::move(found);
    }
    return best;
  }

  StartSearch continuation(std::vector<double> x, const InitialisationOptions& options) {
    std::vector<double> F(static_cast<std::size_t>(s_.equations), 0.0), h, none(x.size(), 0.0);
    if (!s_.explicit_ode) system_.residual(t_, x, none, F);
    InitialisationOptions shifted_options = options;
    std::optional<ShiftedConditions> conditions;
    if (options.conditions) {
      h.resize(static_cast<std::size_t>(options.conditions->count()));
      if (s_.explicit_ode) system_.rhs(t_, x, none);
      options.conditions->residual(t_, x, none, h);
      conditions.emplace(*options.conditions, h);
      shifted_options.conditions = &*conditions;
    }
    if (!all_finite(F) || !all_finite(h)) return {};
    ShiftedSystem shifted(system_, F);
    System& followed = s_.explicit_ode ? system_ : shifted;
    constexpr double least_step = 1e-3;
    constexpr int most_steps = 60;
    double lambda = 0.0, step = 0.1;
    for (int k = 0; k < most_steps && step >= least_step; ++k) {
      const double next = std::min(1.0, lambda + step);
      shifted.set_share(1.0 - next);
      if (conditions) conditions->set_share(1.0 - next);
      const StartSearch found = attempt(followed, t_, x, shifted_options);
      if (!found.found) {
        step *= 0.25;
        continue;
      }
      x = found.start.x;
      lambda = next;
      step *= 2.0;
      if (lambda == 1.0) return attempt(system_, t_, x, options);
    }
    return {};
  }

  System& system_;
  const Structure& s_;
  double t_;
  std::vector<double> guess_;
  const InitialisationOptions& options_;
  InitialisationOptions perturbed_;
  StructuralAnalysis structure_;
  bool hidden_ = false;        // there are hidden constraints
  std::vector<char> movable_;  // by variable
};

}  // namespace

StartSearch search_start(System& system, double t, std::span<const double> guess,
                         const InitialisationOptions& options) {
  const Structure& s = system.structure();
  // where the Jacobian does not depend on x, another guess is as good or bad as this one
  if ((s.linear && !options.conditions) || s.variables > largest_search || s.variables == 0) return {};
  return Search(system, t, guess, options).run();
}

}  // namespace saltus
