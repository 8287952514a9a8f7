#include "step/jacobian_change.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {

bool JacobianChange::find(const SparsePattern& pattern, std::span<const double> before, std::span<const double> now,
                          std::vector<Entry>& entries) {
  constexpr std::size_t most = 2048;
  entries.clear();
  if (std::ranges::equal(before, now)) return true;
  for (int j = 0; j < pattern.columns; ++j)
    for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) {
      if (before[k] == now[k]) continue;
      if (entries.size() == most || !std::isfinite(now[k])) return false;
      entries.push_back({k, pattern.row[k], j, before[k], now[k]});
    }
  return true;
}

bool JacobianChange::find(const Structure& structure, std::span<const double> old_Fx, std::span<const double> old_Fxp,
                          std::span<const double> Fx, std::span<const double> Fxp) {
  exchanged_ = false;
  if (find(structure.state_pattern, old_Fx, Fx, Fx_) && find(structure.derivative_pattern, old_Fxp, Fxp, Fxp_))
    return true;
  clear();
  return false;
}

void JacobianChange::clear() {
  Fx_.clear();
  Fxp_.clear();
}

std::vector<ChangedEntry> JacobianChange::entries(double c) const {
  // sums of two products at most, of which each was rounded
  constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
  std::vector<ChangedEntry> entries;
  const auto add = [&](const std::vector<Entry>& changed, double factor) {
    for (const Entry& e : changed)
      entries.push_back({e.row, e.column, factor * (e.now - e.before),
                         rounding * std::abs(factor) * std::max(std::abs(e.now), std::abs(e.before))});
  };
  add(Fx_, 1.0);
  add(Fxp_, c);
  return entries;
}

void JacobianChange::exchange(std::span<double> Fx, std::span<double> Fxp) {
  exchanged_ = !exchanged_;
  for (const Entry& e : Fx_) Fx[e.place] = exchanged_ ? e.now : e.before;
  for (const Entry& e : Fxp_) Fxp[e.place] = exchanged_ ? e.now : e.before;
}

}  // namespace saltus
