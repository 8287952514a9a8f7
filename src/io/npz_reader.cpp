// Archives of numpy: a zip archive (PKWARE APPNOTE 6.3) whose entries are arrays in numpy's format (NEP 1). Entries are
// found by the directory at the end of the archive.
#include "io/npz_reader.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace saltus {

namespace {

/// An array in the bytes of the archive, as its header describes it.
struct StoredArray {
  std::string type;  // "<f8", "|b1", "<U12", …
  std::vector<std::size_t> shape;
  std::size_t begin = 0, end = 0;  // of the data
};

class NpzReader {
 public:
  NpzReader(const std::string& file, const std::string& bytes) : file_(file), bytes_(bytes) { read_directory(); }

  ResultTable table() const {
    const auto time = entries_.find("time");
    if (time == entries_.end()) fail("has no array 'time'");
    ResultTable result;
    result.time = numbers("time", array_at(time->second));
    std::vector<std::string> names = texts("$names");
    const std::vector<std::string> units = texts("$units"), descriptions = texts("$descriptions");
    const bool described = !names.empty() && units.size() == names.size() && descriptions.size() == names.size();
    if (names.empty())
      for (const std::string& name : order_)
        if (name != "time" && !name.starts_with('$')) names.push_back(name);
    for (std::size_t k = 0; k < names.size(); ++k) {
      const auto found = entries_.find(names[k]);
      if (found == entries_.end()) fail("has no array '" + names[k] + "', which it lists");
      ResultTable::Column column{names[k], {}, numbers(names[k], array_at(found->second))};
      if (column.values.size() != result.time.size())
        fail(
            fmt::format("'{}' has {} values, and the time has {}", names[k], column.values.size(), result.time.size()));
      if (described) column.details = VariableDetails{.unit = units[k], .description = descriptions[k]};
      result.columns.push_back(std::move(column));
    }
    return result;
  }

 private:
  struct Entry {
    std::size_t header = 0, size = 0;  // place of the local header; bytes of the content
  };

  [[noreturn]] void fail(const std::string& why) const { throw UsageError("'" + file_ + "': " + why); }

  template <class Number>
  Number number_at(std::size_t place) const {
    static_assert(std::endian::native == std::endian::little, "numbers are taken as they stand in the file");
    if (place > bytes_.size() || bytes_.size() - place < sizeof(Number)) fail("ends in the middle of an entry");
    Number number;
    std::memcpy(&number, bytes_.data() + place, sizeof number);
    return number;
  }
  std::string text_at(std::size_t place, std::size_t size) const {
    if (place > bytes_.size() || bytes_.size() - place < size) fail("ends in the middle of an entry");
    return bytes_.substr(place, size);
  }

  void read_directory() {
    const std::size_t end = bytes_.rfind("PK\x05\x06");
    if (!bytes_.starts_with("PK") || end == std::string::npos) fail("is not an archive of numpy (.npz)");
    const auto count = number_at<std::uint16_t>(end + 10);
    std::size_t place = number_at<std::uint32_t>(end + 16);
    for (int k = 0; k < count; ++k) {
      if (text_at(place, 4) != "PK\x01\x02") fail("has a directory that cannot be read");
      const auto method = number_at<std::uint16_t>(place + 10), name_size = number_at<std::uint16_t>(place + 28),
                 extra = number_at<std::uint16_t>(place + 30), comment = number_at<std::uint16_t>(place + 32);
      const auto size = number_at<std::uint32_t>(place + 24), header = number_at<std::uint32_t>(place + 42);
      std::string name = text_at(place + 46, name_size);
      if (method != 0) fail("is compressed; write it with numpy.savez instead of numpy.savez_compressed");
      if (size == 0xFFFFFFFF || header == 0xFFFFFFFF) fail("is larger than 4 GB; compare fewer times or variables");
      if (name.ends_with(".npy")) name.erase(name.size() - 4);
      entries_[name] = {header, size};
      order_.push_back(name);
      place += 46U + name_size + extra + comment;
    }
  }

