// Every operator of the table in every back end. The tests loop over the table: a new operator is tested without a new
// line here, and a rule that is forgotten or wrong fails.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/program/program.hpp>
#include <saltus/program/taylor.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "program/native_code.hpp"
#include "random_graph.hpp"
#include "suites/check_derivatives.hpp"

namespace saltus {
namespace {

using test::Random;
using Groups = std::vector<std::vector<Expr>>;

/// Numbers at which an operator is finite and smooth: inside the domain of functions, off the surfaces of switches.
/// `distance`: from poles and ends of domains, as a part of what is sampled.
std::vector<std::vector<double>> sample_points(const Operator& row, int count, double distance = 0.05) {
  Random random(static_cast<std::uint64_t>(row.op) + 1);
  const double low = std::isfinite(row.lower) ? row.lower : std::isfinite(row.upper) ? row.upper - 3.0 : -2.5;
  const double high = std::isfinite(row.upper) ? row.upper : std::isfinite(row.lower) ? row.lower + 3.0 : 2.5;
  const double margin = distance * (high - low);
  std::vector<std::vector<double>> points;
  while (static_cast<int>(points.size()) < count) {
    std::vector<double> x{random.uniform(low + margin, high - margin), random.uniform(4.0 * distance, 2.5),
                          random.uniform(-2.5, 2.5)};
    if (row.op == Op::tan && std::abs(std::cos(x[0])) < 2.0 * distance) continue;     // a pole
    if (std::abs(x[0]) < 0.05 || std::abs(x[0] - std::round(x[0])) < 0.01) continue;  // a surface
    if (row.kind == OpKind::logic || row.kind == OpKind::choice) x[0] = random.below(2) == 0 ? 0.0 : 1.0;
    if (row.kind == OpKind::logic) x[1] = random.below(2) == 0 ? 0.0 : 1.0;
    points.push_back(x);
  }
  return points;
}

struct Variables {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<Expr> x;

  Variables() {
    for (const char* name : {"x", "y", "z"}) x.emplace_back(graph, graph->symbol(name, SymbolKind::variable));
  }
  Expr node(const Operator& row) const {
    return {graph, graph->make(row.op, x[0].id(), row.operands > 1 ? x[1].id() : no_node,
                               row.operands > 2 ? x[2].id() : no_node)};
  }
};

bool in_graphs(const Operator& row) {
  return row.kind != OpKind::leaf && row.kind != OpKind::fused && row.kind != OpKind::external;
}

/// A tape with the one instruction.
Tape single(const Operator& row) {
  Tape tape;
  tape.input_sizes = {3};
  tape.temporaries = 1;
  tape.code = {{row.op, 3, 0, 1, 2}};
  tape.outputs = {{3}};
  return tape;
}

TEST(Operators, NamesAreDifferentAndWordsOfC) {
  std::set<std::string_view> names;
  for (const Operator& row : operators) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    for (const char c : row.name) EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) || c == '_') << row.name;
    EXPECT_FALSE(row.sign.empty()) << row.name;
  }
}

TEST(Operators, TheTableGivesTheNumberOfOperandsAndWhatTapesHave) {
  EXPECT_EQ(operand_count(Op::constant), 0);
  EXPECT_EQ(operand_count(Op::sin), 1);
  EXPECT_EQ(operand_count(Op::atan2), 2);
  EXPECT_EQ(operand_count(Op::fma), 3);
  EXPECT_FALSE(is_instruction(Op::symbol));
  EXPECT_FALSE(is_instruction(Op::live_floor));
  EXPECT_EQ(instruction_of(Op::live_floor), Op::floor);
  EXPECT_TRUE(is_instruction(Op::external));
}

TEST(Operators, LeavesAndExternalCallsHaveNoValue) {
  for (const Op op : {Op::constant, Op::symbol, Op::external}) EXPECT_THROW(apply(op, 1.0), UsageError);
}

TEST(Operators, GraphsRefuseFusedOperations) {
  const Variables v;
  for (const Op op : {Op::fma, Op::fms, Op::fnma})
    EXPECT_THROW(v.graph->make(op, v.x[0].id(), v.x[1].id(), v.x[2].id()), UsageError);
}

