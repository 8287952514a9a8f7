#include "study/stored_study.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/base/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

#include "study/plan_json.hpp"

namespace saltus {

namespace fs = std::filesystem;

std::string dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw UsageError(fmt::format("cannot read '{}': {}", file.string(), std::strerror(errno)));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Json read_json(const fs::path& file) {
  try {
    return Json::parse(text_of(file));
  } catch (const Json::exception& problem) {
    throw UsageError("'" + file.string() + "' is damaged: " + problem.what());
  }
}

namespace {

constexpr const char* format_name = "saltus study";
constexpr int format_version = 1;

/// What must be the same for a study to go on.
Json identity_json(const StudyIdentity& identity) {
  Json json;
  json["saltus"] = std::string(version());
  json["plan"] = to_json(identity.plan);
  if (identity.reduce)
    json["reduce"] = {{"x", identity.reduce->x},
                      {"y", identity.reduce->y},
                      {"columns", identity.reduce->columns},
                      {"rows", identity.reduce->rows}};
  json["model"] = Json::array();
  std::size_t begin = 0;
  for (std::size_t end; (end = identity.model.find('\n', begin)) != std::string::npos; begin = end + 1)
    json["model"].push_back(identity.model.substr(begin, end - begin));
  return json;
}

/// The first thing that two studies do not have in common, in words; empty if they are the same.
std::string difference(const Json& stored, const Json& wanted) {
  const auto a = stored.flatten(), b = wanted.flatten();
  std::vector<std::string> keys;
  for (const auto& [key, value] : a.items()) keys.push_back(key);
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) keys.push_back(key);
  for (const std::string& key : keys) {
    const auto text = [&](const Json& side) {
      return side.contains(key) ? side.at(key).dump(-1, ' ', false, Json::error_handler_t::replace) : "nothing";
    };
    if (a.contains(key) && b.contains(key) && a.at(key) == b.at(key)) continue;
    std::string name = key.substr(1);
    std::ranges::replace(name, '/', '.');
    const auto cut = [](std::string words) { return words.size() > 100 ? words.substr(0, 100) + "…" : words; };
    return fmt::format("{} was {} and is now {}", name, cut(text(a)), cut(text(b)));
  }
  return {};
}

/// The attributes of the study in a folder; null if there is none yet. Throws UsageError if the folder is something
/// else.
Json stored_attributes(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return nullptr;
  if (!fs::is_directory(folder, ignored))
    throw UsageError("'" + folder.string() + "' is a file; a study needs a folder of its own: name another one");
  if (!fs::exists(folder / ".zattrs", ignored)) {
    const bool ours = fs::exists(folder / ".zgroup", ignored) || fs::exists(folder / "failures", ignored);
    if (!ours && !fs::is_empty(folder, ignored))
      throw UsageError("'" + folder.string() + "' is a folder with other files; a study needs one of its own");
    return nullptr;
  }
  Json json = read_json(folder / ".zattrs");
  if (!json.is_object() || json.value("format", "") != format_name)
    throw UsageError("'" + folder.string() + "' holds no study of Saltus; name another folder");
  if (json.value("version", 0) != format_version)
    throw UsageError(fmt::format("the study in '{}' has version {} of the format; this program reads version {}",
                                 folder.string(), json.value("version", 0), format_version));
  return json;
}

/// Removes temporary files that killed writers have left. Young ones may belong to a writer that is at work.
void remove_remains(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> remains;
  const auto old = fs::file_time_type::clock::now() - std::chrono::minutes(1);
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored))
    if (entry.path().extension() == ".part" && fs::last_write_time(entry.path(), ignored) < old)
      remains.push_back(entry.path());
  for (const fs::path& file : remains) fs::remove(file, ignored);
}

void read_identity(const fs::path& folder, const Json& stored, StudyIdentity& identity) {
  try {
    const Json& own = stored.at("identity");
    identity.plan = plan_from_json(own.at("plan"));
    identity.reduce.reset();
    if (own.contains("reduce")) {
      const Json& reduce = own.at("reduce");
      identity.reduce = DensityPlan{reduce.at("x").get<std::string>(), reduce.at("y").get<std::string>(),
                                    reduce.at("columns").get<std::int64_t>(), reduce.at("rows").get<std::int64_t>()};
    }
    identity.members = stored.at("members").get<std::int64_t>();
    identity.block = stored.at("block").get<std::int64_t>();
    identity.arrays.clear();
    for (const Json& array : stored.at("arrays")) identity.arrays.push_back(array_from_json(array));
    identity.own_arrays = identity.arrays.size();
    identity.source.clear();
    for (const auto& [name, text] : stored.at("source").items())
      identity.source.emplace_back(name, text.get<std::string>());
    identity.model.clear();
    for (const Json& line : own.at("model")) identity.model += line.get<std::string>() + "\n";
    std::error_code ignored;
    if (fs::exists(folder / "computed.json", ignored))
      for (const Json& array : read_json(folder / "computed.json")) identity.arrays.push_back(array_from_json(array));
  } catch (const Json::exception& problem) {
    throw UsageError("'" + (folder / ".zattrs").string() + "' is damaged: " + problem.what());
  }
  if (identity.block < 1 || identity.members < 1)
    throw UsageError("'" + (folder / ".zattrs").string() + "' is damaged: there are no members");
}

}  // namespace

Json study_attributes(const StudyIdentity& identity) {
  Json json;
  json["format"] = format_name;
  json["version"] = format_version;
  json["identity"] = identity_json(identity);
  json["source"] = Json::object();
  for (const auto& [name, text] : identity.source) json["source"][name] = text;
  json["members"] = identity.members;
  json["block"] = identity.block;
  json["arrays"] = Json::array();
  for (std::size_t k = 0; k < identity.own_arrays; ++k) json["arrays"].push_back(to_json(identity.arrays[k]));
  return json;
}

std::unique_ptr<StudyStore> make_zarr_store(const fs::path& folder, StudyIdentity& identity, bool restart,
                                            bool block_is_wanted) {
  Json stored = stored_attributes(folder);
  if (restart && !stored.is_null()) {
    std::error_code problem;
    fs::remove_all(folder, problem);
    if (problem) throw UsageError(fmt::format("cannot remove '{}': {}", folder.string(), problem.message()));
    stored = nullptr;
  }
  if (stored.is_null())
    return identity.reduce ? create_density_store(folder, identity) : create_zarr_arrays(folder, identity);
  const std::string differs = difference(stored.value("identity", Json()), identity_json(identity));
  if (!differs.empty())
    throw UsageError(
        fmt::format("'{}' holds another study: {}; name another folder, or discard what is there "
                    "(--restart)",
                    folder.string(), differs));
  const std::int64_t block = stored.value("block", std::int64_t{0});
  if (block_is_wanted && identity.block != block)
    throw UsageError(fmt::format("'{}' has blocks of {} members, and {} are asked for; leave out the size of blocks",
                                 folder.string(), block, identity.block));
  read_identity(folder, stored, identity);
  remove_remains(folder);
  return identity.reduce ? open_density_store(folder, identity) : open_zarr_arrays(folder, identity);
}

std::unique_ptr<StudyStore> open_zarr_store(const fs::path& folder, StudyIdentity& identity) {
  const Json stored = stored_attributes(folder);
  if (stored.is_null())
    throw UsageError("there is no study in '" + folder.string() + "'; saltus sweep --out makes one");
  read_identity(folder, stored, identity);
  return identity.reduce ? open_density_store(folder, identity) : open_zarr_arrays(folder, identity);
}

}  // namespace saltus