  StoredArray array_at(const Entry& entry) const {
    if (text_at(entry.header, 4) != "PK\x03\x04") fail("has a directory that does not fit its entries");
    const std::size_t begin =
        entry.header + 30U + number_at<std::uint16_t>(entry.header + 26) + number_at<std::uint16_t>(entry.header + 28);
    if (text_at(begin, 6) != "\x93NUMPY") fail("has an entry that is no array of numpy");
    const bool old = number_at<std::uint8_t>(begin + 6) == 1;  // later versions have longer headers
    const std::size_t size = old ? number_at<std::uint16_t>(begin + 8) : number_at<std::uint32_t>(begin + 8);
    const std::size_t data = begin + (old ? 10 : 12) + size;
    const std::string header = text_at(data - size, size);
    StoredArray array{.begin = data, .end = begin + entry.size};
    const auto type = value_of(header, "descr", '\'', '\'');
    if (!type) fail("has an array of records");
    array.type = *type;
    const auto shape = value_of(header, "shape", '(', ')');
    if (!shape) fail("has an array without shape");
    for (std::size_t place = 0; place < shape->size(); ++place) {
      if (is_digit((*shape)[place])) {
        array.shape.push_back(whole_number(*shape, place));
      } else if ((*shape)[place] != ',' && (*shape)[place] != ' ') {
        fail("has an array without shape");
      }
    }
    return array;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  /// The digits from a place on, which becomes that of the last one.
  std::size_t whole_number(std::string_view text, std::size_t& place) const {
    constexpr std::size_t most = std::min<std::uint64_t>(1'000'000'000'000'000, SIZE_MAX / 16);
    std::size_t value = 0;
    for (;; ++place) {
      value = 10 * value + static_cast<std::size_t>(text[place] - '0');
      if (value > most) fail("has an array that is too large");
      if (place + 1 == text.size() || !is_digit(text[place + 1])) return value;
    }
  }
  /// What stands between two characters after a key of a header.
  static std::optional<std::string> value_of(const std::string& header, const std::string& key, char open, char close) {
    std::size_t begin = header.find("'" + key + "':");
    if (begin == std::string::npos) return {};
    begin = header.find_first_not_of(' ', begin + key.size() + 3);
    if (begin == std::string::npos || header[begin] != open) return {};
    const std::size_t end = header.find(close, begin + 1);
    if (end == std::string::npos) return {};
    return header.substr(begin + 1, end - begin - 1);
  }

  /// Calls `use` with the place of each item of an array with one dimension.
  template <class Use>
  void each(const std::string& name, const StoredArray& array, std::size_t item, const Use& use) const {
    if (array.shape.size() != 1) fail("'" + name + "' is not a row of numbers: it has another number of dimensions");
    const std::size_t room = array.end > array.begin ? array.end - array.begin : 0;
    if (array.shape[0] > room / item || array.end > bytes_.size()) fail("'" + name + "' ends early");
    for (std::size_t k = 0; k < array.shape[0]; ++k) use(array.begin + k * item);
  }

  template <class Number>
  std::vector<double> read_numbers(const std::string& name, const StoredArray& array) const {
    std::vector<double> values;
    each(name, array, sizeof(Number),
         [&](std::size_t place) { values.push_back(static_cast<double>(number_at<Number>(place))); });
    return values;
  }

  std::vector<double> numbers(const std::string& name, const StoredArray& array) const {
    if (array.type == "<f8") return read_numbers<double>(name, array);
    if (array.type == "<f4") return read_numbers<float>(name, array);
    if (array.type == "<i8") return read_numbers<std::int64_t>(name, array);
    if (array.type == "<i4") return read_numbers<std::int32_t>(name, array);
    if (array.type == "|b1" || array.type == "|u1") return read_numbers<std::uint8_t>(name, array);
    fail("'" + name + "' has numbers of the type '" + array.type + "'; write them as float64");
  }

  /// The texts of an array; none if there is no such array.
  std::vector<std::string> texts(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return {};
    const StoredArray array = array_at(found->second);
    const std::string digits = array.type.starts_with("<U") ? array.type.substr(2) : "";
    if (digits.empty() || digits.size() > 6 || !std::ranges::all_of(digits, is_digit))
      fail("'" + name + "' does not hold texts");
    const auto longest = static_cast<std::size_t>(std::stoull(digits));
    std::vector<std::string> result;
    if (longest == 0) {  // empty texts take no room: their number is that of the columns, at most
      if (array.shape.size() != 1 || array.shape[0] > entries_.size()) fail("'" + name + "' ends early");
      result.resize(array.shape[0]);
      return result;
    }
    each(name, array, 4 * longest, [&](std::size_t place) {
      std::string text;
      for (std::size_t k = 0; k < longest; ++k) append(text, number_at<std::uint32_t>(place + 4 * k));
      result.push_back(std::move(text));
    });
    return result;
  }

  /// Adds a character in UTF-8; nothing for the zeros at the end of a text.
  static void append(std::string& text, std::uint32_t c) {
    if (c == 0) return;
    if (c < 0x80) {
      text += static_cast<char>(c);
      return;
    }
    if (c > 0x10FFFF) c = 0xFFFD;
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    text += static_cast<char>((0xF0U << (3 - more) & 0xFFU) | (c >> 6 * more & 0x3FU));
    for (int k = more - 1; k >= 0; --k) text += static_cast<char>(0x80U | (c >> 6 * k & 0x3FU));
  }

  const std::string &file_, &bytes_;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> order_;  // as in the archive
};

}  // namespace

ResultTable read_npz(const std::string& file, const std::string& bytes) {
  return NpzReader(file, bytes).table();
}

}  // namespace saltus
