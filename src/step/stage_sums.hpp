// Sums of the stages of an explicit Runge-Kutta step, for any number of variables, and for a few of them: there the loops would cost more
// than what they do, and are unrolled, as the compiler knows the numbers of variables and stages. Both sum in the same order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace saltus {

constexpr int most_stages = 16;

/// The weight of every stage in a sum, and the terms that are not zero.
struct StageWeights {
  struct Term {
    double weight = 0.0;
    std::size_t stage = 0;
  };
  std::array<double, most_stages> weight{};
  std::array<Term, most_stages> terms{};
  int count = 0;  ///< of terms

  /// weights[first], weights[first + step], …
  template <class Weights>
  static StageWeights of(const Weights& weights, std::size_t first, std::size_t step, int stages) {
    StageWeights result;
    for (int i = 0; i < stages; ++i) {
      const double w = weights[first + step * static_cast<std::size_t>(i)];
      result.weight[static_cast<std::size_t>(i)] = w;
      if (w != 0.0) result.terms[static_cast<std::size_t>(result.count++)] = {w, static_cast<std::size_t>(i)};
    }
    return result;
  }
};

/// For any number of variables. Stages k stand behind each other.
class SumsOfAny {
 public:
  SumsOfAny(int variables, int stages, int all_stages) : n_(variables), stages_(stages), all_(all_stages) {}

  int variables() const { return n_; }
  int stages() const { return stages_; }
  int all_stages() const { return all_; }

  /// Whether use(i) is true for all stages but the first, or all extra stages, asked in their order until one is not.
  template <class Use>
  bool every_stage(Use use) const {
    for (int i = 1; i < stages_; ++i)
      if (!use(i)) return false;
    return true;
  }

  template <class Use>
  bool every_extra_stage(Use use) const {
    for (int i = stages_; i < all_; ++i)
      if (!use(i)) return false;
    return true;
  }

  /// target[j] = value(j, sum_i weight_i k_i[j]) over the first `terms` stages; k, all of it, and what value reads must not overlap with
  /// the target.
  template <class Value>
  void fill(double* target, const StageWeights& weights, int /*terms*/, const double* k, Value value) const {
    each(weights, k, [=](int j, double sum) { target[j] = value(j, sum); });
  }

  /// The largest of the values, or 0.
  template <class Value>
  double largest(const StageWeights& weights, int /*terms*/, const double* k, Value value) const {
    double result = 0.0;
    each(weights, k, [&](int j, double sum) { result = std::max(result, value(j, sum)); });
    return result;
  }

 private:
  /// use(j, sum) for all variables; the number of terms becomes a constant.
  template <int Count = 1, class Use>
  void each(const StageWeights& weights, const double* k, Use use) const {
    if (weights.count == Count) return each_of<Count>(weights, k, use);
    if constexpr (Count < most_stages) each<Count + 1>(weights, k, use);
  }

  /// One pass over the variables with all terms in registers.
  template <int Count, class Use>
  void each_of(const StageWeights& weights, const double* k, Use use) const {
    std::array<const double*, Count> rows;
    std::array<double, Count> w;
    for (std::size_t i = 0; i < Count; ++i) {
      rows[i] = k + weights.terms[i].stage * static_cast<std::size_t>(n_);
      w[i] = weights.terms[i].weight;
    }
    for (int j = 0; j < n_; ++j) {
      double sum = w[0] * rows[0][j];
      for (std::size_t i = 1; i < Count; ++i) sum += w[i] * rows[i][j];
      use(j, sum);
    }
  }

  int n_, stages_, all_;
};

/// The same for a few variables and numbers of stages that are constants, as are the numbers of terms.
template <int Variables, int Stages, int AllStages>
class SumsOfFew {
 public:
  template <int Number>
  using Constant = std::integral_constant<int, Number>;

  SumsOfFew(int /*variables*/, int /*stages*/, int /*all_stages*/) {}

  static constexpr int variables() { return Variables; }
  static constexpr Constant<Stages> stages() { return {}; }
  static constexpr Constant<AllStages> all_stages() { return {}; }

  template <class Use>
  bool every_stage(Use use) const {
    return every<1>(use, std::make_integer_sequence<int, Stages - 1>());
  }

  template <class Use>
  bool every_extra_stage(Use use) const {
    return every<Stages>(use, std::make_integer_sequence<int, AllStages - Stages>());
  }

  template <int Terms, class Value>
  void fill(double* target, const StageWeights& weights, Constant<Terms>, const double* k, Value value) const {
    const Values sums = sum<Terms>(weights, k);
    for (int j = 0; j < Variables; ++j) target[j] = value(j, sums[static_cast<std::size_t>(j)]);
  }

  template <int Terms, class Value>
  double largest(const StageWeights& weights, Constant<Terms>, const double* k, Value value) const {
    const Values sums = sum<Terms>(weights, k);
    double result = 0.0;
    for (int j = 0; j < Variables; ++j) result = std::max(result, value(j, sums[static_cast<std::size_t>(j)]));
    return result;
  }

 private:
  using Values = std::array<double, Variables>;

  template <int First, class Use, int... I>
  static bool every(Use& use, std::integer_sequence<int, I...>) {
    return (use(Constant<First + I>()) && ...);
  }

  template <int Terms>
  static Values sum(const StageWeights& weights, const double* k) {
    Values result;
    for (std::size_t j = 0; j < Variables; ++j) result[j] = weights.weight[0] * k[j];
    for (std::size_t i = 1; i < Terms; ++i)
      for (std::size_t j = 0; j < Variables; ++j) result[j] += weights.weight[i] * k[i * Variables + j];
    return result;
  }
};

}  // namespace saltus
