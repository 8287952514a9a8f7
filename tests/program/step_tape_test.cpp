// A step as one tape has the bits of the stepper, alone and in lanes, and its bounds of guards hold.
#include "program/step_tape.hpp"

#include <gtest/gtest.h>
#include <saltus/program/program.hpp>
#include <saltus/program/taylor.hpp>
#include <saltus/step/explicit_runge_kutta.hpp>
#include <saltus/step/taylor.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "program/interpreter.hpp"
#include "program/native_code.hpp"
#include "program/tape_chain.hpp"
#include "random_graph.hpp"

namespace saltus {
namespace {

using Groups = std::vector<std::vector<double>>;

bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Runs a tape: interpreted, or as native code.
Groups run(const Tape& tape, const Groups& in, int lanes, const NativeCode* code = nullptr) {
  const auto width = static_cast<std::size_t>(lanes);
  std::vector<double> memory(tape.slots() * width + 8);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  double* const frame = memory.data() + (64 - address % 64) % 64 / sizeof(double);
  Groups out;
  for (const auto& group : tape.outputs) out.emplace_back(group.size() * width);
  if (code != nullptr) {
    std::vector<const double*> ins;
    std::vector<double*> outs;
    for (const auto& group : in) ins.push_back(group.data());
    for (auto& group : out) outs.push_back(group.data());
    code->entry()(ins.data(), outs.data(), frame);
    return out;
  }
  double* p = frame;
  for (const double c : tape.constants) p = std::fill_n(p, lanes, c);
  for (const auto& group : in) p = std::copy(group.begin(), group.end(), p);
  interpret(tape, frame, lanes);
  for (std::size_t g = 0; g < out.size(); ++g)
    for (std::size_t k = 0; k < tape.outputs[g].size(); ++k)
      std::copy_n(frame + tape.outputs[g][k] * width, width, out[g].data() + k * width);
  return out;
}

StepMethod method_of(const Tableau& t) {
  return {t.stages, t.extra_stages, t.a, t.c, t.error, t.second_error, t.dense_degree, t.dense};
}

const Tableau* const tableaus[] = {&bogacki_shampine_3(), &dormand_prince_5(), &tsitouras_5(), &dormand_prince_8()};

/// Pendula on a ring with a locked friction, driven: n variables, two parameters, a lock and four guards.
struct Motion {
  explicit Motion(int n) {
    const auto symbol = [&](const std::string& name) {
      return Expr(graph, graph->symbol(name, SymbolKind::parameter));
    };
    e.time = symbol("t");
    for (int j = 0; j < n; ++j) e.variables.push_back(symbol("x" + std::to_string(j)));
    const Expr a = symbol("a"), b = symbol("b"), t = e.time;
    const auto& x = e.variables;
    const BoolExpr slides = x[0] > 0.25 * t;
    e.data = {a, b, slides.expr()};
    for (std::size_t j = 0; j < x.size(); ++j) {
      const Expr next = x[(j + 1) % x.size()];
      e.f.push_back(j % 2 == 0 ? next - 0.1 * x[j]
                               : -a * sin(next) + b * cos(t) - if_else(slides, 0.2, -0.2) * exp(-x[j] * x[j]));
    }
    e.guards = {x[0] - 0.25 * t, a * x.back() + b - x[0] + 1.0, x[0] * x[0] - 1.0,
                if_else(x[0] > 0.0, x[0], 2.0 * x[0])};
  }
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  StepEquations e;
};

const std::vector<double> data_values{1.7, 0.6, 1.0};

/// The same equations for the stepper.
class MotionSystem final : public System {
 public:
  explicit MotionSystem(const Motion& motion, int order = 1)
      : program_(std::vector<std::vector<Expr>>{{motion.e.time}, motion.e.variables, motion.e.data},
                 std::vector<std::vector<Expr>>{motion.e.f}),
        work_(program_.workspace()) {
    structure_.variables = structure_.equations = static_cast<int>(motion.e.f.size());
    structure_.explicit_ode = structure_.taylor = true;
    const auto series = solution_taylor_expressions(motion.e.time, motion.e.variables, motion.e.f, order);
    std::vector<Expr> by_order;
    for (std::size_t k = 1; k <= static_cast<std::size_t>(order); ++k)
      for (const auto& row : series) by_order.push_back(row[k]);
    series_ = Program(std::vector<std::vector<Expr>>{{motion.e.time}, motion.e.variables, motion.e.data},
                      std::vector<std::vector<Expr>>{by_order});
    series_work_ = series_.workspace();
  }
  const Structure& structure() const override { return structure_; }
  void rhs(double t, std::span<const double> x, std::span<double> xp) override {
    const double* in[] = {&t, x.data(), data_values.data()};
    double* const out[] = {xp.data()};
    program_(in, out, work_);
  }
  void solution_taylor(double t, int, std::span<double> X) override {
    const double* in[] = {&t, X.data(), data_values.data()};
    double* const out[] = {X.data() + structure_.variables};
    series_(in, out, series_work_);
  }
  void residual(double, std::span<const double>, std::span<const double>, std::span<double>) override {}
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double>,
                std::span<double>) override {}

