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

/// How values at the Chebyshev points of [0, 1] give a polynomial: its Bernstein coefficients, and the last two of its
/// Chebyshev coefficients. Square roots are all that is needed, so the numbers are the same on every machine.
struct Interpolation {
  static constexpr std::size_t degree = StepTape::sampled_degree, count = degree + 1;
  using Row = std::array<double, count>;
  Row nodes;
  std::array<Row, count> bernstein;  // one row for each coefficient
  std::array<Row, 2> last;

  Interpolation() {
    std::array<Row, count> chebyshev;  // one row for each coefficient: T_k at node i is (-1)^k cos(pi i k / 8)
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = 0; i < count; ++i) {
        const double ends = (i == 0 || i == degree ? 0.5 : 1.0) * (k == 0 || k == degree ? 0.5 : 1.0);
        chebyshev[k][i] = (k % 2 == 0 ? 2.0 : -2.0) / degree * ends * cosine(i * k);
      }
    for (std::size_t i = 0; i < count; ++i) nodes[i] = 0.5 * (1.0 - cosine(i));
    last = {chebyshev[degree - 1], chebyshev[degree]};
    for (Row& row : bernstein) row.fill(0.0);
    for (std::size_t k = 0; k < count; ++k) {
      const Row column = bernstein_of_chebyshev(k);
      for (std::size_t j = 0; j < count; ++j)
        for (std::size_t i = 0; i < count; ++i) bernstein[j][i] += column[j] * chebyshev[k][i];
    }
  }

 private:
  /// cos(pi m / 8).
  static double cosine(std::size_t m) {
    const double root = std::sqrt(2.0);
    const double first[] = {1.0, 0.5 * std::sqrt(2.0 + root), 0.5 * root, 0.5 * std::sqrt(2.0 - root), 0.0};
    m %= 2 * degree;
    if (m > degree) m = 2 * degree - m;
    return m <= degree / 2 ? first[m] : -first[degree - m];
  }

  /// Of T_k(2 u - 1), in degree 8: (-1)^(k-j) binomial(2k, 2j) / binomial(k, j) in degree k, then elevated.
  static Row bernstein_of_chebyshev(std::size_t k) {
    Row b{};
    double ratio = 1.0;  // binomial(2k, 2j) / binomial(k, j)
    for (std::size_t j = 0; j <= k; ++j) {
      b[j] = (k - j) % 2 == 0 ? ratio : -ratio;
      const auto d = [](std::size_t v) { return static_cast<double>(v); };
      ratio *= d(2 * (k - j)) * d(2 * (k - j)) - d(2 * (k - j));
      ratio /= d((2 * j + 1) * (2 * j + 2)) * (d(k - j) / d(j + 1));
      if (j == k) break;
    }
    for (std::size_t m = k; m < degree; ++m) {  // from degree m to m + 1
      Row next{};
      for (std::size_t j = 0; j <= m + 1; ++j) {
        const double share = static_cast<double>(j) / static_cast<double>(m + 1);
        next[j] = (j > 0 ? share * b[j - 1] : 0.0) + (j <= m ? (1.0 - share) * b[j] : 0.0);
      }
      b = next;
    }
    return b;
  }
};

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
    Place lower, upper, scale, rough;
  };

  void guards(const Places& coefficients) {
    chain_.output(chain_.append(tape_of(equations_.guards), joined({end_, x_end_, data_})));
    std::vector<Expr> others;
    std::vector<std::vector<Expr>> gradients;
    for (const Expr& guard : equations_.guards) {
      std::vector<Expr> values{guard, derivative(guard, equations_.time)};
      for (const Expr& v : equations_.variables) values.push_back(derivative(guard, v));
      result_.affine.push_back(affine(guard, {values.begin() + 1, values.end()}));
      if (!result_.affine.back()) others.push_back(guard);
      gradients.push_back(std::move(values));
    }
    const std::vector<Places> samples = sample(others, coefficients);
    Places lower, upper, bernstein, scale, rough;
    std::size_t other = 0;
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      const Course course = result_.affine[k] ? along(gradients[k], coefficients) : interpolated(samples, other++);
      lower.push_back(course.lower);
      upper.push_back(course.upper);
      scale.push_back(course.scale);
      rough.push_back(course.rough);
      result_.first.push_back(static_cast<int>(bernstein.size()));
      bernstein.insert(bernstein.end(), course.bernstein.begin(), course.bernstein.end());
    }
    result_.first.push_back(static_cast<int>(bernstein.size()));
    for (const Places& group : {lower, upper, bernstein, scale, rough}) chain_.output(group);
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
    Expr scale = abs(at_start[0]) + abs(at_start[1] * t);
    for (std::size_t j = 0; j < n_; ++j) scale = scale + abs(at_start[2 + j] * x[j]);
    const Places start_values = chain_.append(tape_of(value_and_gradient), joined({t_, x_, data_}));
    return course(f, std::move(b), scale, 0.0, joined({h_, t_, x_, start_values, coefficients}));
  }

  /// Values of guards at the Chebyshev points of the step.
  std::vector<Places> sample(const std::vector<Expr>& guards, const Places& coefficients) {
    std::vector<Places> values;
    if (guards.empty()) return values;
    const Tape tape = tape_of(guards);
    const std::size_t degree = degree_;
    for (std::size_t i = 0; i < Interpolation::count; ++i) {
      const double theta = interpolation_.nodes[i];
      if (i == 0 || i + 1 == Interpolation::count) {
        values.push_back(chain_.append(tape, i == 0 ? joined({t_, x_, data_}) : joined({end_, x_end_, data_})));
        continue;
      }
      Formula f;
      const Expr t = f.input(1)[0], h = f.input(1)[0];
      const std::vector<Expr> x = f.input(n_), c = f.input(coefficients.size());
      std::vector<Expr> point{t + theta * h};
      for (std::size_t j = 0; j < n_; ++j) {
        Expr sum = theta * c[(degree - 1) * n_ + j];
        for (std::size_t k = degree - 1; k-- > 0;) sum = theta * (c[k * n_ + j] + sum);
        point.push_back(x[j] + sum);
      }
      const Places there = chain_.append(f.tape(point), joined({t_, h_, x_, coefficients}));
      values.push_back(chain_.append(tape, joined({there, data_})));
    }
    return values;
  }

  /// Guard number `which` of those that were sampled.
  Course interpolated(const std::vector<Places>& samples, std::size_t which) {
    Formula f;
    const std::vector<Expr> g = f.input(samples.size());
    const auto sum = [&](const auto& weights) {
      Expr total = weights[0] * g[0];
      for (std::size_t i = 1; i < g.size(); ++i) total = total + weights[i] * g[i];
      return total;
    };
    std::vector<Expr> b{g.front()};
    for (std::size_t k = 1; k + 1 < Interpolation::count; ++k) b.push_back(sum(interpolation_.bernstein[k]));
    b.push_back(g.back());
    Expr scale = abs(g[0]);
    for (const Expr& value : g) scale = larger(scale, abs(value));
    Places arguments;
    for (const Places& node : samples) arguments.push_back(node[which]);
    const Expr rough = larger(abs(sum(interpolation_.last[0])), abs(sum(interpolation_.last[1])));
    return course(f, std::move(b), scale, rough, arguments);
  }

  Course course(const Formula& f, std::vector<Expr> bernstein, const Expr& scale, const Expr& rough,
                std::span<const Place> arguments) {
    Expr smallest = bernstein[0], largest = bernstein[0];
    for (const Expr& b : bernstein) {
      smallest = if_else(b < smallest, b, smallest);
      largest = larger(largest, b);
    }
    const std::size_t count = bernstein.size();
    for (const Expr& value : {smallest, largest, scale, rough}) bernstein.push_back(value);
    Places all = chain_.append(f.tape(bernstein), arguments);
    Course result{{}, all[count], all[count + 1], all[count + 2], all[count + 3]};
    all.resize(count);
    result.bernstein = std::move(all);
    return result;
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
  const Interpolation interpolation_;
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
