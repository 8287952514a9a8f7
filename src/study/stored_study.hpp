// The folder of a stored study: what identifies it, and what is in it.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "study/store.hpp"

namespace saltus {

using Json = nlohmann::ordered_json;

/// As it stands in files.
std::string dump(const Json& json);
std::string text_of(const std::filesystem::path& file);
Json read_json(const std::filesystem::path& file);

/// What every stored study has in its attributes: its identity, where its model is from, its members and results.
Json study_attributes(const StudyIdentity& identity);
/// Names the study in all of its files: what is of another one is never a result of this one.
std::string study_key(const StudyIdentity& identity);

/// What messages about files that are damaged or missing say at their end.
inline constexpr const char* how_to_repair = "the command of the study computes what is missing or damaged once more";

/// A folder with an array for each result: what it consists of before there are results, and the store in it.
void fill_zarr_arrays(const std::filesystem::path& folder, const StudyIdentity& identity);
/// Adds the arrays that were computed from others to the identity.
std::unique_ptr<StudyStore> open_zarr_arrays(const std::filesystem::path& folder, StudyIdentity& identity);
/// A folder with a density alone (StudyIdentity::reduce).
void fill_density(const std::filesystem::path& folder, const StudyIdentity& identity);
std::unique_ptr<StudyStore> open_density_store(const std::filesystem::path& folder, const StudyIdentity& identity);

}  // namespace saltus
