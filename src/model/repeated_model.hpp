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
/// other cells that are differentiated there, and nothing else of each other. Some variables only follow: no cell needs
/// them, and they are computed from the results.
struct RepeatedModel {
  /// What cells of one shape have in common: the model of one of them.
  struct Shape {
    /// Its variables are its own and those of others that it reads, in the order of the whole; it has equations for
    /// its own ones. All parameters of the whole are its parameters.
    ModelData model;
    std::vector<char> own;       ///< by variable: 1, or 2 if another cell has it and this one computes it for itself
    std::size_t cells = 0;       ///< the first one is that of `model`
    std::vector<int> variables;  ///< cell by cell: where they stand in the whole
    std::vector<int> discretes;  ///< the same
    /// Numbers that differ from cell to cell. They are the last discrete variables of the model of the cell, hidden
    /// ones, and belong to no list of the whole.
    std::size_t numbers = 0;
    std::vector<double> number_values;  ///< cell by cell
    int level = 0;  ///< not 0: its variables follow from any others, of lower levels, and it has no states or events
  };
  /// Numbers times variables that are zero together: an equation that may have very many variables.
  struct Sum {
    struct Term {
      int variable;
      double factor;
    };
    std::vector<Term> terms;
    int target = -1;  ///< the variable that follows from the others; -1: not decided
    int level = 0;    ///< as of shapes
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
  std::vector<Sum> sums;
  /// In the models of cells, discrete variables that equations define are replaced by what they are worth.
  bool replaces_definitions = false;
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
  std::vector<int> equation_shapes, clause_shapes, definition_shapes, assertion_shapes;  ///< of those of the model
  std::vector<VariableInfo> variables;                                                   ///< of the whole
  std::vector<RepeatedModel::Discrete> discretes;
  std::unordered_set<NodeId> elements;  ///< parameters that are left out if no cell reads them
  std::vector<RepeatedModel::Sum> sums = {};
  std::vector<VariableInfo> parameters = {};  ///< of the whole, where they are more than those of the model
  bool replaces_definitions = false;          ///< as of the whole

  /// The whole; null if its passes do not make cells, or if something occurs that cells do not have.
  std::shared_ptr<const RepeatedModel> repeat() &&;

 private:
  ModelData common_part() const;
  RepeatedModel::Shape shape(std::size_t number, const ModelData& common);
};

}  // namespace saltus
