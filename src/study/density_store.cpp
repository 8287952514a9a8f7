// Only a density is kept of the members, in a raster in memory. Every few seconds it is written to a file, as a whole,
// with the blocks that it has: a process that is killed loses what came after. Processes with parts of one study have a
// file each; their rasters add up. When all blocks are there, the sum is written as arrays of Zarr.
//
// A file (.parts/I-of-N.density) begins with a line of JSON, which names the study and has a checksum. The counts
// follow, row by row, as little-endian integers of 64 bits.
#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>

#include "base/checksum.hpp"
#include "base/json_depth.hpp"
#include "base/system/folders.hpp"
#include "study/block_index.hpp"
#include "study/study_folder.hpp"

namespace saltus {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_failures = 1000;
constexpr const char* density_advice = "what was complete is kept: make room and repeat the same command";
constexpr auto interval = std::chrono::seconds(5);
static_assert(std::endian::native == std::endian::little, "numbers are written as they stand in memory");

template <class Number>
std::string raw_bytes(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// What some blocks have left.
struct DensityPart {
  Density density;
  std::set<std::int64_t> blocks = {};
  std::map<int, std::int64_t> status = {}, path = {};
  std::vector<MemberFailure> failures = {};  // in order of index, the first ones

  explicit DensityPart(const DensityPlan& plan) : density(plan.columns, plan.rows) {}

  void add(const DensityPart& other) {
    density.add(other.density);
    for (const std::int64_t block : other.blocks)
      if (!blocks.insert(block).second)
        throw UsageError(fmt::format("block {} was counted twice: two processes ran the same part of the study; {}",
                                     block, "the command of the study, alone, computes it once more"));
    for (const auto& [value, count] : other.status) status[value] += count;
    for (const auto& [value, count] : other.path) path[value] += count;
    add(other.failures);
  }
  void add(const std::vector<MemberFailure>& more) {
    failures.insert(failures.end(), more.begin(), more.end());
    std::ranges::sort(failures, {}, &MemberFailure::index);
    if (failures.size() > most_failures) failures.resize(most_failures);
  }
};

Json to_json(const std::map<int, std::int64_t>& counts) {
  Json json = Json::object();
  for (const auto& [value, count] : counts) json[fmt::format("{}", value)] = count;
  return json;
}
std::map<int, std::int64_t> counts_from_json(const Json& json) {
  std::map<int, std::int64_t> counts;
  for (const auto& [value, count] : json.items()) counts[std::stoi(value)] = count.get<std::int64_t>();
  return counts;
}

std::string as_text(const DensityPart& part, const std::string& study) {
  Json json{{"study", study}};
  json["blocks"] = Json::array();  // from and to, both included
  for (const std::int64_t block : part.blocks) {
    if (!json["blocks"].empty() && json["blocks"].back()[1] == block - 1)
      json["blocks"].back()[1] = block;
    else
      json["blocks"].push_back({block, block});
  }
  json["status"] = to_json(part.status);
  json["path"] = to_json(part.path);
  const Density::Range r = part.density.range();
  json["range"] = {r.x_low, r.x_high, r.y_low, r.y_high};
  json["failures"] = Json::array();
  for (const MemberFailure& f : part.failures)
    json["failures"].push_back({f.index, f.status, std::isfinite(f.t) ? Json(f.t) : Json(nullptr), f.message});
  const std::string counts = raw_bytes(part.density.counts());
  const auto line = [&] { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; };
  json["checksum"] = checksum(counts, line());
  return line() + counts;
}

/// Nothing: it is one of another study. Throws UsageError if it is damaged.
std::optional<DensityPart> read_part(const fs::path& file, const StudyIdentity& identity, const std::string& study) {
  const std::string text = text_of(file);
  try {
    const std::size_t end = text.find('\n');
    if (end == std::string::npos) throw UsageError("it has no line");
    if (is_deep_json(std::string_view(text).substr(0, end))) throw UsageError("it is nested too deeply");
    Json json = Json::parse(text.substr(0, end));
    const std::string sum = json.at("checksum").get<std::string>();
    json.erase("checksum");
    if (checksum(std::string_view(text).substr(end + 1),
                 json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n") != sum)
      throw UsageError("its bytes are not those that were written");
    if (json.at("study").get<std::string>() != study) return {};
    DensityPart part(*identity.reduce);
    for (const Json& range : json.at("blocks")) {
      const auto first = range.at(0).get<std::int64_t>(), last = range.at(1).get<std::int64_t>();
      if (first < 0 || last < first || last >= block_count(identity))
        throw UsageError(fmt::format("there are no blocks {} to {}", first, last));
      for (std::int64_t k = first; k <= last; ++k) part.blocks.insert(k);
    }
    part.status = counts_from_json(json.at("status"));
    part.path = counts_from_json(json.at("path"));
    for (const Json& f : json.at("failures"))
      part.failures.push_back({f.at(0).get<std::int64_t>(), f.at(1).get<int>(),
                               f.at(2).is_number() ? f.at(2).get<double>() : std::nan(""), f.at(3).get<std::string>()});
    std::vector<std::int64_t> counts((text.size() - end - 1) / sizeof(std::int64_t));
    std::memcpy(counts.data(), text.data() + end + 1, counts.size() * sizeof(std::int64_t));
    const Json& r = json.at("range");
    part.density.restore({r.at(0).get<double>(), r.at(1).get<double>(), r.at(2).get<double>(), r.at(3).get<double>()},
                         counts);
    return part;
  } catch (const std::exception& problem) {
    throw UsageError(fmt::format("'{}' is damaged: {}; {}", file.string(), problem.what(), how_to_repair));
  }
}

/// They change when a file is written anew.
using FileStates = std::map<fs::path, FileState>;

class DensityStore final : public StudyStore {
 public:
  /// Without a folder everything stays in memory.
  DensityStore(fs::path folder, const StudyIdentity& identity)
      : folder_(std::move(folder)),
        identity_(identity),
        key_(study_key(identity)),
        own_(*identity.reduce),
        sum_(*identity.reduce) {
    std::error_code ignored;
    if (folder_.empty() || !fs::exists(file(), ignored)) return;
    try {
      if (auto part = read_part(file(), identity_, key_)) own_ = std::move(*part);
    } catch (const UsageError& problem) {  // a store that is written to begins anew
      damage_ = problem.what();
    }
  }

  /// What the folder has before there are results.
  void fill() const {
    for (const auto& [name, text] : small_files()) write_atomically(folder_ / name, text, density_advice);
    make_subfolder(folder_ / ".parts");
  }

  /// Parts that are damaged, and those whose blocks others have, are computed once more.
  void prepare() override {
    if (folder_.empty()) return;
    make_subfolder(folder_ / ".parts");
    for (const auto& [name, text] : small_files())
      if (name != ".zattrs" && !has(name, text)) write_atomically(folder_ / name, text, density_advice);
    damage_.clear();
    std::set<std::int64_t> blocks = own_.blocks;
    std::error_code ignored;
    for (const fs::path& other : part_files()) {
      if (other == file()) continue;
      bool useful = false;
      try {
        const auto part = read_part(other, identity_, key_);
        useful = !part || std::ranges::none_of(part->blocks, [&](std::int64_t k) { return blocks.contains(k); });
        if (useful && part) blocks.insert(part->blocks.begin(), part->blocks.end());
      } catch (const UsageError&) {  // it is damaged
      }
      if (!useful) fs::remove(other, ignored);
    }
  }

  bool done(std::int64_t block) const override { return own_.blocks.contains(block) || whole().blocks.contains(block); }

  void write(const StudyBlock& block, const BlockResult& result) override {
    const std::size_t x = place(identity_.reduce->x), y = place(identity_.reduce->y);
    const auto wx = static_cast<std::size_t>(identity_.arrays[x].numbers()),
               wy = static_cast<std::size_t>(identity_.arrays[y].numbers());
    const std::size_t width = std::max(wx, wy);
    for (std::size_t member = 0; member < static_cast<std::size_t>(block.count); ++member)
      for (std::size_t k = 0; k < width; ++k)
        own_.density.add(result.columns[x][member * wx + (wx == 1 ? 0 : k)],
                         result.columns[y][member * wy + (wy == 1 ? 0 : k)]);
    for (const double status : result.columns[place("status")]) ++own_.status[static_cast<int>(status)];
    for (const double path : result.columns[place("path")]) ++own_.path[static_cast<int>(path)];
    own_.add(result.failures);
    own_.blocks.insert(block.number);
    changed_ = true;
    if (std::chrono::steady_clock::now() - written_ > interval) write_part();
  }

  std::vector<double> read(std::size_t array, std::int64_t) const override {
    throw UsageError("the numbers '" + identity_.arrays[array].name +
                     "' of members are not stored: only a density of this study is kept (--reduce)");
  }
  std::vector<MemberFailure> failures(std::int64_t block) const override {
    std::vector<MemberFailure> list;
    const StudyBlock members = block_of(identity_, block);
    for (const MemberFailure& f : whole().failures)
      if (f.index >= members.first && f.index < members.first + members.count) list.push_back(f);
    return list;
  }
  void write_array(std::size_t array, const std::vector<double>&) override { read(array, 0); }

  std::map<int, std::int64_t> counts(std::size_t array) const override {
    const DensityPart& all = whole();
    std::map<int, std::int64_t> result = identity_.arrays[array].name == "path" ? all.path : all.status;
    std::int64_t seen = 0;
    for (const auto& [value, count] : result) seen += count;
    if (seen < identity_.members) result[member_not_run] += identity_.members - seen;
    return result;
  }
  const Density* density() const override { return &whole().density; }

  void finish() override {
    if (folder_.empty()) return;
    if (changed_) write_part();
    if (complete()) write_arrays();
  }

  std::vector<std::string> check() const override {
    std::vector<std::string> lines;
    if (folder_.empty()) return lines;
    for (const auto& [name, text] : small_files())
      if (name != ".zattrs" && !has(name, text)) lines.push_back(name + ": missing or not as it was written");
    for (const fs::path& part : part_files()) try {
        if (!read_part(part, identity_, key_)) lines.push_back(part.filename().string() + ": of another study");
      } catch (const UsageError& problem) {
        lines.emplace_back(problem.what());
      }
    if (!lines.empty()) return lines;
    try {
      const std::int64_t missing = block_count(identity_) - static_cast<std::int64_t>(whole().blocks.size());
      if (missing > 0) return {fmt::format("{} of {} blocks are missing", missing, block_count(identity_))};
      for (const auto& [name, bytes] : array_files())
        if (!has(name, bytes)) lines.push_back(name.string() + ": missing or not as it was written");
    } catch (const UsageError& problem) {
      lines.emplace_back(problem.what());
    }
    return lines;
  }

 private:
  fs::path file() const { return folder_ / ".parts" / (identity_.part + ".density"); }
  std::vector<fs::path> part_files() const {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_ / ".parts", ignored))
      if (entry.path().extension() == ".density") files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
  }
  /// The files that do not depend on members, by name.
  std::vector<std::pair<std::string, std::string>> small_files() const {
    return {{".zattrs", sealed(study_attributes(identity_))}, {".zgroup", dump({{"zarr_format", 2}})}};
  }
  bool has(const fs::path& name, const std::string& bytes) const {
    std::error_code ignored;
    return fs::is_regular_file(folder_ / name, ignored) && text_of(folder_ / name) == bytes;
  }
  std::size_t place(const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::find(identity_.arrays, name, &StudyArray::name) -
                                    identity_.arrays.begin());
  }

  void write_part() {
    changed_ = false;
    if (folder_.empty()) return;
    write_atomically(file(), as_text(own_, key_), density_advice);
    written_ = std::chrono::steady_clock::now();
  }

  /// The parts of all processes together. Those of others are read again when their files have changed.
  const DensityPart& whole() const {
    if (folder_.empty()) return own_;
    if (!damage_.empty()) throw UsageError(damage_);
    FileStates others;
    for (const fs::path& other : part_files())
      if (other != file()) others[other] = state_of(other);
    if (others.empty()) return own_;
    if (others != seen_ || own_.blocks.size() != own_in_sum_) {
      DensityPart sum = own_;
      for (const auto& [other, time] : others)
        if (const auto part = read_part(other, identity_, key_)) sum.add(*part);
      sum_ = std::move(sum);
      seen_ = others;
      own_in_sum_ = own_.blocks.size();
    }
    return sum_;
  }

  /// The counts as the array `density`, and the middles of cells as its coordinates: files by name, what readers of
  /// groups look for last.
  std::vector<std::pair<fs::path, std::string>> array_files() const {
    const DensityPart& all = whole();
    const DensityAxis columns = all.density.x(), rows = all.density.y();
    std::vector<std::pair<fs::path, std::string>> files;
    if (columns.count == 0) return files;
    Json metadata;
    metadata[".zgroup"] = {{"zarr_format", 2}};
    metadata[".zattrs"] = study_attributes(identity_);
    const auto add = [&](const fs::path& name, const std::string& type, const std::string& bytes,
                         const std::vector<std::int64_t>& shape, const std::vector<std::string>& dimensions,
                         const std::string& unit) {
      const Json zarray{{"zarr_format", 2},      {"shape", shape},     {"chunks", shape}, {"dtype", type},
                        {"compressor", nullptr}, {"filters", nullptr}, {"order", "C"},    {"fill_value", 0}};
      Json zattrs{{"_ARRAY_DIMENSIONS", dimensions}};
      if (!unit.empty()) zattrs["units"] = unit;
      files.emplace_back(name / (shape.size() == 1 ? "0" : "0.0"), bytes);
      files.emplace_back(name / ".zarray", dump(zarray));
      files.emplace_back(name / ".zattrs", dump(zattrs));
      metadata[(name / ".zarray").string()] = zarray;
      metadata[(name / ".zattrs").string()] = zattrs;
    };
    const auto coordinate = [&](const std::string& name, const DensityAxis& axis) {
      std::vector<double> middles;
      for (std::int64_t k = 0; k < axis.count; ++k)
        middles.push_back(axis.low + (static_cast<double>(k) + 0.5) * axis.cell);
      add(name, "<f8", raw_bytes(middles), {axis.count}, {name}, identity_.arrays[place(name)].unit);
    };
    const std::string &x = identity_.reduce->x, &y = identity_.reduce->y;
    coordinate(x, columns);
    coordinate(y, rows);
    add("density", "<i8", raw_bytes(all.density.counts()), {rows.count, columns.count}, {y, x}, "");
    files.emplace_back(".zmetadata", dump({{"zarr_consolidated_format", 1}, {"metadata", metadata}}));
    return files;
  }
  bool complete() const { return static_cast<std::int64_t>(whole().blocks.size()) == block_count(identity_); }
  void write_arrays() const {
    for (const auto& [name, bytes] : array_files()) {
      if (name.has_parent_path()) make_subfolder(folder_ / name.parent_path());
      if (!has(name, bytes)) write_atomically(folder_ / name, bytes, density_advice);
    }
  }

  fs::path folder_;
  const StudyIdentity& identity_;
  std::string key_;
  std::string damage_;  // what is wrong with the file of this process
  DensityPart own_;     // of this process
  bool changed_ = false;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
  mutable DensityPart sum_;  // of all processes, as of the files in `seen_`
  mutable FileStates seen_;
  mutable std::size_t own_in_sum_ = 0;
};

/// The raster has a place of its own in the folder, beside the results that it counts.
void check_density_names(const DensityPlan& plan) {
  if (plan.x == "density" || plan.y == "density")
    throw UsageError("a result with the name 'density' cannot be reduced; give it another one: name=what(…)");
  if (plan.x == plan.y) throw UsageError("a density needs two different results; both are '" + plan.x + "'");
}

}  // namespace

std::unique_ptr<StudyStore> make_density_store(const StudyIdentity& identity) {
  check_density_names(*identity.reduce);
  return std::make_unique<DensityStore>(fs::path(), identity);
}

void fill_density(const fs::path& folder, const StudyIdentity& identity) {
  check_density_names(*identity.reduce);
  DensityStore(folder, identity).fill();
}

std::unique_ptr<StudyStore> open_density_store(const fs::path& folder, const StudyIdentity& identity) {
  check_density_names(*identity.reduce);
  return std::make_unique<DensityStore>(folder, identity);
}

}  // namespace saltus
