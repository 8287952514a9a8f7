// The format is that of PKWARE's APPNOTE 6.3: local headers with data, a central directory, an end record. Numbers are
// little-endian.
#include "fmi/zip_archive.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace saltus {

namespace {

constexpr std::uint32_t local_mark = 0x04034b50, central_mark = 0x02014b50, end_mark = 0x06054b50;
constexpr std::size_t local_size = 30, central_size = 46, end_size = 22;
constexpr std::uint16_t stored = 0, deflated = 8, utf8_names = 1 << 11;
constexpr std::uint16_t version_needed = 20, unix_version = (3 << 8) | version_needed;
constexpr std::uint16_t first_day = (1 << 5) | 1;  // 1980-01-01: archives do not depend on the clock

void put16(std::string& out, unsigned value) {
  out += static_cast<char>(value & 0xff);
  out += static_cast<char>(value >> 8 & 0xff);
}
void put32(std::string& out, std::uint32_t value) {
  put16(out, value & 0xffff);
  put16(out, value >> 16);
}

/// Compresses without a header of zlib, as zip archives want it.
std::string deflate_bytes(std::string_view content) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("zlib cannot compress: there is not enough memory");
  std::string out(deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw Error("zlib cannot compress: there is not enough memory");
  return out;
}

/// Unpacks to exactly `size` bytes; false if the data are damaged or have another length.
bool inflate_bytes(std::string_view packed, std::string& out) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  Bytef nothing = 0;  // zlib wants a place even for empty files
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = out.empty() ? &nothing : reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.total_out == out.size();
  inflateEnd(&stream);
  return whole;
}

std::uint32_t checksum_of(std::string_view content) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

/// Reads numbers at places that need not lie in the archive.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : bytes_(bytes) {}

  std::uint32_t at16(std::size_t place) const { return byte(place) | byte(place + 1) << 8; }
  std::uint32_t at32(std::size_t place) const { return at16(place) | at16(place + 2) << 16; }
  /// A part of the archive; throws where it would leave it.
  std::string_view part(std::uint64_t place, std::uint64_t size) const {
    if (place > bytes_.size() || size > bytes_.size() - place) damaged("an entry reaches beyond the end of the file");
    return bytes_.substr(place, size);
  }
  [[noreturn]] static void damaged(const std::string& what) { throw UsageError("the zip archive is damaged: " + what); }

 private:
  std::uint32_t byte(std::size_t place) const {
    if (place >= bytes_.size()) damaged("it ends too early");
    return static_cast<unsigned char>(bytes_[place]);
  }
  std::string_view bytes_;
};

/// Whether a file of this name stays inside of the folder into which it is unpacked.
bool stays_inside(const std::string& name) {
  if (name.empty() || name.front() == '/' || name.size() > 1000) return false;
  if (std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 32 || c == '\\' || c == ':'; }))
    return false;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = std::string_view(name).substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

std::size_t find_end_record(std::string_view bytes) {
  constexpr std::size_t longest_comment = 0xffff;
  if (bytes.size() < end_size) Numbers::damaged("it is too short");
  const Numbers numbers(bytes);
  const std::size_t last = bytes.size() - end_size;
  for (std::size_t back = 0; back <= std::min(last, longest_comment); ++back)
    if (const std::size_t place = last - back; numbers.at32(place) == end_mark && numbers.at16(place + 20) == back)
      return place;
  Numbers::damaged("it has no directory at its end; it may be incomplete, or not a zip archive");
}

}  // namespace

void ZipWriter::add(const std::string& name, std::string_view content) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (!stays_inside(name) || std::ranges::find(entries_, name, &Entry::name) != entries_.end())
    throw UsageError(fmt::format("'{}' cannot be the name of a file in a zip archive, or is there already", name));
  const bool fits = content.size() < most;
  std::string packed = fits ? deflate_bytes(content) : "";
  const bool smaller = packed.size() < content.size();
  const std::string_view data = smaller ? std::string_view(packed) : content;
  if (!fits || bytes_.size() + data.size() + name.size() + local_size >= most)
    throw UsageError(fmt::format("'{}' is too large: a zip archive holds at most 4 GB", name));
  const Entry entry{name,
                    checksum_of(content),
                    static_cast<std::uint32_t>(data.size()),
                    static_cast<std::uint32_t>(content.size()),
                    static_cast<std::uint32_t>(bytes_.size()),
                    smaller};
  put32(bytes_, local_mark);
  for (const unsigned value :
       {unsigned{version_needed}, unsigned{utf8_names}, unsigned{smaller ? deflated : stored}, 0u, unsigned{first_day}})
    put16(bytes_, value);
  for (const std::uint32_t value : {entry.checksum, entry.packed, entry.size}) put32(bytes_, value);
  put16(bytes_, static_cast<unsigned>(name.size()));
  put16(bytes_, 0);
  bytes_ += name;
  bytes_ += data;
  entries_.push_back(entry);
}

