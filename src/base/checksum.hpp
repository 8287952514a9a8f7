// What tells whether bytes are those that were written.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/fingerprint.hpp"

namespace saltus {

/// Sixteen digits, of bytes that belong together with what `key` names. Any change of a single byte changes them.
inline std::string checksum(std::string_view bytes, std::string_view key = {}) {
  Fingerprint all;
  all.add(key);
  all.add(static_cast<std::uint64_t>(bytes.size()));
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    all.add(word);
  }
  all.add(bytes.substr(at));
  std::string digits(16, '0');
  std::uint64_t value = all.value();
  for (std::size_t k = digits.size(); k-- > 0; value >>= 4) digits[k] = "0123456789abcdef"[value & 15U];
  return digits;
}

}  // namespace saltus
