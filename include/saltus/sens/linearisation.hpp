// Linearisation: the linear system that a model is near a point of one mode, on its constraints and surfaces.
//
//   Simulator run(compiled, {.stop = 2.0});
//   run.run();
//   const Linearisation l = linearise(compiled, run.state(), {.inputs = {"u"}, .outputs = {"y"}});
//   l.A, l.B, l.C, l.D, l.eigenvalues
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/linalg/matrix.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/sens/cycle.hpp>

#include <complex>
#include <string>
#include <vector>

namespace saltus {

/// One eigenvalue of A, with the states that take part in its motion.
struct Eigenvalue {
  std::complex<double> value;
  struct Share {
    std::string state;
    double share = 0.0;  ///< participation factor, the shares of one eigenvalue sum to 1
  };
  std::vector<Share> shares;  ///< the largest first, those above a tenth of the largest
};

/// Whether small deviations die out, while the mode lasts. Of a cycle sizes of eigenvalues count, and 1 is the limit.
enum class Stability : unsigned char {
  stable,    ///< all eigenvalues have negative real parts
  unstable,  ///< one of them has a positive real part
  undecided  ///< the largest real part is zero within rounding errors
};
/// As it stands in files: the name in this file.
std::string_view to_string(Stability stability);

/// d/dt dz = A dz + B du, dy = C dz + D du, for deviations from a solution whose inputs are constant in time. The
/// states z are variables of the model, as few as the mode leaves free: constraints, hidden ones too, and surfaces
/// hold.
struct Linearisation {
  double t = 0.0;
  std::string mode;
  std::vector<std::string> states, inputs, outputs;
  Matrix A, B, C, D;
  std::vector<double> state_values, state_slopes, input_values, output_values;
  std::vector<Eigenvalue> eigenvalues;  ///< of A, the largest real part first
  /// Largest estimated error of an entry of the matrices, relative to the largest entry of its matrix. 0 of an explicit
  /// mode's A, which comes from the Jacobian.
  double error = 0.0;
  double period = 0.0;  ///< > 0: the map of a cycle, z after a period = A z
  std::string why;      ///< why there is none; "" if there is nothing to say

  bool ok() const { return why.empty(); }
  Stability stability() const;
  bool trivial_left_out = false;  ///< of a cycle of unknown period: the multiplier nearest to 1 is no question
};

struct LinearisationOptions {
  std::vector<std::string> inputs = {};   ///< inputs or parameters of the model; empty: its inputs
  std::vector<std::string> outputs = {};  ///< variables; empty: those declared as outputs, or all that are integrated
};

/// The model near the point at which a run stands, in its mode: slides and contacts included. Throws UsageError for
/// unknown names and for states of other models. Everything else is told by `why`: a mode whose equations leave
/// variables open, a point without derivatives.
Linearisation linearise(const CompiledModel& model, const SimulatorState& at, const LinearisationOptions& options = {});

/// The map of a period near a cycle: A is its monodromy matrix, the eigenvalues are its multipliers. Where the period
/// is unknown one of them is 1, along the cycle, and does not count for the stability.
Linearisation linearise(const Cycle& cycle);

/// A point of a mode at which its solution stands still. On a surface along which the solution slides it is a
/// pseudo-equilibrium.
struct Equilibrium {
  bool found = false;
  std::string message;                ///< why none was found, or what to think of it
  bool pseudo = false;                ///< the mode slides
  bool admissible = false;            ///< it lies where its mode holds; otherwise the mode ends before it is reached
  std::vector<std::string> violated;  ///< relations that do not hold there as the mode says
  std::vector<std::string> variables;
  std::vector<double> values;   ///< of all variables
  Linearisation linearisation;  ///< there
};

/// Where a run enters modes that differ in their equations or surfaces, at most `most` of them: starting points for
/// find_equilibrium(). Throws UsageError if the run fails before its end.
std::vector<SimulatorState> states_at_entries(const CompiledModel& model, const SimulateOptions& options,
                                              std::size_t most = 100);

/// Newton's method for the states of a mode, from the point at which a run stands; time and inputs stay. Guards do not
/// count while it searches. Throws UsageError as linearise() does.
Equilibrium find_equilibrium(const CompiledModel& model, const SimulatorState& near,
                             const LinearisationOptions& options = {});

}  // namespace saltus
