// `saltus compare` as a user calls it.
#include "cli/compare.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace saltus::cli {
namespace {

struct CompareTest : ::testing::Test {
  std::filesystem::path folder;
  std::string out, err;

  CompareTest() {
    folder = std::filesystem::temp_directory_path() /
             ("saltus_compare_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder);
  }
  ~CompareTest() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  ExitCode compare(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    std::ostringstream o, e;
    const ExitCode code = run_app({compare_command()}, arguments, {.out = o, .err = e});
    out = o.str();
    err = e.str();
    return code;
  }
};

TEST_F(CompareTest, SaysWhichVariableDiffersWhereAndByHowMuch) {
  const std::string a = file("a.csv", "time,x,y\n0,0,0\n1,1,4\n2,2,0\n"),
                    b = file("b.csv", "time,x,y\n0,0,0\n1,1,4.4\n2,2,0\n");
  EXPECT_EQ(compare({a, a}), ExitCode::success) << err;
  EXPECT_EQ(compare({a, b}), ExitCode::failure);
  EXPECT_NE(out.find("y                  0.1               1                 4               4.4  <-"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("different within 0.001"), std::string::npos) << out;
  EXPECT_EQ(compare({a, b, "--tol", "0.2"}), ExitCode::success);
  EXPECT_EQ(compare({a, b, "--vars", "x", "-q"}), ExitCode::success);
  EXPECT_EQ(out, "");
}

TEST_F(CompareTest, WrongFilesAndNamesAreErrorsOfUse) {
  const std::string a = file("a.csv", "time,x\n0,0\n1,1\n");
  EXPECT_EQ(compare({a, file("b.csv", "time,x\n0,zero\n")}), ExitCode::usage);
  EXPECT_NE(err.find("line 2"), std::string::npos) << err;
  EXPECT_EQ(compare({a, a, "--vars", "z"}), ExitCode::usage);
  EXPECT_EQ(compare({a, (folder / "none.csv").string()}), ExitCode::usage);
  EXPECT_EQ(compare({a, file("c.csv", "time,x\n0,0\n")}), ExitCode::failure);
  EXPECT_NE(out.find("do not cover the same time: they end at 1 and 0"), std::string::npos) << out;
}

}  // namespace
}  // namespace saltus::cli
