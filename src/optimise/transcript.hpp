// A programme as a model whose controls are functions of parameters, with a list of what is free and of rows.
#pragma once

#include <saltus/model/compiled_model.hpp>
#include <saltus/optimise/optimise.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optimise/squares.hpp"

namespace saltus {

/// A number that is free: a parameter or start value of the compiled model.
struct Unknown {
  std::string name;
  double lower, upper, guess;
  double scale;  ///< steps are counted in units of it
};

/// A number that is linear in what is free.
struct LinearForm {
  double constant = 0.0;
  std::vector<std::pair<std::size_t, double>> factors = {};  ///< (number of an unknown, factor)

  double at(std::span<const double> x) const;
  /// The unknown that it stands for alone.
  std::size_t unknown() const { return factors.at(0).first; }
};

/// Intervals over the run that one or several controls share.
struct ControlGrid {
  int intervals;
  std::vector<std::size_t> lengths;  ///< numbers of the unknowns; empty: equal parts of the run
};

/// A control with its values, unknowns or numbers, one per interval or node.
struct TranscribedControl {
  std::size_t grid;
  std::vector<LinearForm> values;
};

/// One term of a functional, as it is read from a run.
struct ReadTerm {
  double weight;
  std::string variable = {};  ///< whose final value counts; empty: an event
  std::string event = {};
  int number = 0;
};

/// A square in the objective: factor * residual^2, at the end or integrated.
struct SquareTerm {
  double factor;
  std::string variable;
  bool integrated;
};

/// The programme over a model. Rows are, in this order: end conditions, bounds of path conditions on intervals, and
/// the lengths of free intervals, whose sum is the length of the run.
class Transcript {
 public:
  Transcript(const Model& model, const Programme& programme, const OptimiseOptions& options);

  /// With controls, integrals and conditions as variables.
  const CompiledModel& model() const { return *model_; }
  const Programme& programme() const { return programme_; }
  const std::vector<Unknown>& unknowns() const { return unknowns_; }
  std::size_t size() const { return unknowns_.size(); }
  const std::vector<ControlGrid>& grids() const { return grids_; }
  const std::vector<TranscribedControl>& controls() const { return controls_; }
  const std::vector<ReadTerm>& objective() const { return objective_; }
  const std::vector<std::vector<ReadTerm>>& end_rows() const { return end_rows_; }
  const std::vector<std::string>& path_variables() const { return path_variables_; }
  const std::vector<SquareTerm>& squares() const { return squares_; }
  /// Whether the squares are the whole objective.
  bool only_squares() const { return only_squares_; }
  /// For runs: the last time at which one may end.
  const SimulateOptions& simulate() const { return simulate_; }
  /// The end of the run, and the borders of the intervals of a grid.
  const LinearForm& stop() const { return stop_; }
  std::vector<LinearForm> borders(const ControlGrid& grid) const;
  /// Borders of the intervals on which extrema of path conditions are rows: those of the finest grid.
  std::vector<LinearForm> path_borders() const;
  std::size_t path_intervals() const;

  std::vector<double> guess() const;
  /// The compiled model at a point.
  CompiledModel at(std::span<const double> x, std::span<const std::pair<std::string, double>> more = {}) const;

 private:
  void set_nominal(const std::string& variable, const std::string& label, double& nominal) const;
  void add_parameters(const Model& model);
  void add_stop();
  void add_controls();
  void add_control(const Control& control, std::size_t grid);
  std::size_t grid_of(const Control& control);
  void write_clock(std::size_t grid);
  std::vector<ReadTerm> read(const Functional& functional, const std::string& what);
  std::string variable_of(const Expr& value, const std::string& what);
  std::string integral_of(const Expr& value, const std::string& what);
  Expr rehomed(const Expr& value, const std::string& what) const;
  std::optional<Definition> definition_of(const Expr& symbol) const;
  void find_squares();
  std::size_t add_unknown(std::string name, double lower, double upper, double guess);
  void check_differentiable() const;
  std::string fresh(const std::string& name) const;

  /// A clause that moves the controls of a grid on, while the model is written.
  struct Clock {
    Expr index, next;
    std::vector<Expr> lengths;
  };

  Programme programme_;
  SimulateOptions simulate_;
  Model written_;
  std::optional<CompiledModel> model_;
  std::vector<Unknown> unknowns_;
  std::vector<ControlGrid> grids_;
  std::vector<TranscribedControl> controls_;
  std::vector<Clock> clocks_;
  std::vector<std::vector<Expr>> value_symbols_;  // by control
  std::vector<InputInfo> places_;                 // likewise
  std::optional<std::size_t> stop_unknown_;
  Expr stop_symbol_;
  LinearForm stop_;
  std::vector<ReadTerm> objective_;
  std::vector<std::vector<ReadTerm>> end_rows_;
  std::vector<std::string> path_variables_;
  std::vector<SquareTerm> squares_;
  bool only_squares_ = false;
  int made_ = 0;               // variables
  std::size_t own_nodes_ = 0;  // of the model's graph when it was copied
};

}  // namespace saltus
