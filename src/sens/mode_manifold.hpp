// The points of a mode that satisfy its constraints, hidden ones included, and lie on its surfaces: derivatives along
// them by differences. What linearise() and find_equilibrium() share.
#pragma once

#include <saltus/hybrid/simulator_state.hpp>
#include <saltus/linalg/matrix.hpp>
#include <saltus/model/compiled_model.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hybrid/consistency.hpp"

namespace saltus {

/// A point of a mode and what follows from it.
struct ManifoldPoint {
  std::vector<double> x, xp, values;  ///< of the system, of all observed variables
};

/// What an input of a linearisation is: an input of the model, or a parameter.
struct LinearInput {
  std::string name;
  int discrete = -1;  ///< place of its value in Mode::discrete; -1: a parameter
  double value = 0.0, size = 1.0;
};

class ModeManifold {
 public:
  ModeManifold(const CompiledModel& model, const SimulatorState& at);

  /// The point of the mode that is nearest to where the run stands. Empty: `why` says why there is none.
  std::optional<ManifoldPoint> start(std::string& why);
  /// The consistent point near x; the derivatives in `guess` begin the search. Empty: there is none.
  std::optional<ManifoldPoint> point(std::vector<double> x, const std::vector<double>& guess);
  /// The same for another value of an input.
  std::optional<ManifoldPoint> point(const ManifoldPoint& from, const LinearInput& input, double value);

  /// How the point, its derivatives and all variables move along some directions of the system's variables, or with an
  /// input: a column each. Not a number where there are no derivatives.
  struct Motion {
    Matrix x, xp, values;
    std::vector<double> errors;  ///< largest estimate of each column, relative to its largest entry
  };
  Motion along(const ManifoldPoint& from, const Matrix& directions);
  Motion with(const ManifoldPoint& from, const std::vector<LinearInput>& inputs);
  /// Directions that keep the constraints: all of an explicit mode, which moves on its surfaces by itself.
  Matrix tangents(const ManifoldPoint& at, std::string& why);

  bool is_explicit() const { return system_->structure().explicit_ode; }
  bool on_surfaces() const { return mode_.on_surfaces(); }
  System& system() { return *system_; }
  CompiledModel& model() { return model_; }
  const Mode& mode() const { return mode_; }
  double t() const { return t_; }
  double size(int variable, const ManifoldPoint& at) const;

 private:
  std::optional<ManifoldPoint> settle(CompiledModel& model, const Mode& mode, std::vector<double> x,
                                      std::vector<double> xp, Consistency& consistency);
  void add_column(Motion& motion, int column, const std::vector<double>& derivatives,
                  const std::vector<double>& errors);

  CompiledModel model_;
  const SimulatorState& at_;
  Mode mode_;
  double t_;
  System* system_;
  Consistency consistency_;
};

}  // namespace saltus
