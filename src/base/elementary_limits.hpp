// Where SLEEF's functions with a limited range end. Beyond, the functions of <saltus/base/elementary.hpp> take other
// formulas; code for several lanes must do the same.
#pragma once

namespace saltus::elementary {

/// sinh and cosh of SLEEF are infinite beyond this, though the values are below 1e308 up to 710.47.
inline constexpr double hyperbolic_limit = 709.0;
/// asinh and acosh of SLEEF square their argument.
inline constexpr double inverse_hyperbolic_limit = 1e150;

}  // namespace saltus::elementary