 private:
  Structure structure_;
  Program program_, series_;
  Workspace work_, series_work_;
};

constexpr double rtol = 1e-6, atol = 1e-8;

Groups step_inputs(double t, double h, double end, std::span<const double> x, std::span<const double> slope) {
  return {{t},
          {h},
          {end},
          {x.begin(), x.end()},
          {slope.begin(), slope.end()},
          data_values,
          {rtol},
          std::vector<double>(x.size(), atol)};
}

void expect_equal(std::span<const double> found, std::span<const double> expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t k = 0; k < found.size(); ++k)
    ASSERT_TRUE(same_bits(found[k], expected[k])) << what << " " << k << ": " << found[k] << ", not " << expected[k];
}

TEST(StepTape, HasTheBitsOfTheStepperInEveryStepOfARun) {
  for (const Tableau* tableau : tableaus)
    for (const int n : {1, 2, 3, 6, 9}) {
      const Motion motion(n);
      MotionSystem system(motion);
      const Tape tape = make_step_tape(method_of(*tableau), motion.e).tape;
      const auto native = make_native_code(tape, 1);
      const auto stepper = make_explicit_runge_kutta(*tableau, {.rtol = rtol, .atol = {atol}, .control_dense = true});
      std::vector<double> x(static_cast<std::size_t>(n), 0.3), slope(x.size());
      system.rhs(0.0, x, slope);
      stepper->start(system, {.x = x});
      int steps = 0;
      for (double t = 0.0; t < 10.0; t = stepper->t(), ++steps) {
        ASSERT_TRUE(stepper->advance(10.0).ok());
        const DensePolynomial& dense = stepper->dense();
        const Groups in = step_inputs(t, dense.h, stepper->t(), x, slope);
        for (const NativeCode* code : {static_cast<const NativeCode*>(nullptr), native.get()}) {
          const Groups out = run(tape, in, 1, code);
          const std::string where =
              tableau->name + ", " + std::to_string(n) + " variables, step " + std::to_string(steps);
          expect_equal(out[StepOutput::x], stepper->x(), where + ": value");
          expect_equal(
              std::span(out[StepOutput::slopes]).subspan((static_cast<std::size_t>(tableau->stages) - 2) * x.size()),
              stepper->xp(), where + ": slope");
          const double error = stepper->error();
          expect_equal(out[StepOutput::error], {&error, 1}, where + ": error");
          expect_equal(out[StepOutput::dense], std::span(dense.c).subspan(x.size()), where + ": dense output");
          if (HasFatalFailure()) return;
        }
        x.assign(stepper->x().begin(), stepper->x().end());
        slope.assign(stepper->xp().begin(), stepper->xp().end());
      }
      EXPECT_GT(steps, 5);
    }
}

