#include "model/mode_systems.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <bit>
#include <iterator>
#include <unordered_set>

namespace saltus {

std::vector<int> places_of(std::span<const Expr> all, std::span<const Expr> occurring) {
  std::unordered_set<NodeId> ids;
  for (const Expr& e : occurring) ids.insert(e.id());
  std::vector<int> result;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (ids.contains(all[k].id())) result.push_back(static_cast<int>(k));
  return result;
}

OccurringValues::OccurringValues(const RecordedEquations& eq, std::span<const Expr> all_discretes,
                                 std::span<const Expr> all_locks) {
  std::vector<Expr> everything = eq.equations;
  everything.insert(everything.end(), eq.guards.begin(), eq.guards.end());
  everything.insert(everything.end(), eq.invariants.begin(), eq.invariants.end());
  discretes = places_of(all_discretes, symbols_of(everything, SymbolKind::discrete));
  locks = places_of(all_locks, locks_of(everything));
}

ModeSystems::ModeSystems(const RecordedSystem& prototype, std::span<const double> parameters,
                         const OccurringValues& values, std::span<const int> slides)
    : prototype_(prototype.for_another_thread(parameters)), values_(values), slides_(slides) {}

const std::vector<double>& ModeSystems::data_of(const Mode& mode) {
  if (slides_.empty()) return mode.discrete;
  data_.assign(mode.discrete.begin(), mode.discrete.end());
  data_.resize(mode.discrete.size() + slides_.size(), 0.0);
  for (const int k : mode.sliding)
    data_[mode.discrete.size() +
          static_cast<std::size_t>(std::lower_bound(slides_.begin(), slides_.end(), k) - slides_.begin())] = 1.0;
  return data_;
}

[[gnu::hot]] bool ModeSystems::fits(const RecordedSystem& system, const Mode& mode) const {
  const auto same = [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  };
  const std::span<const double> discrete = system.own_data(), locks = system.locks();
  for (const int k : values_.discretes)
    if (!same(discrete[static_cast<std::size_t>(k)], mode.discrete[static_cast<std::size_t>(k)])) return false;
  for (const int k : values_.locks)
    if (!same(locks[static_cast<std::size_t>(k)], mode.locks[static_cast<std::size_t>(k)])) return false;
  auto next = mode.sliding.begin();
  for (std::size_t k = 0; k < slides_.size(); ++k) {
    const bool slides = next != mode.sliding.end() && *next == slides_[k];
    if (slides) ++next;
    if (slides != (discrete[mode.discrete.size() + k] != 0.0)) return false;
  }
  return true;
}

std::uint64_t ModeSystems::hash(const Mode& mode) const {
  // in lanes, which do not wait for each other: parts of large models may read thousands of numbers
  std::array<std::uint64_t, 4> lanes = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 1};
  const auto add = [&](std::size_t k, double value) {
    std::uint64_t& h = lanes[k % lanes.size()];
    h = (h ^ std::bit_cast<std::uint64_t>(value)) * 0xd6e8feb86659fd93u;
    h ^= h >> 32;
  };
  const auto add_all = [&](const std::vector<int>& places, const std::vector<double>& values) {
    for (std::size_t k = 0; k < places.size(); ++k) add(k, values[static_cast<std::size_t>(places[k])]);
  };
  add_all(values_.discretes, mode.discrete);
  add_all(values_.locks, mode.locks);
  if (!slides_.empty())
    for (const int k : mode.sliding) add(0, k);
  for (std::size_t k = 1; k < lanes.size(); ++k) add(0, std::bit_cast<double>(lanes[k]));
  return lanes[0];
}

RecordedSystem& ModeSystems::find(const Mode& mode) {
  const std::uint64_t h = hash(mode);
  const auto remember = [&](RecordedSystem& system) -> RecordedSystem& {
    recent_[oldest_++ % recent_.size()] = &system;
    return system;
  };
  for (auto [it, end] = systems_.equal_range(h); it != end; ++it)
    if (fits(it->second, mode)) return remember(it->second);
  if (free_.empty()) return remember(systems_.emplace(h, prototype_.sibling(data_of(mode), mode.locks))->second);
  Table::node_type node = std::move(free_.back());
  free_.pop_back();
  node.key() = h;
  node.mapped().set_values(data_of(mode), mode.locks);
  return remember(systems_.insert(std::move(node))->second);
}

void ModeSystems::forget_others(std::span<const System* const> kept) {
  recent_.fill(nullptr);
  for (auto it = systems_.begin(); it != systems_.end();) {
    const auto next = std::next(it);
    if (std::find(kept.begin(), kept.end(), &it->second) == kept.end()) free_.push_back(systems_.extract(it));
    it = next;
  }
}

}  // namespace saltus
