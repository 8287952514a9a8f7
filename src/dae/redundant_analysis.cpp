// A maximal matching picks n of the m equations. If these are regular without hidden constraints, their solutions fill a
// surface of dimension d, and another equation is redundant if it does not change along it. Whether a linear form vanishes
// on a space is seen at one random vector (with probability one): the equation is evaluated at consistent points in
// random directions.
#include "dae/redundant_analysis.hpp"

#include <saltus/dae/initialisation.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "dae/sub_system.hpp"

namespace saltus {
namespace {

// Sizes of the terms of F, of which rounding errors are a part.
std::vector<double> term_sizes(System& system, double t, std::span<const double> x, std::span<const double> xp) {
  const Structure& s = system.structure();
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()),
      size(static_cast<std::size_t>(s.equations), 0.0);
  system.jacobian(t, x, xp, Fx, Fxp);
  const auto add = [&](const SparsePattern& p, std::span<const double> entries, std::span<const double> values) {
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k)
        size[p.row[k]] = std::max(size[p.row[k]], std::abs(entries[k]) * (std::abs(values[j]) + 1e-3 * std::abs(system.nominal(j))));
  };
  add(s.state_pattern, Fx, x);
  add(s.derivative_pattern, Fxp, xp);
  return size;
}

}  // namespace

void analyse_redundant(System& system, double t, std::span<const double> x, const CharacteristicOptions& options,
                       CharacteristicValues& result) {
  const Structure& s = system.structure();
  std::vector<int> chosen, others, variables(static_cast<std::size_t>(s.variables));
  for (int i = 0; i < s.equations; ++i) (result.structure.matched_variable[i] >= 0 ? chosen : others).push_back(i);
  for (int j = 0; j < s.variables; ++j) variables[j] = j;
  if (chosen.size() != variables.size()) {
    result.reason = "there are too few equations for so many variables, and ranks of so large an array are not found";
    return;
  }
  SubSystem part(system, std::move(chosen), std::move(variables));
  const CharacteristicValues regular = characteristic_values(part, t, x, options);
  if (regular.status == AnalysisStatus::undecided || regular->mu > 0 || regular->u > 0 || regular->v > 0) {
    result.reason = "there are too many equations, and as many as variables among them are not free of hidden "
                    "constraints" + (regular.reason.empty() ? "" : ": " + regular.reason);
    return;
  }
  // 1e-3 of a displacement of 1e-3 would be a change; rounding is far below
  constexpr double displacement = 1e-3, follows = 1e-10, does_not = 1e-7;
  std::mt19937 generator(12345);
  std::vector<double> F(static_cast<std::size_t>(s.equations)), first;
  bool grey = false;
  for (int point = 0; point < 3; ++point) {
    std::vector<double> guess(regular.X.begin(), regular.X.begin() + s.variables);
    for (int j = 0; j < s.variables && point > 0; ++j)
      guess[j] += displacement * std::max(std::abs(system.nominal(j)), std::abs(guess[j])) *
                  (static_cast<double>(generator()) / 2147483648.0 - 1.0);
    const Initialisation consistent = initialise(part, t, guess, regular);
    if (!consistent.ok()) {
      result.reason = "no consistent point was found";
      return;
    }
    system.residual(t, consistent.x, consistent.xp, F);
    const std::vector<double> size = term_sizes(system, t, consistent.x, consistent.xp);
    if (point == 0) first = F;
    for (const int i : others) {
      const double change = std::abs(F[i] - first[i]);
      grey |= change > follows * size[i];
      if (change <= does_not * size[i]) continue;
      result.reason = fmt::format("'{}' restricts the solutions of the other equations", system.equation_name(i));
      return;
    }
  }
  const int redundant = static_cast<int>(others.size());
  result.numbers = {0, regular->d, regular->a, 0, redundant, s.variables};
  result.status = grey ? AnalysisStatus::grey : regular.status;
  result.kept = regular.kept;
  result.dropped = regular.dropped;
  result.X = regular.X;
}

}  // namespace saltus
