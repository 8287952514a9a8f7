// The system of a mode of a model of cells: equations and guards of all cells, evaluated shape by shape.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/recorded_system.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/cell_code.hpp"

namespace saltus {

/// Programs with their memory and the models of cells, for all systems of one run.
class CellEvaluator {
 public:
  explicit CellEvaluator(const CellCode& code);

  const CellCode& code() const { return code_; }
  /// The model of the cells of a shape.
  CompiledModel& model(std::size_t shape) { return *work_[shape].model; }

  /// Values of the cells of one shape: those of a block stand side by side, entry by entry.
  struct Values {
    std::vector<double> discretes, locks;
  };

  /// One of the programs of the shapes.
  using Part = const Program& (RecordedCode::*)() const;
  enum Which { rhs, jacobian, time_derivative, guards, parts };
  static constexpr Part programs[parts] = {&RecordedCode::rhs, &RecordedCode::jacobian, &RecordedCode::time_derivative,
                                           &RecordedCode::guard_values};

  /// Evaluates a program for all cells of a shape. `put(block, results)` takes the results of a block, entry by entry.
  template <class Put>
  void run(Which which, std::size_t shape, const Values& values, double t, std::span<const double> x, const double* xp,
           Put&& put);

  /// The system of one cell, with these values in place, and what it sees of the state (several coefficients of it).
  RecordedSystem& one(std::size_t shape, std::size_t cell, const Values& values);
  std::span<const double> state_of(std::size_t shape, std::size_t cell, std::span<const double> X, int coefficients);

  /// Those of all cells, where no value of a mode changes them. Null: some do.
  const std::vector<LinearGuard>* common_linear_guards(const std::vector<Values>& values);
  /// A cell with a system of its own; its guards behind those of the cell begin at `further`.
  struct Special {
    std::size_t shape, cell;
    System* system;
    std::size_t further;
  };
  /// Those with these values; `special` by shape and cell.
  struct Linear {
    std::vector<LinearGuard> guards;
    std::vector<int> variables;
    std::vector<double> coefficients;
  };
  void find_linear_guards(const std::vector<Values>& values, std::span<const Special> special, Linear& linear);

 private:
  struct Work {
    const Program* program[parts] = {};
    Workspace memory[parts];
    std::unique_ptr<CompiledModel> model;
    std::vector<double> x, xp, data, results, further;
    std::optional<RecordedSystem> one;
  };

  const CellCode& code_;
  std::vector<Work> work_;
  std::vector<double> time_, state_;
  std::optional<Linear> linear_;
};

class CellSystem final : public System {
 public:
  CellSystem(CellEvaluator& evaluator, const Mode& mode) : evaluator_(evaluator), code_(evaluator.code()) { set(mode); }

  /// Takes the values of another mode.
  void set(const Mode& mode);
  bool fits(const Mode& mode) const {
    return mode.locks == mode_.locks && mode.discrete == mode_.discrete && mode.sliding == mode_.sliding &&
           mode.contacts == mode_.contacts && mode.contact_sides == mode_.contact_sides;
  }

  const Structure& structure() const override { return structure_ ? *structure_ : code_.structure(); }
  std::string variable_name(int j) const override { return code_.variables()[static_cast<std::size_t>(j)].name; }
  std::string equation_name(int i) const override;
  std::string undefined_part(int i, double t, std::span<const double> x, std::span<const double> xp) const override;
  double nominal(int j) const override { return code_.variables()[static_cast<std::size_t>(j)].nominal; }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override;
  void rhs(double t, std::span<const double> x, std::span<double> xp) override;
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override;
  void time_derivative(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Ft) override;
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override;
  void solution_taylor(double t, int order, std::span<double> X) override;
  bool project(double t, std::span<double> x) override;
  void guards(double t, std::span<const double> x, std::span<const double> xp, std::span<double> g) override;
  void guards_taylor(double t, int order, std::span<const double> X, std::span<double> G) override;
  bool enclose_guards(Interval t, int order, std::span<const Interval> X, std::span<const int> which,
                      std::span<Interval> G) override;
  std::span<const LinearGuard> linear_guards() override;

 private:
  /// A cell that stays on surfaces has a system of its own. Its guards are those of the cell, then those that end the
  /// stay, which stand behind the guards of all cells.
  struct OnSurfaces {
    std::size_t shape, cell;
    System* system;
    std::size_t guards, further;  // of the cell, and where the others begin among those of the whole
  };
  void find_surfaces();
  /// Where guard k of such a cell is in the whole.
  std::size_t guard_place(const OnSurfaces& on, std::size_t k) const;
  const OnSurfaces* surfaces_of(std::size_t shape, std::size_t cell) const;
  std::size_t number_of(const CellCode::Shape& shape) const {
    return static_cast<std::size_t>(&shape - code_.shapes().data());
  }

  CellEvaluator& evaluator_;
  const CellCode& code_;
  Mode mode_;                                  // what functions depend on
  std::vector<CellEvaluator::Values> values_;  // discrete values and locks by shape
  std::vector<OnSurfaces> surfaces_;           // by shape and cell
  std::optional<Structure> structure_;         // where there are some
  std::optional<CellEvaluator::Linear> linear_;
  std::vector<int> slots_;  // by variable: its place in guard_variables, once asked for
  std::vector<double> series_, cell_x_, cell_xp_, cell_values_;
  std::vector<Interval> enclosed_, enclosed_guards_;
};

}  // namespace saltus
