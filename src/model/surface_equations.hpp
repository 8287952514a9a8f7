// Modes that stay on surfaces: sliding on some of them, resting on others after infinitely many impacts.
#pragma once

#include <saltus/model/recorded_system.hpp>

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/sliding.hpp"

namespace saltus {

/// A surface on which infinitely many resets come to rest.
struct ContactSurface {
  Expr function;  ///< g
  int side = +1;  ///< the side on which the solution was between the resets
  std::vector<std::pair<Expr, Expr>> resets;  ///< (variable, its value after the reset)
};

/// The equations that would hold without surfaces.
struct SurfaceBase {
  RecordedEquations equations;
  std::vector<Expr> rhs;  ///< of an explicit mode, otherwise empty
  bool explicit_ode = false;
};

/// What a mode is made from: the mode that would be without surfaces, and the surfaces.
struct SurfaceSetup {
  SurfaceBase base;
  std::span<const Expr> locks;  ///< all of the model
  std::vector<SlidingSurface> sliding;
  std::vector<ContactSurface> contacts;
  double stabilisation = 0.0;  ///< > 0: a field towards the sliding surfaces instead of projection
};

struct SurfaceEquations {
  /// The guards are those of the base, then two for each sliding surface (its weight w and 1 - w), then one for each contact (the force
  /// that keeps it closed). Variables beyond those of the base are weights.
  RecordedEquations equations;
  std::vector<std::pair<Expr, Expr>> lock_weights;  ///< every lock with what stands for it, for relax()
};

/// Empty if there is no such mode.
std::optional<SurfaceEquations> surface_equations(const SurfaceSetup& setup);

}  // namespace saltus
