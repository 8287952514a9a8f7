#include "study/stored_study.hpp"

#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include "base/checksum.hpp"
#include "base/json_depth.hpp"
#include "study/block_index.hpp"
#include "study/layout.hpp"
#include "study/plan_json.hpp"
#include "study/shard_lock.hpp"
#include "study/study_folder.hpp"

namespace saltus {

namespace fs = std::filesystem;

std::string dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text_of(const fs::path& file) {
  const auto refuse = [&](const std::string& reason) {
    throw UsageError(fmt::format("cannot read '{}': {}", file.string(), reason));
  };
  std::error_code problem;
  const bool regular = fs::is_regular_file(file, problem);
  if (!regular) refuse(problem ? problem.message() : "it is no file");
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(std::strerror(errno));
  in.seekg(0, std::ios::end);  // of the file that is open: another one may take its name meanwhile
  const std::streamoff size = in.tellg();
  if (size < 0) refuse("its size is not known");
  in.seekg(0);
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

Json read_json(const fs::path& file) {
  const std::string text = text_of(file);
  if (is_deep_json(text)) throw UsageError("'" + file.string() + "' is damaged: it is nested too deeply");
  try {
    return Json::parse(text);
  } catch (const Json::exception& problem) {
    throw UsageError("'" + file.string() + "' is damaged: " + problem.what());
  }
}

namespace {

constexpr const char* format_name = "saltus study";
constexpr int format_version = 2;

/// What must be the same for a study to go on.
Json identity_json(const StudyIdentity& identity) {
  Json json;
  json["saltus"] = identity.version;
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
    std::string name = key.empty() ? "identity" : key.substr(1);  // of a value that is no object
    std::ranges::replace(name, '/', '.');
    const auto cut = [](std::string words) { return words.size() > 100 ? words.substr(0, 100) + "…" : words; };
    return fmt::format("{} was {} and is now {}", name, cut(text(a)), cut(text(b)));
  }
  return {};
}

/// The attributes of the study in a folder; null if there is no folder, or an empty one. Throws UsageError if the
/// folder is something else, which is then never changed.
Json stored_attributes(const fs::path& folder) {
  std::error_code ignored;
  recover_folder(folder);
  if (!fs::exists(folder, ignored)) return nullptr;
  if (!fs::is_directory(folder, ignored))
    throw UsageError("'" + folder.string() + "' is a file; a study needs a folder of its own: name another one");
  if (!fs::exists(folder / ".zattrs", ignored)) {
    if (!fs::is_empty(folder, ignored))
      throw UsageError("'" + folder.string() + "' is a folder with other files; a study needs one of its own");
    return nullptr;
  }
  Json json = read_json(folder / ".zattrs");
  const auto format = json.is_object() ? json.find("format") : json.end();
  if (!json.is_object() || format == json.end() || *format != format_name)
    throw UsageError("'" + folder.string() + "' holds no study of Saltus; name another folder");
  return json;
}

/// The same, as they were written by this version.
Json sound_attributes(const fs::path& folder, const Json& stored) {
  const auto found = stored.find("version");
  if (found == stored.end() || *found != format_version)
    throw UsageError(fmt::format("the study in '{}' has version {} of the format; this program reads version {}",
                                 folder.string(), found == stored.end() ? "none" : found->dump(), format_version));
  return read_sealed(folder / ".zattrs");
}

/// True if a study may have a file of this name in one of its folders.
bool may_be_ours(const fs::path& file) {
  const std::string name = file.filename().string(), ending = file.extension().string();
  return name == ".zarray" || name == ".zattrs" || ending == ".json" || ending == ".jsonl" || ending == ".density" ||
         name.find_first_not_of("0123456789.") == std::string::npos;
}

/// A study that is discarded takes with it what is its own, and nothing else.
void require_only_ours(const fs::path& folder, const Json& stored) {
  std::set<std::string> ours = {".zgroup", ".zattrs",  ".zmetadata",    ".blocks", ".computed",
                                ".parts",  "failures", "computed.json", "parts",   "density"};
  const auto add = [&](const Json& arrays) {
    if (!arrays.is_array()) return;
    for (const Json& array : arrays)
      if (array.is_object() && array.contains("name") && array["name"].is_string())
        ours.insert(array["name"].get<std::string>());
  };
  add(stored.value("arrays", Json()));
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder / ".computed", ignored)) ours.insert(entry.path().stem());
  if (fs::exists(folder / "computed.json", ignored)) add(read_json(folder / "computed.json"));
  const auto refuse = [&](const fs::path& file) {
    throw UsageError(
        fmt::format("'{}' has '{}', which is no part of the study; move it away before the study is "
                    "discarded",
                    folder.string(), file.lexically_relative(folder).string()));
  };
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (is_temporary(entry.path()) || is_shard_lock(entry.path())) continue;
    if (!ours.contains(entry.path().filename().string())) refuse(entry.path());
    if (entry.is_symlink(ignored) || !entry.is_directory(ignored)) continue;
    for (const auto& file : fs::directory_iterator(entry.path(), ignored))
      if (!is_temporary(file.path()) && (!file.is_regular_file(ignored) || !may_be_ours(file.path())))
        refuse(file.path());
  }
}

