// Files that are there as a whole or not at all.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/child_process.hpp>
#include <saltus/base/error.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace saltus {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("saltus-files-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  template <class Work>
  static std::string refusal(const Work& work) {
    try {
      work();
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  }

  fs::path folder_;
};

/// A limit on the size of files stands for a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  void (*signal_)(int);
  rlimit before_{};
};

TEST_F(AtomicFileTest, TakesItsNameWhenItIsComplete) {
  const fs::path file = folder_ / "a.txt";
  {
    AtomicFile atomic(file);
    atomic.stream() << "new " << 7;
    EXPECT_FALSE(fs::exists(file));
    atomic.commit();
  }
  EXPECT_EQ(text_of(file), "new 7");
  { AtomicFile(file).stream() << "given up"; }
  EXPECT_EQ(text_of(file), "new 7");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, LeavesTheOldFileOnAFullDisk) {
  const fs::path old = folder_ / "old.txt", fresh = folder_ / "new.txt";
  write_atomically(old, "precious");
  const std::string much(200'000, 'x');
  std::string problem, other;
  {
    const FullDisk full(100'000);
    problem = refusal([&] { write_atomically(old, much); });
    other = refusal([&] {
      AtomicFiles both("make room");
      both.add(fresh, "small");
      both.add(old, much);
      both.commit();
    });
  }
  EXPECT_NE(problem.find("old.txt': File too large"), std::string::npos) << problem;
  EXPECT_NE(other.find("; make room"), std::string::npos) << other;
  EXPECT_EQ(text_of(old), "precious");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, KeepsLinksAndPermissionsAndWritesToDevices) {
  const fs::path file = folder_ / "a.txt", link = folder_ / "link.txt";
  write_atomically(file, "one");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a.txt", link);
  write_atomically(link, "two");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(text_of(file), "two");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  write_atomically("/dev/null", "three");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::jthread reader([&] { read = text_of(pipe); });
  require_writable(pipe);
  write_atomically(pipe, "four");
  reader.join();
  EXPECT_EQ(read, "four");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(AtomicFileTest, RefusesWhatCannotBeWritten) {
  EXPECT_NE(refusal([&] { AtomicFile(folder_ / "missing" / "a"); }).find("No such file"), std::string::npos);
  EXPECT_NE(refusal([&] { AtomicFile{folder_}; }).find("Is a directory"), std::string::npos);
  EXPECT_NE(refusal([&] { require_writable(folder_); }).find("Is a directory"), std::string::npos);
  EXPECT_NE(refusal([&] { write_atomically("/dev/full", "x"); }).find("No space left"), std::string::npos);
  EXPECT_EQ(files(), 0u);
}

TEST_F(AtomicFileTest, HasTemporaryNamesThatDiffer) {
  EXPECT_NE(temporary_name(folder_ / "a"), temporary_name(folder_ / "a"));
  EXPECT_EQ(temporary_name(folder_ / "a").parent_path(), folder_);
}

TEST(ChildProcess, GivesWhatAProgramWrites) {
  const std::string much(3'000'000, 'x');
  const ChildOutput copy = run_program({"cat"}, much);
  EXPECT_TRUE(copy.started && copy.ended_well);
  EXPECT_EQ(copy.out, much);
  const ChildOutput failed = run_program({"sh", "-c", "echo because >&2; exit 3"}, much);  // takes no input
  EXPECT_TRUE(failed.started);
  EXPECT_FALSE(failed.ended_well);
  EXPECT_EQ(failed.errors, "because\n");
  const ChildOutput killed = run_program({"sh", "-c", "echo half; kill -9 $$"}, "");
  EXPECT_FALSE(killed.ended_well);
  EXPECT_FALSE(run_program({"no-such-program-of-saltus"}, "").started);
}

TEST(TemporaryNames, AreKnownAgain) {
  for (const char* name : {"a.csv", "3.0", ".zattrs", "folder/x", "x.part"})
    EXPECT_TRUE(is_temporary(temporary_name(name))) << name;
  for (const char* name : {"a.part", ".part", ".0123456789abcdef.part", "a.0123456789abcdef.part", ".a.0123456789.part",
                           ".a.0123456789abcdeg.part", ".a.0123456789abcdef.par", "", ".", "/"})
    EXPECT_FALSE(is_temporary(name)) << name;
}

}  // namespace
}  // namespace saltus
