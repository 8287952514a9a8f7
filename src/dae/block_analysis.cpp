// Each block of the block triangular form is a DAE for its own variables in which those of earlier blocks are given
// functions of time. If all blocks are regular (u = v = 0), so is the whole: each block has its own free initial values
// whatever the functions are, so d and a add up. Large blocks need a certificate; small ones are decided by ranks.
//
// How often must a block be differentiated? Its own constraints need mu_k of its derivatives. They contain derivatives
// w_[q] of earlier variables, which the array of the earlier block determines at the level q - 1 + nu_w, nu_w being that
// for w_[1]; what determines w_[q] contains derivatives of still earlier variables. Going from later blocks to earlier
// ones this gives a bound of mu: what is needed, if each block is differentiated as a whole.
#include "dae/block_analysis.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "dae/block_array.hpp"
#include "dae/component_choice.hpp"
#include "dae/level_analysis.hpp"

namespace saltus {
namespace {

struct BlockValues {
  int mu = 0, d = 0, a = 0;
  bool confirmed = false, grey = false;
  int candidate = -1;              // a level that satisfies the hypothesis and waits for the next one
  int corank = 0;                  // of the level before
  std::vector<int> slope_level;    // the level that determines x_[1], by variable; -1: not yet
  std::vector<int> constraint_order;  // the highest derivative of each input that the constraints contain; -1: none
  std::vector<int> slope_order;       // and that the expression for x_[1] contains, by variable and input
  std::vector<int> free_components;  // of the system
  LevelAnalysis last;

  bool same_numbers(const BlockValues& other) const {
    return confirmed == other.confirmed && mu == other.mu && d == other.d && a == other.a;
  }
};

class BlockAnalysis {
 public:
  BlockAnalysis(System& system, const StructuralAnalysis& structure, const CharacteristicOptions& options)
      : system_(system),
        s_(system.structure()),
        n_(static_cast<std::size_t>(s_.variables)),
        options_(options),
        array_(system, structure, largest_dense_block) {}

  void run(double t, std::span<const double> x, CharacteristicValues& result) {
    X_.assign(x.begin(), x.end());
    if (!decide(t, result)) return;
    result.numbers = collect(result);
    result.X = X_;
    result.X.resize(static_cast<std::size_t>(std::max(result->mu, 0) + 2) * n_, 0.0);
    result.status = grey() ? AnalysisStatus::grey : AnalysisStatus::clear;
    if (options_.neighbours && !s_.constant_jacobian) look_around(t, result);
  }

 private:
  // Levels 0, 1, … until every block is confirmed at a point that is consistent up to the level that the whole needs.
  bool decide(double t, CharacteristicValues& result) {
    values_.assign(array_.blocks().size(), {});
    for (int level = 0;; ++level) {
      const int bound = all_confirmed() ? propagate() : level;
      if (bound > options_.max_level + (all_confirmed() ? 0 : 1)) {
        result.reason = all_confirmed()
                            ? fmt::format("its blocks need up to {} differentiations together", bound)
                            : fmt::format("the block {} is not regular up to level {}", names(first_open()), level - 1);
        return false;
      }
      if (all_confirmed() && (s_.linear || level > bound)) break;
      X_.resize(static_cast<std::size_t>(level + 2) * n_, 0.0);
      if (!s_.linear && !array_.project(t, level, X_)) {
        result.reason = fmt::format("no consistent point was found at level {}", level);
        return false;
      }
      if (!decide_level_of_blocks(t, level, result)) return false;
    }
    return certify_large(t, result);
  }

  bool decide_level_of_blocks(double t, int level, CharacteristicValues& result) {
    array_.evaluate(t, level, X_);
    if (!array_.finite()) {
      result.reason = "the equations cannot be evaluated at the point";
      return false;
    }
    for (std::size_t b = 0; b < values_.size(); ++b) {
      const BlockArray::Block& block = array_.blocks()[b];
      BlockValues& values = values_[b];
      if (values.confirmed) continue;
      if (block.large)
        take_structure(block, values);
      else if (!decide_block(block, level, values)) {
        result.reason = "the equations cannot be evaluated at the point";
        return false;
      }
      result.kept = std::min({result.kept, values.last.derivatives.kept, values.last.algebraic.kept,
                              values.last.differential.kept});
      result.dropped = std::max({result.dropped, values.last.derivatives.dropped, values.last.algebraic.dropped,
                                 values.last.differential.dropped});
    }
    return true;
  }