// Constants fold to the same bits as the interpreter and native code give; `apply` is the reference.
TEST(Operators, EveryBackEndGivesTheBitsOfApply) {
  for (const Operator& row : operators) {
    if (!in_graphs(row)) continue;
    const Variables v;
    const Groups inputs{v.x}, outputs{{v.node(row)}};
    for (const Backend backend : {Backend::interpreter, Backend::automatic}) {
      const Program program(inputs, outputs, {.backend = backend});
      ASSERT_EQ(program.backend() == Backend::native, backend == Backend::automatic && native_code_available());
      for (const int lanes : {1, 4, 8}) {
        Workspace work = program.workspace(lanes);
        const auto width = static_cast<std::size_t>(lanes);
        const auto points = sample_points(row, 8);
        std::vector<double> in(3 * width), out(width);
        for (std::size_t lane = 0; lane < width; ++lane)
          for (std::size_t k = 0; k < 3; ++k) in[k * width + lane] = points[lane][k];
        const double* ins[] = {in.data()};
        double* const outs[] = {out.data()};
        program(ins, outs, work);
        for (std::size_t lane = 0; lane < width; ++lane) {
          const auto& p = points[lane];
          EXPECT_EQ(out[lane], apply(row.op, p[0], p[1], p[2])) << row.name << ", lanes " << lanes;
        }
      }
    }
  }
}

TEST(Operators, EveryInstructionGivesTheBitsOfApplyInNativeCode) {
  for (const Operator& row : operators) {
    if (!is_instruction(row.op) || row.kind == OpKind::external) continue;
    const Tape tape = single(row);
    for (const int lanes : {1, 4, 8}) {
      const auto code = make_native_code(tape, lanes);
      if (!native_code_available()) GTEST_SKIP() << "no native code here";
      ASSERT_NE(code, nullptr);
      const auto width = static_cast<std::size_t>(lanes);
      const auto points = sample_points(row, lanes);
      std::vector<double> in(3 * width), out(width), memory(8 * width);
      for (std::size_t lane = 0; lane < width; ++lane)
        for (std::size_t k = 0; k < 3; ++k) in[k * width + lane] = points[lane][k];
      const double* ins[] = {in.data()};
      double* const outs[] = {out.data()};
      code->entry()(ins, outs, memory.data());
      for (std::size_t lane = 0; lane < width; ++lane) {
        const auto& p = points[lane];
        EXPECT_EQ(out[lane], apply(row.op, p[0], p[1], p[2])) << row.name << ", lanes " << lanes;
      }
    }
  }
}

// C source calls the functions of the C library, whose last digits are its own: errors below 2.1 ulp there and 1 ulp
// here.
TEST(Operators, EveryOperatorInCSourceGivesTheValueOfApply) {
  if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  const auto folder = std::filesystem::temp_directory_path() / ("saltus_operators_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  {
    std::ofstream file(folder / "operators.c");
    for (const Operator& row : operators) {
      if (!in_graphs(row)) continue;
      const Variables v;
      file << Program(Groups{v.x}, Groups{{v.node(row)}}).c_source("f_" + std::string(row.name));
    }
  }
  const std::string library = (folder / "operators.so").string();
  const std::string command = "cc -O1 -ffp-contract=off -Wall -Werror -shared -fPIC -o '" + library + "' '" +
                              (folder / "operators.c").string() + "' -lm";
  ASSERT_EQ(std::system(command.c_str()), 0);
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  for (const Operator& row : operators) {
    if (!in_graphs(row)) continue;
    using Function = void (*)(const double* const*, double* const*);
    const auto function = reinterpret_cast<Function>(dlsym(handle, ("f_" + std::string(row.name)).c_str()));
    ASSERT_NE(function, nullptr) << row.name;
    for (const auto& p : sample_points(row, 10)) {
      double out = 0.0;
      const double* ins[] = {p.data()};
      double* const outs[] = {&out};
      function(ins, outs);
      const double expected = apply(row.op, p[0], p[1], p[2]);
      const bool exact = row.kind != OpKind::function || row.op == Op::sqrt || !elementary::reproducible();
      const double slack = exact ? 0.0 : 3.1 * std::numeric_limits<double>::epsilon() * std::abs(expected);
      EXPECT_NEAR(out, expected, slack) << row.name;
    }
  }
  dlclose(handle);
  std::filesystem::remove_all(folder);
}

