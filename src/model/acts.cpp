#include "model/acts.hpp"

#include <utility>

namespace saltus {

std::vector<Act> committed(std::vector<Act> acts) {
  std::vector<Act> result;
  for (Act& act : acts) {
    if (!result.empty()) {
      const Act& last = result.back();
      const bool from_the_same = last.t == act.t && last.initial == act.initial && last.x_before == act.x_before &&
                                 last.mode_before.discrete == act.mode_before.discrete;
      if (from_the_same && (last.x_after != act.x_before || last.mode_after.discrete != act.mode_before.discrete))
        result.pop_back();
    }
    result.push_back(std::move(act));
  }
  return result;
}

}  // namespace saltus
