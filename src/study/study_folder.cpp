#include "study/study_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/error.hpp>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

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
    if (::mkdir(temporary.c_str(), 0777) == 0) return temporary;
    if (errno != EEXIST) refuse_folder(place, errno);
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
  const char* name() const { return path_.c_str(); }

 private:
  fs::path path_;
};

}  // namespace

bool create_folder(const fs::path& folder, const FillFolder& fill) {
  const fs::path place = real_place(folder);
  const NewFolder made(place, fill);
  if (::rename(made.name(), place.c_str()) == 0) return true;
  if (errno == ENOTEMPTY || errno == EEXIST) return false;
  refuse_folder(folder, errno);
}

void replace_folder(const fs::path& folder, const FillFolder& fill) {
  const fs::path place = real_place(folder);
  const NewFolder made(place, fill);
  if (::renameat2(AT_FDCWD, made.name(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) refuse_folder(folder, errno);
  // a kill between the two renames leaves the old study, which `recover_folder` puts back
  const fs::path away = temporary_name(place).string() + old_ending;
  if (::rename(place.c_str(), away.c_str()) != 0) refuse_folder(folder, errno);
  if (::rename(made.name(), place.c_str()) != 0) {
    const int reason = errno;
    ::rename(away.c_str(), place.c_str());
    refuse_folder(folder, reason);
  }
  remove_study(away);
}

void recover_folder(const fs::path& folder) {
  std::error_code ignored;
  const fs::path place = real_place(folder);
  if (fs::exists(place, ignored)) return;
  for (const auto& entry : folders_beside(place, true))
    if (::rename(entry.path().c_str(), place.c_str()) == 0) return;  // fails if another process was faster
}

void make_subfolder(const fs::path& folder) {
  struct stat status {};
  if (::mkdir(folder.c_str(), 0777) == 0) return;
  const int reason = errno;
  if (reason != EEXIST || ::lstat(folder.c_str(), &status) != 0) refuse_folder(folder, reason);
  if (!S_ISDIR(status.st_mode))
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
