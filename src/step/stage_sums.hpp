// Sums of the stages of an explicit Runge-Kutta step, for any number of variables, and for a few of them: there the loops would cost more
// than what they do, and are unrolled, as the compiler knows the numbers of variables and stages. Both give the same up to rounding.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace saltus {

constexpr int most_stages = 16;

/// The weight of every stage in a sum, and which of them are not zero.
struct StageWeights {
  std::array<double, most_stages> weight{};
  int count = 0;
  std::array<int, most_stages> stage{};

  /// weights[first], weights[first + step], …
  template <class Weights>
  static StageWeights of(const Weights& weights, std::size_t first, std::size_t step, int stages) {
    StageWeights result;
    for (int i = 0; i < stages; ++i) {
      const double w = weights[first + step * static_cast<std::size_t>(i)];
      result.weight[static_cast<std::size_t>(i)] = w;
      if (w != 0.0) result.stage[static_cast<std::size_t>(result.count++)] = i;
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
    each(weights, k, [&](int j, double sum) { target[j] = value(j, sum); });
  }

  /// target = x0 + h sum: the argument of the stage behind these terms.
  void set_argument(double* target, const StageWeights& weights, int terms, const double* k, const double* x0, double h) const {
    fill(target, weights, terms, k, [=](int j, double sum) { return x0[j] + h * sum; });
  }

  /// The largest of the values, or 0.
  template <class Value>
  double largest(const StageWeights& weights, int /*terms*/, const double* k, Value value) const {
    double result = 0.0;
    each(weights, k, [&](int j, double sum) { result = std::max(result, value(j, sum)); });
    return result;
  }

 private:
  template <class Use>
  void each(const StageWeights& weights, const double* k, Use use) const {
    switch (weights.count) {
      case 1:
        return each_of<1>(weights, k, use);
      case 2:
        return each_of<2>(weights, k, use);
      case 3:
        return each_of<3>(weights, k, use);
      case 4:
        return each_of<4>(weights, k, use);
      case 5:
        return each_of<5>(weights, k, use);
      case 6:
        return each_of<6>(weights, k, use);
      case 7:
        return each_of<7>(weights, k, use);
      default:
        break;
    }
    for (int j = 0; j < n_; ++j) {
      double sum = 0.0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(weights.count); ++i)
        sum += weights.weight[static_cast<std::size_t>(weights.stage[i])] * row(k, weights.stage[i])[j];
      use(j, sum);
    }
  }

  /// One pass over the variables with all terms in registers.
  template <int Count, class Use>
  void each_of(const StageWeights& weights, const double* k, Use use) const {
    std::array<const double*, Count> rows;
    std::array<double, Count> w;
    for (std::size_t i = 0; i < Count; ++i) {
      rows[i] = row(k, weights.stage[i]);
      w[i] = weights.weight[static_cast<std::size_t>(weights.stage[i])];
    }
    for (int j = 0; j < n_; ++j) {
      double sum = w[0] * rows[0][j];
      for (std::size_t i = 1; i < Count; ++i) sum += w[i] * rows[i][j];
      use(j, sum);
    }
  }

  const double* row(const double* k, int stage) const {
    return k + static_cast<std::size_t>(stage) * static_cast<std::size_t>(n_);
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

  /// The newest term is the last, so that all others are there when it comes. The end of the step is not rounded twice.
  template <int Terms>
  void set_argument(double* target, const StageWeights& weights, Constant<Terms> terms, const double* k, const double* x0,
                    double h) const {
    if constexpr (Terms == 1 || Terms == Stages - 1) {
      fill(target, weights, terms, k, [=](int j, double sum) { return x0[j] + h * sum; });
    } else {
      const Values older = sum<Terms - 1>(weights, k);
      const double weight = h * weights.weight[Terms - 1];
      const double* const newest = k + (Terms - 1) * Variables;
      for (int j = 0; j < Variables; ++j)
        target[j] = (x0[j] + h * older[static_cast<std::size_t>(j)]) + weight * newest[j];
    }
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
