// A model whose equations repeat, as few shapes with many cells each: what loops over arrays are before they are
// written out.
#pragma once

#include <saltus/model/model.hpp>

#include <cstddef>
#include <string>
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

}  // namespace saltus
