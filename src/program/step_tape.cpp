#include "program/step_tape.hpp"

#include <saltus/expr/derivative.hpp>

#include <limits>
#include <unordered_set>

#include "base/finite.hpp"
#include "program/tape_chain.hpp"

namespace saltus {

namespace {

using Groups = std::vector<std::vector<Expr>>;
using Place = TapeChain::Place;
using Places = TapeChain::Places;

/// A graph for sums and norms, whose products are not fused.
struct Formula {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Groups inputs;

  const std::vector<Expr>& input(std::size_t count) {
    auto& group = inputs.emplace_back();
    while (group.size() < count) group.emplace_back(graph, graph->symbol("s", SymbolKind::parameter));
    return group;
  }
  Tape tape(const std::vector<Expr>& outputs) const { return lower(inputs, Groups{outputs}, {.fuse = false}); }
};

/// sum_i weight_i k_i[j] over the terms that are not zero, in their order. `weights`: every step-th one from `first`
/// on.
Expr weighted_sum(std::span<const double> weights, std::size_t first, std::size_t step, const std::vector<Expr>& k,
                  std::size_t n, std::size_t j) {
  Expr sum = 0.0;
  for (std::size_t i = 0; i < k.size() / n; ++i)
    if (const double w = weights[first + step * i]; w != 0.0) sum = sum + w * k[i * n + j];
  return sum;
}

Places joined(std::initializer_list<std::span<const Place>> lists) {
  Places all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

class StepWriter {
 public:
  StepWriter(const StepMethod& method, const StepEquations& equations)
      : method_(method), equations_(equations), n_(equations.variables.size()) {}

  Tape run() {
    t_ = chain_.input(1);
    h_ = chain_.input(1);
    end_ = chain_.input(1);
    x_ = chain_.input(n_);
    slopes_ = chain_.input(n_);
    data_ = chain_.input(equations_.data.size());
    rtol_ = chain_.input(1);
    atol_ = chain_.input(n_);
    const Tape rhs = tape_of(equations_.f);
    for (int i = 1; i < method_.stages; ++i) stage(i, rhs);
    x_end_ = argument_;
    chain_.output(x_end_);
    chain_.output(std::span(slopes_).subspan(n_));
    chain_.output(error());
    for (int i = method_.stages; i < method_.stages + method_.extra_stages; ++i) stage(i, rhs);
    const Places coefficients = dense();
    chain_.output(coefficients);
    guards(coefficients);
    return chain_.finish();
  }

 private:
  /// Of time, variables and data.
  Tape tape_of(const std::vector<Expr>& values) const {
    return lower(Groups{{equations_.time}, equations_.variables, equations_.data}, Groups{values});
  }

  /// Appends the slope at the argument of stage i; the argument stays in argument_.
  void stage(int i, const Tape& rhs) {
    const auto row = static_cast<std::size_t>(i), width = method_.c.size();
    const bool at_end = i < method_.stages && method_.c[row] == 1.0;
    Formula f;
    const Expr t = f.input(1)[0], h = f.input(1)[0];
    const std::vector<Expr> x = f.input(n_), k = f.input(slopes_.size());
    std::vector<Expr> values{t + method_.c[row] * h};
    for (std::size_t j = 0; j < n_; ++j) values.push_back(x[j] + h * weighted_sum(method_.a, row * width, 1, k, n_, j));
    argument_ = chain_.append(f.tape(values), joined({t_, h_, x_, slopes_}));
    if (at_end) argument_[0] = end_[0];
    const Places slope = chain_.append(rhs, joined({argument_, data_}));
    slopes_.insert(slopes_.end(), slope.begin(), slope.end());
    argument_.erase(argument_.begin());
  }

  /// The largest error of a variable (Tableau::error), corrected by the second estimate where there is one.
  Places error() {
    Formula f;
    const Expr h = f.input(1)[0], rtol = f.input(1)[0];
    const std::vector<Expr> x0 = f.input(n_), x1 = f.input(n_), atol = f.input(n_), k = f.input(slopes_.size());
    const auto larger = [](const Expr& a, const Expr& b) { return if_else(a < b, b, a); };
    const auto largest_ratio = [&](std::span<const double> weights) {
      Expr largest = 0.0;
      for (std::size_t j = 0; j < n_; ++j) {
        const Expr magnitude = larger(abs(x0[j]), abs(x1[j]));
        largest = larger(largest, abs(h * weighted_sum(weights, 0, 1, k, n_, j)) / (atol[j] + rtol * magnitude));
      }
      return largest;
    };
    Expr error = largest_ratio(method_.error);
    if (!method_.second_error.empty()) {
      const Expr first = error, second = largest_ratio(method_.second_error);
      const Expr corrected = first * first / sqrt(first * first + 0.01 * second * second);
      error = if_else(first > 0.0, if_else(first > 1e100, first, corrected), first);
    }
    return chain_.append(f.tape({error}), joined({h_, rtol_, x_, x_end_, atol_, slopes_}));
  }

  Places dense() {
    Formula f;
    const Expr h = f.input(1)[0];
    const std::vector<Expr> k = f.input(slopes_.size());
    const auto degree = static_cast<std::size_t>(method_.dense_degree);
    std::vector<Expr> values;
    for (std::size_t power = 0; power < degree; ++power)
      for (std::size_t j = 0; j < n_; ++j) values.push_back(h * weighted_sum(method_.dense, power, degree, k, n_, j));
    return chain_.append(f.tape(values), joined({h_, slopes_}));
  }

  /// True if the guard has no switches of its own and constant derivatives.
  bool affine(const Expr& guard, const std::vector<Expr>& derivatives) const {
    const auto graph = common_graph(std::span(&guard, 1));
    if (!graph) return true;
    std::unordered_set<NodeId> data, moving{equations_.time.in(*graph)};
    std::vector<NodeId> leaves;
    for (const Expr& e : equations_.data) data.insert(e.in(*graph)), leaves.push_back(e.in(*graph));
    for (const Expr& e : equations_.variables) moving.insert(e.in(*graph));
    const NodeId root = guard.in(*graph);
    for (const NodeId id : graph->reachable(std::span(&root, 1), leaves)) {
      const OpKind kind = info(graph->node(id).op).kind;
      const bool smooth = kind == OpKind::leaf || kind == OpKind::arithmetic || kind == OpKind::function;
      if (!smooth && !data.contains(id)) return false;
    }
    for (const Expr& d : derivatives) {
      const NodeId id = d.in(*graph);
      for (const NodeId below : graph->reachable(std::span(&id, 1), leaves))
        if (moving.contains(below)) return false;
    }
    return true;
  }

  void guards(const Places& coefficients) {
    chain_.output(chain_.append(tape_of(equations_.guards), joined({end_, x_end_, data_})));
    Places lower_bounds, upper_bounds;
    for (const Expr& guard : equations_.guards) {
      const Places both = bounds(guard, coefficients);
      lower_bounds.push_back(both[0]);
      upper_bounds.push_back(both[1]);
    }
    chain_.output(lower_bounds);
    chain_.output(upper_bounds);
  }

  /// The smallest and the largest Bernstein coefficient of the guard along the step.
  Places bounds(const Expr& guard, const Places& coefficients) {
    std::vector<Expr> values{guard, derivative(guard, equations_.time)};
    for (const Expr& v : equations_.variables) values.push_back(derivative(guard, v));
    Formula f;
    if (!affine(guard, {values.begin() + 1, values.end()})) return chain_.append(f.tape({Expr(-inf), Expr(inf)}), {});
    const Expr h = f.input(1)[0];
    const std::vector<Expr> at_start = f.input(values.size()), c = f.input(coefficients.size());
    const auto degree = static_cast<std::size_t>(method_.dense_degree);
    std::vector<Expr> powers{at_start[0]};
    for (std::size_t k = 0; k < degree; ++k) {
      Expr sum = k == 0 ? at_start[1] * h : Expr(0.0);
      for (std::size_t j = 0; j < n_; ++j) sum = sum + at_start[2 + j] * c[k * n_ + j];
      powers.push_back(sum);
    }
    Expr smallest = powers[0], largest = powers[0];
    for (std::size_t i = 1; i <= degree; ++i) {  // b_i = sum_k binomial(i, k) / binomial(degree, k) powers_k
      Expr b = powers[0];
      double ratio = 1.0;
      for (std::size_t k = 1; k <= i; ++k) {
        ratio *= static_cast<double>(i - k + 1) / static_cast<double>(degree - k + 1);
        b = b + ratio * powers[k];
      }
      smallest = if_else(b < smallest, b, smallest);
      largest = if_else(largest < b, b, largest);
    }
    const Places start_values = chain_.append(tape_of(values), joined({t_, x_, data_}));
    return chain_.append(f.tape({smallest, largest}), joined({h_, start_values, coefficients}));
  }

  const StepMethod& method_;
  const StepEquations& equations_;
  const std::size_t n_;
  TapeChain chain_;
  Places t_, h_, end_, x_, slopes_, data_, rtol_, atol_, argument_, x_end_;
};

}  // namespace

Tape make_step_tape(const StepMethod& method, const StepEquations& equations) {
  if (equations.f.size() != equations.variables.size())
    throw UsageError("make_step_tape: there must be one right-hand side for each variable");
  return StepWriter(method, equations).run();
}

}  // namespace saltus
