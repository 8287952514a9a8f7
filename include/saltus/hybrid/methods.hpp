// The table of methods: name, family, factory and help of everything that can integrate a smooth mode.
//
// A new method is an enumerator here and its row in src/hybrid/methods.cpp. The command line, its help and the tests
// that run every method read the table; tests/hybrid/methods_test.cpp checks that the pages name each method.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace saltus {

class Stepper;
struct StepOptions;

enum class Method {
  automatic,  ///< by the structure of each mode and the tolerance
  dopri5,     ///< explicit Runge-Kutta of Dormand and Prince, order 5
  tsit5,      ///< explicit Runge-Kutta of Tsitouras, order 5
  bs3,        ///< explicit Runge-Kutta of Bogacki and Shampine, order 3
  dop853,     ///< explicit Runge-Kutta of Dormand and Prince, order 8
  taylor,     ///< Taylor series of high order: explicit modes, and those of any index with a regular structure
  rodas4,     ///< Rosenbrock, order 4: stiff, and index 1 with constant coefficients of the derivatives
  rodas5p,    ///< the same, order 5
  radau,      ///< Radau IIA of variable order: stiff, and differential-algebraic of any index
  radau5,     ///< the same of fixed order 5
  radau9,     ///< … 9
  radau13,    ///< … 13
  bdf,        ///< backward differentiation of variable order: the same, for long stretches without events
};
inline constexpr std::size_t method_count = static_cast<std::size_t>(Method::bdf) + 1;

/// What methods have in common: which modes they take.
enum class MethodFamily {
  automatic,
  explicit_runge_kutta,  ///< explicit equations x' = f(t, x) only
  taylor,                ///< whatever has Taylor coefficients
  rosenbrock,            ///< constant coefficients of the derivatives; hidden constraints as dummy derivatives only
  radau,                 ///< differential-algebraic equations of any index
  bdf,                   ///< the same
};

/// A row of the table.
struct MethodInfo {
  using Maker = std::unique_ptr<Stepper> (*)(const StepOptions& options);

  Method method;
  std::string_view name;  ///< as users write it
  MethodFamily family;
  std::string_view help;  ///< what it is for, in a few words
  /// Makes a stepper; null for `automatic`, which chooses for each mode.
  Maker make;
};

/// The table, in the order of the enumerators.
std::span<const MethodInfo> method_table();
/// The row of a method. Throws UsageError for a value that is no enumerator.
const MethodInfo& info(Method method);
/// The name as users write it: "auto", "dopri5", ….
std::string_view to_string(Method method);
/// The method with this name, or with the name that it has in other solvers ("RK45", "dassl", "Rodas5P"), in small or
/// capital letters; nothing if there is none.
std::optional<Method> find_method(std::string_view name);
/// True if the method takes explicit equations only, or prefers them: explicit Runge-Kutta and Taylor.
bool is_explicit(Method method);
/// All names with their families in one line, for help texts: "auto; dopri5, tsit5 (explicit); …".
std::string method_summary();

}  // namespace saltus
