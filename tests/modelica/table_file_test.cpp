// Tables in files: text and CSV.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

class TableFiles : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(testing::TempDir()) / ("saltus_tables_" + test);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return (folder_ / name).string();
  }

  static std::string model(const std::string& file, const std::string& table, const std::string& more = "") {
    return "package T\n  class Table\n    extends ExternalObject;\n    function constructor\n"
           "      input String tableName;\n      input String fileName;\n      input Real table[:, :] = zeros(0, 2);\n"
           "      input Integer columns[:] = {2};\n      input Integer smoothness = 1;\n"
           "      input Integer extrapolation = 2;\n      input String delimiter = \",\";\n"
           "      input Integer nHeaderLines = 0;\n      output Table t;\n"
           "    external \"C\" t = ModelicaStandardTables_CombiTable1D_init3(fileName, tableName);\n"
           "    end constructor;\n  end Table;\n"
           "  function value\n    input Table t;\n    input Integer column;\n    input Real u;\n    output Real y;\n"
           "  external \"C\" y = ModelicaStandardTables_CombiTable1D_getValue(t, column, u);\n  end value;\nend T;\n"
           "model M\n  parameter T.Table t = T.Table(\"" +
           table + "\", \"" + file + "\"" + more + ");\n  Real y = T.value(t, 1, time);\nend M;\n";
  }

  std::filesystem::path folder_;
};

TEST_F(TableFiles, ATextHoldsSeveralMatrices) {
  const std::string file = write("data.txt",
                                 "#1\n# a comment\ndouble first(2,2)\n 0 5\n 1 7\r\ndouble second(3, 2)  # sizes\n"
                                 "0, 1;\n0.5\t+2e0 # half\n1 -3\n");
  EXPECT_NEAR(run_text(model(file, "first"), 1.0).at(0.5, "y"), 6.0, 1e-12);
  const auto second = run_text(model(file, "second"), 1.0);
  EXPECT_NEAR(second.at(0.25, "y"), 1.5, 1e-12);
  EXPECT_NEAR(second.at(1.0, "y"), -3.0, 1e-12);
}

TEST_F(TableFiles, ACsvFileIsOneTable) {
  const std::string file = write("data.csv", "\xEF\xBB\xBFtime;value\n0;1\n 0.5 ; 2\n\n1;4\n");
  const auto r = run_text(model(file, "Values", ", delimiter = \";\", nHeaderLines = 1"), 1.0);
  EXPECT_NEAR(r.at(0.25, "y"), 1.5, 1e-12);
  EXPECT_NEAR(r.at(0.75, "y"), 3.0, 1e-12);
}

TEST_F(TableFiles, ErrorsNameTheFileAndItsLine) {
  const auto errors = [&](const std::string& name, const std::string& content) {
    return load_errors(model(write(name, content), "t"));
  };
  const auto expect = [](const std::string& found, const std::string& text) {
    EXPECT_NE(found.find(text), std::string::npos) << found;
  };
  expect(load_errors(model("no/such.txt", "t")), "the file of a table, 'no/such.txt', does not exist");
  expect(load_errors(model(folder_.string(), "t")), "does not exist");
  expect(load_errors(model(write("data.mat", "x"), "t")), "tables in MATLAB files are not supported");
  expect(errors("a.txt", "double t(1,2)\n1 2\n"), "a.txt', line 1: its first line must be '#1'");
  expect(errors("b.txt", "#1\ndouble u(1,2)\n1 2\n"), "there is no matrix 't'");
  expect(errors("c.txt", "#1\ndouble t(2,2)\n1 2\n"), "the matrix 't' has too few numbers");
  expect(errors("d.txt", "#1\ndouble t(1,2)\n1 2 3\n"), "line 3: the matrix 't' has too many numbers");
  expect(errors("e.txt", "#1\ndouble t(1,2)\n1 x\n"), "line 3: 'x' is not a number");
  expect(errors("f.txt", "#1\ndouble t(1,2)\n1 nan\n"), "'nan' is not a number");
  expect(errors("g.txt", "#1\ndouble t(999999999,999999999)\n"), "must have between one and ten million numbers");
  expect(errors("h.csv", "1,2\n3\n"), "line 2: it has 1 columns, but the rows before have 2");
  expect(errors("i.csv", ""), "it has no rows");
  expect(errors("j.csv", "1,\n"), "'' is not a number");
}

TEST(ExternalFunctions, PartsOfTextsAreTexts) {
  const std::string text =
      "function part\n  input String s;\n  input Integer a;\n  input Integer b;\n  output String r;\n"
      "external \"C\" r = ModelicaStrings_substring(s, a, b);\nend part;\n";
  EXPECT_EQ(run_text(text + "model M\n  Real y = if part(\"table.csv\", 7, 9) == \"csv\" then 1 else 2;\nend M;\n", 1.0)
                .at(1.0, "y"),
            1.0);
  EXPECT_NE(load_errors(text + "model M\n  parameter String s = part(\"abc\", 2, 4);\nend M;\n")
                .find("a text of 3 characters has no part from 2 to 4"),
            std::string::npos);
}

TEST_F(TableFiles, AFileOfALibraryIsNamedByItsPackage) {
  std::filesystem::create_directories(folder_ / "Lib/Data");
  write("Lib/package.mo", "package Lib\n  package Inside\n  end Inside;\nend Lib;\n");
  write("Lib/Data/package.mo", "within Lib;\npackage Data\nend Data;\n");
  write("Lib/first.csv", "0,0\n1,2\n");
  write("Lib/Data/second.csv", "0,0\n1,4\n");
  const LoadOptions options{.libraries = {folder_.string()}};
  const auto last = [&](const std::string& file) {
    return run(load_text(model(file, "t"), options).model, 1.0).at(1.0, "y");
  };
  EXPECT_NEAR(last("modelica://Lib/first.csv"), 2.0, 1e-12);
  EXPECT_NEAR(last("modelica://Lib.Data/second.csv"), 4.0, 1e-12);
  EXPECT_NEAR(last("modelica://Lib/Data/second.csv"), 4.0, 1e-12);
  EXPECT_NEAR(last("modelica://Lib.Inside/first.csv"), 2.0, 1e-12);  // a class inside of a file: where that lies
  const auto errors = [&](const std::string& file) { return load_errors(model(file, "t"), options); };
  EXPECT_NE(errors("modelica://None/first.csv").find("there is no class 'None' whose folder could hold"),
            std::string::npos);
  EXPECT_NE(errors("modelica://Lib/none.csv").find("none.csv', does not exist"), std::string::npos);
  EXPECT_NE(errors("modelica://").find("there is no class ''"), std::string::npos);
  EXPECT_NE(errors("modelica://Lib").find("does not exist"), std::string::npos);
}

}  // namespace
}  // namespace saltus
