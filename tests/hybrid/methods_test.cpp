// The table of methods, and everything that is made from it.
#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/hybrid/methods.hpp>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/step/stepper.hpp>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

namespace saltus {
namespace {

std::string text_of(const std::string& page) {
  std::ifstream file(std::string(SALTUS_DOCS) + "/" + page);
  EXPECT_TRUE(file) << page;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Methods, TheTableHasEachMethodOnceUnderANameOfItsOwn) {
  std::set<std::string_view> names;
  std::set<Method> found;
  for (const MethodInfo& row : method_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(found.insert(row.method).second) << row.name;
    EXPECT_EQ(&info(row.method), &row);
  }
  EXPECT_EQ(found.size(), method_count);
}

TEST(Methods, NamesAreFoundAndOthersAreNot) {
  for (const MethodInfo& row : method_table()) {
    EXPECT_EQ(find_method(row.name), row.method);
    EXPECT_EQ(to_string(row.method), row.name);
  }
  EXPECT_EQ(find_method("euler"), std::nullopt);  // a fixed step has no counterpart
  EXPECT_EQ(find_method("adams"), std::nullopt);
  EXPECT_EQ(find_method(""), std::nullopt);
}

TEST(Methods, NamesOfOtherSolversMeanOurs) {
  const std::pair<const char*, Method> others[] = {
      {"RK45", Method::dopri5},     {"RK23", Method::bs3},      {"DOP853", Method::dop853},
      {"Radau", Method::radau},     {"BDF", Method::bdf},       {"LSODA", Method::automatic},
      {"ode45", Method::dopri5},    {"ode15s", Method::bdf},    {"CVODE", Method::bdf},
      {"IDA", Method::bdf},         {"dassl", Method::bdf},     {"Tsit5", Method::tsit5},
      {"Rodas5P", Method::rodas5p}, {"Rodas4", Method::rodas4}, {"RadauIIA5", Method::radau5},
      {"BS3", Method::bs3},         {"DP8", Method::dop853},    {"CVODE_BDF", Method::bdf},
      {"FBDF", Method::bdf},        {"Taylor", Method::taylor}};
  for (const auto& [name, method] : others) EXPECT_EQ(find_method(name), method) << name;
}

TEST(Methods, AValueThatIsNoMethodIsRefusedInsteadOfBeingTakenForAnother) {
  EXPECT_THROW(info(static_cast<Method>(method_count)), UsageError);
  EXPECT_THROW(to_string(static_cast<Method>(-1)), UsageError);
}

TEST(Methods, AllButAutoMakeAStepper) {
  for (const MethodInfo& row : method_table()) {
    if (row.method == Method::automatic) {
      EXPECT_EQ(row.make, nullptr);
      continue;
    }
    StepOptions options;
    options.rtol = 1e-6;
    options.atol = {1e-6};
    EXPECT_NE(row.make(options), nullptr) << row.name;
  }
}

TEST(Methods, ExplicitOnesAreThoseOfRungeAndKuttaAndTaylor) {
  std::set<std::string_view> names;
  for (const MethodInfo& row : method_table())
    if (is_explicit(row.method)) names.insert(row.name);
  EXPECT_EQ(names, (std::set<std::string_view>{"dopri5", "tsit5", "bs3", "dop853", "taylor"}));
}

// A row with the factory of another method would not be seen otherwise: the orders differ, and so do the counts of
// steps.
TEST(Methods, EachRunsUnderItsOwnNameAndReachesTheTolerance) {
  std::set<std::string> fingerprints;
  for (const MethodInfo& row : method_table()) {
    if (row.method == Method::automatic) continue;
    Model m("oscillator");
    auto x = m.variable("x", 1.0), v = m.variable("v", 0.0);
    m.equation(der(x) == v);
    m.equation(der(v) == -x);
    const Trajectory run = simulate(m, {.stop = 3.0, .rtol = 1e-5, .atol = 1e-5, .method = row.method});
    ASSERT_EQ(run.status().code, StatusCode::success) << row.name;
    EXPECT_EQ(run.statistics().method.rfind(std::string(row.name) + " (asked for", 0), 0u) << run.statistics().method;
    // a factor of 30 between error and tolerance is what docs/concepts/methods.md promises
    EXPECT_NEAR(run.at(3.0, "x"), std::cos(3.0), 30.0 * 1e-5) << row.name;
    EXPECT_TRUE(fingerprints.insert(std::to_string(run.at(3.0, "x") * 1e9)).second) << row.name;
  }
}

TEST(Methods, TheSummaryNamesEachMethodOnce) {
  EXPECT_EQ(method_summary(),
            "auto; dopri5, tsit5, bs3, dop853 (explicit); taylor (explicit, or of any index); "
            "rodas4, rodas5p, radau, radau5, radau9, radau13, bdf (implicit)");
}

TEST(Methods, ThePagesThatListMethodsNameEachOfThem) {
  for (const char* page :
       {"concepts/methods.md", "developer/steppers.md", "reference/command-line.md", "reference/cpp/simulate.md"}) {
    const std::string text = text_of(page);
    for (const MethodInfo& row : method_table()) {
      const bool cpp = std::string_view(page) == "reference/cpp/simulate.md";
      const std::string name(row.method == Method::automatic && cpp ? "automatic" : row.name);
      if (row.method == Method::automatic && std::string_view(page) == "developer/steppers.md") continue;
      EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << page << " does not name " << name;
    }
  }
}

TEST(Methods, AreMadeUnlessTheRunChooses) {
  for (const MethodInfo& row : method_table())
    EXPECT_EQ(row.make != nullptr, row.family != MethodFamily::automatic) << row.name;
}

}  // namespace
}  // namespace saltus
