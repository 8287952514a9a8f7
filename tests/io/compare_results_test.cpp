// Two results agree or not; results are read back from the files that were written.
#include <gtest/gtest.h>
#include <saltus/io/compare_results.hpp>
#include <saltus/io/result_files.hpp>
#include <saltus/saltus.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>

namespace saltus {
namespace {

ResultTable table(std::vector<double> time, std::vector<double> x) {
  return {std::move(time), {{"x", VariableDetails{.unit = "m"}, std::move(x)}}};
}

TEST(CompareResults, DifferencesAreSharesOfTheRange) {
  const auto c = compare_results(table({0, 1, 2}, {0, 10, 0}), table({0, 0.5, 2}, {0, 5, 0.05}));
  ASSERT_EQ(c.variables.size(), 1u);
  // the second result is a straight line from 5 at 0.5 to 0.05 at 2: at t = 1 it is 3.35 instead of 10
  EXPECT_NEAR(c.variables[0].difference, 0.665, 1e-12);
  EXPECT_EQ(c.variables[0].t, 1.0);
  EXPECT_EQ(c.variables[0].first, 10.0);
  EXPECT_NEAR(c.variables[0].second, 3.35, 1e-12);
  EXPECT_TRUE(c.same(0.7));
  EXPECT_FALSE(c.same(0.6));
}

TEST(CompareResults, AJumpMayBeALittleEarlierOrLaterButNotElsewhere) {
  const auto jump = [](double t, double end) { return table({0, t, t, 10}, {0, 0, 1, end}); };
  const CompareOptions near{.tolerance = 1e-3, .time_tolerance = 1e-3};
  EXPECT_TRUE(compare_results(jump(5.0, 1), jump(5.005, 1), near).same(1e-3));
  EXPECT_FALSE(compare_results(jump(5.0, 1), jump(5.02, 1), near).same(1e-3));
  EXPECT_FALSE(
      compare_results(jump(5.0, 1), jump(5.005, 1.1), near).same(1e-3));  // the value after the jump is another one
  // without a jump there is no slack in time: a line that is late is different
  EXPECT_FALSE(compare_results(table({0, 1, 10}, {0, 0, 1}), table({0, 1.05, 10}, {0, 0, 1}), {.time_tolerance = 0.1})
                   .same(1e-3));
}

TEST(CompareResults, WhatIsLeftOfASumThatVanishesIsNoDifference) {
  const auto currents = [](double ground, const char* unit) {
    ResultTable result{{0, 1}, {{"i", VariableDetails{.unit = "A"}, {0, 2}}}};
    result.columns.push_back({"ground.i", VariableDetails{.unit = unit}, {0, ground}});
    return result;
  };
  EXPECT_TRUE(compare_results(currents(1e-16, "A"), currents(-1e-16, "A")).same(1e-3));
  EXPECT_FALSE(compare_results(currents(1e-16, "V"), currents(-1e-16, "V")).same(1e-3));  // no other voltage is larger
  EXPECT_FALSE(compare_results(currents(1e-12, "A"), currents(-1e-12, "A")).same(1e-3));  // a picoampere is one
}

TEST(CompareResults, SpansMissingVariablesAndValuesThatAreNoNumbersAreSeen) {
  EXPECT_FALSE(compare_results(table({0, 1}, {0, 1}), table({0, 0.5}, {0, 0.5})).same_span);
  ResultTable two = table({0, 1}, {0, 1});
  two.columns.push_back({"y", {}, {0, 0}});
  const auto c = compare_results(two, table({0, 1}, {0, 1}));
  EXPECT_EQ(c.only_first, std::vector<std::string>{"y"});
  EXPECT_TRUE(c.same(1e-12));
  EXPECT_FALSE(compare_results(table({0, 1}, {0, 1}), table({0, 1}, {0, std::nan("")})).same(1e9));
  EXPECT_THROW(compare_results(two, table({0, 1}, {0, 1}), {.variables = {"y"}}), UsageError);
  EXPECT_THROW(compare_results(two, {}), UsageError);
  EXPECT_THROW(compare_results(two, table({0, 2, 1}, {0, 1, 1})), UsageError);
  EXPECT_TRUE(compare_results(table({1, 0}, {1, 0}), table({0, 1}, {0, 1})).same(1e-12));  // backwards
}

TEST(ResultTable, TimesAreWrittenFromStepTo) {
  EXPECT_EQ(parse_times("0:0.25:1"), (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(parse_times("1:-0.5:0"), (std::vector<double>{1, 0.5, 0}));
  EXPECT_EQ(parse_times("0:0.4:1").back(), 0.8);
  EXPECT_EQ(parse_times("0:0.1:1").size(), 11u);
  EXPECT_EQ(parse_times("0:0.1:1").back(), 1.0);
  for (const char* wrong : {"", "1", "0:1", "0:0:1", "0:-1:1", "a:1:2", "0:1:2:3", "0:1e-12:1", "0:nan:1", "0::1"})
    EXPECT_THROW(parse_times(wrong), UsageError) << wrong;
  EXPECT_EQ(equal_times(0, 3, 4), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_THROW(equal_times(0, 1, 1), UsageError);
}

struct Files : ::testing::Test {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      (std::string("saltus_files_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  Files() { std::filesystem::create_directories(folder); }
  ~Files() override { std::filesystem::remove_all(folder); }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
};

Trajectory ball(Method method) {
  Model m("ball");
  const Expr h = m.variable("h", 10.0, {.unit = "m", .description = "height, \"above\" the floor"}),
             v = m.variable("v, 1", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -0.9 * v);
  return simulate(m, {.stop = 8.0, .rtol = 1e-8, .atol = 1e-8, .method = method});
}

TEST_F(Files, AllKindsAreReadBackWithTheSameNumbers) {
  const Trajectory run = ball(Method::automatic);
  const ResultTable written = result_table(run, {.intervals = 50});
  std::ofstream csv(path("a.csv")), json(path("a.json")), mat(path("a.mat"), std::ios::binary),
      npz(path("a.npz"), std::ios::binary);
  write_csv(csv, written, CsvHeader::described);
  write_json(json, run, {"ball", {}, &written});
  write_mat(mat, written, {{"g", 9.81}});
  write_npz(npz, written, {{"g", 9.81}});
  csv.close();
  json.close();
  mat.close();
  npz.close();
  for (const char* name : {"a.csv", "a.json", "a.mat", "a.npz"}) {
    const ResultTable read = read_result(path(name));
    EXPECT_EQ(read.time, written.time) << name;
    ASSERT_EQ(read.columns.size(), 2u) << name;
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(read.columns[k].name, written.columns[k].name) << name;
      EXPECT_EQ(read.columns[k].values, written.columns[k].values) << name;
    }
    if (std::string(name) == "a.csv") continue;  // its comments are not read
    EXPECT_EQ(read.columns[0].details->unit, "m") << name;
    EXPECT_EQ(read.columns[0].details->description, "height, \"above\" the floor") << name;
    EXPECT_EQ(read.columns[1].details->unit, "") << name;
  }
}

TEST_F(Files, AnArchiveOfNumpyMayHoldTruthValuesAndLettersOfAllAlphabets) {
  ResultTable written{{0, 1, 1, 2}, {}};
  written.columns.push_back({"Öl, 水 and 🛢",
                             VariableDetails{.unit = "°C", .description = "é", .type = VariableType::boolean},
                             {0, 1, 0, 1}});
  written.columns.push_back({"n", VariableDetails{.type = VariableType::integer}, {-3, 4, 5, 6}});
  std::ofstream out(path("a.npz"), std::ios::binary);
  write_npz(out, written, {});
  out.close();
  const ResultTable read = read_result(path("a.npz"));
  ASSERT_EQ(read.columns.size(), 2u);
  EXPECT_EQ(read.columns[0].name, "Öl, 水 and 🛢");
  EXPECT_EQ(read.columns[0].details->unit, "°C");
  EXPECT_EQ(read.columns[0].details->description, "é");
  EXPECT_EQ(read.columns[0].values, written.columns[0].values);
  EXPECT_EQ(read.columns[1].values, written.columns[1].values);
}

TEST_F(Files, ADamagedArchiveOfNumpyIsRefused) {
  std::ofstream out(path("a.npz"), std::ios::binary);
  write_npz(out, result_table(ball(Method::automatic), {.intervals = 3}), {});
  out.close();
  std::ifstream in(path("a.npz"), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  for (std::size_t size = 0; size < whole.size() - 22; size += 61)  // the directory ends with 22 bytes
    EXPECT_THROW(read_result(file("b.npz", whole.substr(0, size))), UsageError) << size;
  int refused = 0;
  for (std::size_t k = 0; k < whole.size(); k += 11) {  // any byte may be wrong: a result or a refusal, nothing else
    std::string damaged = whole;
    damaged[k] = static_cast<char>(damaged[k] ^ 0xFF);
    try {
      read_result(file("c.npz", damaged));
    } catch (const UsageError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

std::string little(std::uint64_t number, int bytes) {
  std::string text;
  for (int k = 0; k < bytes; ++k) text += static_cast<char>(number >> (8 * k) & 0xFFU);
  return text;
}

/// An archive with one array, whose header is given.
std::string archive_with(const std::string& name, const std::string& header) {
  const std::string content = "\x93NUMPY" + little(2, 2) + little(header.size(), 4) + header;
  const std::string sizes = little(content.size(), 4) + little(content.size(), 4), name_size = little(name.size(), 2);
  const std::string local =
      "PK\x03\x04" + little(20, 2) + std::string(12, '\0') + sizes + name_size + little(0, 2) + name;
  const std::string entry = "PK\x01\x02" + little(20, 2) + little(20, 2) + std::string(12, '\0') + sizes + name_size +
                            std::string(16, '\0') + name;
  return local + content + entry + "PK\x05\x06" + std::string(4, '\0') + little(1, 2) + little(1, 2) +
         little(entry.size(), 4) + little(local.size() + content.size(), 4) + little(0, 2);
}

// A header may be as long as its file says.
TEST_F(Files, AnArchiveOfNumpyWithALongHeaderIsRefused) {
  const std::string end = "', 'fortran_order': False, 'shape': (0,), }";
  EXPECT_TRUE(read_result(file("d.npz", archive_with("time.npy", "{'descr': '<f8" + end))).time.empty());
  EXPECT_THROW(read_result(file("d.npz", archive_with("time.npy", "{'descr': '" + std::string(3'000'000, '<') + end))),
               UsageError);
  const std::string many = "', 'shape': (" + std::string(300'000, '1') + ",), }";
  EXPECT_THROW(read_result(file("d.npz", archive_with("time.npy", "{'descr': '<f8" + many))), UsageError);
}

TEST_F(Files, TwoMethodsAgree) {
  const auto samples = [](Method method) { return result_table(ball(method), {.intervals = 400}); };
  // exact parabolas between rows differ from straight lines by g h^2 / 8 = 5e-4 of 10 m; the methods agree much better
  EXPECT_TRUE(compare_results(samples(Method::dopri5), samples(Method::radau)).same(1e-5));
  EXPECT_FALSE(
      compare_results(samples(Method::dopri5), result_table(ball(Method::dopri5), {.intervals = 7})).same(1e-5));
}

/// A matrix of a MAT-file of version 4: doubles, by columns.
std::string mat_matrix(const std::string& name, std::int32_t rows, std::int32_t columns,
                       const std::vector<double>& values) {
  std::string bytes;
  const auto put = [&](const auto& number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof number); };
  for (const std::int32_t number : {0, rows, columns, 0, static_cast<std::int32_t>(name.size() + 1)}) put(number);
  bytes += name + '\0';
  for (const double value : values) put(value);
  return bytes;
}

TEST_F(Files, AMatFileMayHoldAnyNumbers) {
  const auto read = [&](double column, double letter) {
    return read_result(file("n.mat", mat_matrix("Aclass", 1, 1, {65.0}) + mat_matrix("name", 2, 1, {116.0, letter}) +
                                         mat_matrix("dataInfo", 2, 2, {0.0, 2.0, 1.0, column}) +
                                         mat_matrix("data_2", 2, 2, {0.0, 1.0, 5.0, 6.0})));
  };
  EXPECT_EQ(read(2.0, 120.0).columns.at(0).name, "x");
  EXPECT_EQ(read(-2.0, 120.0).columns.at(0).values, (std::vector<double>{-5.0, -6.0}));
  for (const double column : {1e300, -1e10, 0.5, 3.0, std::nan("")})
    EXPECT_THROW(read(column, 120.0), UsageError) << column;
  for (const double letter : {1e300, -1.0, std::nan("")}) EXPECT_EQ(read(2.0, letter).columns.at(0).name, "?");
}

TEST_F(Files, WrongFilesAreRefusedWithTheReason) {
  const auto problem = [](const std::string& name) -> std::string {
    try {
      read_result(name);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(problem(path("none.csv")).find("cannot be opened"), std::string::npos);
  EXPECT_NE(problem(file("a.txt", "x")).find("unknown kind"), std::string::npos);
  EXPECT_NE(problem(file("a.csv", "time,x\n0,1\n1\n")).find("line 3 has 1 fields instead of 2"), std::string::npos);
  EXPECT_NE(problem(file("b.csv", "time,x\n0,abc\n")).find("'abc' where a number"), std::string::npos);
  EXPECT_NE(problem(file("c.csv", "time\n0\n")).find("no names"), std::string::npos);
  EXPECT_NE(problem(file("a.json", "{")).find("not a JSON file"), std::string::npos);
  EXPECT_NE(problem(file("b.json", "{}")).find("--trajectories"), std::string::npos);
  EXPECT_NE(
      problem(file("c.json", R"({"trajectories": {"time": [0]}, "variables": [{"name": "x"}]})")).find("not a result"),
      std::string::npos);
  EXPECT_NE(problem(file("a.mat", "garbage that is long enough to be a header")).find("MAT-file of version 4"),
            std::string::npos);
  EXPECT_NE(problem(file("b.mat", std::string("\0\0\0\0\2\0\0\0\2\0\0\0\0\0\0\0\2\0\0\0a\0", 22))).find("middle"),
            std::string::npos);
  EXPECT_NE(problem(file("c.mat", "")).find("no matrix"), std::string::npos);
  EXPECT_EQ(read_result(file("d.csv", "time;x\r\n0;1\r\n1;2\r\n")).columns[0].values, (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace saltus
