// A Zarr group, version 2 (https://zarr-specs.readthedocs.io, "Zarr storage specification version 2"), without
// compression. Each array is a folder with its shape in .zarray and one file for each block of members. The attribute
// _ARRAY_DIMENSIONS is what xarray reads. A block is done exactly if its file of `status` exists: it is renamed last.
#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/base/version.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "study/atomic_files.hpp"
#include "study/plan_json.hpp"
#include "study/store.hpp"

namespace saltus {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;
using Type = StudyArray::Type;

constexpr const char* format_name = "saltus study";
constexpr int format_version = 1;

std::string dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::size_t bytes_of(Type type) {
  return type == Type::byte ? 1 : 8;
}

/// Little-endian.
std::string encode(Type type, const std::vector<double>& numbers) {
  std::string bytes;
  bytes.reserve(numbers.size() * bytes_of(type));
  for (const double number : numbers) {
    if (type == Type::byte) {
      bytes += static_cast<char>(static_cast<unsigned char>(number));
      continue;
    }
    const std::uint64_t word = type == Type::real ? std::bit_cast<std::uint64_t>(number)
                                                  : static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
    for (int k = 0; k < 8; ++k) bytes += static_cast<char>(word >> (8 * k) & 255U);
  }
  return bytes;
}

std::vector<double> decode(Type type, const std::string& bytes) {
  std::vector<double> numbers;
  numbers.reserve(bytes.size() / bytes_of(type));
  for (std::size_t at = 0; at + bytes_of(type) <= bytes.size(); at += bytes_of(type)) {
    if (type == Type::byte) {
      numbers.push_back(static_cast<unsigned char>(bytes[at]));
      continue;
    }
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < 8; ++k) word |= std::uint64_t{static_cast<unsigned char>(bytes[at + k])} << (8 * k);
    numbers.push_back(type == Type::real ? std::bit_cast<double>(word)
                                         : static_cast<double>(static_cast<std::int64_t>(word)));
  }
  return numbers;
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

/// What must be the same for a study to go on.
Json identity_json(const StudyIdentity& identity) {
  Json json;
  json["saltus"] = std::string(version());
  json["plan"] = to_json(identity.plan);
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

class ZarrStore final : public StudyStore {
 public:
  ZarrStore(fs::path folder, const StudyIdentity& identity) : folder_(std::move(folder)), identity_(identity) {
    status_ = static_cast<std::size_t>(std::ranges::find(identity.arrays, "status", &StudyArray::name) -
                                       identity.arrays.begin());
  }

  void create() {
    std::error_code problem;
    fs::create_directories(folder_ / "failures", problem);
    if (problem) throw UsageError(fmt::format("cannot make the folder '{}': {}", folder_.string(), problem.message()));
    write_atomically(folder_ / ".zgroup", dump({{"zarr_format", 2}}));
    for (std::size_t k = 0; k < identity_.arrays.size(); ++k) create_array(k);
    write_metadata();
    write_atomically(folder_ / ".zattrs", dump(attributes()));  // last: with it the study exists
  }

  bool done(std::int64_t block) const override {
    std::error_code ignored;
    return fs::exists(chunk(status_, block), ignored);
  }

  void write(const StudyBlock& block, const BlockResult& result) override {
    AtomicFiles files;
    for (std::size_t k = 0; k < identity_.own_arrays; ++k)
      if (k != status_) files.add(chunk(k, block.number), padded(k, result.columns[k]));
    if (!result.failures.empty()) files.add(failure_file(block.number), failure_text(block, result));
    files.add(chunk(status_, block.number), padded(status_, result.columns[status_]));
    files.commit();
  }

  std::vector<double> read(std::size_t array, std::int64_t block) const override {
    const StudyArray& kind = identity_.arrays[array];
    const auto size = static_cast<std::size_t>(block_of(identity_, block).count * kind.numbers());
    std::error_code ignored;
    if (!done(block) || !fs::exists(chunk(array, block), ignored)) return std::vector<double>(size, kind.missing());
    std::vector<double> numbers = decode(kind.type, text_of(chunk(array, block)));
    if (numbers.size() < size)
      throw UsageError(
          fmt::format("'{}' is damaged: it has {} numbers instead of {}; remove it and '{}', and repeat "
                      "the command of the study",
                      chunk(array, block).string(), numbers.size(), size, chunk(status_, block).string()));
    numbers.resize(size);
    return numbers;
  }

  std::vector<MemberFailure> failures(std::int64_t block) const override {
    std::vector<MemberFailure> list;
    std::error_code ignored;
    if (!done(block) || !fs::exists(failure_file(block), ignored)) return list;
    std::ifstream in(failure_file(block));
    for (std::string line; std::getline(in, line);) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_discarded()) throw UsageError("'" + failure_file(block).string() + "' is damaged");
      list.push_back({json.at("index").get<std::int64_t>(), json.at("status").get<int>(),
                      json.at("t").is_number() ? json.at("t").get<double>() : std::nan(""),
                      json.at("message").get<std::string>()});
    }
    return list;
  }

  void write_array(std::size_t array, const std::vector<double>& values) override {
    create_array(array);
    for (std::int64_t number = 0; number < block_count(identity_); ++number) {
      const StudyBlock block = block_of(identity_, number);
      const std::vector<double> part(values.begin() + block.first, values.begin() + block.first + block.count);
      write_atomically(chunk(array, number), padded(array, part));
    }
    Json list = Json::array();
    for (std::size_t k = identity_.own_arrays; k < identity_.arrays.size(); ++k)
      list.push_back(to_json(identity_.arrays[k]));
    write_metadata();
    write_atomically(folder_ / "computed.json", dump(list));
  }

