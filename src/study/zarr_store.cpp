// A Zarr group, version 2 (https://zarr-specs.readthedocs.io, "Zarr storage specification version 2"), without
// compression. Each array is a folder with its shape in .zarray and one file for each block of members. The attribute
// _ARRAY_DIMENSIONS is what xarray reads. A block is done exactly if its index exists (.blocks/K.json), which is
// renamed last, after the status of its members, and has the size and the checksum of each of its files.
#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <mutex>
#include <set>

#include "base/checksum.hpp"
#include "base/system/folders.hpp"
#include "study/block_index.hpp"
#include "study/layout.hpp"
#include "study/plan_json.hpp"
#include "study/shard_lock.hpp"
#include "study/study_folder.hpp"

namespace saltus {

namespace fs = std::filesystem;

namespace {

using Type = StudyArray::Type;

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

constexpr const char* advice = "what was complete is kept: make room and repeat the same command";

class ZarrStore final : public MemberStore {
 public:
  ZarrStore(fs::path folder, const StudyIdentity& identity)
      : MemberStore(identity),
        folder_(std::move(folder)),
        key_(study_key(identity)),
        disk_(state_of(folder_).place()) {}

  /// What the folder has before there are results.
  void fill() const {
    for (const auto& [file, text] : small_files()) {
      if (file.has_parent_path()) make_subfolder(folder_ / file.parent_path());
      write_atomically(folder_ / file, text, advice);
    }
    make_subfolder(folder_ / ".blocks");
  }

  void prepare() override {
    make_subfolder(folder_ / ".blocks");
    for (const auto& [file, text] : small_files()) {
      if (file.has_parent_path()) make_subfolder(folder_ / file.parent_path());
      if (file != ".zattrs" && !has(file, text)) write_atomically(folder_ / file, text, advice);
    }
  }

  bool done(std::int64_t block) const override {
    {
      const std::lock_guard lock(known_mutex_);
      if (known_.contains(block)) return true;
    }
    try {
      const auto index = index_of(block);
      if (!index || !wrong_chunks(block, *index, false).empty()) return false;
    } catch (const UsageError&) {  // `read` says what is wrong
      return false;
    }
    const std::lock_guard lock(known_mutex_);
    known_.insert(block);
    return true;
  }

  bool verify(std::int64_t block) override {
    const fs::path file = index_file(block);
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return false;
    try {
      if (const auto index = index_of(block); index && wrong_chunks(block, *index, true).empty()) return done(block);
    } catch (const UsageError&) {  // it is computed once more
    }
    fs::remove(chunk(place_of_status(), block), ignored);  // until then its members have not been run
    fs::remove(file, ignored);
    const std::lock_guard lock(known_mutex_);
    known_.erase(block);
    return false;
  }

  void write(const StudyBlock& block, const BlockResult& result) override {
    if (state_of(folder_).place() != disk_)
      throw UsageError(
          fmt::format("the study in '{}' was discarded or replaced while this process was at work", folder_.string()));
    AtomicFiles files(advice);
    std::map<std::string, StoredChunk> chunks;
    const auto add = [&](std::size_t k) {
      const std::string bytes = padded(k, result.columns[k]);
      chunks[identity_.arrays[k].name] = describe_chunk(bytes, key_);
      files.add(chunk(k, block.number), bytes);
    };
    // other programs read an unfinished study, too: where there is a status, all numbers of the member are there
    const std::size_t status = place_of_status();
    for (std::size_t k = 0; k < identity_.own_arrays; ++k)
      if (k != status) add(k);
    add(status);
    files.add(index_file(block.number), block_index_text(chunks, failure_list(block, result), key_, block.number));
    files.commit();
  }

  std::vector<double> read(std::size_t array, std::int64_t block) const override {
    if (array >= identity_.own_arrays) return read_computed(array, block);
    const StudyArray& kind = identity_.arrays[array];
    const auto size = static_cast<std::size_t>(block_of(identity_, block).count * kind.numbers());
    const auto index = index_of(block);
    if (!index) return std::vector<double>(size, kind.missing());
    std::vector<double> numbers = decode(kind.type, sound_bytes(chunk(array, block), index->chunks.at(kind.name)));
    if (numbers.size() < size) throw UsageError(damage(chunk(array, block), "it is too short"));
    numbers.resize(size);
    return numbers;
  }

  std::vector<MemberFailure> failures(std::int64_t block) const override {
    auto index = index_of(block);
    return index ? std::move(index->failures) : std::vector<MemberFailure>{};
  }

