#include "hybrid/mode_table.hpp"

#include <algorithm>
#include <bit>

namespace saltus {

namespace {

std::uint64_t hash_of(const std::vector<double>& key) {
  std::uint64_t hash = 0xcbf29ce484222325u + key.size();
  for (const double value : key) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

int ModeTable::number(const Mode& mode) {
  key_.clear();
  family_.identify(mode, key_);
  for (double& value : key_)
    if (value == 0.0) value = 0.0;  // the two zeros are one
  const std::uint64_t hash = hash_of(key_);
  for (auto [it, end] = numbers_.equal_range(hash); it != end; ++it)
    if (has_key(it->second)) return it->second;
  const int fresh = size();
  keys_.insert(keys_.end(), key_.begin(), key_.end());
  key_begins_.push_back(keys_.size());
  modes_.push_back(mode);
  numbers_.emplace(hash, fresh);
  return fresh;
}

bool ModeTable::has_key(int number) const {
  const std::size_t begin = key_begins_[static_cast<std::size_t>(number)],
                    end = key_begins_[static_cast<std::size_t>(number) + 1];
  return std::equal(key_.begin(), key_.end(), keys_.begin() + static_cast<std::ptrdiff_t>(begin),
                    keys_.begin() + static_cast<std::ptrdiff_t>(end), [](double a, double b) {
                      return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
                    });
}

}  // namespace saltus
