#include "study/study_folder.hpp"

#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/error.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/system/folders.hpp"

namespace saltus {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_folder(const fs::path& folder, int reason) {
  throw UsageError(fmt::format("cannot make the folder '{}': {}", folder.string(), std::strerror(reason)));
}

/// Without links and a slash at its end.
fs::path real_place(const fs::path& folder) {
  std::error_code problem;
  fs::path place = fs::weakly_canonical(fs::absolute(folder, problem), problem);
  if (problem) refuse_folder(folder, problem.value());
  return place.has_filename() ? place : place.parent_path();
}

/// A new empty folder beside another one, for what takes its place.
fs::path make_beside(const fs::path& place) {
  for (;;) {
    fs::path temporary = temporary_name(place);
    const int reason = make_folder(temporary);
    if (reason == 0) return temporary;
    if (reason != EEXIST) refuse_folder(place, reason);
  }
}

void remove_study(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

/// Left by a killed process. A young one may belong to a process that is at work, perhaps with another clock.
bool is_remain(const fs::directory_entry& entry) {
  std::error_code ignored;
  return is_temporary(entry.path()) && !entry.is_symlink(ignored) &&
         entry.last_write_time(ignored) < fs::file_time_type::clock::now() - std::chrono::minutes(10);
}

/// Where a file system cannot exchange two names, the old study has such a name while the new one takes its place.
constexpr const char* old_ending = ".old";

/// Folders beside a place that became, or were to become, what is there: ".NAME.<digits>.part", perhaps with ".old".
std::vector<fs::directory_entry> folders_beside(const fs::path& place, bool old) {
  std::error_code ignored;
  const std::string begin = "." + place.filename().string() + ".";
  std::vector<fs::directory_entry> found;
  for (const auto& entry : fs::directory_iterator(place.parent_path(), ignored)) {
    const fs::path name = old ? entry.path().stem() : entry.path().filename();
    if ((!old || entry.path().extension() == old_ending) && is_temporary(name) && name.string().starts_with(begin) &&
        name.string().find('.', begin.size()) == name.string().rfind('.') && !entry.is_symlink(ignored) &&
        entry.is_directory(ignored))
      found.push_back(entry);
  }
  return found;
}

/// Removes what killed processes have left beside a folder.
void remove_old_folders(const fs::path& place) {
  std::error_code ignored;
  for (const auto& entry : folders_beside(place, false))
    if (is_remain(entry)) remove_study(entry.path());
  if (!fs::exists(place, ignored)) return;
  for (const auto& entry : folders_beside(place, true)) remove_study(entry.path());
}

/// What is to take the place of a folder; it is removed if it does not.
class NewFolder {
 public:
  NewFolder(const fs::path& place, const FillFolder& fill) {
    std::error_code problem;
    fs::create_directories(place.parent_path(), problem);
    if (problem) refuse_folder(place.parent_path(), problem.value());
    remove_old_folders(place);
    path_ = make_beside(place);
    try {
      fill(path_);
    } catch (...) {
      remove_study(path_);
      throw;
    }
  }
  ~NewFolder() { remove_study(path_); }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

bool create_folder(const fs::path& folder, const FillFolder& fill) {
  const fs::path place = real_place(folder);
  const NewFolder made(place, fill);
  const int reason = rename_folder(made.path(), place);
  if (reason == 0) return true;
  if (reason == ENOTEMPTY || reason == EEXIST) return false;
  refuse_folder(folder, reason);
}

void replace_folder(const fs::path& folder, const FillFolder& fill) {
  const fs::path place = real_place(folder);
  const NewFolder made(place, fill);
  int reason = exchange_folders(made.path(), place);
  if (reason == 0) return;
  if (reason != EINVAL && reason != ENOSYS) refuse_folder(folder, reason);
  // a kill between the two renames leaves the old study, which `recover_folder` puts back
  const fs::path away = temporary_name(place).string() + old_ending;
  reason = rename_folder(place, away);
  if (reason != 0) refuse_folder(folder, reason);
  reason = rename_folder(made.path(), place);
  if (reason != 0) {
    rename_folder(away, place);
    refuse_folder(folder, reason);
  }
  remove_study(away);
}

void recover_folder(const fs::path& folder) {
  std::error_code ignored;
  const fs::path place = real_place(folder);
  if (fs::exists(place, ignored)) return;
  for (const auto& entry : folders_beside(place, true))
    if (rename_folder(entry.path(), place) == 0) return;  // fails if another process was faster
}

void make_subfolder(const fs::path& folder) {
  const int reason = make_folder(folder);
  if (reason == 0) return;
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(folder, ignored);
  if (reason != EEXIST || !fs::exists(status)) refuse_folder(folder, reason);
  if (!fs::is_directory(status))
    throw UsageError(
        fmt::format("'{}' is a file or a link; a study keeps its numbers in folders of its own", folder.string()));
}

void remove_remains(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> remains;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored))
    if (is_remain(entry) && entry.is_regular_file(ignored)) remains.push_back(entry.path());
  for (const fs::path& file : remains) fs::remove(file, ignored);
}

}  // namespace saltus
