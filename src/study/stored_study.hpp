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

/// A folder with an array for each result.
std::unique_ptr<StudyStore> create_zarr_arrays(const std::filesystem::path& folder, const StudyIdentity& identity);
std::unique_ptr<StudyStore> open_zarr_arrays(const std::filesystem::path& folder, const StudyIdentity& identity);
/// A folder with a density alone (StudyIdentity::reduce).
std::unique_ptr<StudyStore> create_density_store(const std::filesystem::path& folder, const StudyIdentity& identity);
std::unique_ptr<StudyStore> open_density_store(const std::filesystem::path& folder, const StudyIdentity& identity);

}  // namespace saltus
