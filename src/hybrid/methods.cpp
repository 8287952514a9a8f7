#include <saltus/base/error.hpp>
#include <saltus/hybrid/methods.hpp>
#include <saltus/step/bdf.hpp>
#include <saltus/step/explicit_runge_kutta.hpp>
#include <saltus/step/radau.hpp>
#include <saltus/step/rosenbrock.hpp>
#include <saltus/step/tableau.hpp>
#include <saltus/step/taylor.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

namespace saltus {

namespace {

template <const Tableau& (*tableau)()>
std::unique_ptr<Stepper> runge_kutta(const StepOptions& options) {
  return make_explicit_runge_kutta(tableau(), options);
}

template <const RosenbrockTableau& (*tableau)()>
std::unique_ptr<Stepper> rosenbrock(const StepOptions& options) {
  return make_rosenbrock(tableau(), options);
}

/// Order 0: variable, or the highest below the limit.
template <int order>
std::unique_ptr<Stepper> radau(const StepOptions& options) {
  const int most = options.max_order;
  const int limited = most == 0 || most >= 13 ? 0 : most >= 9 ? 9 : 5;
  return make_radau(options, {.order = order == 0 ? limited : order});
}

std::unique_ptr<Stepper> bdf(const StepOptions& options) {
  BdfOptions own;
  if (options.max_order > 0) own.max_order = std::min(own.max_order, options.max_order);
  return make_bdf(options, own);
}

/// The order that the tolerance asks for is 1 - ln(rtol)/2, and 6 more for differential-algebraic equations.
std::unique_ptr<Stepper> taylor(const StepOptions& options) {
  const double highest = 7.0 - 0.5 * std::log(std::max(options.tightest_rtol(), 1e-17));
  return make_taylor(options, {.order = options.max_order > 0 && options.max_order < highest ? options.max_order : 0});
}

constexpr std::array<MethodInfo, method_count> table = {{
    {Method::automatic, "auto", MethodFamily::automatic, "chosen for each mode", nullptr},
    {Method::dopri5, "dopri5", MethodFamily::explicit_runge_kutta, "Dormand and Prince, order 5",
     runge_kutta<dormand_prince_5>},
    {Method::tsit5, "tsit5", MethodFamily::explicit_runge_kutta, "Tsitouras, order 5", runge_kutta<tsitouras_5>},
    {Method::bs3, "bs3", MethodFamily::explicit_runge_kutta, "Bogacki and Shampine, order 3: loose tolerances",
     runge_kutta<bogacki_shampine_3>},
    {Method::dop853, "dop853", MethodFamily::explicit_runge_kutta, "Dormand and Prince, order 8: tight tolerances",
     runge_kutta<dormand_prince_8>},
    {Method::taylor, "taylor", MethodFamily::taylor, "Taylor series of high order: smooth modes, tight tolerances",
     taylor},
    {Method::rodas4, "rodas4", MethodFamily::rosenbrock, "Rosenbrock, order 4: stiff, and index 1",
     rosenbrock<rodas_4>},
    {Method::rodas5p, "rodas5p", MethodFamily::rosenbrock, "Rosenbrock, order 5: stiff, and index 1",
     rosenbrock<rodas_5p>},
    {Method::radau, "radau", MethodFamily::radau, "Radau IIA of variable order: stiff, and any index", radau<0>},
    {Method::radau5, "radau5", MethodFamily::radau, "Radau IIA, order 5: stiff, and any index", radau<5>},
    {Method::radau9, "radau9", MethodFamily::radau, "Radau IIA, order 9: stiff, and any index", radau<9>},
    {Method::radau13, "radau13", MethodFamily::radau, "Radau IIA, order 13: stiff, and any index", radau<13>},
    {Method::bdf, "bdf", MethodFamily::bdf, "backward differentiation, order 1 to 5: long stretches without events",
     bdf},
}};

constexpr bool rows_fit() {
  for (std::size_t k = 0; k < method_count; ++k) {
    const MethodInfo& row = table[k];
    if (row.method != static_cast<Method>(k) || row.name.empty() || row.help.empty()) return false;
  }
  return true;
}
static_assert(rows_fit(), "each enumerator of Method needs its row in the table, in the same order");

/// Names that other solvers give to a method of the same formulas, or of the same kind and order, in small letters.
/// Methods of fixed steps and multistep methods for problems without stiffness (Adams) have no counterpart here.
constexpr std::array names_of_others = std::to_array<std::pair<std::string_view, Method>>({
    // SciPy
    {"rk45", Method::dopri5},
    {"rk23", Method::bs3},
    {"lsoda", Method::automatic},
    // MATLAB
    {"ode45", Method::dopri5},
    {"ode23", Method::bs3},
    {"ode78", Method::dop853},
    {"ode89", Method::dop853},
    {"ode15s", Method::bdf},
    {"ode15i", Method::bdf},
    // SUNDIALS and its predecessors, as Modelica tools name them, too
    {"cvode", Method::bdf},
    {"cvodes", Method::bdf},
    {"cvode_bdf", Method::bdf},
    {"ida", Method::bdf},
    {"idas", Method::bdf},
    {"dassl", Method::bdf},
    {"daspk", Method::bdf},
    {"ddaspk", Method::bdf},
    {"daskr", Method::bdf},
    {"lsodar", Method::automatic},
    {"radauiia", Method::radau},
    // SciML
    {"dp5", Method::dopri5},
    {"dp8", Method::dop853},
    {"rodas5", Method::rodas5p},
    {"radauiia5", Method::radau5},
    {"radauiia9", Method::radau9},
    {"radauiia13", Method::radau13},
    {"qndf", Method::bdf},
    {"fbdf", Method::bdf},
    {"dfbdf", Method::bdf},
    // others
    {"automatic", Method::automatic},
});

std::string_view words(MethodFamily family) {
  switch (family) {
    case MethodFamily::automatic:
      return "";
    case MethodFamily::explicit_runge_kutta:
      return "explicit";
    case MethodFamily::taylor:
      return "explicit, or of any index";
    case MethodFamily::rosenbrock:
    case MethodFamily::radau:
    case MethodFamily::bdf:
      return "implicit";
  }
  return "";
}

}  // namespace

std::span<const MethodInfo> method_table() {
  return table;
}

const MethodInfo& info(Method method) {
  const auto k = static_cast<std::size_t>(method);
  if (k >= method_count) throw UsageError("there is no method with the number " + std::to_string(k));
  return table[k];
}

std::string_view to_string(Method method) {
  return info(method).name;
}

std::optional<Method> find_method(std::string_view name) {
  const auto same = [&](std::string_view other) {
    return std::ranges::equal(name, other, [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
  };
  for (const MethodInfo& row : table)
    if (same(row.name)) return row.method;
  for (const auto& [other, method] : names_of_others)
    if (same(other)) return method;
  return std::nullopt;
}

bool is_explicit(Method method) {
  const MethodFamily family = info(method).family;
  return family == MethodFamily::explicit_runge_kutta || family == MethodFamily::taylor;
}

std::string method_summary() {
  std::string text;
  for (std::size_t k = 0; k < method_count; ++k) {
    const std::string_view family = words(table[k].family);
    const bool last = k + 1 == method_count || words(table[k + 1].family) != family;
    text += table[k].name;
    if (last && !family.empty()) text += " (" + std::string(family) + ")";
    if (k + 1 < method_count) text += last ? "; " : ", ";
  }
  return text;
}

}  // namespace saltus
