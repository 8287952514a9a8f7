#include "study/atomic_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <saltus/base/error.hpp>

#include <cerrno>
#include <cstring>

namespace saltus {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, int reason) {
  throw UsageError(
      fmt::format("cannot write '{}': {}; what was complete is kept: make room and repeat the same command",
                  file.string(), std::strerror(reason)));
}

/// 0 or the reason.
int write_all(int descriptor, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return ENOSPC;
    done += static_cast<std::size_t>(count);
  }
  return ::fsync(descriptor) == 0 ? 0 : errno;
}

}  // namespace

AtomicFiles::~AtomicFiles() {
  for (const auto& [temporary, file] : pending_) ::unlink(temporary.c_str());
}

void AtomicFiles::add(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::path temporary = file;
  temporary += fmt::format(".{}.part", ::getpid());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) refuse(file, errno);
  pending_.emplace_back(temporary, file);
  int reason = write_all(descriptor, bytes);
  if (::close(descriptor) != 0 && reason == 0) reason = errno;
  if (reason != 0) refuse(file, reason);
}

void AtomicFiles::commit() {
  while (!pending_.empty()) {
    if (::rename(pending_.front().first.c_str(), pending_.front().second.c_str()) != 0)
      refuse(pending_.front().second, errno);
    pending_.erase(pending_.begin());
  }
}

void write_atomically(const std::filesystem::path& file, const std::string& bytes) {
  AtomicFiles files;
  files.add(file, bytes);
  files.commit();
}

}  // namespace saltus