TEST(StepTape, HasTheBitsOfTheTaylorStepper) {
  for (const int order : {6, 9, 14})
    for (const int n : {1, 2, 3, 6}) {
      const Motion motion(n);
      MotionSystem system(motion, order);
      const Tape tape = make_step_tape({.series = order}, motion.e).tape;
      const auto native = make_native_code(tape, 1);
      const auto stepper = make_taylor({.rtol = rtol, .atol = {atol}}, {.order = order});
      std::vector<double> x(static_cast<std::size_t>(n), 0.3), slope(x.size());
      system.rhs(0.0, x, slope);
      stepper->start(system, {.x = x});
      EXPECT_EQ(order_of_series(*stepper), order);
      int steps = 0;
      for (double t = 0.0; t < 10.0; t = stepper->t(), ++steps) {
        ASSERT_TRUE(stepper->advance(10.0).ok());
        const DensePolynomial& dense = stepper->dense();
        const Groups in = step_inputs(t, dense.h, stepper->t(), x, slope);
        for (const NativeCode* code : {static_cast<const NativeCode*>(nullptr), native.get()}) {
          const Groups out = run(tape, in, 1, code);
          const std::string where =
              "order " + std::to_string(order) + ", " + std::to_string(n) + " variables, step " + std::to_string(steps);
          expect_equal(out[StepOutput::x], stepper->x(), where + ": value");
          expect_equal(out[StepOutput::slopes], stepper->xp(), where + ": slope");
          const double error = stepper->error();
          expect_equal(out[StepOutput::error], {&error, 1}, where + ": error");
          expect_equal(out[StepOutput::dense], std::span(dense.c).subspan(x.size()), where + ": dense output");
          if (HasFatalFailure()) return;
        }
        x.assign(stepper->x().begin(), stepper->x().end());
        slope.assign(stepper->xp().begin(), stepper->xp().end());
      }
      EXPECT_GT(steps, 3);
    }
}

/// Inputs of `lanes` members at random points, and the first `lanes` of them one by one.
Groups random_members(std::mt19937_64& dice, std::size_t n, std::size_t lanes) {
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  Groups in(StepInput::count);
  for (int g = 0; g < StepInput::count; ++g) {
    const std::size_t size = g == StepInput::x || g == StepInput::slope || g == StepInput::atol ? n
                             : g == StepInput::data                                             ? data_values.size()
                                                                                                : 1;
    for (std::size_t k = 0; k < size * lanes; ++k) {
      const double u = unit(dice);
      in[static_cast<std::size_t>(g)].push_back(g == StepInput::atol || g == StepInput::rtol ? 1e-6 * (1.5 + u)
                                                : g == StepInput::h                          ? 0.1 * (1.5 + u)
                                                                                             : 2.0 * u);
    }
  }
  for (std::size_t l = 0; l < lanes; ++l) in[StepInput::end][l] = in[StepInput::t][l] + in[StepInput::h][l];
  return in;
}

TEST(StepTape, LanesHaveTheBitsOfOneAtATime) {
  std::mt19937_64 dice(1);
  for (const Tableau* tableau : tableaus)
    for (const int n : {1, 2, 5}) {
      const Motion motion(n);
      const Tape tape = make_step_tape(method_of(*tableau), motion.e).tape;
      for (const std::size_t lanes : {4, 8}) {
        const auto native = make_native_code(tape, static_cast<int>(lanes));
        const auto halves = make_native_code(tape, static_cast<int>(lanes), EightLanes::halves);
        for (int round = 0; round < 20; ++round) {
          const Groups in = random_members(dice, static_cast<std::size_t>(n), lanes);
          std::vector<Groups> all{run(tape, in, static_cast<int>(lanes))};
          if (native) all.push_back(run(tape, in, static_cast<int>(lanes), native.get()));
          if (halves) all.push_back(run(tape, in, static_cast<int>(lanes), halves.get()));
          for (std::size_t l = 0; l < lanes; ++l) {
            Groups alone;
            for (const auto& group : in) {
              auto& values = alone.emplace_back();
              for (std::size_t k = l; k < group.size(); k += lanes) values.push_back(group[k]);
            }
            const Groups expected = run(tape, alone, 1);
            for (const Groups& found : all)
              for (std::size_t g = 0; g < expected.size(); ++g)
                for (std::size_t k = 0; k < expected[g].size(); ++k)
                  ASSERT_TRUE(same_bits(found[g][k * lanes + l], expected[g][k]))
                      << tableau->name << ", " << lanes << " lanes, output " << g << "[" << k << "]";
          }
        }
      }
    }
}

