// Removes derivatives of variables that linear equations tie to other states: s_rel = s_b - s_a, v_rel = der(s_rel).
#pragma once

#include <saltus/model/model.hpp>

#include <vector>

#include "model/elimination.hpp"

namespace saltus {

/// What the choice of states rests on: the same answers give the same choice.
struct StateConstraints {
  std::vector<Elimination::Decision> decisions = {};
  std::vector<int> by_start = {};  ///< variables that are kept as states where they have a start value
};

/// A linear equation among differentiated variables is a constraint, and its derivative is a hidden one. It is solved
/// for one of them: s_rel = s_b - s_a, and der(s_b) - der(s_a) is read wherever der(s_rel) stood. Where v = der(s)
/// holds, v is read instead of der(s), so that velocities follow their positions: v_rel = v_b - v_a. Repeated until no
/// such equation is left. The variable is algebraic then, and the modes have fewer hidden constraints, or none.
///
/// Only equations that hold in all modes count, with factors of parameters and no other terms than those. Variables
/// that are fixed, reset, seen through pre() or have a start value stay states. A model without such equations is left
/// as it is.
StateConstraints solve_state_constraints(ModelData& model);

}  // namespace saltus