  void write_array(std::size_t array, const std::vector<double>& values) override {
    const StudyArray& kind = identity_.arrays[array];
    make_subfolder(folder_ / ".computed");
    std::error_code ignored;
    fs::remove(computed_file(kind.name), ignored);  // its chunks are of the old values from here on
    Json json{{"study", key_}, {"of", sum_of_blocks()}, {"array", to_json(kind)}, {"chunks", Json::array()}};
    make_subfolder(folder_ / kind.name);
    write_atomically(folder_ / kind.name / ".zattrs", dump(zattrs(kind)), advice);
    write_atomically(folder_ / kind.name / ".zarray", dump(zarray(kind)), advice);
    for (std::int64_t number = 0; number < block_count(identity_); ++number) {
      const StudyBlock block = block_of(identity_, number);
      const std::vector<double> part(values.begin() + block.first, values.begin() + block.first + block.count);
      const std::string bytes = padded(array, part);
      const StoredChunk stored = describe_chunk(bytes, key_);
      json["chunks"].push_back({stored.size, stored.sum});
      write_atomically(chunk(array, number), bytes, advice);
    }
    write_atomically(computed_file(kind.name), sealed(json), advice);
    write_atomically(folder_ / ".zmetadata", metadata(), advice);
  }

  /// The arrays that were computed from the blocks that are there. Others are not arrays of the study: they are of
  /// other numbers, or damaged.
  std::vector<StudyArray> computed() const {
    std::vector<StudyArray> arrays;
    std::error_code ignored;
    const std::string blocks = sum_of_blocks();
    for (const auto& entry : fs::directory_iterator(folder_ / ".computed", ignored)) {
      const StudyArray array = computed_array(entry.path(), blocks);
      if (!array.name.empty()) arrays.push_back(array);
    }
    std::ranges::sort(arrays, {}, &StudyArray::name);
    return arrays;
  }

  std::vector<std::string> check() const override {
    std::vector<std::string> lines;
    for (const auto& [file, text] : small_files())
      if (!has(file, text) && file != ".zattrs")
        lines.push_back(fmt::format("{}: missing or not as it was written", file.string()));
    const std::set<std::int64_t> there = blocks_there();
    for (std::int64_t first = 0; first < block_count(identity_); ++first) {
      if (!there.contains(first)) {
        std::int64_t last = first;
        while (last + 1 < block_count(identity_) && !there.contains(last + 1)) ++last;
        lines.push_back(first == last ? fmt::format("block {}: missing", first)
                                      : fmt::format("blocks {} to {}: missing", first, last));
        first = last;
        continue;
      }
      try {
        const auto index = index_of(first);
        if (!index) lines.push_back(fmt::format(".blocks/{}.json: of another study", first));
        if (index)
          for (std::string& line : wrong_chunks(first, *index, true)) lines.push_back(std::move(line));
      } catch (const UsageError& problem) {
        lines.emplace_back(problem.what());
      }
    }
    for (std::size_t k = identity_.own_arrays; k < identity_.arrays.size(); ++k)
      for (std::int64_t number = 0; number < block_count(identity_); ++number) try {
          read_computed(k, number);
        } catch (const UsageError& problem) {
          lines.emplace_back(problem.what());
        }
    for (std::string& line : foreign_files(there)) lines.push_back(std::move(line));
    return lines;
  }

 private:
  fs::path chunk(std::size_t array, std::int64_t block) const {
    const StudyArray& kind = identity_.arrays[array];
    return folder_ / kind.name / (kind.width == 0 ? fmt::format("{}", block) : fmt::format("{}.0", block));
  }
  std::size_t place_of_status() const {
    const auto found = std::ranges::find(identity_.arrays, "status", &StudyArray::name);
    return static_cast<std::size_t>(found - identity_.arrays.begin());
  }
  std::ptrdiff_t own() const { return static_cast<std::ptrdiff_t>(identity_.own_arrays); }
  fs::path index_file(std::int64_t block) const { return folder_ / ".blocks" / fmt::format("{}.json", block); }
  fs::path computed_file(const std::string& name) const { return folder_ / ".computed" / (name + ".json"); }
  std::string damage(const fs::path& file, const std::string& what) const {
    return fmt::format("'{}' is damaged: {}; {}", file.string(), what, how_to_repair);
  }

