// The code of a model of cells: one compiled model for each shape, and tables of where the values of cells stand.
#pragma once

#include <saltus/model/compiled_model.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/recorded_code.hpp"
#include "model/repeated_model.hpp"

namespace saltus {

/// Cells are numbered shape by shape. So are their locks, guards and clauses: those of one cell stand together.
class CellCode {
 public:
  /// So many cells are evaluated at a time.
  static constexpr std::size_t lanes = 8;

  struct Shape {
    /// One cell; the variables of others stand still in it.
    std::shared_ptr<const CompiledModel> model;
    const RecordedCode* code = nullptr;  ///< of its equations
    std::size_t cells = 0, first_cell = 0;
    std::size_t variables = 0, discretes = 0, locks = 0, guards = 0, conditions = 0;  ///< of one cell
    std::size_t first_lock = 0, first_guard = 0, first_condition = 0;
    std::vector<int> own;               ///< variables of its system that it determines
    std::vector<int> places;            ///< of the variables of its system in that of the whole; see place()
    std::vector<char> in_row;           ///< by block and variable: the places of its cells follow each other
    std::size_t declared = 0;           ///< number of variables of its model
    std::vector<int> declared_places;   ///< cell by cell: of these among all variables of the whole
    std::vector<int> declared_of;       ///< by variable of its system: which of these it is
    std::vector<int> eliminated;        ///< own variables of its model that its system does not have
    std::size_t copies = 0;             ///< further ones that other cells have as their own
    std::vector<int> discrete_places;   ///< cell by cell: of discrete variables that are no numbers
    std::vector<double> number_values;  ///< cell by cell
    /// Entries of the Jacobian of its own equations: rows and columns in its system, and the places among all
    /// entries of its Jacobian; -1: not zero on surfaces only.
    struct Entry {
      int row, column, source;
    };
    std::vector<Entry> entries;
    std::vector<int> entry_places;     ///< of these in the Jacobian of the whole; as in places
    std::size_t numbers = 0;           ///< the last discrete variables: numbers that no mode has
    std::vector<std::string> names;    ///< of variables, then discrete variables, of the first cell
    bool watches_time = false;         ///< some guard depends on time alone
    bool guards_change = false;        ///< coefficients of linear guards depend on the mode
    bool guards_have_numbers = false;  ///< of the cell
    bool has_surfaces = false;         ///< on which its cells can stay

    std::size_t blocks() const { return (cells + lanes - 1) / lanes; }
    /// The place of an entry in tables that list, for the cells of a block together, one entry after the other.
    static std::size_t in_lanes(std::size_t cell, std::size_t entry, std::size_t width) {
      return (cell / lanes * width + entry) * lanes + cell % lanes;
    }
    /// Where variable j of the system of a cell is in that of the whole.
    std::size_t place(std::size_t cell, std::size_t j) const {
      return static_cast<std::size_t>(places[in_lanes(cell, j, variables)]);
    }
    /// True if the places of variable j in the cells of a block follow each other.
    bool stand_in_row(std::size_t block, std::size_t j) const { return in_row[block * variables + j] != 0; }
    std::span<const int> discretes_of(std::size_t cell) const {
      return std::span(discrete_places).subspan(cell * (discretes - numbers), discretes - numbers);
    }
    std::span<const double> numbers_of(std::size_t cell) const {
      return std::span(number_values).subspan(cell * numbers, numbers);
    }
    std::span<const int> declared_of_cell(std::size_t cell) const {
      return std::span(declared_places).subspan(cell * declared, declared);
    }
  };

  /// Null: the model has something that cells do not have, and must be written out.
  static std::shared_ptr<const CellCode> make(const RepeatedModel& model, const ProgramOptions& options);

  const std::string& name() const { return name_; }
  const std::vector<Shape>& shapes() const { return shapes_; }
  /// Variables that follow from others, in the order in which they can be computed: many alike, or a sum.
  struct Follower {
    Shape shape = {};  ///< reads any variables of the whole, by declared_places
    RepeatedModel::Sum sum = {};
    int level = 0;
  };
  const std::vector<Follower>& followers() const { return followers_; }
  std::size_t cells() const { return cells_; }
  /// Of the systems.
  const std::vector<VariableInfo>& variables() const { return kept_.empty() ? observed_ : kept_; }
  /// All variables, then the discrete ones.
  const std::vector<VariableInfo>& observed() const { return observed_; }
  const std::vector<VariableInfo>& parameter_info() const { return parameter_info_; }
  /// Where a variable of the systems is among all variables.
  std::size_t observed_place(std::size_t place) const {
    return observed_place_.empty() ? place : static_cast<std::size_t>(observed_place_[place]);
  }
  const std::vector<GuardInfo>& guards() const { return guards_; }
  const Mode& first_mode() const { return first_mode_; }
  const Structure& structure() const { return structure_; }
  const std::vector<double>& parameters() const { return parameters_; }

  struct Member {
    const Shape* shape;
    std::size_t cell;   ///< of the shape
    std::size_t place;  ///< in the cell, of what was asked for
  };
  Member of_guard(std::size_t guard) const { return find(guard, &Shape::first_guard, &Shape::guards); }
  Member of_condition(std::size_t condition) const {
    return find(condition, &Shape::first_condition, &Shape::conditions);
  }
  /// The cell that determines a variable of the systems.
  Member of_variable(std::size_t place) const;

  /// Cells that stay on surfaces in a mode, by shape and number, increasing.
  std::vector<std::pair<std::size_t, std::size_t>> on_surfaces(const Mode& mode) const;
  /// Values of all discrete variables of a cell, its numbers behind those that the mode has.
  static void read_discretes(const Mode& whole, const Shape& shape, std::size_t cell, std::span<double> values);
  /// What the mode of the whole says about a cell.
  static void read(const Mode& whole, const Shape& shape, std::size_t cell, Mode& mode);
  /// Back: everything that a round may change.
  static void write(const Mode& mode, const Shape& shape, std::size_t cell, Mode& whole);
  /// As HybridSystem has it; made when it is first asked for.
  std::string_view clause_name(int condition) const;
  /// A text about the first cell of a shape as it is for another cell.
  std::string renamed(std::string_view text, const Shape& shape, std::size_t cell) const;

 private:
  class Maker;
  CellCode() = default;
  Member find(std::size_t number, std::size_t Shape::*first, std::size_t Shape::*count) const;

  std::string name_;
  std::vector<Shape> shapes_;
  std::vector<Follower> followers_;
  std::size_t cells_ = 0, all_variables_ = 0;
  std::vector<VariableInfo> parameter_info_;
  std::vector<VariableInfo> observed_, kept_;  // kept_ is empty where the two are the same
  std::vector<int> observed_place_;            // empty: as they are
  std::vector<int> owner_;                     // by variable of the systems: the cell
  std::vector<GuardInfo> guards_;
  Mode first_mode_;
  Structure structure_;
  std::vector<double> parameters_;
  mutable std::mutex naming_;
  mutable std::unordered_map<int, std::string> clause_names_;
};

}  // namespace saltus
