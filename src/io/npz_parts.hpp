// Parts of numpy's archives: a zip archive without compression (PKWARE APPNOTE 6.3) whose entries are arrays in numpy's
// format, version 1.0.
#pragma once

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>

namespace saltus {

template <class Word>
void put_word(std::string& bytes, Word word) {
  for (std::size_t k = 0; k < sizeof word; ++k)
    bytes += static_cast<char>(static_cast<std::uint64_t>(word) >> (8 * k) & 255);
}

inline std::uint32_t crc32_of(const std::string& bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> values{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      values[n] = n;
      for (int bit = 0; bit < 8; ++bit) values[n] = values[n] & 1 ? 0xEDB88320U ^ values[n] >> 1 : values[n] >> 1;
    }
    return values;
  }();
  std::uint32_t sum = 0xFFFFFFFFU;
  for (const char c : bytes) sum = table[(sum ^ static_cast<unsigned char>(c)) & 255] ^ sum >> 8;
  return ~sum;
}

class ZipWriter {
 public:
  explicit ZipWriter(std::ostream& out) : out_(out) {}

  void add(const std::string& name, const std::string& content) {
    constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
    if (name.size() > 65'000)
      throw UsageError("npz: the name '" + name.substr(0, 40) + "…' is too long for an archive");
    if (content.size() + at_ + 100'000 > limit)
      throw UsageError("npz: more than 4 GB; choose fewer times (--samples) or variables (--vars)");
    std::string common;
    put_word<std::uint16_t>(common, 20);       // version that is needed
    put_word<std::uint16_t>(common, 1 << 11);  // names are UTF-8
    put_word<std::uint16_t>(common, 0);        // stored
    put_word<std::uint16_t>(common, 0);        // time and date: always the same, so that equal results are equal files
    put_word<std::uint16_t>(common, 33);
    put_word(common, crc32_of(content));
    put_word(common, static_cast<std::uint32_t>(content.size()));
    put_word(common, static_cast<std::uint32_t>(content.size()));
    put_word(common, static_cast<std::uint16_t>(name.size()));
    put_word<std::uint16_t>(common, 0);  // no more fields
    directory_ += "PK\x01\x02";
    put_word<std::uint16_t>(directory_, 20);
    directory_ += common;
    put_word<std::uint16_t>(directory_, 0);
    put_word<std::uint16_t>(directory_, 0);
    put_word<std::uint16_t>(directory_, 0);
    put_word<std::uint32_t>(directory_, 0);
    put_word(directory_, static_cast<std::uint32_t>(at_));
    directory_ += name;
    ++entries_;
    write("PK\x03\x04" + common + name);
    write(content);
  }

  void finish() {
    if (entries_ > 65'000) throw UsageError("npz: more than 65000 variables; choose some of them (--vars)");
    const auto begin = static_cast<std::uint32_t>(at_);
    write(directory_);
    std::string end = "PK\x05\x06";
    put_word<std::uint32_t>(end, 0);
    put_word(end, static_cast<std::uint16_t>(entries_));
    put_word(end, static_cast<std::uint16_t>(entries_));
    put_word(end, static_cast<std::uint32_t>(directory_.size()));
    put_word(end, begin);
    put_word<std::uint16_t>(end, 0);
    write(end);
  }

 private:
  void write(const std::string& bytes) {
    out_ << bytes;
    at_ += bytes.size();
  }
  std::ostream& out_;
  std::string directory_;
  std::uint64_t at_ = 0;
  std::size_t entries_ = 0;
};

/// The head of an array with `count` rows of `width` numbers; 0: of one number, without a second dimension.
inline std::string array_header(const std::string& type, std::size_t count, std::size_t width = 0) {
  const std::string shape = width == 0 ? fmt::format("{},", count) : fmt::format("{}, {}", count, width);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  constexpr std::size_t before = 10;  // the data begin at a multiple of 64
  text += std::string(63 - (before + text.size()) % 64, ' ') + '\n';
  std::string bytes = "\x93NUMPY";
  bytes += '\x01';
  bytes += '\0';
  put_word(bytes, static_cast<std::uint16_t>(text.size()));
  return bytes + text;
}

}  // namespace saltus
