#include "model/stage_program.hpp"

#include <saltus/expr/derivative.hpp>

#include <array>
#include <cstring>
#include <string>

namespace saltus {

namespace {

std::vector<Expr> symbols(const std::shared_ptr<Graph>& graph, const std::string& name, std::size_t count) {
  std::vector<Expr> result;
  for (std::size_t j = 0; j < count; ++j) result.emplace_back(graph, graph->symbol(name + std::to_string(j), SymbolKind::parameter));
  return result;
}

}  // namespace

StageProgram::StageProgram(const RungeKuttaStages& method, const Expr& time, std::span<const Expr> variables, std::span<const Expr> f,
                           const std::vector<Expr>& data_symbols, const std::vector<Expr>& lock_symbols, const std::vector<double>& data,
                           const std::vector<double>& locks, const ProgramOptions& options)
    : a_(method.a.begin(), method.a.end()), c_(method.c.begin(), method.c.end()), dense_(method.dense.begin(), method.dense.end()), stages_(method.stages), dense_degree_(method.dense_degree), data_(data), locks_(locks) {
  const std::size_t n = variables.size(), last = static_cast<std::size_t>(stages_) - 1, width = c_.size();
  const auto graph = common_graph(variables);
  const Expr h = symbols(graph, "step size ", 1).front(), end = symbols(graph, "end of step ", 1).front();
  std::vector<std::vector<Expr>> k{symbols(graph, "first stage ", n)}, arguments;
  for (std::size_t i = 1; i <= last; ++i) {
    std::vector<std::pair<Expr, Expr>> point;
    for (const Expr& lock : lock_symbols) point.emplace_back(lock, lock);  // fixed during a step
    point.emplace_back(time, c_[i] == 1.0 ? end : time + c_[i] * h);
    std::vector<Expr>& argument = arguments.emplace_back();
    for (std::size_t j = 0; j < n; ++j) {
      Expr sum = 0.0;
      for (std::size_t l = 0; l < i; ++l)
        if (const double weight = a_[i * width + l]; weight != 0.0) sum = sum + weight * k[l][j];
      argument.push_back(variables[j] + h * sum);
      point.emplace_back(variables[j], argument.back());
    }
    k.push_back(substitute(f, point));
  }
  std::vector<std::vector<Expr>> outputs(k.begin() + 1, k.end());
  outputs.push_back(arguments[last - 2]);
  outputs.push_back(arguments[last - 1]);
  std::vector<Expr> powers;
  for (std::size_t power = 0, degree = static_cast<std::size_t>(dense_degree_); power < degree; ++power)
    for (std::size_t j = 0; j < n; ++j) {
      Expr sum = 0.0;
      for (std::size_t i = 0; i <= last; ++i)
        if (const double weight = dense_[i * degree + power]; weight != 0.0) sum = sum + weight * k[i][j];
      powers.push_back(h * sum);
    }
  outputs.push_back(std::move(powers));
  program_ = Program(std::vector<std::vector<Expr>>{{time}, {variables.begin(), variables.end()}, {h}, {end}, k[0], data_symbols, lock_symbols},
                     outputs, options);
  work_ = program_.workspace();
  out_.resize(outputs.size());
}

bool StageProgram::made_for(const RungeKuttaStages& method) const {
  const auto same = [](std::span<const double> a, const std::vector<double>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
  };
  return method.stages == stages_ && same(method.c, c_) && same(method.a, a_) && method.dense_degree == dense_degree_ &&
         same(method.dense, dense_);
}

void StageProgram::evaluate(double t, double h, double end, std::span<const double> x, std::span<double* const> k,
                            std::span<double> x_before_last, std::span<double> x_end, std::span<double> dense) {
  const std::array<const double*, 7> in{&t, x.data(), &h, &end, k[0], data_.data(), locks_.data()};
  const auto last = static_cast<std::size_t>(stages_) - 1;
  for (std::size_t i = 0; i < last; ++i) out_[i] = k[i + 1];
  out_[last] = x_before_last.data();
  out_[last + 1] = x_end.data();
  out_[last + 2] = dense.data();
  program_(in, out_, work_);
}

}  // namespace saltus
