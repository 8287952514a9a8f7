#include "hybrid/chatter_watch.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {

bool ChatterWatch::note(double t, std::span<const int> guards) {
  if (guards.empty()) return false;
  std::vector<int> together = current_.guards;
  for (const int k : guards)
    if (std::find(together.begin(), together.end(), k) == together.end()) together.push_back(k);
  if (current_.events == 0 || std::abs(t - current_.to) > longest_pause_ || together.size() > 2)
    current_ = {t, t, 1, {guards.begin(), guards.end()}};
  else
    current_ = {current_.from, t, current_.events + 1, std::move(together)};
  if (current_.events < many) return false;
  if (current_.events > many)
    episodes_.back() = current_;
  else
    episodes_.push_back(current_);
  return current_.events == many;
}

}  // namespace saltus