std::string ZipWriter::finish() {
  constexpr std::uint32_t readable_file = 0100644u << 16;
  const auto begin = static_cast<std::uint32_t>(bytes_.size());
  for (const Entry& entry : entries_) {
    put32(bytes_, central_mark);
    for (const unsigned value : {unsigned{unix_version}, unsigned{version_needed}, unsigned{utf8_names},
                                 unsigned{entry.deflated ? deflated : stored}, 0u, unsigned{first_day}})
      put16(bytes_, value);
    for (const std::uint32_t value : {entry.checksum, entry.packed, entry.size}) put32(bytes_, value);
    put16(bytes_, static_cast<unsigned>(entry.name.size()));
    for (int unused = 0; unused < 4; ++unused) put16(bytes_, 0);  // extra field, comment, disk, kind of content
    put32(bytes_, readable_file);
    put32(bytes_, entry.offset);
    bytes_ += entry.name;
  }
  const auto size = static_cast<std::uint32_t>(bytes_.size() - begin);
  const auto count = static_cast<unsigned>(entries_.size());
  put32(bytes_, end_mark);
  for (const unsigned value : {0u, 0u, count, count}) put16(bytes_, value);
  put32(bytes_, size);
  put32(bytes_, begin);
  put16(bytes_, 0);
  return std::move(bytes_);
}

ZipReader::ZipReader(std::string bytes) : bytes_(std::move(bytes)) {
  const Numbers numbers(bytes_);
  const std::size_t end = find_end_record(bytes_);
  const std::size_t count = numbers.at16(end + 10);
  if (numbers.at16(end + 8) != count || count == 0xffff)
    Numbers::damaged("it has several parts, or more entries than are supported");
  if (count > most_entries)
    Numbers::damaged(fmt::format("it has {} entries, at most {} are read", count, most_entries));
  std::uint64_t place = numbers.at32(end + 16), total = 0;
  std::unordered_set<std::string> names;
  for (std::size_t k = 0; k < count; ++k) {
    if (numbers.part(place, central_size).size() != central_size || numbers.at32(place) != central_mark)
      Numbers::damaged("its directory is not where the end of the file says");
    const unsigned flags = numbers.at16(place + 8), method = numbers.at16(place + 10);
    const std::uint64_t name_size = numbers.at16(place + 28);
    Entry entry{.name = std::string(numbers.part(place + central_size, name_size)),
                .checksum = numbers.at32(place + 16),
                .packed = numbers.at32(place + 20),
                .size = numbers.at32(place + 24),
                .offset = numbers.at32(place + 42),
                .deflated = method == deflated};
    if (!stays_inside(entry.name))
      throw UsageError(
          fmt::format("the zip archive holds a file whose name leaves its folder, or is not a name: "
                      "'{:?}'; it is refused",
                      entry.name));
    if ((flags & 1) != 0) Numbers::damaged("'" + entry.name + "' is encrypted, which is not supported");
    if (method != stored && method != deflated)
      Numbers::damaged(fmt::format("'{}' is compressed by method {}; only deflate is read", entry.name, method));
    const bool twice = !names.insert(entry.name).second;
    total += entry.size;
    if (total > most_bytes)
      throw UsageError(fmt::format("the zip archive would unpack to more than {} MB; it is refused", most_bytes >> 20));
    place += central_size + name_size + numbers.at16(place + 30) + numbers.at16(place + 32);
    if (!twice)
      entries_.push_back(std::move(entry));
    else if (content(*find(entry.name)) != content(entry))  // some tools pack a file twice
      Numbers::damaged("'" + entry.name + "' is there twice, with different contents");
  }
}

const ZipReader::Entry* ZipReader::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : &*found;
}

std::string ZipReader::content(const Entry& entry) const {
  const Numbers numbers(bytes_);
  if (numbers.part(entry.offset, local_size).size() != local_size || numbers.at32(entry.offset) != local_mark)
    Numbers::damaged("'" + entry.name + "' is not where the directory says");
  const std::uint64_t begin =
      entry.offset + local_size + numbers.at16(entry.offset + 26) + numbers.at16(entry.offset + 28);
  const std::string_view packed = numbers.part(begin, entry.packed);
  // deflate gains at most a factor of 1032: a size beyond it is a lie, for which no memory is taken
  if (entry.deflated ? entry.size > 1100 * (entry.packed + 1) : entry.size != entry.packed)
    Numbers::damaged("the size of '" + entry.name + "' is wrong");
  std::string out;
  if (entry.deflated) {
    out.resize(entry.size);
    if (!inflate_bytes(packed, out)) Numbers::damaged("'" + entry.name + "' cannot be unpacked");
  } else {
    out = packed;
  }
  if (checksum_of(out) != entry.checksum) Numbers::damaged("the checksum of '" + entry.name + "' is wrong");
  return out;
}

}  // namespace saltus
