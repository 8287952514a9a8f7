// Random expression graphs, random tapes and random inputs, for comparing the back ends with one another.
#pragma once

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/expr.hpp>
#include <saltus/program/tape.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace saltus::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine_); }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::mt19937_64 engine_;
};

inline const std::vector<double>& special_values() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  static const std::vector<double> values{0.0,
                                          -0.0,
                                          1.0,
                                          -1.0,
                                          2.0,
                                          0.5,
                                          -3.0,
                                          1e308,
                                          -1e308,
                                          inf,
                                          -inf,
                                          1e-310,
                                          1e-300,
                                          std::numeric_limits<double>::quiet_NaN(),
                                          std::numeric_limits<double>::denorm_min()};
  return values;
}

inline double random_value(Random& random, bool specials) {
  if (specials && random.chance(8)) return random.pick(special_values());
  if (random.chance(8)) return static_cast<double>(random.below(5)) - 2.0;
  return random.uniform(-3.0, 3.0);
}

/// Foreign functions of several shapes; the second throws for arguments above 2.
inline const std::vector<std::shared_ptr<const ExternalFunction>>& external_functions() {
  const auto make = [](const char* name, int inputs, int outputs, ExternalFunction::Values values) {
    auto f = std::make_shared<ExternalFunction>();
    f->name = name;
    f->inputs = inputs;
    f->outputs = outputs;
    f->values = std::move(values);
    return std::shared_ptr<const ExternalFunction>(f);
  };
  static const std::vector<std::shared_ptr<const ExternalFunction>> functions{
      make("mix", 2, 2,
           [](std::span<const double> in, std::span<double> out) {
             out[0] = in[0] * 0.5 + in[1];
             out[1] = in[0] - in[1];
           }),
      make("moody", 1, 1,
           [](std::span<const double> in, std::span<double> out) {
             out[0] = 1.0;
             if (in[0] > 2.0) throw std::runtime_error("moody");
             out[0] = in[0] + 1.0;
           }),
      make("wide", 20, 19, [](std::span<const double> in, std::span<double> out) {
        for (std::size_t k = 0; k < out.size(); ++k) out[k] = in[k] * 0.25 - in[k + 1];
      })};
  return functions;
}

/// The operators of the table for which a condition holds.
template <class Condition>
std::vector<Op> operators_where(Condition condition) {
  std::vector<Op> list;
  for (const Operator& o : operators)
    if (condition(o)) list.push_back(o.op);
  return list;
}

/// The operators that tapes have.
inline const std::vector<Op>& instructions() {
  static const std::vector<Op> list = operators_where([](const Operator& o) { return is_instruction(o.op); });
  return list;
}

struct RandomGraph {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<std::vector<Expr>> inputs, outputs;
};

struct RandomGraphOptions {
  std::size_t operations = 30;
  bool external = true;
};

