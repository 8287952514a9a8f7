// A problem of the library: a recorded system, a point near which it is analysed, and what is known about it.
#pragma once

#include <saltus/dae/characteristic_values.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/model/recorded_system.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace saltus::problems {

/// Records variables and equations.
class Recorder {
 public:
  Expr variable(const std::string& name) {
    equations_.variables.emplace_back(graph_, graph_->symbol(name, SymbolKind::variable));
    return equations_.variables.back();
  }
  /// Variables with one-letter or longer names, separated by spaces.
  std::vector<Expr> variables(const std::string& names) {
    std::vector<Expr> result;
    std::size_t start = 0;
    while (start < names.size()) {
      const std::size_t end = std::min(names.find(' ', start), names.size());
      result.push_back(variable(names.substr(start, end - start)));
      start = end + 1;
    }
    return result;
  }
  Expr time() { return equations_.time; }
  void equation(const Expr& residual, const std::string& name = "") {
    equations_.equations.push_back(residual);
    equations_.equation_names.push_back(name.empty() ? "equation " + std::to_string(equations_.equations.size())
                                                     : name);
  }
  void nominal(std::vector<double> values) { equations_.nominal = std::move(values); }
  void scaling(Scaling scaling) { equations_.scaling = scaling; }
  std::unique_ptr<RecordedSystem> system() { return std::make_unique<RecordedSystem>(equations_); }

 private:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  RecordedEquations equations_{.time = Expr(graph_, graph_->symbol("time", SymbolKind::time))};
};

struct Problem {
  std::string name;
  std::unique_ptr<RecordedSystem> system;
  double t = 0.0;
  std::vector<double> guess;  ///< not necessarily consistent
  CharacteristicNumbers expected;
};

}  // namespace saltus::problems
