#include "program/step_tape.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/program/taylor.hpp>

#include <array>
#include <cmath>
#include <unordered_set>

#include "base/dense_defect.hpp"
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
      : method_(method),
        equations_(equations),
        n_(equations.variables.size()),
        degree_(static_cast<std::size_t>(method.series > 0 ? method.series : method.dense_degree)) {}

  StepTape run() {
    t_ = chain_.input(1);
    h_ = chain_.input(1);
    end_ = chain_.input(1);
    x_ = chain_.input(n_);
    slopes_ = chain_.input(n_);
    data_ = chain_.input(equations_.data.size());
    rtol_ = chain_.input(1);
    atol_ = chain_.input(n_);
    guards(method_.series > 0 ? series() : stages());
    chain_.output(finite());
    result_.tape = chain_.finish();
    return std::move(result_);
  }

 private:
  /// Of time, variables and data.
  Tape tape_of(const std::vector<Expr>& values) const {
    return lower(Groups{{equations_.time}, equations_.variables, equations_.data}, Groups{values});
  }

  /// Appends all stages. Returns the coefficients of the dense output.
  Places stages() {
    const Tape rhs = tape_of(equations_.f);
    for (int i = 1; i < method_.stages; ++i) stage(i, rhs);
    x_end_ = argument_;
    chain_.output(x_end_);
    chain_.output(std::span(slopes_).subspan(n_));
    Places error = error_at_end();
    for (int i = method_.stages; i < method_.stages + method_.extra_stages; ++i) stage(i, rhs);
    Places coefficients = dense();
    if (method_.extra_stages > 0) error = larger_error(error, coefficients, rhs);
    chain_.output(error);
    chain_.output(coefficients);
    return coefficients;
  }

  /// Appends the Taylor series P of the solution. Its error is h (P'(h) - f) / (order + 1) at the end of the step.
  /// Returns the coefficients of the dense output.
  Places series() {
    const auto expressions =
        solution_taylor_expressions(equations_.time, equations_.variables, equations_.f, method_.series);
    std::vector<Expr> by_order;
    for (std::size_t k = 1; k <= degree_; ++k)
      for (const auto& row : expressions) by_order.push_back(row[k]);
    const Places terms = chain_.append(tape_of(by_order), joined({t_, x_, data_}));
    Formula at_end;
    {
      const Expr h = at_end.input(1)[0];
      const std::vector<Expr> x = at_end.input(n_), c = at_end.input(terms.size());
      std::vector<Expr> values, slopes, dense;
      for (std::size_t j = 0; j < n_; ++j) {
        Expr value = c[(degree_ - 1) * n_ + j], slope = static_cast<double>(degree_) * c[(degree_ - 1) * n_ + j];
        for (std::size_t k = degree_ - 1; k > 0; --k) {
          value = value * h + c[(k - 1) * n_ + j];
          slope = slope * h + static_cast<double>(k) * c[(k - 1) * n_ + j];
        }
        values.push_back(value * h + x[j]);
        slopes.push_back(slope);
      }
      Expr power = h;
      for (std::size_t k = 1; k <= degree_; ++k, power = power * h)
        for (std::size_t j = 0; j < n_; ++j) dense.push_back(power * c[(k - 1) * n_ + j]);
      for (const auto* list : {&slopes, &dense}) values.insert(values.end(), list->begin(), list->end());
      argument_ = chain_.append(at_end.tape(values), joined({h_, x_, terms}));
    }
    const auto all = std::span(argument_);
    x_end_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n_));
    const Places last = chain_.append(tape_of(equations_.f), joined({end_, x_end_, data_}));
    slopes_.insert(slopes_.end(), last.begin(), last.end());
    Formula norm;
    const Expr h = norm.input(1)[0], rtol = norm.input(1)[0];
    const std::vector<Expr> x0 = norm.input(n_), x1 = norm.input(n_), slope = norm.input(n_), f = norm.input(n_),
                            atol = norm.input(n_);
    Expr largest = 0.0;
    for (std::size_t j = 0; j < n_; ++j) {
      const Expr error = h * (slope[j] - f[j]) / static_cast<double>(method_.series + 1);
      largest = larger(largest, abs(error) / (atol[j] + rtol * larger(abs(x0[j]), abs(x1[j]))));
    }
    chain_.output(x_end_);
    chain_.output(last);
    chain_.output(
        chain_.append(norm.tape({largest}), joined({h_, rtol_, x_, x_end_, all.subspan(n_, n_), last, atol_})));
    Places coefficients(all.begin() + static_cast<std::ptrdiff_t>(2 * n_), all.end());
    chain_.output(coefficients);
    return coefficients;
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
    if (i + 1 == method_.stages && !equations_.projected.empty()) project();
    const Places slope = chain_.append(rhs, joined({argument_, data_}));
    slopes_.insert(slopes_.end(), slope.begin(), slope.end());
    argument_.erase(argument_.begin());
  }

  /// Moves the end of the step, which is the argument, onto the constraints.
  void project() {
    const std::span<const Place> all = argument_;
    end_before_.assign(all.begin() + 1, all.end());
    const Places moved = chain_.append(tape_of(equations_.projected), joined({argument_, data_}));
    std::ranges::copy(moved, argument_.begin() + 1);
  }

  /// The largest error of a variable (Tableau::error), corrected by the second estimate where there is one.
  Places error_at_end() {
    Formula f;
    const Expr h = f.input(1)[0], rtol = f.input(1)[0];
    const std::vector<Expr> x0 = f.input(n_), x1 = f.input(n_), atol = f.input(n_), k = f.input(slopes_.size()),
                            before = f.input(end_before_.size());
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
    for (std::size_t j = 0; j < before.size(); ++j)  // what the projection has moved is an error, too
      error = larger(error, abs(x1[j] - before[j]) / (atol[j] + rtol * larger(abs(x0[j]), abs(x1[j]))));
    return chain_.append(f.tape({error}), joined({h_, rtol_, x_, x_end_, atol_, slopes_, end_before_}));
  }

  Places dense() {
    Formula f;
    const Expr h = f.input(1)[0];
    const std::vector<Expr> k = f.input(slopes_.size());
    const auto degree = static_cast<std::size_t>(method_.dense_degree);
    std::vector<Expr> values;
    for (std::size_t power = 0; power < degree; ++power)
      for (std::size_t j = 0; j < n_; ++j) values.push_back(h * weighted_sum(method_.dense, power, degree, k, n_, j));
    // the last coefficient takes what the projection has moved: the polynomial ends where the step does
    const std::vector<Expr> moved = f.input(end_before_.size()), from = f.input(end_before_.size());
    for (std::size_t j = 0; j < moved.size(); ++j) {
      Expr& last = values[(degree - 1) * n_ + j];
      last = last + (moved[j] - from[j]);
    }
    if (end_before_.empty()) return chain_.append(f.tape(values), joined({h_, slopes_}));
    return chain_.append(f.tape(values), joined({h_, slopes_, x_end_, end_before_}));
  }

  /// The error at the end or that of dense output inside the step, from its defect at one place: the larger one.
  Places larger_error(const Places& at_end, const Places& coefficients, const Tape& rhs) {
    const auto degree = static_cast<std::size_t>(method_.dense_degree);
    Formula there;
    Places arguments = joined({t_, h_, x_, coefficients});
    {
      const Expr t = there.input(1)[0], h = there.input(1)[0];
      const std::vector<Expr> x = there.input(n_), c = there.input(coefficients.size());
      const Expr when = t + DenseDefect::place * h, theta = (when - t) / h;
      std::vector<Expr> values{when}, slopes;
      for (std::size_t j = 0; j < n_; ++j) {
        Expr value = c[(degree - 1) * n_ + j], slope = static_cast<double>(degree) * c[(degree - 1) * n_ + j];
        for (std::size_t k = degree - 1; k > 0; --k) {
          value = value * theta + c[(k - 1) * n_ + j];
          slope = slope * theta + static_cast<double>(k) * c[(k - 1) * n_ + j];
        }
        values.push_back(value * theta + x[j]);
        slopes.push_back(slope / h);
      }
      values.insert(values.end(), slopes.begin(), slopes.end());
      arguments = chain_.append(there.tape(values), arguments);
    }
    const auto point = std::span(arguments).first(n_ + 1), slopes = std::span(arguments).last(n_);
    const Places f = chain_.append(rhs, joined({point, data_}));
    Formula norm;
    const Expr h = norm.input(1)[0], rtol = norm.input(1)[0], error = norm.input(1)[0];
    const std::vector<Expr> x = norm.input(n_), slope = norm.input(n_), wanted = norm.input(n_), atol = norm.input(n_);
    Expr largest = 0.0;
    for (std::size_t j = 0; j < n_; ++j)
      largest = larger(largest, abs(h * (slope[j] - wanted[j])) / (atol[j] + rtol * abs(x[j])));
    const Expr all = larger(error, largest / DenseDefect::of_tolerance);
    return chain_.append(norm.tape({all}), joined({h_, rtol_, at_end, point.subspan(1), slopes, f, atol_}));
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

  /// What is known about a guard along the step.
  struct Course {
    Places bernstein;
    Place lower, upper, scale;
  };

  void guards(const Places& coefficients) {
    chain_.output(chain_.append(tape_of(equations_.guards), joined({end_, x_end_, data_})));
    Places lower, upper, bernstein, scale;
    for (const Expr& guard : equations_.guards) {
      std::vector<Expr> values{guard, derivative(guard, equations_.time)};
      for (const Expr& v : equations_.variables) values.push_back(derivative(guard, v));
      result_.affine.push_back(affine(guard, {values.begin() + 1, values.end()}));
      const Course course = result_.affine.back() ? along(values, coefficients) : unbounded(values);
      lower.push_back(course.lower);
      upper.push_back(course.upper);
      scale.push_back(course.scale);
      result_.first.push_back(static_cast<int>(bernstein.size()));
      bernstein.insert(bernstein.end(), course.bernstein.begin(), course.bernstein.end());
    }
    result_.first.push_back(static_cast<int>(bernstein.size()));
    for (const Places& group : {lower, upper, bernstein, scale}) chain_.output(group);
  }

  /// An affine guard from its value and gradient at the start of the step.
  Course along(const std::vector<Expr>& value_and_gradient, const Places& coefficients) {
    Formula f;
    const Expr h = f.input(1)[0], t = f.input(1)[0];
    const std::vector<Expr> x = f.input(n_), at_start = f.input(value_and_gradient.size()),
                            c = f.input(coefficients.size());
    const std::size_t degree = degree_;
    std::vector<Expr> powers{at_start[0]};
    for (std::size_t k = 0; k < degree; ++k) {
      Expr sum = k == 0 ? at_start[1] * h : Expr(0.0);
      for (std::size_t j = 0; j < n_; ++j) sum = sum + at_start[2 + j] * c[k * n_ + j];
      powers.push_back(sum);
    }
    std::vector<Expr> b{powers[0]};
    for (std::size_t i = 1; i <= degree; ++i) {  // b_i = sum_k binomial(i, k) / binomial(degree, k) powers_k
      Expr sum = powers[0];
      double ratio = 1.0;
      for (std::size_t k = 1; k <= i; ++k) {
        ratio *= static_cast<double>(i - k + 1) / static_cast<double>(degree - k + 1);
        sum = sum + ratio * powers[k];
      }
      b.push_back(sum);
    }
    const Places start_values = chain_.append(tape_of(value_and_gradient), joined({t_, x_, data_}));
    const std::size_t count = b.size();
    Expr smallest = b[0], largest = b[0];
    for (std::size_t i = 1; i < count; ++i) {
      smallest = if_else(b[i] < smallest, b[i], smallest);
      largest = larger(largest, b[i]);
    }
    for (const Expr& value : {smallest, largest, scale_of(t, x, at_start)}) b.push_back(value);
    Places all = chain_.append(f.tape(b), joined({h_, t_, x_, start_values, coefficients}));
    Course result{{}, all[count], all[count + 1], all[count + 2]};
    all.resize(count);
    result.bernstein = std::move(all);
    return result;
  }

  /// Any other guard: its scale alone.
  Course unbounded(const std::vector<Expr>& value_and_gradient) {
    Formula f;
    const Expr t = f.input(1)[0];
    const std::vector<Expr> x = f.input(n_), at_start = f.input(value_and_gradient.size());
    const Places start_values = chain_.append(tape_of(value_and_gradient), joined({t_, x_, data_}));
    const Place scale = chain_.append(f.tape({scale_of(t, x, at_start)}), joined({t_, x_, start_values}))[0];
    const Place zero = chain_.append(lower({}, Groups{{Expr(0.0)}}), {})[0];
    return {{}, zero, zero, scale};
  }

  /// The size of the terms of a guard, from its value and gradient.
  Expr scale_of(const Expr& t, const std::vector<Expr>& x, const std::vector<Expr>& value_and_gradient) const {
    Expr scale = abs(value_and_gradient[0]) + abs(value_and_gradient[1] * t);
    for (std::size_t j = 0; j < n_; ++j) scale = scale + abs(value_and_gradient[2 + j] * x[j]);
    return scale;
  }

  static Expr larger(const Expr& a, const Expr& b) { return if_else(a < b, b, a); }

  /// The sum of all products with zero: of slopes, values at the end, and what is checked there.
  Places finite() {
    Places arguments = joined({slopes_, x_end_});
    if (!equations_.checked.empty()) {
      const Places checked = chain_.append(tape_of(equations_.checked), joined({end_, x_end_, data_}));
      arguments.insert(arguments.end(), checked.begin(), checked.end());
    }
    if (!equations_.orientation.is_constant()) {
      const Tape tape = tape_of({equations_.orientation});
      const Places before = chain_.append(tape, joined({t_, x_, data_})),
                   after = chain_.append(tape, joined({end_, x_end_, data_}));
      Formula same;
      const Expr a = same.input(1)[0], b = same.input(1)[0];
      const Expr both =
          if_else(a > 0.0, if_else(b > 0.0, Expr(1.0), Expr(0.0)), if_else(b > 0.0, Expr(0.0), Expr(1.0)));
      arguments.push_back(chain_.append(same.tape({1.0 / both}), joined({before, after}))[0]);
    }
    Formula f;
    const std::vector<Expr> values = f.input(arguments.size());
    const Expr zero = f.input(1)[0];  // a product with the number 0 would be left out
    Expr sum = zero;
    for (const Expr& value : values) sum = sum + zero * value;
    arguments.push_back(chain_.append(lower({}, Groups{{Expr(0.0)}}), {})[0]);
    return chain_.append(f.tape({sum}), arguments);
  }

  const StepMethod& method_;
  const StepEquations& equations_;
  const std::size_t n_, degree_;  // of the dense output
  TapeChain chain_;
  StepTape result_;
  Places t_, h_, end_, x_, slopes_, data_, rtol_, atol_, argument_, x_end_;
  Places end_before_;  // the projection; empty: there is none
};

}  // namespace

StepTape make_step_tape(const StepMethod& method, const StepEquations& equations) {
  if (method.series > 0 && !equations.projected.empty())
    throw UsageError("make_step_tape: series are made for explicit equations only");
  if (equations.f.size() != equations.variables.size())
    throw UsageError("make_step_tape: there must be one right-hand side for each variable");
  return StepWriter(method, equations).run();
}

}  // namespace saltus
