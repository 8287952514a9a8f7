// Only a density is kept of the members, in a raster in memory. Every few seconds it is written to a file, as a whole,
// with the blocks that it has: a process that is killed loses what came after. Processes with parts of one study have a
// file each; their rasters add up. When all blocks are there, the sum is written as arrays of Zarr.
//
// A file begins with a line of JSON. The counts follow, row by row, as little-endian integers of 64 bits.
#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/error.hpp>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>

#include "study/stored_study.hpp"

namespace saltus {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_failures = 1000;
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
        throw UsageError(
            fmt::format("block {} was counted twice: two processes ran the same part of the study; repeat it with "
                        "--restart",
                        block));
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

std::string as_text(const DensityPart& part) {
  Json json;
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
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" + raw_bytes(part.density.counts());
}

DensityPart read_part(const fs::path& file, const DensityPlan& plan) {
  const std::string text = text_of(file);
  try {
    const std::size_t end = text.find('\n');
    const Json json = Json::parse(text.substr(0, end));
    DensityPart part(plan);
    for (const Json& range : json.at("blocks"))
      for (auto k = range.at(0).get<std::int64_t>(); k <= range.at(1).get<std::int64_t>(); ++k) part.blocks.insert(k);
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
    throw UsageError(fmt::format("'{}' is damaged: {}; remove it, and repeat the command of the study", file.string(),
                                 problem.what()));
  }
}

class DensityStore final : public StudyStore {
 public:
  /// Without a folder everything stays in memory.
  DensityStore(fs::path folder, const StudyIdentity& identity)
      : folder_(std::move(folder)), identity_(identity), own_(*identity.reduce), sum_(*identity.reduce) {
    std::error_code ignored;
    if (!folder_.empty() && fs::exists(file(), ignored)) own_ = read_part(file(), *identity_.reduce);
  }

  void create() {
    std::error_code problem;
    fs::create_directories(folder_ / "parts", problem);
    if (problem) throw UsageError(fmt::format("cannot make the folder '{}': {}", folder_.string(), problem.message()));
    write_atomically(folder_ / ".zgroup", dump({{"zarr_format", 2}}));
    write_atomically(folder_ / ".zattrs", dump(study_attributes(identity_)));  // last: with it the study exists
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
    if (static_cast<std::int64_t>(whole().blocks.size()) == block_count(identity_)) write_arrays();
  }

 private:
  fs::path file() const { return folder_ / "parts" / (identity_.part + ".density"); }
  std::size_t place(const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::find(identity_.arrays, name, &StudyArray::name) -
                                    identity_.arrays.begin());
  }

  void write_part() {
    changed_ = false;
    if (folder_.empty()) return;
    write_atomically(file(), as_text(own_));
    written_ = std::chrono::steady_clock::now();
  }

  /// The parts of all processes together. Those of others are read again when their files have changed.
  const DensityPart& whole() const {
    if (folder_.empty()) return own_;
    std::map<fs::path, fs::file_time_type> others;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_ / "parts", ignored))
      if (entry.path().extension() == ".density" && entry.path() != file())
        others[entry.path()] = fs::last_write_time(entry.path(), ignored);
    if (others.empty()) return own_;
    if (others != seen_ || own_.blocks.size() != own_in_sum_) {
      DensityPart sum = own_;
      for (const auto& [other, time] : others) sum.add(read_part(other, *identity_.reduce));
      sum_ = std::move(sum);
      seen_ = others;
      own_in_sum_ = own_.blocks.size();
    }
    return sum_;
  }

  void write_array(const std::string& name, const std::string& type, const std::string& bytes,
                   const std::vector<std::int64_t>& shape, const std::vector<std::string>& dimensions,
                   const std::string& unit, Json& metadata) const {
    std::error_code problem;
    fs::create_directories(folder_ / name, problem);
    if (problem) throw UsageError(fmt::format("cannot make the folder '{}': {}", name, problem.message()));
    const Json zarray{{"zarr_format", 2},      {"shape", shape},     {"chunks", shape}, {"dtype", type},
                      {"compressor", nullptr}, {"filters", nullptr}, {"order", "C"},    {"fill_value", 0}};
    Json zattrs{{"_ARRAY_DIMENSIONS", dimensions}};
    if (!unit.empty()) zattrs["units"] = unit;
    write_atomically(folder_ / name / (shape.size() == 1 ? "0" : "0.0"), bytes);
    write_atomically(folder_ / name / ".zarray", dump(zarray));
    write_atomically(folder_ / name / ".zattrs", dump(zattrs));
    metadata[name + "/.zarray"] = zarray;
    metadata[name + "/.zattrs"] = zattrs;
  }

  /// The counts as the array `density`, and the middles of cells as its coordinates.
  void write_arrays() const {
    const DensityPart& all = whole();
    const std::string &x = identity_.reduce->x, &y = identity_.reduce->y;
    Json metadata;
    metadata[".zgroup"] = {{"zarr_format", 2}};
    metadata[".zattrs"] = study_attributes(identity_);
    const auto coordinate = [&](const std::string& name, const DensityAxis& axis) {
      std::vector<double> middles;
      for (std::int64_t k = 0; k < axis.count; ++k)
        middles.push_back(axis.low + (static_cast<double>(k) + 0.5) * axis.cell);
      write_array(name, "<f8", raw_bytes(middles), {axis.count}, {name}, identity_.arrays[place(name)].unit, metadata);
    };
    const DensityAxis columns = all.density.x(), rows = all.density.y();
    if (columns.count == 0) return;
    coordinate(x, columns);
    coordinate(y, rows);
    write_array("density", "<i8", raw_bytes(all.density.counts()), {rows.count, columns.count}, {y, x}, "", metadata);
    write_atomically(folder_ / ".zmetadata", dump({{"zarr_consolidated_format", 1}, {"metadata", metadata}}));
  }

  fs::path folder_;
  const StudyIdentity& identity_;
  DensityPart own_;  // of this process
  bool changed_ = false;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
  mutable DensityPart sum_;  // of all processes, as of the files in `seen_`
  mutable std::map<fs::path, fs::file_time_type> seen_;
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

std::unique_ptr<StudyStore> create_density_store(const fs::path& folder, const StudyIdentity& identity) {
  check_density_names(*identity.reduce);
  auto store = std::make_unique<DensityStore>(folder, identity);
  store->create();
  return store;
}

std::unique_ptr<StudyStore> open_density_store(const fs::path& folder, const StudyIdentity& identity) {
  return std::make_unique<DensityStore>(folder, identity);
}

}  // namespace saltus