  /// Nothing: the block is not done in this study.
  std::optional<BlockIndex> index_of(std::int64_t block) const {
    std::error_code ignored;
    const fs::path file = index_file(block);
    if (!fs::exists(file, ignored)) return {};
    return read_block_index(file, identity_, key_, block);
  }
  /// The files of a block that are not as they were written: by their size, or by all of their bytes.
  std::vector<std::string> wrong_chunks(std::int64_t block, const BlockIndex& index, bool every_byte) const {
    std::vector<std::string> lines;
    for (std::size_t k = 0; k < identity_.own_arrays; ++k) {
      const fs::path file = chunk(k, block);
      const StoredChunk& stored = index.chunks.at(identity_.arrays[k].name);
      const std::string name = (file.parent_path().filename() / file.filename()).string();
      std::error_code problem;
      const auto size = fs::file_size(file, problem);
      if (problem)
        lines.push_back(name + ": missing");
      else if (size != stored.size)
        lines.push_back(fmt::format("{}: damaged, {} bytes instead of {}", name, size, stored.size));
      else if (every_byte && checksum(text_of(file), key_) != stored.sum)
        lines.push_back(name + ": damaged, its bytes are not those that were written");
    }
    return lines;
  }
  std::string sound_bytes(const fs::path& file, const StoredChunk& stored) const {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) throw UsageError(damage(file, "it is missing"));
    std::string bytes = text_of(file);
    if (bytes.size() != stored.size)
      throw UsageError(damage(file, fmt::format("it has {} bytes instead of {}", bytes.size(), stored.size)));
    if (checksum(bytes, key_) != stored.sum)
      throw UsageError(damage(file, "its bytes are not those that were written"));
    return bytes;
  }

  std::vector<double> read_computed(std::size_t array, std::int64_t block) const {
    const StudyArray& kind = identity_.arrays[array];
    try {
      const Json json = read_sealed(computed_file(kind.name));
      const Json& stored = json.at("chunks").at(static_cast<std::size_t>(block));
      std::vector<double> numbers = decode(
          kind.type,
          sound_bytes(chunk(array, block), {stored.at(0).get<std::uint64_t>(), stored.at(1).get<std::string>()}));
      const auto size = static_cast<std::size_t>(block_of(identity_, block).count);
      if (numbers.size() < size) throw UsageError(damage(chunk(array, block), "it is too short"));
      numbers.resize(size);
      return numbers;
    } catch (const Json::exception& problem) {
      throw UsageError(damage(computed_file(kind.name), problem.what()));
    }
  }
  /// The array that a file describes; one without a name if it does not fit this study, with these blocks.
  StudyArray computed_array(const fs::path& file, const std::string& blocks) const try {
    const Json json = read_sealed(file);
    if (json.at("study").get<std::string>() != key_ || json.at("of").get<std::string>() != blocks) return {};
    const StudyArray array = array_from_json(json.at("array"));
    std::vector<StudyArray> all = {identity_.arrays.begin(), identity_.arrays.begin() + own()};
    all.push_back(array);
    check_result_names(all);
    const bool fits = array.width == 0 && computed_file(array.name) == file &&
                      static_cast<std::int64_t>(json.at("chunks").size()) == block_count(identity_);
    return fits ? array : StudyArray{};
  } catch (const UsageError&) {
    return {};
  } catch (const Json::exception&) {
    return {};
  }
  /// Changes with the numbers from which arrays are computed.
  std::string sum_of_blocks() const {
    std::string all;
    for (const std::int64_t block : blocks_there()) try {
        if (const auto index = index_of(block))
          for (const auto& [name, stored] : index->chunks) all += fmt::format("{} {} {}\n", block, name, stored.sum);
      } catch (const UsageError&) {
        all += fmt::format("{} damaged\n", block);
      }
    return checksum(all);
  }

