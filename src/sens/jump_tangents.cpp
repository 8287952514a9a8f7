#include "sens/jump_tangents.hpp"

#include <fmt/format.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/jump.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {

namespace {

/// The first differentiated variable that is not where the run has it; -1 if all are.
int first_that_differs(const System& system, std::span<const double> found, std::span<const double> run, double rtol) {
  for (std::size_t j = 0; j < found.size(); ++j) {
    const double size = std::abs(run[j]) + system.nominal(static_cast<int>(j));
    if (system.structure().differentiated(static_cast<int>(j)) &&
        !(std::abs(found[j] - run[j]) <= (1e-6 + 1e3 * rtol) * size))
      return static_cast<int>(j);
  }
  return -1;
}

}  // namespace

std::string jump_tangents(RecordedSystem& system, const ModeTangents& code, double t, std::span<const double> x_before,
                          std::span<const double> x, double rtol, std::span<JumpChange> changes) {
  const std::size_t n = code.variables(), m = changes.size(), shared = x_before.size();
  std::vector<double> y(n * (m + 2), 0.0), times;
  std::ranges::copy(x, y.begin());
  std::ranges::copy(x_before, y.begin());
  std::vector<std::vector<double>> data_changes;
  for (std::size_t k = 0; k < m; ++k) {
    data_changes.push_back(changes[k].data);
    times.push_back(changes[k].time);
    std::ranges::copy(changes[k].state, y.begin() + static_cast<std::ptrdiff_t>((k + 2) * n));
  }
  RecordedSystem tangents = code.with_values(system.data(), system.locks(), data_changes, times);
  // Stage by stage where the structure has a certificate, which needs no decisions about ranks: before the jump values
  // and changes violate constraints, and ranks may mean nothing there. Otherwise, and where the run has not jumped so,
  // by these decisions.
  std::string why;
  for (const int dense_limit : {0, CharacteristicOptions{}.certified_dense_limit}) {
    const Jump found =
        jump(tangents, t, y, characteristic_values(tangents, t, y, {.certified_dense_limit = dense_limit}));
    if (!found.ok() || found.rule != JumpRule::impulsive) {
      why = "the jump to consistent values is not along impulses, and cannot be differentiated: " + found.message;
      continue;
    }
    const int other = first_that_differs(system, std::span(found.x).first(shared), x, rtol);
    if (other >= 0) {
      why = fmt::format("'{}' jumps to another value than an impulse gives, and the jump cannot be differentiated",
                        system.variable_name(other));
      continue;
    }
    for (std::size_t k = 0; k < m; ++k)
      std::copy_n(found.x.begin() + static_cast<std::ptrdiff_t>((k + 2) * n), shared, changes[k].state.begin());
    return "";
  }
  return why;
}

std::string follows_reset(RecordedSystem& system, double t, std::span<const double> x_reset, std::span<const double> x,
                          const std::vector<int>& held, double rtol) {
  std::vector<double> given(x.begin(), x.end());
  std::ranges::copy(x_reset, given.begin());
  const Initialisation found = initialise(system, t, given, {.fixed = held});
  if (!found.ok()) return "the values behind a reset cannot be made consistent again: " + found.message;
  const int other = first_that_differs(system, std::span(found.x).first(x_reset.size()), x, rtol);
  return other < 0 ? ""
                   : fmt::format("behind a reset '{}' jumps, in a way that is not differentiated yet",
                                 system.variable_name(other));
}

}  // namespace saltus
