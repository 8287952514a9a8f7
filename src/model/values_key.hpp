// A number that stands for values of parameters: other values, another number.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace saltus {

inline std::uint64_t values_key(std::span<const double> values, std::uint64_t key = 0x9e3779b97f4a7c15u) {
  for (const double value : values) {
    key = (key ^ std::bit_cast<std::uint64_t>(value)) * 0xd6e8feb86659fd93u;
    key ^= key >> 32;
  }
  return key;
}

}  // namespace saltus
