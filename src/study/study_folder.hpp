// Folders that are made, and replaced, in one act.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace saltus {

/// Puts the files of a study into an empty folder.
using FillFolder = std::function<void(const std::filesystem::path&)>;

/// Makes a folder with what `fill` puts into it: under a temporary name, which is then changed, so that it is there as
/// a whole or not at all. Takes the place of an empty folder. False: another folder is there, perhaps that of a process
/// that was faster. Throws UsageError if it cannot be made.
bool create_folder(const std::filesystem::path& folder, const FillFolder& fill);

/// The same in the place of a folder that exists, and that is removed afterwards. At any time one of the two is there,
/// as a whole.
void replace_folder(const std::filesystem::path& folder, const FillFolder& fill);

/// Gives an old study its name back if a process that was replacing it was killed between two renames.
void recover_folder(const std::filesystem::path& folder);

/// Makes a folder inside that of a study. Throws UsageError if it cannot be made, or is a link that leads elsewhere.
void make_subfolder(const std::filesystem::path& folder);

/// Removes temporary files that killed writers have left. Young ones may belong to a writer that is at work.
void remove_remains(const std::filesystem::path& folder);

}  // namespace saltus
