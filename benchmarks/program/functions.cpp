// What does an elementary function cost? The C library one by one, and native code for 1, 4 and 8 lanes.
//
// A program evaluates one function of 16 inputs. The rounds of all columns are interleaved; the table has the smallest
// time of all rounds, in nanoseconds for one value.
#include <saltus/program/program.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace {

using namespace saltus;

constexpr std::size_t count = 16, repetitions = 64;
constexpr int rounds = 300;

struct Row {
  Op op;
  double (*unary)(double);
  double (*binary)(double, double);
  double lower, upper;
};
const Row rows[] = {{Op::exp, std::exp, nullptr, -10, 10},     {Op::log, std::log, nullptr, 0.01, 100},
                    {Op::sin, std::sin, nullptr, -10, 10},     {Op::sin, std::sin, nullptr, -1e6, 1e6},
                    {Op::cos, std::cos, nullptr, -10, 10},     {Op::tan, std::tan, nullptr, -10, 10},
                    {Op::asin, std::asin, nullptr, -1, 1},     {Op::acos, std::acos, nullptr, -1, 1},
                    {Op::atan, std::atan, nullptr, -10, 10},   {Op::sinh, std::sinh, nullptr, -5, 5},
                    {Op::cosh, std::cosh, nullptr, -5, 5},     {Op::tanh, std::tanh, nullptr, -5, 5},
                    {Op::asinh, std::asinh, nullptr, -10, 10}, {Op::acosh, std::acosh, nullptr, 1, 10},
                    {Op::atanh, std::atanh, nullptr, -1, 1},   {Op::pow, nullptr, std::pow, 0.01, 10},
                    {Op::atan2, nullptr, std::atan2, -1, 1}};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One column: native code for so many lanes.
struct Column {
  Column(const Program& p, int number_of_lanes, std::size_t inputs, const Row& row, std::mt19937_64& dice)
      : program(p), lanes(number_of_lanes), work(p.workspace(lanes)) {
    std::uniform_real_distribution<double> value(row.lower, row.upper);
    in.resize(inputs * static_cast<std::size_t>(lanes));
    out.resize(count * static_cast<std::size_t>(lanes));
    for (double& x : in) x = value(dice);
  }
  double measure() {
    const double* ins[] = {in.data()};
    double* const outs[] = {out.data()};
    const double begin = seconds();
    for (std::size_t k = 0; k < repetitions; ++k) program(ins, outs, work);
    return (seconds() - begin) / static_cast<double>(repetitions * out.size());
  }

  const Program& program;
  int lanes;
  Workspace work;
  std::vector<double> in, out;
};

double measure_library(const Row& row, const std::vector<double>& in, std::vector<double>& out) {
  const double begin = seconds();
  for (std::size_t k = 0; k < repetitions; ++k)
    for (std::size_t i = 0; i < count; ++i) out[i] = row.unary ? row.unary(in[i]) : row.binary(in[i], in[i + count]);
  return (seconds() - begin) / static_cast<double>(repetitions * count);
}

void measure(const Row& row) {
  auto graph = std::make_shared<Graph>();
  std::vector<Expr> x, y;
  const std::size_t inputs = count * static_cast<std::size_t>(info(row.op).operands);
  for (std::size_t k = 0; k < inputs; ++k)
    x.emplace_back(graph, graph->symbol("x" + std::to_string(k), SymbolKind::variable));
  for (std::size_t k = 0; k < count; ++k)
    y.push_back(row.unary ? apply(row.op, x[k]) : apply(row.op, x[k], x[k + count]));
  const Program program(std::vector<std::vector<Expr>>{x}, std::vector<std::vector<Expr>>{y});
  std::mt19937_64 dice(1);
  std::vector<Column> columns;
  for (const int lanes : {1, 4, 8}) columns.emplace_back(program, lanes, inputs, row, dice);
  std::array<double, 4> best;
  best.fill(1.0);
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> out(count);
    best[0] = std::min(best[0], measure_library(row, columns[0].in, out));
    for (std::size_t k = 0; k < 3; ++k) best[k + 1] = std::min(best[k + 1], columns[k].measure());
  }
  std::printf("%-6s %9g … %-8g %8.1f %8.1f %8.1f %8.1f\n", info(row.op).name.data(), row.lower, row.upper,
              1e9 * best[0], 1e9 * best[1], 1e9 * best[2], 1e9 * best[3]);
}

}  // namespace

int main() {
  std::printf("functions of SLEEF: %s\n", elementary::reproducible() ? "yes" : "no");
  std::printf("ns for one value   range           libm   1 lane  4 lanes  8 lanes\n");
  for (const Row& row : rows) measure(row);
}
