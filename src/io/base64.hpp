// Bytes as text (RFC 4648).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace saltus {

inline std::string base64(std::span<const std::uint8_t> bytes) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    const std::size_t left = bytes.size() - k;
    const unsigned word = bytes[k] << 16 | (left > 1 ? bytes[k + 1] << 8 : 0) | (left > 2 ? bytes[k + 2] : 0);
    text += letters[word >> 18 & 63];
    text += letters[word >> 12 & 63];
    text += left > 1 ? letters[word >> 6 & 63] : '=';
    text += left > 2 ? letters[word & 63] : '=';
  }
  return text;
}

/// The bytes of numbers, least significant first on all machines.
template <class Number>
std::string base64_numbers(const std::vector<double>& values) {
  using Word = std::conditional_t<sizeof(Number) == 8, std::uint64_t, std::uint32_t>;
  static_assert(sizeof(Word) == sizeof(Number));
  std::vector<std::uint8_t> bytes;
  bytes.reserve(values.size() * sizeof(Number));
  for (const double value : values) {
    const auto number = static_cast<Number>(value);
    Word word;
    std::memcpy(&word, &number, sizeof word);
    for (std::size_t k = 0; k < sizeof word; ++k) bytes.push_back(static_cast<std::uint8_t>(word >> (8 * k) & 255));
  }
  return base64(bytes);
}

}  // namespace saltus
