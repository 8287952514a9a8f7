// Zip archives, as far as FMUs need them: written with deflate, read with deflate or stored, all sizes and places
// checked. No encryption, no parts, no archives above 4 GB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

/// Collects entries and gives the archive as bytes. The same entries give the same bytes: no times are stored.
class ZipWriter {
 public:
  /// Throws UsageError for a name that is empty or used twice, and where the archive would pass 4 GB.
  void add(const std::string& name, std::string_view content);
  /// Ends the archive; nothing may be added afterwards.
  std::string finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t checksum, packed, size, offset;
    bool deflated;
  };
  std::string bytes_;
  std::vector<Entry> entries_;
};

/// Reads an archive that is held in memory. Every function throws UsageError for what is damaged.
class ZipReader {
 public:
  struct Entry {
    std::string name;  ///< relative, without "..", backslashes or control characters; folders end in '/'
    std::uint32_t checksum = 0;
    std::uint64_t packed = 0, size = 0, offset = 0;
    bool deflated = false;
    bool folder() const { return name.ends_with('/'); }
  };
  /// All unpacked together must fit into this.
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
  static constexpr std::size_t most_entries = 10'000;

  /// Reads the directory at the end. Refuses names that would leave the folder into which the archive is unpacked.
  explicit ZipReader(std::string bytes);
  const std::vector<Entry>& entries() const { return entries_; }
  /// Null if there is none.
  const Entry* find(std::string_view name) const;
  /// The content, after a check of its length and checksum.
  std::string content(const Entry& entry) const;

 private:
  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace saltus
