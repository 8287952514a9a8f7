// Sides of the indicators of an imported FMU at events: which it sees as crossed, which come back, which it may slide
// along.
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fmi/exchanged_fmu.hpp"

namespace saltus {

std::vector<double> ExchangedFmu::Impl::cross(const EventInput& input, const Mode& mode, double& t,
                                              std::vector<double>& x) {
  std::vector<double> depth(indicators, 0.0);
  std::vector<std::size_t> crossed;
  for (std::size_t k = 0; k < indicators; ++k)
    if (mode.locks[k] != mode.discrete[known_side(k)] &&
        std::ranges::find(mode.sliding, static_cast<int>(k)) == mode.sliding.end())
      crossed.push_back(k);
  if (crossed.empty()) return depth;
  constexpr int most_doublings = 24;  // from a rounding error to some 1e-8 of the time
  const std::vector<double> x0 = x;
  const double t0 = t;
  std::vector<double> z(indicators);
  double shift = 0.0;
  for (int k = 0; k < most_doublings; ++k) {
    if (!indicator_values(id(mode), t, x, mode.discrete, z)) break;
    const bool seen =
        std::ranges::all_of(crossed, [&](std::size_t c) { return mode.locks[c] > 0.0 ? z[c] > 0.0 : z[c] < 0.0; });
    if (seen) {
      for (const std::size_t c : crossed) depth[c] = std::abs(z[c]);
      return depth;
    }
    shift = shift == 0.0 ? 2.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t0), 1e-3) : 2.0 * shift;
    t = t0 + shift;
    for (std::size_t j = 0; j < states; ++j) x[j] = x0[j] + shift * input.xp_before[j];
  }
  t = t0;
  x = x0;
  return depth;
}

bool ExchangedFmu::Impl::same_indicator(std::size_t a, std::size_t b, int guard, double t, std::span<const double> x,
                                        std::span<const double> numbers) {
  constexpr double shift = 1e-4, rounding = 1e-9;
  const auto k = static_cast<std::size_t>(guard);
  std::vector<double> beside(x.begin(), x.end()), za(indicators), zb(indicators);
  for (std::size_t j = 0; j < states; ++j) beside[j] += shift * variables[j].nominal;
  return indicator_values(a, t, beside, numbers, za) && indicator_values(b, t, beside, numbers, zb) &&
         std::abs(za[k] - zb[k]) <= rounding * std::max(std::abs(za[k]), std::abs(zb[k]));
}

bool ExchangedFmu::Impl::rebounds(std::size_t number, int guard, double t, std::span<const double> x,
                                  const Mode& mode) {
  constexpr double margin = 10.0;
  std::vector<double> z(indicators), later(indicators);
  if (!look_ahead(number, t, x, mode.discrete, z, later)) return false;
  const auto k = static_cast<std::size_t>(guard);
  const double beyond = mode.locks[k] > 0.0 ? -later[k] : later[k];
  return beyond > margin * std::abs(z[k]);
}

bool ExchangedFmu::Impl::look_ahead(std::size_t number, double t, std::span<const double> x,
                                    std::span<const double> numbers, std::span<double> z, std::span<double> later) {
  constexpr double small = 1e-9;
  std::vector<double> f(x.size()), ahead(x.begin(), x.end());
  if (!evaluate(number, t, x, numbers, f)) return false;
  const double h = small * std::max(std::abs(t), 1.0);
  for (std::size_t j = 0; j < states; ++j) ahead[j] += h * f[j];
  return indicator_values(number, t, x, numbers, z) && indicator_values(number, t + h, ahead, numbers, later);
}

bool ExchangedFmu::Impl::switches_back(std::size_t before, std::size_t after, const EventInput& input,
                                       std::span<const double> x, const Mode& mode) {
  constexpr double shift = 1e-7, rounding = 1e-9;
  const double h = shift * std::max(std::abs(input.t), 1.0);
  std::vector<double> back(x.begin(), x.end()), old_field(x.size()), new_field(x.size());
  for (std::size_t j = 0; j < states; ++j) back[j] -= h * input.xp_before[j];
  if (!evaluate(before, input.t, back, mode.discrete, old_field)) return false;
  activate(after);
  set_point(input.t, back, mode.discrete);
  bool same = false;
  try {
    fmu->enter_event_mode();
    const EventOutcome outcome = settle();
    same = !outcome.terminate && !outcome.states_changed && fmu->derivatives(new_field);
  } catch (const Error&) {
    same = false;
  }
  fmu->restore(saved.at(after).state);
  current = after;
  for (std::size_t j = 0; same && j < states; ++j)
    same = std::abs(new_field[j] - old_field[j]) <= rounding * (std::abs(new_field[j]) + std::abs(old_field[j]));
  return same;
}

void ExchangedFmu::Impl::place_indicators(std::size_t number, double t, std::span<const double> x,
                                          std::span<const double> depth, std::span<const char> stays, Mode& mode) {
  constexpr double same_depth = 4.0, at_once = 0.01;
  std::vector<double> z(indicators), later(indicators);
  if (indicators == 0 || !look_ahead(number, t, x, mode.discrete, z, later)) return;
  for (std::size_t k = 0; k < indicators; ++k) {
    const bool at_zero = z[k] == 0.0 || std::abs(z[k]) <= same_depth * depth[k];
    const double change = later[k] - z[k];
    const double value = at_zero && std::abs(change) > std::abs(z[k]) ? change : z[k];
    if (value != 0.0 && !stays[k]) mode.locks[k] = value > 0.0 ? 1.0 : 0.0;
    const double leaves = mode.locks[k] > 0.0 ? change : -change;
    if (leaves > 0.0 && std::abs(z[k]) <= at_once * leaves) saved[number].zeros.push_back(k);
  }
}

}  // namespace saltus
