// A Zarr group, version 2 (https://zarr-specs.readthedocs.io, "Zarr storage specification version 2"), without
// compression. Each array is a folder with its shape in .zarray and one file for each block of members. The attribute
// _ARRAY_DIMENSIONS is what xarray reads. A block is done exactly if its file of `status` exists: it is renamed last.
#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
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

#include "study/plan_json.hpp"
#include "study/stored_study.hpp"

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

class ZarrStore final : public MemberStore {
 public:
  ZarrStore(fs::path folder, const StudyIdentity& identity) : MemberStore(identity), folder_(std::move(folder)) {
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
    AtomicFiles files("what was complete is kept: make room and repeat the same command");
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
    Json json = study_attributes(identity_);
    std::string coordinates;
    for (std::size_t k = 0; k < identity_.own_arrays; ++k)
      if (identity_.arrays[k].coordinate) coordinates += (coordinates.empty() ? "" : " ") + identity_.arrays[k].name;
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
  std::size_t status_ = 0;
};

}  // namespace

std::unique_ptr<StudyStore> create_zarr_arrays(const fs::path& folder, const StudyIdentity& identity) {
  auto store = std::make_unique<ZarrStore>(folder, identity);
  store->create();
  return store;
}

std::unique_ptr<StudyStore> open_zarr_arrays(const fs::path& folder, const StudyIdentity& identity) {
  return std::make_unique<ZarrStore>(folder, identity);
}

}  // namespace saltus
