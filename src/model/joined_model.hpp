// The model of one cell, made of equations and events of passes.
#pragma once

#include <saltus/expr/rewrite.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/pass_blocks.hpp"

namespace saltus {

/// What a cell consists of.
struct JoinedCell {
  std::vector<int> equations;  ///< increasing
  std::vector<int> passes;     ///< whose clauses, definitions and assertions it has

  std::vector<int> variables, discretes;           ///< of the whole, increasing
  std::vector<char> roles;                         ///< by variable, as RepeatedModel::Shape::own
  std::vector<std::pair<PassPlace, int>> numbers;  ///< of passes, and which of their discrete variables they are
};

/// Makes the models of the first cells of all shapes.
class JoinedModels {
 public:
  explicit JoinedModels(const PassBlocks& passes)
      : passes_(passes), common_(passes.model().shapes.front().model), graph_(*common_.graph) {}

  /// `shape`: its number, for names.
  RepeatedModel::Shape make(const JoinedCell& cell, std::size_t shape);
  /// To be called once, when all models have been made: all of them have the same parameters.
  void declare_parameters(std::vector<RepeatedModel::Shape>& shapes) const;
  double value_of_number(const JoinedCell& cell, std::size_t number) const;

 private:
  using Components = std::map<std::string, std::string>;
  void declare(const JoinedCell& cell, std::size_t shape, ModelData& m);
  Components components_of(const PassPlace& p) const;
  std::string number_name(const JoinedCell& cell, std::size_t number, std::size_t shape) const;
  const ModelData::Discrete& declaration_of(const JoinedCell& cell, int discrete) const;
  Expr symbol_of(std::unordered_map<int, Expr>& known, int place, const std::string& name, SymbolKind kind);
  void rename_parameters(const PassPlace& p, Rewrite& rules);
  void append(ModelData part, const PassPlace& p, const JoinedCell& cell, ModelData& m);
  ModelData empty_part() const;
  Equation sum_equation(int number) const;

  const PassBlocks& passes_;
  const ModelData& common_;  // parameters, and the graph
  Graph& graph_;
  std::unordered_map<int, Expr> variables_, discretes_;  // symbols by place
  std::vector<Expr> number_symbols_;                     // of the present cell
  std::vector<ModelData::Parameter> parameters_;         // further ones
  std::unordered_map<std::string, std::size_t> parameter_places_;
};

}  // namespace saltus
