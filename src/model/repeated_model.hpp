// A model whose equations repeat, as few shapes with many cells each: what loops over arrays are before they are
// written out.
#pragma once

#include <saltus/model/model.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace saltus {

/// Every variable and discrete variable belongs to one cell, which determines it. Cells read the values of variables of
/// other cells that are differentiated there, and nothing else of each other.
struct RepeatedModel {
  /// What cells of one shape have in common: the model of one of them.
  struct Shape {
    /// Its variables are its own and those of others that it reads, in the order of the whole; it has equations for
    /// its own ones. All parameters of the whole are its parameters.
    ModelData model;
    std::vector<char> own;       ///< by variable
    std::size_t cells = 0;       ///< the first one is that of `model`
    std::vector<int> variables;  ///< cell by cell: where they stand in the whole
    std::vector<int> discretes;  ///< the same
    /// Numbers that differ from cell to cell. They are the last discrete variables of the model of the cell, hidden
    /// ones, and belong to no list of the whole.
    std::size_t numbers = 0;
    std::vector<double> number_values;  ///< cell by cell
  };
  struct Discrete {
    std::string name = {};
    double start = 0.0;
    Rare<VariableDetails> details = {};
  };

  std::string name;
  std::vector<VariableInfo> variables;
  std::vector<Discrete> discretes;
  std::vector<VariableInfo> parameters;  ///< also those that are numbers of cells; `start` is the value
  std::vector<Shape> shapes;
};

/// Loops of which one pass of each shape has been written out.
struct FirstPasses {
  struct Shape {
    std::vector<Expr> symbols = {};   ///< what the first pass reads, variables and discrete ones in their order
    std::vector<char> discrete = {};  ///< by symbol
    std::vector<int> places = {};     ///< pass by pass: where they stand among those of the whole
    std::vector<Expr> numbers = {};   ///< discrete variables that stand for numbers that differ from pass to pass
    std::vector<double> number_values = {};  ///< pass by pass
  };
  ModelData model;  ///< the first passes, with what they name
  std::vector<Shape> shapes;
  std::vector<int> equation_shapes, clause_shapes, definition_shapes;  ///< of those of the model, in their order
  std::vector<VariableInfo> variables;                                 ///< of the whole
  std::vector<RepeatedModel::Discrete> discretes;
  std::unordered_set<NodeId> elements;  ///< parameters that are left out if no cell reads them

  /// The whole; null if a variable belongs to no cell or to several, or if something occurs that cells do not have.
  std::shared_ptr<const RepeatedModel> repeat() &&;

 private:
  ModelData common_part() const;
  RepeatedModel::Shape shape(std::size_t number, const ModelData& common);
};

}  // namespace saltus
