#include <saltus/expr/derivative.hpp>
#include <saltus/program/function.hpp>
#include <saltus/program/taylor.hpp>

namespace saltus {

using Groups = std::vector<std::vector<Expr>>;

struct Function::Entries {
  SparsePattern pattern;
  std::vector<Expr> values;
};

Function::Function(std::vector<Expr> inputs, std::vector<Expr> outputs, ProgramOptions options)
    : inputs_(std::move(inputs)), outputs_(std::move(outputs)), options_(options) {
  for (const Expr& x : inputs_)
    if (!x.is_symbol()) throw UsageError("Function: an input is not a symbol");
  program_ = Program(Groups{inputs_}, Groups{outputs_}, options_);
  work_ = program_.workspace();
}

Function::Function(const Function& other)
    : inputs_(other.inputs_),
      outputs_(other.outputs_),
      options_(other.options_),
      program_(other.program_),
      work_(program_.workspace()) {}

Function& Function::operator=(const Function& other) {
  if (this != &other) *this = Function(other);
  return *this;
}

void Function::check(std::size_t given, std::size_t wanted, const char* what) const {
  if (given != wanted)
    throw UsageError("Function: " + std::to_string(wanted) + " " + what + " are needed, got " + std::to_string(given));
}

void Function::evaluate(std::span<const double> x, std::span<double> y) const {
  check(x.size(), inputs_.size(), "inputs");
  check(y.size(), outputs_.size(), "outputs");
  const double* in[] = {x.data()};
  double* const out[] = {y.data()};
  program_(in, out, work_);
}

std::vector<double> Function::operator()(std::span<const double> x) const {
  std::vector<double> y(outputs_.size());
  evaluate(x, y);
  return y;
}

std::vector<Interval> Function::enclose(const std::vector<Interval>& x) const {
  check(x.size(), inputs_.size(), "intervals");
  const std::vector<Interval> in[] = {x};
  return program_.enclose(in).front();
}

Function::Entries Function::entries() const {
  auto matrix = saltus::jacobian(outputs_, inputs_);
  matrix.sort_by_columns();
  return {make_pattern(matrix.rows, matrix.columns, matrix.places()), matrix.values()};
}

SparsePattern Function::pattern() const { return entries().pattern; }
Function Function::jacobian() const { return {inputs_, entries().values, options_}; }

Function Function::directional() const {
  const auto graph = common_graph(inputs_);
  if (!graph) throw UsageError("Function: there are no inputs to differentiate by");
  std::vector<Expr> all = inputs_, v;
  for (const Expr& x : inputs_) v.emplace_back(graph, graph->symbol("d(" + x.name() + ")", SymbolKind::parameter));
  all.insert(all.end(), v.begin(), v.end());
  return {all, directional_derivative(outputs_, inputs_, v), options_};
}

std::vector<std::vector<double>> Function::taylor(int order, std::span<const double> x, std::span<const double> v) const {
  if (order < 0) throw UsageError("Function::taylor: the order must not be negative");
  check(x.size(), inputs_.size(), "inputs");
  check(v.size(), inputs_.size(), "directions");
  TaylorWorkspace work(TaylorProgram(Groups{inputs_}, {true}, Groups{outputs_}));
  work.start(order);
  work.set(0, 0, x);
  if (order > 0) work.set(0, 1, v);
  std::vector<std::vector<double>> result;
  for (int k = 0; k <= order; ++k) {
    work.advance(k);
    work.get(0, k, result.emplace_back(outputs_.size()));
  }
  return result;
}

}  // namespace saltus
