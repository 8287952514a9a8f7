// FMUs that are damaged or lie: a message, no crash, and nothing left behind.
#include <gtest/gtest.h>
#include <saltus/fmi/imported_fmu.hpp>
#include <saltus/hybrid/simulate.hpp>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "fmi/fmu_description.hpp"
#include "fmi/foreign_fmu.hpp"

namespace saltus::fmi_tests {
namespace {

constexpr FmiVersion both_versions[] = {FmiVersion::fmi2, FmiVersion::fmi3};

/// Temporary folders of these tests are in a folder of their own: others may make some at the same time.
class HostileFmu : public testing::Test {
 protected:
  void SetUp() override {
    static const TemporaryFolder own;
    setenv("TMPDIR", own.path().c_str(), 1);
  }
};

/// How many temporary folders of FMUs there are.
std::size_t folders() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path()))
    count += entry.path().filename().string().starts_with("saltus-fmu-") ? 1 : 0;
  return count;
}

/// The message with which an FMU is refused; "" if it is taken.
std::string refusal(const std::string& bytes, const std::string& name = "Dahlquist",
                    const ImportOptions& options = {}) {
  const ForeignFile file(bytes, name);
  const std::size_t before = folders();
  std::string message;
  try {
    const auto fmu = import_fmu(file.path(), options);
  } catch (const UsageError& problem) {
    message = problem.what();
    EXPECT_NE(message.find(name + ".fmu: "), std::string::npos) << message;
  }
  EXPECT_EQ(folders(), before);
  return message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(HostileFmu, is_refused_with_what_is_wrong) {
  EXPECT_TRUE(contains(refusal(""), "zip archive is damaged"));
  EXPECT_TRUE(contains(refusal("no zip at all, but a text"), "zip archive is damaged"));
  ZipWriter empty;
  empty.add("readme.txt", "hello");
  EXPECT_TRUE(contains(refusal(empty.finish()), "it is not an FMU"));
  for (const FmiVersion version : both_versions) {
    const std::string xml = describe(bouncing_ball, version);
    const auto with = [&](const std::string& from, const std::string& to) {
      return refusal(pack(bouncing_ball, version, replaced(xml, from, to)), "BouncingBall");
    };
    EXPECT_TRUE(contains(refusal(pack(bouncing_ball, version, "no xml"), "BouncingBall"), "is not XML"));
    EXPECT_TRUE(contains(refusal(pack(bouncing_ball, version, "<a/>"), "BouncingBall"), "no <fmiModelDescription>"));
    EXPECT_TRUE(
        contains(refusal(pack(bouncing_ball, version, xml.substr(0, xml.size() / 2)), "BouncingBall"), "is not XML"));
    EXPECT_TRUE(
        contains(with("fmiVersion=\"" + std::string(version == FmiVersion::fmi2 ? "2.0" : "3.0"), "fmiVersion=\"1.0"),
                 "ask for an FMU of FMI 2.0 or 3.0"));
    EXPECT_TRUE(contains(with("<ModelExchange", "<ScheduledExecution"),
                         "Ask the tool that made it (another tool) for an FMU for model exchange"));
    EXPECT_TRUE(contains(with("modelIdentifier=\"BouncingBall\"", "modelIdentifier=\"../../evil\""),
                         "not the name of a library"));
    EXPECT_TRUE(
        contains(with("modelIdentifier=\"BouncingBall\"", "modelIdentifier=\"Other\""), "no library 'Other.so'"));
    EXPECT_TRUE(contains(with("{foreign}", "{another}"), "refuses to be instantiated"));
    EXPECT_TRUE(contains(with("name=\"x2\"", "name=\"x1\""), "two variables 'x1'"));
    EXPECT_TRUE(contains(with("name=\"x2\"", "name=\"\""), "has no name"));
    EXPECT_TRUE(contains(with("start=\"9.81\"", "start=\"much\""), "is not a number"));
    EXPECT_TRUE(contains(with("start=\"9.81\"", "start=\"nan\""), "is not a number"));
    EXPECT_TRUE(contains(with("valueReference=\"21\"", "valueReference=\"-1\""), "is not a whole number"));
    EXPECT_TRUE(contains(with("causality=\"parameter\"", "causality=\"boss\""), "is not known"));
  }
}

TEST_F(HostileFmu, with_wrong_counts_is_refused) {
  const std::string xml = describe(bouncing_ball, FmiVersion::fmi2);
  const auto with = [&](const std::string& from, const std::string& to) {
    return refusal(pack(bouncing_ball, FmiVersion::fmi2, replaced(xml, from, to)), "BouncingBall");
  };
  EXPECT_TRUE(contains(with("<Unknown index=\"4\"/>", "<Unknown index=\"99\"/>"), "no variable with the index 99"));
  EXPECT_TRUE(contains(with("<Unknown index=\"4\"/>", "<Unknown index=\"5\"/>"), "has two derivatives"));
  EXPECT_TRUE(
      contains(with("<Unknown index=\"4\"/>", "<Unknown index=\"2\"/>"), "stands among the derivatives, and is none"));
  EXPECT_TRUE(contains(with("<Unknown index=\"4\"/>", ""), "fmi2GetContinuousStates of the FMU has failed"));
  EXPECT_TRUE(contains(with("numberOfEventIndicators=\"1\"", "numberOfEventIndicators=\"4000000000\""), "more than"));
  EXPECT_TRUE(contains(with("derivative=\"2\"", "derivative=\"0\""), "no variable with the index 0"));
}

TEST_F(HostileFmu, with_another_number_of_indicators_ends_with_a_message) {
  const std::string xml = replaced(describe(bouncing_ball, FmiVersion::fmi2), "numberOfEventIndicators=\"1\"",
                                   "numberOfEventIndicators=\"3\"");
  const ForeignFile file(pack(bouncing_ball, FmiVersion::fmi2, xml), "BouncingBall");
  const auto fmu = import_fmu(file.path());
  EXPECT_THROW(simulate(fmu, {.stop = 1.0}), Error);
}

TEST_F(HostileFmu, whose_library_is_none_is_refused) {
  for (const std::string& library : {std::string(), std::string("not a library"), std::string(100'000, '\x7f')}) {
    ZipWriter zip;
    zip.add("modelDescription.xml", describe(dahlquist, FmiVersion::fmi2));
    zip.add("binaries/linux64/Dahlquist.so", library);
    EXPECT_TRUE(contains(refusal(zip.finish()), "library of the FMU cannot be loaded"));
  }
  ZipWriter zip;  // the functions of the other version
  zip.add("modelDescription.xml", describe(dahlquist, FmiVersion::fmi2));
  zip.add("binaries/linux64/Dahlquist.so", foreign_library("Dahlquist", FmiVersion::fmi3));
  EXPECT_TRUE(contains(refusal(zip.finish()), "has no function 'fmi2"));
  ZipWriter windows;
  windows.add("modelDescription.xml", describe(dahlquist, FmiVersion::fmi2));
  windows.add("binaries/win64/Dahlquist.dll", "MZ");
  EXPECT_TRUE(contains(refusal(windows.finish()), "it serves win64: ask for one for Linux"));
}

TEST_F(HostileFmu, whose_functions_fail_ends_with_a_message) {
  const std::string bytes = pack(broken, FmiVersion::fmi2);
  EXPECT_TRUE(
      contains(refusal(bytes, "Broken", {.values = {{"p1", 2.0}}}), "fmi2NewDiscreteStates of the FMU has failed"));
  EXPECT_TRUE(contains(refusal(bytes, "Broken", {.values = {{"p1", 3.0}}}), "finds no end"));
  EXPECT_TRUE(contains(refusal(bytes, "Broken", {.values = {{"p1", 4.0}}}), "initial value of the state 'x1' is nan"));
  const ForeignFile file(bytes, "Broken");
  const auto nan = import_fmu(file.path(), ImportOptions{.values = {{"p1", 1.0}}});
  const Trajectory run = simulate(nan, {.stop = 1.0});
  EXPECT_FALSE(run.status().ok());
  EXPECT_NEAR(run.t_end(), 0.5, 1e-3);
  const auto error = import_fmu(file.path(), ImportOptions{.values = {{"p1", 5.0}}});
  EXPECT_THROW(simulate(error, {.stop = 1.0}), Error);
}

/// How many mutated FMUs a test tries; SALTUS_FMU_CASES asks for more.
int cases(int usual) {
  const char* text = std::getenv("SALTUS_FMU_CASES");
  return text ? std::atoi(text) : usual;
}

/// Changes, removes, repeats or inserts some bytes.
std::string mutated(std::string bytes, std::mt19937& random) {
  static const char* const words[] = {"\"",    "<",   "/>",   "999999999999", "-1",  "nan",
                                      "1e400", "\\0", "&#0;", "index",        "../", "Real"};
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = below(bytes.size()), length = std::min(bytes.size() - at, 1 + below(30));
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(below(bytes.size()), bytes.substr(at, length));
        break;
      case 3:
        bytes.insert(at, words[below(std::size(words))]);
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    }
  }
  return bytes;
}

// The description decides what is asked of the FMU; its code is trusted, so mutated descriptions are read, not run.
TEST_F(HostileFmu, mutated_descriptions_are_read_or_refused) {
  std::mt19937 random(1);
  int read = 0;
  const int count = cases(4000);
  for (int k = 0; k < count; ++k) {
    const Foreign& model = *std::array{&bouncing_ball, &feedthrough, &relay}[static_cast<std::size_t>(k % 3)];
    const std::string xml = mutated(describe(model, both_versions[k % 2]), random);
    try {
      const FmuDescription description = read_description(xml);
      for (const std::size_t place : description.states) ASSERT_LT(place, description.variables.size());
      for (const std::size_t place : description.derivatives) ASSERT_LT(place, description.variables.size());
      ASSERT_EQ(description.states.size(), description.derivatives.size());
      ++read;
    } catch (const UsageError& problem) {
      ASSERT_TRUE(contains(problem.what(), "modelDescription.xml")) << problem.what();
    }
  }
  EXPECT_GT(read, count / 100);  // some changes do not matter
  EXPECT_LT(read, count);
}

// The library is intact: it answers what it knows, and fails where it is asked for something else.
TEST_F(HostileFmu, fmus_with_mutated_descriptions_run_or_are_refused) {
  std::mt19937 random(3);
  const std::size_t before = folders();
  int ran = 0;
  const int count = cases(500);
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.fmu";
  for (int k = 0; k < count; ++k) {
    const Foreign& model =
        *std::array{&bouncing_ball, &feedthrough, &relay, &stair, &circle}[static_cast<std::size_t>(k % 5)];
    const FmiVersion version = both_versions[k % 2];
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        << pack(model, version, mutated(describe(model, version), random));
    try {
      const auto fmu = import_fmu(path);
      const double start = fmu->start_time().value();
      const Trajectory run =
          simulate(fmu, {.start = start, .stop = start + 0.1 * std::max(1.0, std::abs(start)), .max_steps = 1000});
      EXPECT_TRUE(run.status().ok() || !run.status().message.empty());
      for (const double value : run.final()) EXPECT_FALSE(run.status().ok() && std::isnan(value));
      ++ran;
    } catch (const Error& problem) {
      EXPECT_GT(std::string(problem.what()).size(), 10u);
    }
  }
  EXPECT_EQ(folders(), before + 1);  // that of this test
  EXPECT_GT(ran, count / 100);
  EXPECT_LT(ran, count);
}

TEST_F(HostileFmu, mutated_archives_are_read_or_refused_and_leave_nothing_behind) {
  std::mt19937 random(2);
  ZipWriter zip;  // small, so that most changes hit what matters
  zip.add("modelDescription.xml", describe(dahlquist, FmiVersion::fmi2));
  zip.add("binaries/linux64/Dahlquist.so", "none");
  zip.add("resources/a/b.txt", std::string(300, 'b'));
  const std::string bytes = zip.finish();
  const std::size_t before = folders();
  int read = 0;
  const int count = cases(2000);
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.fmu";
  for (int k = 0; k < count; ++k) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << mutated(bytes, random);
    try {
      EXPECT_FALSE(describe_fmu(path).empty());
      ++read;
    } catch (const UsageError& problem) {
      ASSERT_TRUE(contains(problem.what(), "x.fmu: ")) << problem.what();
    }
  }
  EXPECT_EQ(folders(), before + 1);  // that of this test
  EXPECT_LT(read, count);
}

}  // namespace
}  // namespace saltus::fmi_tests