/// What a folder says about its results is compared with what its plan asks for.
void require_as_planned(const StudyIdentity& identity) {
  if (identity.members != member_count(identity.plan))
    throw UsageError(fmt::format("it has {} members, and its plan {}", identity.members, member_count(identity.plan)));
  const std::vector<StudyArray> planned = arrays_of(identity.plan);
  const std::size_t varied = varied_names(identity.plan).size();
  if (identity.arrays.size() != planned.size())
    throw UsageError(fmt::format("it has {} results, and its plan {}", identity.arrays.size(), planned.size()));
  for (std::size_t k = 0; k < planned.size(); ++k) {
    const StudyArray &is = identity.arrays[k], &wanted = planned[k];
    if (is.name != wanted.name && !(k < varied && is.name == wanted.name + start_suffix))
      throw UsageError(fmt::format("its result {} is '{}', and '{}' in its plan", k + 1, is.name, wanted.name));
    if (is.type != wanted.type || is.width != wanted.width || is.coordinate != wanted.coordinate)
      throw UsageError(fmt::format("its result '{}' has another type or shape than in its plan", is.name));
    if (is.numbers() > (std::int64_t{1} << 32))
      throw UsageError(fmt::format("its result '{}' has {} numbers for each member", is.name, is.numbers()));
  }
  check_result_names(identity.arrays);
  const std::int64_t unit = identity.plan.follow == Follow::none ? 1 : identity.plan.axes.back().size();
  if (identity.block < 1 || identity.block % unit != 0 || identity.block >= identity.members + unit ||
      block_count(identity) > most_blocks)
    throw UsageError(fmt::format("blocks of {} members do not fit its plan", identity.block));
  if (identity.reduce)
    for (const std::string& name : {identity.reduce->x, identity.reduce->y})
      if (std::ranges::find(identity.arrays, name, &StudyArray::name) == identity.arrays.end())
        throw UsageError(fmt::format("there is no result '{}', of which it keeps the density", name));
}

void read_identity(const fs::path& folder, const Json& stored, StudyIdentity& identity) try {
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
  identity.version = own.at("saltus").get<std::string>();
  require_as_planned(identity);
  if (stored.at("study").get<std::string>() != study_key(identity)) throw UsageError("its key is not that of its plan");
} catch (const Json::exception& problem) {
  throw UsageError("'" + (folder / ".zattrs").string() + "' is damaged: " + problem.what());
} catch (const UsageError& problem) {
  throw UsageError("'" + (folder / ".zattrs").string() + "' is damaged: " + problem.what());
}

}  // namespace

std::string study_key(const StudyIdentity& identity) {
  Json json = identity_json(identity);
  json["members"] = identity.members;
  json["block"] = identity.block;
  return checksum(dump(json));
}

Json study_attributes(const StudyIdentity& identity) {
  Json json;
  json["format"] = format_name;
  json["version"] = format_version;
  json["study"] = study_key(identity);
  json["identity"] = identity_json(identity);
  json["source"] = Json::object();
  for (const auto& [name, text] : identity.source) json["source"][name] = text;
  json["members"] = identity.members;
  json["block"] = identity.block;
  json["arrays"] = Json::array();
  for (std::size_t k = 0; k < identity.own_arrays; ++k) json["arrays"].push_back(to_json(identity.arrays[k]));
  std::string coordinates;
  for (std::size_t k = 0; k < identity.own_arrays; ++k)
    if (identity.arrays[k].coordinate) coordinates += (coordinates.empty() ? "" : " ") + identity.arrays[k].name;
  if (!identity.reduce) json["coordinates"] = coordinates;  // xarray makes coordinates of these
  return json;
}

namespace {

std::unique_ptr<StudyStore> open_store(const fs::path& folder, StudyIdentity& identity) {
  return identity.reduce ? open_density_store(folder, identity) : open_zarr_arrays(folder, identity);
}

/// The study that is in a folder, if it is the one that is wanted.
void go_on_with(const fs::path& folder, const Json& stored, StudyIdentity& identity, bool block_is_wanted) {
  const std::string differs = difference(stored.value("identity", Json()), identity_json(identity));
  if (!differs.empty())
    throw UsageError(
        fmt::format("'{}' holds another study: {}; name another folder, or discard what is there "
                    "(--restart)",
                    folder.string(), differs));
  const std::int64_t wanted = identity.block;
  read_identity(folder, stored, identity);
  if (block_is_wanted && identity.block != wanted)
    throw UsageError(fmt::format("'{}' has blocks of {} members, and {} are asked for; leave out the size of blocks",
                                 folder.string(), identity.block, wanted));
}

}  // namespace

std::unique_ptr<StudyStore> make_zarr_store(const fs::path& folder, StudyIdentity& identity, bool restart,
                                            bool block_is_wanted) {
  const auto fill = [&](const fs::path& place) {
    if (identity.reduce)
      fill_density(place, identity);
    else
      fill_zarr_arrays(place, identity);
  };
  if (block_count(identity) > most_blocks)
    throw UsageError(fmt::format("{} blocks are too many files; take larger ones (--block)", block_count(identity)));
  for (bool made = false; !made;) {
    const Json stored = stored_attributes(folder);
    if (stored.is_null()) {
      made = create_folder(folder, fill);  // another process may be faster: then its study is looked at
    } else if (restart) {
      require_only_ours(folder, stored);
      replace_folder(folder, fill);
      made = true;
    } else {
      go_on_with(folder, sound_attributes(folder, stored), identity, block_is_wanted);
      remove_remains(folder);
      made = true;
    }
  }
  auto store = open_store(folder, identity);
  store->prepare();
  return store;
}

std::unique_ptr<StudyStore> open_zarr_store(const fs::path& folder, StudyIdentity& identity) {
  const Json stored = stored_attributes(folder);
  if (stored.is_null())
    throw UsageError("there is no study in '" + folder.string() + "'; saltus sweep --out makes one");
  read_identity(folder, sound_attributes(folder, stored), identity);
  return open_store(folder, identity);
}

}  // namespace saltus