  std::set<std::int64_t> blocks_there() const {
    std::set<std::int64_t> there;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_ / ".blocks", ignored)) {
      const auto number = block_number(entry.path().filename().string(), ".json");
      if (number) there.insert(*number);
    }
    return there;
  }
  /// "17.json" is that of block 17.
  std::optional<std::int64_t> block_number(const std::string& name, const std::string& ending) const {
    std::int64_t number = -1;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem != std::errc() || number < 0 || number >= block_count(identity_) ||
        name != fmt::format("{}{}", number, ending))
      return {};
    return number;
  }
  /// What is in the folder and no part of the study. Temporary files are those of writers, at work or killed.
  std::vector<std::string> foreign_files(const std::set<std::int64_t>& there) const {
    std::vector<std::string> lines;
    std::error_code ignored;
    std::set<std::string> small, folders = {".blocks", ".computed"};
    for (const auto& [file, text] : small_files()) small.insert(file.string());
    for (const StudyArray& array : identity_.arrays) folders.insert(array.name);
    const auto look = [&](const fs::path& folder, const auto& is_ours) {
      for (const auto& entry : fs::directory_iterator(folder_ / folder, ignored)) {
        const fs::path file = folder / entry.path().filename();
        if (!is_temporary(file) && !is_shard_lock(file) && !small.contains(file.string()) &&
            !is_ours(file.filename().string()))
          lines.push_back(file.string() + ": no part of this study");
      }
    };
    look("", [&](const std::string& name) { return folders.contains(name); });
    look(".blocks", [&](const std::string& name) { return block_number(name, ".json").has_value(); });
    const std::vector<StudyArray> known = computed();
    look(".computed", [&](const std::string& name) {
      return std::ranges::any_of(known, [&](const StudyArray& array) { return array.name + ".json" == name; });
    });
    for (std::size_t k = 0; k < identity_.arrays.size(); ++k)
      look(identity_.arrays[k].name, [&](const std::string& name) {
        const auto number = block_number(name, identity_.arrays[k].width == 0 ? "" : ".0");
        return number && (k >= identity_.own_arrays || there.contains(*number));
      });
    return lines;
  }

  /// All chunks have the same size.
  std::string padded(std::size_t array, std::vector<double> numbers) const {
    const StudyArray& kind = identity_.arrays[array];
    numbers.resize(static_cast<std::size_t>(identity_.block * kind.numbers()), kind.missing());
    return encode(kind.type, numbers);
  }

  Json failure_list(const StudyBlock& block, const BlockResult& result) const {
    Json list = Json::array();
    for (const MemberFailure& f : result.failures) {
      Json json{{"index", f.index}, {"status", f.status}, {"what", member_status_text(f.status)}};
      json["t"] = std::isfinite(f.t) ? Json(f.t) : Json(nullptr);
      json["message"] = f.message;
      for (std::size_t k = 0; k < identity_.own_arrays; ++k)
        if (identity_.arrays[k].coordinate)
          json["values"][identity_.arrays[k].name] = result.columns[k][static_cast<std::size_t>(f.index - block.first)];
      list.push_back(std::move(json));
    }
    return list;
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
  /// All small files in one, for readers that open a group with one request.
  std::string metadata() const {
    Json all;
    all[".zgroup"] = {{"zarr_format", 2}};
    all[".zattrs"] = study_attributes(identity_);
    for (const StudyArray& array : identity_.arrays) {
      all[array.name + "/.zarray"] = zarray(array);
      all[array.name + "/.zattrs"] = zattrs(array);
    }
    return dump({{"zarr_consolidated_format", 1}, {"metadata", all}});
  }
  /// The files that do not depend on members, by name.
  std::vector<std::pair<fs::path, std::string>> small_files() const {
    std::vector<std::pair<fs::path, std::string>> files;
    files.emplace_back(".zattrs", sealed(study_attributes(identity_)));
    files.emplace_back(".zgroup", dump({{"zarr_format", 2}}));
    files.emplace_back(".zmetadata", metadata());
    for (const StudyArray& array : identity_.arrays) {
      files.emplace_back(fs::path(array.name) / ".zattrs", dump(zattrs(array)));
      files.emplace_back(fs::path(array.name) / ".zarray", dump(zarray(array)));
    }
    return files;
  }
  bool has(const fs::path& file, const std::string& text) const {
    std::error_code ignored;
    return fs::is_regular_file(folder_ / file, ignored) && text_of(folder_ / file) == text;
  }

  fs::path folder_;
  std::string key_;
  std::pair<std::uint64_t, std::uint64_t> disk_;  // what identifies the folder, whatever its name
  mutable std::mutex known_mutex_;
  mutable std::set<std::int64_t> known_;  // blocks that are done: a set that only grows while others write
};

}  // namespace

void fill_zarr_arrays(const fs::path& folder, const StudyIdentity& identity) {
  ZarrStore(folder, identity).fill();
}

std::unique_ptr<StudyStore> open_zarr_arrays(const fs::path& folder, StudyIdentity& identity) {
  auto store = std::make_unique<ZarrStore>(folder, identity);
  const std::vector<StudyArray> computed = store->computed();
  identity.arrays.insert(identity.arrays.end(), computed.begin(), computed.end());
  check_result_names(identity.arrays);
  return store;
}

}  // namespace saltus