// The polynomial of an affine guard lies between its Bernstein coefficients. 1e-12 is for rounding errors: some ten
// operations on coefficients of dense output, which are below 1e2 and cancel.
TEST(StepTape, BoundsOfAffineGuardsHold) {
  std::mt19937_64 dice(2);
  int decided = 0;
  for (const Tableau* tableau : tableaus) {
    const Motion motion(2);
    const Tape tape = make_step_tape(method_of(*tableau), motion.e).tape;
    for (int round = 0; round < 200; ++round) {
      const Groups in = random_members(dice, 2, 1);
      const Groups out = run(tape, in, 1);
      const double t = in[StepInput::t][0], h = in[StepInput::h][0], a = in[StepInput::data][0],
                   b = in[StepInput::data][1];
      const double* const x0 = in[StepInput::x].data();
      const std::vector<double>& c = out[StepOutput::dense];
      for (int k = 0; k <= 20; ++k) {
        const double theta = k / 20.0;
        double x[2];
        for (std::size_t j = 0; j < 2; ++j) {
          x[j] = 0.0;
          for (std::size_t power = c.size() / 2; power-- > 0;) x[j] = (x[j] + c[power * 2 + j]) * theta;
          x[j] += x0[j];
        }
        const double g[] = {x[0] - 0.25 * (t + theta * h), a * x[1] + b - x[0] + 1.0};
        for (std::size_t i = 0; i < 2; ++i) {
          EXPECT_GE(g[i], out[StepOutput::lower][i] - 1e-12);
          EXPECT_LE(g[i], out[StepOutput::upper][i] + 1e-12);
          decided += out[StepOutput::lower][i] > 0.0 || out[StepOutput::upper][i] < 0.0;
        }
      }
      const double x_end = out[StepOutput::x][0];
      EXPECT_EQ(out[StepOutput::guards][2], std::fma(x_end, x_end, -1.0));
    }
  }
  EXPECT_GT(decided, 0);
}

