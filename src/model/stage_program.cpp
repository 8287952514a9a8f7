#include "model/stage_program.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "model/graph_copy.hpp"

namespace saltus {

// In a graph of its own, which ends here: that of the model would grow with every system that is made from it.
StageCode::StageCode(const RungeKuttaStages& method, const Expr& time, std::span<const Expr> variables,
                     std::span<const Expr> f, const std::vector<Expr>& data_symbols,
                     const std::vector<Expr>& lock_symbols, const ProgramOptions& options)
    : a_(method.a.begin(), method.a.end()),
      c_(method.c.begin(), method.c.end()),
      dense_(method.dense.begin(), method.dense.end()),
      fingerprint_(method.fingerprint),
      stages_(method.stages),
      dense_degree_(method.dense_degree) {
  const std::size_t n = variables.size(), last = static_cast<std::size_t>(stages_) - 1, width = c_.size();
  const auto graph = std::make_shared<Graph>();
  const auto symbols = [&graph](std::size_t count) {
    std::vector<Expr> list;
    while (list.size() < count) list.emplace_back(graph, graph->symbol("s", SymbolKind::parameter));
    return list;
  };
  const Expr t = symbols(1).front(), h = symbols(1).front(), end = symbols(1).front();
  const std::vector<Expr> x = symbols(n), parameters = symbols(data_symbols.size()), switches = symbols(lock_symbols.size());
  const auto model = common_graph(variables);
  std::unordered_map<NodeId, NodeId> fixed;  // during a step
  for (std::size_t k = 0; k < parameters.size(); ++k) fixed.emplace(data_symbols[k].in(*model), parameters[k].id());
  for (std::size_t k = 0; k < switches.size(); ++k) fixed.emplace(lock_symbols[k].in(*model), switches[k].id());
  std::vector<NodeId> inputs{time.in(*model)};
  for (const Expr& v : variables) inputs.push_back(v.in(*model));
  for (const auto& [old_id, new_id] : fixed) inputs.push_back(old_id);
  const GraphCopy copy(model, graph, f, inputs);
  std::vector<std::vector<Expr>> k{symbols(n)}, arguments;
  for (std::size_t i = 1; i <= last; ++i) {
    auto point = fixed;
    const Expr when = c_[i] == 1.0 ? end : t + c_[i] * h;
    point.emplace(time.in(*model), when.in(*graph));
    std::vector<Expr>& argument = arguments.emplace_back();
    for (std::size_t j = 0; j < n; ++j) {
      Expr sum = 0.0;
      for (std::size_t l = 0; l < i; ++l)
        if (const double weight = a_[i * width + l]; weight != 0.0) sum = sum + weight * k[l][j];
      argument.push_back(x[j] + h * sum);
      point.emplace(variables[j].in(*model), argument.back().in(*graph));
    }
    k.push_back(copy.with(std::move(point)));
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
  program_ = Program(std::vector<std::vector<Expr>>{{t}, x, {h}, {end}, k[0], parameters, switches}, outputs, options);
}

bool StageCode::has_numbers_of(const RungeKuttaStages& method) const {
  const auto same = [](std::span<const double> a, const std::vector<double>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
  };
  return method.stages == stages_ && same(method.c, c_) && same(method.a, a_) && method.dense_degree == dense_degree_ &&
         same(method.dense, dense_);
}

StageProgram::StageProgram(const StageCode& code)
    : code_(&code), program_(code.program()), out_(static_cast<std::size_t>(code.stages()) + 2) {}

[[gnu::hot]] void StageProgram::evaluate(double t, double h, double end, std::span<const double> x,
                                         std::span<double* const> k, std::span<double> x_before_last,
                                         std::span<double> x_end, std::span<double> dense, const double* data,
                                         const double* locks) {
  const std::array<const double*, 7> in{&t, x.data(), &h, &end, k[0], data, locks};
  const auto last = static_cast<std::size_t>(code_->stages()) - 1;
  for (std::size_t i = 0; i < last; ++i) out_[i] = k[i + 1];
  out_[last] = x_before_last.data();
  out_[last + 1] = x_end.data();
  out_[last + 2] = dense.data();
  program_(in, out_);
}

}  // namespace saltus