  static void take_structure(const BlockArray::Block& block, BlockValues& values) {
    const StructuralAnalysis& offsets = block.offsets;
    const int deepest = *std::ranges::max_element(offsets.equation_offset);
    values.confirmed = true;
    values.mu = std::max(0, offsets.index - 1);
    values.d = offsets.degrees_of_freedom;
    values.a = block.structure.variables - values.d;
    for (const int order : offsets.variable_offset) values.slope_level.push_back(std::max(0, deepest + 1 - order));
    values.constraint_order.assign(block.inputs.size(), -1);
    for (const BlockArray::Coupling& c : block.couplings) {
      const auto input = std::ranges::lower_bound(block.inputs, c.variable) - block.inputs.begin();
      int& order = values.constraint_order[input];
      order = std::max(order, offsets.equation_offset[c.row] + (c.derivative ? 1 : 0));
    }
    for (const int offset : offsets.variable_offset)
      for (const int order : values.constraint_order) values.slope_order.push_back(std::max(-1, order + 1 - offset));
    for (int j = 0; j < block.structure.variables; ++j)
      if (deepest == 0 && offsets.variable_offset[j] > 0) values.free_components.push_back(block.variables[j]);
  }

  bool decide_block(const BlockArray::Block& block, int level, BlockValues& values) {
    const int m = block.structure.equations, n = block.structure.variables;
    const ArrayScaling scaling = array_.scaling(block, any_units);
    const Matrix J = array_.jacobian(block, scaling, false);
    LevelResult found = decide_level(J, array_.jacobian(block, scaling, true), m, n);
    if (!found.finite) return false;
    const Matrix C = array_.input_jacobian(block, scaling);
    const int inputs = static_cast<int>(block.inputs.size());
    note_slopes(columns(J, n, J.columns() - n), C, found, level, n, inputs, values);
    const int vanishing = found.analysis.v;
    found.analysis.v -= values.corank;
    values.corank = vanishing;
    values.grey |= found.grey();
    const LevelAnalysis& now = found.analysis;
    const bool satisfied = now.d == m - now.a - now.v, regular = now.v == 0 && now.d + now.a == n;
    if (values.candidate >= 0 && satisfied && now.a == values.last.a && now.d == values.last.d &&
        now.v == values.last.v && regular) {
      values.confirmed = true;
      values.mu = values.candidate;
    }
    values.candidate = values.confirmed ? values.candidate : satisfied ? level : -1;
    if (!values.confirmed) values.constraint_order = highest_orders(transpose_times(found.Z2, C), inputs);
    values.last = now;
    values.d = now.d;
    values.a = now.a;
    if (values.confirmed) {
      values.free_components.clear();
      for (const int j : choose_components(found.T2, block.structure, {}))
        values.free_components.push_back(block.variables[j]);
    }
    return true;
  }

  // The highest q for which some row contains x_[q] of an input.
  static std::vector<int> highest_orders(const Matrix& rows, int inputs) {
    std::vector<int> order(static_cast<std::size_t>(inputs), -1);
    for (int c = 0; c < rows.columns(); ++c)
      for (const double value : rows.column(c))
        if (std::abs(value) > 1e-9) order[c % inputs] = c / inputs;
    return order;
  }

  // x_[1] of a variable is determined if no null vector of the derivative columns moves it.
  static void note_slopes(const Matrix& M, const Matrix& C, const LevelResult& found, int level, int n, int inputs,
                          BlockValues& values) {
    values.slope_level.resize(static_cast<std::size_t>(n), -1);
    values.slope_order.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(inputs), -1);
    if (std::ranges::find(values.slope_level, -1) == values.slope_level.end()) return;
    const Svd decomposition = svd(M);
    const int rank = found.analysis.derivatives.rank;
    const Matrix inverse = pseudo_inverse(decomposition, rank);
    for (int j = 0; j < n; ++j) {
      if (values.slope_level[j] >= 0) continue;
      double moved = 0.0;
      for (int k = rank; k < M.columns(); ++k) moved = std::max(moved, std::abs(decomposition.V(j, k)));
      if (moved > 1e-8) continue;
      values.slope_level[j] = level;
      const std::vector<int> order = highest_orders(rows(inverse, j, 1) * C, inputs);
      std::ranges::copy(order, values.slope_order.begin() + static_cast<std::ptrdiff_t>(j) * inputs);
    }
  }

  bool certify_large(double t, CharacteristicValues& result) {
    for (const BlockArray::Block& block : array_.blocks()) {
      if (!block.large) continue;
      if (block.offsets.singular() || !array_.certificate(block, t, X_).valid) {
        result.reason = fmt::format("a block of {} variables, with '{}', has no certificate and is too large for ranks",
                                    block.variables.size(), system_.variable_name(block.variables.front()));
        return false;
      }
    }
    return true;
  }

