// Numbers and texts as one number that tells whether they are the same.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace saltus {

class Fingerprint {
 public:
  void add(std::uint64_t bits) {
    value_ = (value_ ^ bits) * 0x9e3779b97f4a7c15u;
    value_ ^= value_ >> 29;
  }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  template <class List>
  void add_all(const List& list) {
    add(static_cast<std::uint64_t>(list.size()));
    for (const auto value : list) add(static_cast<double>(value));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace saltus
