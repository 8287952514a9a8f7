#include "study/block_index.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <cmath>

#include "base/checksum.hpp"

namespace saltus {

namespace fs = std::filesystem;

StoredChunk describe_chunk(const std::string& bytes, const std::string& study) {
  return {bytes.size(), checksum(bytes, study)};
}

std::string sealed(Json json) {
  json["checksum"] = checksum(dump(json));
  return dump(json);
}

Json read_sealed(const fs::path& file) {
  Json json = read_json(file);
  const bool has = json.is_object() && json.contains("checksum") && json["checksum"].is_string();
  const std::string sum = has ? json["checksum"].get<std::string>() : "";
  if (has) json.erase("checksum");
  if (!has || checksum(dump(json)) != sum)
    throw UsageError("'" + file.string() + "' is damaged: it is not as it was written");
  return json;
}

std::string block_index_text(const std::map<std::string, StoredChunk>& chunks, const Json& failures,
                             const std::string& study, std::int64_t block) {
  Json json{{"study", study}, {"block", block}, {"chunks", Json::object()}, {"failures", failures}};
  for (const auto& [name, chunk] : chunks) json["chunks"][name] = {chunk.size, chunk.sum};
  return sealed(std::move(json));
}

std::optional<BlockIndex> read_block_index(const fs::path& file, const StudyIdentity& identity,
                                           const std::string& study, std::int64_t block) {
  const Json json = read_sealed(file);
  try {
    if (json.at("study").get<std::string>() != study || json.at("block").get<std::int64_t>() != block) return {};
    BlockIndex index;
    for (const auto& [name, chunk] : json.at("chunks").items())
      index.chunks[name] = {chunk.at(0).get<std::uint64_t>(), chunk.at(1).get<std::string>()};
    const StudyBlock members = block_of(identity, block);
    for (const Json& f : json.at("failures")) {
      index.failures.push_back({f.at("index").get<std::int64_t>(), f.at("status").get<int>(),
                                f.at("t").is_number() ? f.at("t").get<double>() : std::nan(""),
                                f.at("message").get<std::string>()});
      const std::int64_t place = index.failures.back().index - members.first;
      if (place < 0 || place >= members.count)
        throw UsageError(fmt::format("'{}' is damaged: member {} is not in block {}", file.string(),
                                     index.failures.back().index, block));
    }
    for (std::size_t k = 0; k < identity.own_arrays; ++k)
      if (!index.chunks.contains(identity.arrays[k].name))
        throw UsageError(fmt::format("'{}' is damaged: it does not name '{}'", file.string(), identity.arrays[k].name));
    return index;
  } catch (const Json::exception& problem) {
    throw UsageError(fmt::format("'{}' is damaged: {}", file.string(), problem.what()));
  }
}

}  // namespace saltus