  // How often all equations together have to be differentiated, at most.
  int propagate() const {
    std::vector<int> demand(n_, 0);  // derivatives of this order are needed, by variable
    int most = 0;
    for (std::size_t b = values_.size(); b-- > 0;) {
      const BlockArray::Block& block = array_.blocks()[b];
      const BlockValues& values = values_[b];
      most = std::max(most, values.mu);
      for (std::size_t k = 0; k < block.inputs.size(); ++k) {
        int& order = demand[block.inputs[k]];
        if (values.a > 0) order = std::max(order, values.constraint_order[k]);
      }
      for (std::size_t j = 0; j < block.variables.size(); ++j) {
        const int order = demand[block.variables[j]];
        if (order == 0) continue;
        most = std::max(most, order - 1 + std::max(values.slope_level[j], 0));
        for (std::size_t k = 0; k < block.inputs.size(); ++k) {
          const int of_slope = values.slope_order[j * block.inputs.size() + k];
          if (of_slope >= 0) demand[block.inputs[k]] = std::max(demand[block.inputs[k]], of_slope + order - 1);
        }
      }
    }
    return most;
  }

  CharacteristicNumbers collect(CharacteristicValues& result) const {
    CharacteristicNumbers numbers;
    int largest = 0;
    for (const BlockValues& values : values_) {
      numbers.d += values.d;
      numbers.a += values.a;
      largest = std::max(largest, values.mu);
      result.free_components.insert(result.free_components.end(), values.free_components.begin(),
                                    values.free_components.end());
    }
    numbers.mu = propagate();
    numbers.r = (numbers.mu + 1) * s_.equations;
    result.decided_by_structure = numbers.mu > largest;
    std::ranges::sort(result.free_components);
    return numbers;
  }

  // The ranks of small blocks at neighbouring points.
  void look_around(double t, CharacteristicValues& result) {
    std::mt19937 generator(12345);
    const auto uniform = [&generator] { return static_cast<double>(generator()) / 2147483648.0 - 1.0; };
    const std::vector<BlockValues> here = values_;
    const std::vector<double> X = X_;
    const int level = static_cast<int>(X.size() / n_) - 2;
    for (int k = 0; k < 2; ++k) {
      X_ = X;
      double time = 1.0;
      array_.evaluate(t, level, X);
      for (const BlockArray::Block& block : array_.blocks()) {
        if (block.large) continue;
        const ArrayScaling scaling = array_.scaling(block, any_units);
        time = std::min(time, scaling.time);
        for (std::size_t j = 0; j < block.variables.size(); ++j)
          X_[block.variables[j]] += 1e-3 * scaling.variable[j] * uniform();
      }
      const double there = s_.linear ? t + 1e-3 * time * uniform() : t;
      if (!s_.linear && !array_.project(there, level, X_)) continue;
      values_.assign(here.size(), {});
      CharacteristicValues other;
      bool fine = true;
      const std::vector<double> all = X_;
      for (int l = 0; l <= level && fine; ++l) {
        X_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(l + 2) * n_));
        fine = decide_level_of_blocks(there, l, other);
      }
      if (!fine) continue;
      for (std::size_t b = 0; b < here.size(); ++b)
        if (!values_[b].same_numbers(here[b])) result.status = AnalysisStatus::singular_point;
    }
    values_ = here;
    X_ = X;
  }

  bool all_confirmed() const {
    return std::ranges::all_of(values_, [](const BlockValues& v) { return v.confirmed; });
  }
  bool grey() const {
    return std::ranges::any_of(values_, [](const BlockValues& v) { return v.grey; });
  }
  std::size_t first_open() const {
    return static_cast<std::size_t>(std::ranges::find(values_, false, &BlockValues::confirmed) - values_.begin());
  }
  std::string names(std::size_t block) const {
    std::string text;
    for (const int j : array_.blocks()[block].variables) {
      if (text.size() > 60) return text + ", …";
      text += (text.empty() ? "of '" : ", '") + system_.variable_name(j) + "'";
    }
    return text;
  }

  System& system_;
  const Structure& s_;
  std::size_t n_;
  const CharacteristicOptions& options_;
  BlockArray array_;
  std::vector<BlockValues> values_;
  std::vector<double> X_;
};

}  // namespace

void analyse_blocks(System& system, double t, std::span<const double> x, const CharacteristicOptions& options,
                    CharacteristicValues& result) {
  if (!system.structure().taylor) {
    result.reason = "the system has no Taylor coefficients";
    return;
  }
  BlockAnalysis(system, result.structure, options).run(t, x, result);
}

}  // namespace saltus
