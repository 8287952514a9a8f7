#include "hybrid/singular_start.hpp"

#include <saltus/dae/start_search.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/finite.hpp"

namespace saltus {

namespace {

// Values at two times of which one is twice as far from the start as the other differ by less than this part where
// there is a limit. A cube root is within it, a pole or a logarithm is not.
constexpr double agreement = 1e-3;

StartSearch regular_point(System& system, double t, std::span<const double> guess,
                          const InitialisationOptions& options) {
  StartSearch result;
  result.values = characteristic_values(system, t, guess, {.neighbours = false});
  if (result.values.status != AnalysisStatus::undecided && result.values->u == 0 && result.values->v == 0) {
    result.start = initialise(system, t, guess, result.values, options);
    result.found = result.start.ok() && all_finite(result.start.x) && all_finite(result.start.xp);
  }
  return result.found ? result : search_start(system, t, guess, options);
}

bool agree(const System& system, std::span<const double> a, std::span<const double> b) {
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double size = std::abs(system.nominal(static_cast<int>(j))) + std::max(std::abs(a[j]), std::abs(b[j]));
    if (!(std::abs(a[j] - b[j]) <= agreement * size)) return false;
  }
  return true;
}

// Where the equations determine the values at the start itself, these are better than any limit.
void use_values_at_start(System& system, double t, const InitialisationOptions& options, SingularStart& found) {
  if (found.values->mu > 0 || found.values.structure.singular()) return;
  const Initialisation here = initialise(system, t, found.x, found.values, options);
  if (!here.ok() || !all_finite(here.x) || !agree(system, here.x, found.x)) return;
  if (certify(system, found.values.structure, t, here.x, here.xp).valid) found.x = here.x;
}

}  // namespace

SingularStart start_behind(System& system, double t, double span, std::span<const double> guess,
                           const InitialisationOptions& options) {
  SingularStart result;
  constexpr double rounding = 64.0 * std::numeric_limits<double>::epsilon();
  bool regular = false;
  for (const double part : {1e-14, 1e-12, 1e-10, 1e-8, 1e-6}) {
    const double distance = std::copysign(std::max(part * std::abs(span), rounding * std::abs(t)), span);
    StartSearch near = regular_point(system, t + distance, guess, options);
    if (!near.found) continue;
    regular = true;
    const StartSearch farther = regular_point(system, t + 2.0 * distance, near.start.x, options);
    if (!farther.found || !agree(system, near.start.x, farther.start.x)) continue;
    result = {SingularStart::Result::found, t + distance, std::move(near.values), std::move(near.start.x),
              std::move(near.start.xp)};
    use_values_at_start(system, t, options, result);
    return result;
  }
  if (regular) result.result = SingularStart::Result::no_limit;
  return result;
}

}  // namespace saltus
