// What a stored block consists of: the file with which it is done.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/stored_study.hpp"

namespace saltus {

/// Size and checksum of a file.
struct StoredChunk {
  std::uint64_t size = 0;
  std::string sum;
};
StoredChunk describe_chunk(const std::string& bytes, const std::string& study);

struct BlockIndex {
  std::map<std::string, StoredChunk> chunks;  ///< by name of the result
  std::vector<MemberFailure> failures;        ///< in order of index
};

/// `failures` is a list of objects with at least index, status, t and message.
std::string block_index_text(const std::map<std::string, StoredChunk>& chunks, const Json& failures,
                             const std::string& study, std::int64_t block);
/// Nothing: the file is one of another study. Throws UsageError if it is damaged.
std::optional<BlockIndex> read_block_index(const std::filesystem::path& file, const StudyIdentity& identity,
                                           const std::string& study, std::int64_t block);

/// JSON with a checksum of itself as its last member.
std::string sealed(Json json);
/// The same, read back. Throws UsageError, "'FILE' is damaged: …", if it is not as it was written.
Json read_sealed(const std::filesystem::path& file);

}  // namespace saltus