// x^2 - 1: the terms of its value and slope.
TEST(StepTape, OtherGuardsHaveAScaleAlone) {
  std::mt19937_64 dice(3);
  const Motion motion(2);
  const StepTape step = make_step_tape(method_of(*tableaus[0]), motion.e);
  EXPECT_EQ(step.affine, (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(step.first[2], step.first[3]);
  const Groups in = random_members(dice, 2, 1), out = run(step.tape, in, 1);
  const double x = in[StepInput::x][0];
  EXPECT_NEAR(out[StepOutput::scale][2], std::abs(x * x - 1.0) + 2.0 * x * x, 1e-14);
}

TEST(StepTape, SaysWhetherValuesAreFinite) {
  Motion motion(2);
  motion.e.checked = {sqrt(motion.e.variables[0] - 10.0)};
  Motion plain(2);
  std::mt19937_64 dice(4);
  const Groups in = random_members(dice, 2, 1);
  EXPECT_TRUE(
      std::isnan(run(make_step_tape(method_of(dormand_prince_5()), motion.e).tape, in, 1)[StepOutput::finite][0]));
  const Tape tape = make_step_tape(method_of(dormand_prince_5()), plain.e).tape;
  EXPECT_EQ(run(tape, in, 1)[StepOutput::finite][0], 0.0);
  Groups broken = in;
  broken[StepInput::slope][1] = INFINITY;
  EXPECT_TRUE(std::isnan(run(tape, broken, 1)[StepOutput::finite][0]));
}

TEST(StepTape, NeedsARightHandSideForEachVariable) {
  Motion motion(2);
  motion.e.f.pop_back();
  EXPECT_THROW(make_step_tape(method_of(dormand_prince_5()), motion.e), UsageError);
}

TEST(TapeChain, GivesTheBitsOfItsParts) {
  test::Random random(4);
  for (int k = 0; k < 500; ++k) {
    const Tape first = test::random_tape(random, 1 + random.below(40)),
               second = test::random_tape(random, 1 + random.below(40));
    TapeChain chain;
    TapeChain::Places in;
    Groups values;
    for (const std::uint32_t size : first.input_sizes) {
      const auto group = chain.input(size);
      in.insert(in.end(), group.begin(), group.end());
      auto& list = values.emplace_back();
      for (std::uint32_t i = 0; i < size; ++i) list.push_back(test::random_value(random, true));
    }
    const auto middle = chain.append(first, in);
    TapeChain::Places arguments;
    const Groups results = run(first, values, 1);
    Groups passed;
    for (const std::uint32_t size : second.input_sizes) {
      auto& list = passed.emplace_back();
      for (std::uint32_t i = 0; i < size; ++i) {
        const std::size_t pick = random.below(middle.size());
        arguments.push_back(middle[pick]);
        list.push_back(results[0][pick]);
      }
    }
    chain.output(chain.append(second, arguments));
    chain.output(middle);
    const Tape both = chain.finish();
    const auto native = make_native_code(both, 1);
    const Groups expected = run(second, passed, 1);
    for (const NativeCode* code : {static_cast<const NativeCode*>(nullptr), native.get()}) {
      const Groups found = run(both, values, 1, code);
      expect_equal(found[0], expected[0], "second tape");
      expect_equal(found[1], results[0], "first tape");
    }
  }
}

TEST(TapeChain, ComputesOnceWhatPartsShareAndNothingThatNoOutputNeeds) {
  const auto graph = std::make_shared<Graph>();
  const Expr x(graph, graph->symbol("x", SymbolKind::parameter)), y(graph, graph->symbol("y", SymbolKind::parameter));
  const Tape tape =
      lower(std::vector<std::vector<Expr>>{{x}, {y}}, std::vector<std::vector<Expr>>{{sin(x) + 2.0 * y, exp(y)}});
  const auto count = [](const Tape& t, Op op) {
    return std::ranges::count_if(t.code, [&](const Instruction& i) { return i.op == op; });
  };
  TapeChain chain;
  const auto in = chain.input(2);
  const TapeChain::Place other[] = {in[0], in[0]};
  const auto first = chain.append(tape, in), again = chain.append(tape, in), changed = chain.append(tape, other);
  const TapeChain::Place wanted[] = {first[0], again[0], changed[0]};
  chain.output(wanted);
  const Tape both = chain.finish();
  EXPECT_EQ(count(both, Op::sin), 1);  // three times the same
  EXPECT_EQ(count(both, Op::exp), 0);  // not asked for
  EXPECT_EQ(both.constants.size(), 1u);
  EXPECT_LE(both.temporaries, 4u);
  const double a = 0.3, b = -1.7;
  const Groups found = run(both, {{a, b}}, 1);
  const double expected = run(tape, {{a}, {b}}, 1)[0][0];
  EXPECT_EQ(found[0][0], expected);
  EXPECT_EQ(found[0][1], expected);
  EXPECT_EQ(found[0][2], run(tape, {{a}, {a}}, 1)[0][0]);
}

TEST(TapeChain, PutsCallsOfAFunctionTogetherAndNativeCodeMakesThemAtOnce) {
  test::Random random(6);
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random.below(9);
    const auto graph = std::make_shared<Graph>();
    std::vector<Expr> x, values;
    for (std::size_t k = 0; k < count; ++k) x.emplace_back(graph, graph->symbol("x", SymbolKind::parameter));
    Expr sum = 0.0;
    for (std::size_t k = 0; k < count; ++k) {  // calls of two kinds, of inputs and of results, with work in between
      const Expr inner = k % 3 == 0 ? x[k] : x[k] * x[0] + 0.5, outer = exp(0.1 * sin(inner) + x[k]);
      sum = sum + outer * inner;
      values.push_back(k % 2 == 0 ? outer : tanh(outer));
    }
    values.push_back(sum);
    const Tape tape = lower(std::vector<std::vector<Expr>>{x}, std::vector<std::vector<Expr>>{values});
    TapeChain chain;
    chain.output(chain.append(tape, chain.input(count)));
    const Tape gathered = chain.finish();
    std::size_t sines = 0, runs = 0;
    for (std::size_t k = 0; k < gathered.code.size(); ++k) {
      if (gathered.code[k].op != Op::sin) continue;
      runs += k == 0 || gathered.code[k - 1].op != Op::sin ? 1 : 0;
      ++sines;
    }
    EXPECT_LE(runs, (sines + 3) / 4);
    Groups in(1);
    for (std::size_t k = 0; k < count; ++k) in[0].push_back(test::random_value(random, true));
    const auto native = make_native_code(gathered, 1);
    const Groups expected = run(tape, in, 1);
    expect_equal(run(gathered, in, 1)[0], expected[0], "interpreted");
    if (native) expect_equal(run(gathered, in, 1, native.get())[0], expected[0], "native code");
  }
}

TEST(TapeChain, RefusesAWrongNumberOfArguments) {
  test::Random random(5);
  const Tape tape = test::random_tape(random, 5);
  TapeChain chain;
  EXPECT_THROW(chain.append(tape, {}), UsageError);
}

}  // namespace
}  // namespace saltus