/// A graph with about the given number of operations, all kinds of them, over several groups of inputs; some relations
/// and roundings are locks. Outputs may be inputs, constants, or equal.
inline RandomGraph random_graph(Random& random, const RandomGraphOptions& options) {
  RandomGraph r;
  Graph& g = *r.graph;
  std::vector<NodeId> pool;
  const std::size_t groups = random.chance(20) ? 1 + random.below(12) : 1 + random.below(4);
  for (std::size_t k = 0; k < groups; ++k) {
    auto& group = r.inputs.emplace_back();
    for (std::size_t n = random.below(5); n-- > 0;) {
      pool.push_back(g.symbol("x" + std::to_string(pool.size()), SymbolKind::variable));
      group.emplace_back(r.graph, pool.back());
    }
  }
  for (const double c : {0.0, 0.75, -2.0})
    if (random.chance(2)) pool.push_back(g.constant(c));
  if (pool.empty()) pool.push_back(g.constant(1.5));
  const bool bounded = random.chance(2), calls = random.chance(3);
  const std::size_t window = 2 + random.below(40);
  const auto operand = [&] {
    return random.chance(3) ? pool[random.below(pool.size())]
                            : pool[pool.size() - 1 - random.below(std::min(pool.size(), window))];
  };
  static const std::vector<Op> plain{Op::add, Op::add, Op::sub, Op::sub, Op::mul,
                                     Op::mul, Op::mul, Op::div, Op::neg, Op::sqrt};
  static const std::vector<Op> functions = operators_where([](const Operator& o) { return o.kind == OpKind::function; });
  static const std::vector<Op> switches{Op::positive,         Op::nonnegative, Op::floor,       Op::live_positive,
                                        Op::live_nonnegative, Op::live_floor,  Op::logical_and, Op::logical_or,
                                        Op::logical_not,      Op::select,      Op::select,      Op::select};
  for (std::size_t k = 0; k < options.operations; ++k) {
    if (options.external && calls && random.chance(12)) {
      const auto& f = random.pick(external_functions());
      std::vector<NodeId> arguments;
      for (int i = 0; i < f->inputs; ++i) arguments.push_back(operand());
      for (int i = 0; i < f->outputs; ++i)
        if (!random.chance(3)) pool.push_back(g.call(f, arguments, i));
      continue;
    }
    const Op op = calls && random.chance(5) ? random.pick(functions) : random.pick(random.chance(4) ? switches : plain);
    const NodeId a = operand(), b = operand(), c = operand();
    const int count = operand_count(op);
    NodeId node = g.make(op, a, count > 1 ? b : no_node, count > 2 ? c : no_node);
    if (bounded && random.chance(3) && !g.is_constant(node))  // keep most values finite
      node = g.make(Op::div, node, g.make(Op::sqrt, g.make(Op::add, g.make(Op::mul, node, node), g.constant(1.0))));
    if (g.is_constant(node) && !std::isfinite(g.constant_value(node))) continue;
    pool.push_back(node);
  }
  for (std::size_t k = 1 + random.below(3); k-- > 0;) {
    auto& group = r.outputs.emplace_back();
    for (std::size_t n = random.below(6); n-- > 0;) group.emplace_back(r.graph, operand());
  }
  r.outputs.back().emplace_back(r.graph, pool.back());

  std::vector<Expr> all;
  for (const auto& group : r.outputs) all.insert(all.end(), group.begin(), group.end());
  auto& locks = r.inputs.emplace_back();
  const std::size_t locked = random.below(4);
  for (const Expr& lock : locks_of(all))
    if (random.below(3) < locked) locks.push_back(lock);
  return r;
}

/// A tape that no graph would give: any operation on any values, equal operands included.
inline Tape random_tape(Random& random, std::size_t size) {
  Tape tape;
  tape.constants = {0.0, -0.0, 1.0, 0.3};
  tape.input_sizes = {1 + static_cast<std::uint32_t>(random.below(4)), static_cast<std::uint32_t>(random.below(5))};
  tape.temporaries = 1 + static_cast<std::uint32_t>(random.below(40));
  const std::uint32_t first = tape.first_temporary();
  std::vector<std::uint32_t> known;
  std::vector<char> written(tape.temporaries, 0);
  for (std::uint32_t s = 0; s < first; ++s) known.push_back(s);
  const bool calls = random.chance(2);
  while (tape.code.size() < size) {
    const Op op = random.pick(instructions());
    const bool function = info(op).kind == OpKind::function && op != Op::sqrt;
    if (op == Op::external || (function && !(calls && random.chance(6)))) continue;
    const Instruction i{op, first + static_cast<std::uint32_t>(random.below(tape.temporaries)), random.pick(known),
                        random.pick(known), random.pick(known)};
    tape.code.push_back(i);
    if (!written[i.result - first]) known.push_back(i.result);
    written[i.result - first] = 1;
  }
  tape.outputs.emplace_back();
  for (std::size_t n = 1 + random.below(6); n-- > 0;) tape.outputs[0].push_back(random.pick(known));
  return tape;
}

}  // namespace saltus::test
