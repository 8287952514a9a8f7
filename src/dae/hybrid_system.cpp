#include <saltus/dae/hybrid_system.hpp>

#include <algorithm>

namespace saltus {

bool HybridSystem::follow(Mode& mode, int guard, double /*value*/, int to_side) const {
  if (to_side == 0)
    rest(mode, guard);
  else
    set_side(mode, guard, to_side);
  return true;
}

bool HybridSystem::can_stay_on_surfaces(const Mode&) { return false; }

void HybridSystem::observe(const Mode&, double, std::span<const double> x, std::span<const double>, std::span<double> values) {
  std::copy(x.begin(), x.end(), values.begin());
}

}  // namespace saltus