 private:
  fs::path chunk(std::size_t array, std::int64_t block) const {
    const StudyArray& kind = identity_.arrays[array];
    return folder_ / kind.name / (kind.width == 0 ? fmt::format("{}", block) : fmt::format("{}.0", block));
  }
  fs::path failure_file(std::int64_t block) const { return folder_ / "failures" / fmt::format("{}.jsonl", block); }

  /// All chunks have the same size.
  std::string padded(std::size_t array, std::vector<double> numbers) const {
    const StudyArray& kind = identity_.arrays[array];
    numbers.resize(static_cast<std::size_t>(identity_.block * kind.numbers()), kind.missing());
    return encode(kind.type, numbers);
  }

  std::string failure_text(const StudyBlock& block, const BlockResult& result) const {
    std::string text;
    for (const MemberFailure& f : result.failures) {
      Json json{{"index", f.index}, {"status", f.status}, {"what", member_status_text(f.status)}};
      json["t"] = std::isfinite(f.t) ? Json(f.t) : Json(nullptr);
      json["message"] = f.message;
      for (std::size_t k = 0; k < identity_.own_arrays; ++k)
        if (identity_.arrays[k].coordinate)
          json["values"][identity_.arrays[k].name] = result.columns[k][static_cast<std::size_t>(f.index - block.first)];
      text += json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }
    return text;
  }

  Json zarray(const StudyArray& array) const {
    Json json;
    json["zarr_format"] = 2;
    json["shape"] = Json::array({identity_.members});
    json["chunks"] = Json::array({identity_.block});
    if (array.width > 0) {
      json["shape"].push_back(array.width);
      json["chunks"].push_back(array.width);
    }
    json["dtype"] = array.type == Type::byte ? "|u1" : array.type == Type::integer ? "<i8" : "<f8";
    json["compressor"] = nullptr;
    json["filters"] = nullptr;
    json["order"] = "C";
    if (array.type == Type::real)
      json["fill_value"] = "NaN";
    else
      json["fill_value"] = static_cast<std::int64_t>(array.missing());
    return json;
  }
  Json zattrs(const StudyArray& array) const {
    Json json;
    json["_ARRAY_DIMENSIONS"] = array.width == 0 ? Json::array({"member"}) : Json::array({"member", "sample"});
    if (!array.unit.empty()) json["units"] = array.unit;
    if (!array.description.empty()) json["description"] = array.description;
    return json;
  }
  void create_array(std::size_t array) {
    const StudyArray& kind = identity_.arrays[array];
    std::error_code problem;
    fs::create_directories(folder_ / kind.name, problem);
    if (problem)
      throw UsageError(
          fmt::format("cannot make the folder '{}': {}", (folder_ / kind.name).string(), problem.message()));
    write_atomically(folder_ / kind.name / ".zattrs", dump(zattrs(kind)));
    write_atomically(folder_ / kind.name / ".zarray", dump(zarray(kind)));
  }

  Json attributes() const {
    Json json;
    json["format"] = format_name;
    json["version"] = format_version;
    json["identity"] = identity_json(identity_);
    json["source"] = Json::object();
    for (const auto& [name, text] : identity_.source) json["source"][name] = text;
    json["members"] = identity_.members;
    json["block"] = identity_.block;
    std::string coordinates;
    json["arrays"] = Json::array();
    for (std::size_t k = 0; k < identity_.own_arrays; ++k) {
      json["arrays"].push_back(to_json(identity_.arrays[k]));
      if (identity_.arrays[k].coordinate) coordinates += (coordinates.empty() ? "" : " ") + identity_.arrays[k].name;
    }
    json["coordinates"] = coordinates;  // xarray makes coordinates of these
    return json;
  }
  /// All small files in one, for readers that open a group with one request.
  void write_metadata() const {
    Json all;
    all[".zgroup"] = {{"zarr_format", 2}};
    all[".zattrs"] = attributes();
    for (const StudyArray& array : identity_.arrays) {
      all[array.name + "/.zarray"] = zarray(array);
      all[array.name + "/.zattrs"] = zattrs(array);
    }
    write_atomically(folder_ / ".zmetadata", dump({{"zarr_consolidated_format", 1}, {"metadata", all}}));
  }

  fs::path folder_;
  const StudyIdentity& identity_;
  std::size_t status_ = 0;
};

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

std::unique_ptr<StudyStore> make_zarr_store(const fs::path& folder, StudyIdentity& identity, bool restart,
                                            bool block_is_wanted) {
  Json stored = stored_attributes(folder);
  if (restart && !stored.is_null()) {
    std::error_code problem;
    fs::remove_all(folder, problem);
    if (problem) throw UsageError(fmt::format("cannot remove '{}': {}", folder.string(), problem.message()));
    stored = nullptr;
  }
  if (stored.is_null()) {
    auto store = std::make_unique<ZarrStore>(folder, identity);
    store->create();
    return store;
  }
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
  return std::make_unique<ZarrStore>(folder, identity);
}

std::unique_ptr<StudyStore> open_zarr_store(const fs::path& folder, StudyIdentity& identity) {
  const Json stored = stored_attributes(folder);
  if (stored.is_null())
    throw UsageError("there is no study in '" + folder.string() + "'; saltus sweep --out makes one");
  read_identity(folder, stored, identity);
  return std::make_unique<ZarrStore>(folder, identity);
}

}  // namespace saltus
