#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/error.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <streambuf>
#include <string_view>

namespace saltus {

namespace fs = std::filesystem;

/// Writes to a descriptor, and remembers the reason of the first failure.
class AtomicFile::Buffer final : public std::streambuf {
 public:
  explicit Buffer(int descriptor) : descriptor_(descriptor) { setp(bytes_.data(), bytes_.data() + bytes_.size()); }
  ~Buffer() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// 0 or the reason.
  int end(bool on_disk) {
    if (descriptor_ < 0) return reason_;
    drain();
    if (reason_ == 0 && on_disk && ::fsync(descriptor_) != 0) reason_ = errno;
    if (::close(descriptor_) != 0 && reason_ == 0) reason_ = errno;
    descriptor_ = -1;
    return reason_;
  }

 protected:
  int_type overflow(int_type c) override {
    drain();
    if (reason_ != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    if (count <= epptr() - pptr()) {
      std::memcpy(pptr(), bytes, static_cast<std::size_t>(count));
      pbump(static_cast<int>(count));
      return count;
    }
    drain();
    write(bytes, static_cast<std::size_t>(count));
    return reason_ == 0 ? count : 0;
  }
  int sync() override {
    drain();
    return reason_ == 0 ? 0 : -1;
  }

 private:
  void drain() {
    write(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }
  void write(const char* bytes, std::size_t size) {
    while (size > 0 && reason_ == 0) {
      const ssize_t count = ::write(descriptor_, bytes, size);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        reason_ = count < 0 ? errno : ENOSPC;
        return;
      }
      bytes += count;
      size -= static_cast<std::size_t>(count);
    }
  }

  int descriptor_, reason_ = 0;
  std::array<char, 65'536> bytes_ = {};
};

namespace {

constexpr char digits[] = "0123456789abcdef";
constexpr std::string_view temporary_end = ".part";
constexpr std::size_t random_digits = 16;

}  // namespace

fs::path temporary_name(const fs::path& file) {
  std::random_device random;  // numbers of processes repeat: in containers, and on machines that share a folder
  std::string name = "." + file.filename().string() + ".";
  for (int word = 0; word < 2; ++word) {
    unsigned bits = random();
    for (int k = 0; k < 8; ++k, bits >>= 4) name += digits[bits & 15U];
  }
  return file.parent_path() / (name + std::string(temporary_end));
}

bool is_temporary(const fs::path& file) {
  const std::string name = file.filename().string();
  constexpr std::size_t end = temporary_end.size() + random_digits;
  return name.size() > end + 2 && name.front() == '.' && name.ends_with(temporary_end) &&
         name[name.size() - end - 1] == '.' &&
         name.substr(name.size() - end, random_digits).find_first_not_of(digits) == std::string::npos;
}

AtomicFile::AtomicFile(fs::path file, std::string advice)
    : file_(std::move(file)), advice_(std::move(advice)), stream_(nullptr) {
  struct stat status {};
  const bool exists = ::stat(file_.c_str(), &status) == 0;
  int descriptor = -1;
  if (exists && S_ISDIR(status.st_mode)) refuse(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor = ::open(file_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) refuse(errno);
  } else {
    if (exists && ::access(file_.c_str(), W_OK) != 0) refuse(errno);
    std::error_code problem;
    place_ = fs::weakly_canonical(fs::absolute(file_, problem), problem);  // a link stays one, its target is replaced
    if (problem) refuse(problem.value());
    do {
      temporary_ = temporary_name(place_);
      descriptor = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EEXIST);
    if (descriptor < 0) {
      const int reason = errno;
      temporary_.clear();
      refuse(reason);
    }
    if (exists) ::fchmod(descriptor, status.st_mode & 07777);
  }
  buffer_ = std::make_unique<Buffer>(descriptor);
  stream_.rdbuf(buffer_.get());
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::refuse(int reason) const {
  throw UsageError("cannot write to '" + file_.string() + "': " + std::strerror(reason) +
                   (advice_.empty() ? "" : "; " + advice_));
}

std::ostream& AtomicFile::stream() {
  return stream_;
}

void AtomicFile::complete() {
  if (const int reason = buffer_->end(!temporary_.empty()); reason != 0) refuse(reason);
  if (!stream_) refuse(EIO);
}

void AtomicFile::commit() {
  complete();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), place_.c_str()) != 0) refuse(errno);
  temporary_.clear();
}

void require_writable(const fs::path& file) {
  std::error_code ignored;
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored) && !fs::is_directory(file, ignored))
    return;  // a pipe is opened once
  const AtomicFile made(file);
}

AtomicFiles::AtomicFiles(std::string advice) : advice_(std::move(advice)) {}

void AtomicFiles::add(const fs::path& file, const std::string& bytes) {
  files_.push_back(std::make_unique<AtomicFile>(file, advice_));
  files_.back()->stream().write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  files_.back()->complete();
}

void AtomicFiles::commit() {
  for (const auto& file : files_) file->commit();
  files_.clear();
}

void write_atomically(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  AtomicFile atomic(file);
  write(atomic.stream());
  atomic.commit();
}

void write_atomically(const fs::path& file, const std::string& bytes, const std::string& advice) {
  AtomicFiles files(advice);
  files.add(file, bytes);
  files.commit();
}

}  // namespace saltus
