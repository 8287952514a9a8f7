#include <saltus/linalg/rank.hpp>

#include <algorithm>
#include <cstddef>

#include "base/finite.hpp"

namespace saltus {

RankDecision rank_gap(std::span<const double> values, int dimension, double reference, double noise) {
  const double low = std::max(32.0 * dimension * eps * reference, 10.0 * noise);
  const double high = std::max(1e-6 * reference, 10.0 * low);
  const auto above = [&](double bound) {
    return static_cast<int>(std::ranges::count_if(values, [&](double v) { return v > bound; }));
  };
  const int sure = above(high), possible = above(low);
  RankDecision decision;
  decision.rank = sure;
  if (sure != possible) {
    decision.status = RankStatus::grey;
    double best = 0.0;
    double previous = sure > 0 ? values[sure - 1] : reference;
    for (int k = sure; k <= possible; ++k) {
      const double next = k < possible ? values[k] : low;
      if (previous > best * next) {
        best = previous / next;
        decision.rank = k;
      }
      previous = next;
    }
  }
  const double scale = reference > 0.0 ? reference : 1.0;
  if (decision.rank > 0) decision.kept = values[decision.rank - 1] / scale;
  if (static_cast<std::size_t>(decision.rank) < values.size()) decision.dropped = values[decision.rank] / scale;
  return decision;
}

}  // namespace saltus