// The enclosure of a box contains the values at its corners and inside, and that of a point is as narrow as rounding.
TEST(Operators, EveryOperatorEnclosesItsValues) {
  for (const Operator& row : operators) {
    if (!in_graphs(row)) continue;
    const Variables v;
    const Program program(Groups{v.x}, Groups{{v.node(row)}});
    Random random(7);
    for (const auto& p : sample_points(row, 50)) {
      const bool truth = row.kind == OpKind::logic;
      const double radius[] = {truth || row.kind == OpKind::choice ? 0.0 : 0.01, truth ? 0.0 : 0.01, 0.01};
      std::vector<std::vector<Interval>> box(1), point(1);
      for (std::size_t k = 0; k < 3; ++k) {
        box[0].emplace_back(p[k] - radius[k], p[k] + radius[k]);
        point[0].emplace_back(p[k]);
      }
      const Interval around = program.enclose(box)[0][0], at = program.enclose(point)[0][0];
      const double value = apply(row.op, p[0], p[1], p[2]);
      EXPECT_TRUE(at.contains(value)) << row.name << " at " << p[0] << ", " << p[1];
      EXPECT_LE(at.upper - at.lower, 1e-13 * (1.0 + std::abs(value))) << row.name << " at " << p[0] << ", " << p[1];
      for (int trial = 0; trial < 20; ++trial) {
        double q[3];
        for (std::size_t k = 0; k < 3; ++k)
          q[k] = p[k] + radius[k] * (trial < 8 ? ((trial >> k) & 1 ? 1.0 : -1.0) : random.uniform(-1.0, 1.0));
        EXPECT_TRUE(around.contains(apply(row.op, q[0], q[1], q[2]))) << row.name << " at " << q[0] << ", " << q[1];
      }
    }
  }
}

// check_derivatives compares the symbolic derivative with difference quotients, Taylor coefficients up to order 8 with
// those of a shifted series, and the back ends with each other. Locks stay as they are at the point.
TEST(Operators, EveryOperatorHasItsDerivativeAndTaylorCoefficients) {
  for (const Operator& row : operators) {
    if (!in_graphs(row) || row.kind == OpKind::logic) continue;
    const Variables v;
    // a condition that does not change near the point
    const bool choice = row.kind == OpKind::choice;
    const Expr y = choice ? if_else(v.x[0] > 0.5, v.x[1], v.x[2]) : v.node(row);
    for (const auto& p : sample_points(row, 6, 0.3)) {  // far from poles: series converge fast enough to be compared
      // in a product and inside another function, so that a derivative of zero would be seen
      suite::check_derivatives({y, y * v.x[2], sin(0.5 * y)}, {v.x, p});
      if (testing::Test::HasFailure()) FAIL() << row.name << " at " << p[0] << ", " << p[1] << ", " << p[2];
    }
  }
}

TEST(Operators, FunctionsDependOnTheirOperands) {
  for (const Operator& row : operators) {
    if (row.kind != OpKind::function) continue;
    const Variables v;
    const Expr y = v.node(row);
    for (int k = 0; k < row.operands; ++k) {
      const Expr d = derivative(y, v.x[static_cast<std::size_t>(k)]);
      EXPECT_FALSE(d.is_constant()) << row.name << ", operand " << k;
    }
  }
}

TEST(Operators, FunctionsPrintAsTheirNameOrSignWithTheOperands) {
  for (const Operator& row : operators) {
    if (row.kind != OpKind::function) continue;
    const Variables v;
    const std::string text = to_string(v.node(row)), name(row.sign);
    EXPECT_EQ(text, row.op == Op::pow ? "x^y" : row.operands == 1 ? name + "(x)" : name + "(x, y)");
  }
}

TEST(Operators, ConstantsFoldToTheValueOfApply) {
  for (const Operator& row : operators) {
    if (!in_graphs(row)) continue;
    Graph graph;
    for (const auto& p : sample_points(row, 5)) {
      const NodeId a = graph.constant(p[0]), b = graph.constant(p[1]), c = graph.constant(p[2]);
      const NodeId y = graph.make(row.op, a, row.operands > 1 ? b : no_node, row.operands > 2 ? c : no_node);
      ASSERT_TRUE(graph.is_constant(y)) << row.name;
      EXPECT_EQ(graph.constant_value(y), apply(row.op, p[0], p[1], p[2])) << row.name;
    }
  }
}

// Pointers to functions are no constants for the compiler under sanitizers, so the table does not check them itself.
TEST(Operators, HaveAValueWhereTheyAreFunctions) {
  for (const Operator& row : operators) {
    const bool has_value = row.kind == OpKind::function || row.kind == OpKind::rounding;
    EXPECT_EQ(row.unary != nullptr, has_value && row.operands == 1) << row.name;
    EXPECT_EQ(row.binary != nullptr, has_value && row.operands == 2) << row.name;
  }
}

}  // namespace
}  // namespace saltus
