#include "fmi/zip_archive.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <saltus/base/error.hpp>

#include <string>

namespace saltus {
namespace {

std::string small_archive() {
  ZipWriter zip;
  zip.add("a.txt", "hello");
  zip.add("folder/b.txt", std::string(10'000, 'x'));
  return zip.finish();
}

TEST(ZipArchive, gives_back_what_was_written) {
  const ZipReader zip(small_archive());
  ASSERT_EQ(zip.entries().size(), 2u);
  EXPECT_EQ(zip.content(*zip.find("a.txt")), "hello");
  EXPECT_EQ(zip.content(*zip.find("folder/b.txt")), std::string(10'000, 'x'));
  EXPECT_EQ(zip.find("c.txt"), nullptr);
}

TEST(ZipArchive, is_the_same_for_the_same_content) {
  EXPECT_EQ(small_archive(), small_archive());
}

TEST(ZipArchive, refuses_names_twice_and_names_that_leave_the_folder) {
  ZipWriter zip;
  zip.add("a", "1");
  EXPECT_THROW(zip.add("a", "2"), UsageError);
  for (const char* name : {"", "/etc/passwd", "../a", "a/../../b", "a\\b", "a//b", "./a", "C:a", "a\nb"})
    EXPECT_THROW(zip.add(name, "x"), UsageError) << name;
}

/// Replaces a name of an archive by one of the same length, everywhere.
std::string renamed(std::string archive, const std::string& from, const std::string& to) {
  for (std::size_t at = archive.find(from); at != std::string::npos; at = archive.find(from, at + 1))
    archive.replace(at, from.size(), to);
  return archive;
}

TEST(ZipArchive, refuses_to_read_names_that_leave_the_folder) {
  for (const char* name : {"/.txt", "../xt", "..\\xt", "a\0txt"}) {
    const std::string five(name, 5);
    EXPECT_THROW(ZipReader(renamed(small_archive(), "a.txt", five)), UsageError) << five;
  }
}

TEST(ZipArchive, takes_a_file_that_is_there_twice_with_the_same_content) {
  const auto archive = [](const std::string& second) {
    ZipWriter zip;
    zip.add("a.txt", "hello");
    zip.add("b.txt", second);
    return renamed(zip.finish(), "b.txt", "a.txt");
  };
  const ZipReader zip(archive("hello"));
  ASSERT_EQ(zip.entries().size(), 1u);
  EXPECT_EQ(zip.content(zip.entries().front()), "hello");
  EXPECT_THROW(ZipReader(archive("world")), UsageError);
}

TEST(ZipArchive, says_what_is_wrong_with_other_files) {
  for (const std::string& text : {std::string(), std::string("PK"), std::string(1000, 'P'), small_archive().substr(7)})
    EXPECT_THROW(
        {
          const ZipReader zip(text);
          for (const auto& entry : zip.entries()) zip.content(entry);
        },
        UsageError);
}

TEST(ZipArchive, notices_a_wrong_checksum) {
  std::string archive = small_archive();
  archive[archive.find("hello")] = 'H';
  const ZipReader zip(archive);
  EXPECT_THROW(zip.content(*zip.find("a.txt")), UsageError);
}

TEST(ZipArchive, takes_no_memory_for_sizes_that_cannot_be) {
  std::string archive = small_archive();
  const std::size_t central = archive.find("PK\x01\x02");
  archive[central + 24 + 3] = '\x3f';  // the first file claims to have a gigabyte
  EXPECT_THROW(
      {
        const ZipReader zip(archive);
        zip.content(zip.entries().front());
      },
      UsageError);
}

RC_GTEST_PROP(ZipArchive, survives_any_content, (const std::string& content)) {
  ZipWriter zip;
  zip.add("x", content);
  const ZipReader back(zip.finish());
  RC_ASSERT(back.content(back.entries().front()) == content);
}

RC_GTEST_PROP(ZipArchive, survives_any_damage, (std::vector<std::pair<unsigned, char>> changes)) {
  std::string archive = small_archive();
  for (const auto& [place, value] : changes) archive[place % archive.size()] = value;
  try {
    const ZipReader zip(archive);
    for (const auto& entry : zip.entries()) zip.content(entry);
  } catch (const UsageError&) {
    RC_SUCCEED("refused");
  }
}

}  // namespace
}  // namespace saltus
