#include "cli/check.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace saltus::cli {
namespace {

std::string check(const std::string& text, ExitCode expected, const std::vector<std::string>& more = {}) {
  const auto file = std::filesystem::temp_directory_path() /
                    (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".mo");
  std::ofstream(file) << text;
  std::vector<std::string> arguments{"check", file.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::ostringstream out, err;
  EXPECT_EQ(run_app({check_command()}, arguments, {.out = out, .err = err}), expected) << err.str();
  std::filesystem::remove(file);
  return out.str();
}

constexpr const char* pendulum = R"(model Pendulum
  Real x(start = 1, fixed = true), y(start = 0), u(start = 0, fixed = true), v, s;
equation
  der(x) = u;
  der(y) = v;
  der(u) = -s*x;
  der(v) = -s*y - 9.81;
  x^2 + y^2 = 1;
end Pendulum;
)";

TEST(Check, AMechanismShowsItsIndexAndCharacteristicValues) {
  const std::string out = check(pendulum, ExitCode::success);
  EXPECT_NE(out.find("5 variables"), std::string::npos) << out;
  EXPECT_NE(out.find("der(u) = -x*s"), std::string::npos) << out;
  EXPECT_NE(out.find(".mo:8:3"), std::string::npos) << out;
  EXPECT_NE(out.find("structural index 3, 2 degrees of freedom"), std::string::npos) << out;
  EXPECT_NE(out.find("mu = 2: d = 2 differential, a = 3 algebraic, u = 0 undetermined, v = 0 redundant"), std::string::npos) << out;
  EXPECT_NE(check(pendulum, ExitCode::success, {"--no-run"}).find("mu = 2"), std::string::npos);
}

TEST(Check, ScalingIsAsItWasAskedFor) {
  // how clearly ranks are decided shows the scaling: 'big' has a nominal value, and its equation is in small units
  const auto kept = [](const std::string& scaling) {
    const std::string out = check(R"(model Units
  Real x(start = 1, fixed = true), big(start = 1e6, fixed = true, nominal = 1e6), z;
equation
  der(x) + 1e-6*der(big) = -x;
  1e-4*(1e-6*der(big) + 1e-6*big*(1 + x^2) + sin(z)) = 0;
  z = x + 0.01*z^3;
end Units;
)",
                                  ExitCode::success, {"--no-run", "--scaling", scaling});
    const std::size_t place = out.find("kept ");
    EXPECT_NE(place, std::string::npos) << out;
    return std::stod(out.substr(place + 5));
  };
  const double automatic = kept("automatic"), nominal = kept("nominal"), off = kept("off");
  EXPECT_GT(automatic, 100.0 * nominal);
  EXPECT_GT(nominal, 10.0 * off);
}

TEST(Check, EveryModeOfTheRunIsListed) {
  const std::string out = check(R"(model Clutch
  Real w1(start = 10, fixed = true), w2(start = 2, fixed = true), tau;
equation
  der(w1) = -tau;
  3*der(w2) = tau;
  if time > 0.5 then w1 = w2; else tau = 0; end if;
end Clutch;
)",
                                ExitCode::success);
  // the torque is computed from 3*der(w2), which leaves two variables
  EXPECT_NE(out.find("mu = 0: d = 2 differential, a = 0 algebraic"), std::string::npos) << out;
  EXPECT_NE(out.find("mu = 0: d = 1 differential, a = 1 algebraic"), std::string::npos) << out;
}

TEST(Check, AModelWithoutContinuousVariablesShowsWhatItHas) {
  const std::string out = check(R"(model Counter
  Integer n(start = 0, fixed = true);
equation
  when sample(0, 0.25) then n = pre(n) + 1; end when;
end Counter;
)",
                                ExitCode::success);
  EXPECT_NE(out.find("no continuous variables\n1 discrete variables:\n  n  start = 0\n"), std::string::npos) << out;
  EXPECT_NE(out.find("1 clauses:\n  when sample(0, 0.25)"), std::string::npos) << out;
  EXPECT_NE(out.find("nothing to integrate"), std::string::npos) << out;
  EXPECT_EQ(out.find("explicit ordinary"), std::string::npos) << out;
}

TEST(Check, JsonHasWhatIsPrintedAndMore) {
  const std::string text = check(pendulum, ExitCode::success, {"--json", "-", "--stop", "0.1"});
  const auto json = nlohmann::json::parse(text);  // what people read goes to standard error then
  EXPECT_EQ(json["model"], "Pendulum");
  ASSERT_EQ(json["variables"].size(), 5u);
  EXPECT_EQ(json["variables"][0]["name"], "x");
  EXPECT_EQ(json["variables"][0]["start"], 1.0);
  EXPECT_EQ(json["variables"][0]["fixed"], true);
  EXPECT_EQ(json["equations"].size(), 5u);
  ASSERT_EQ(json["modes"].size(), 1u);
  EXPECT_EQ(json["modes"][0]["kind"], "implicit");
  EXPECT_EQ(json["modes"][0]["structure"]["index"], 3);
  EXPECT_EQ(json["modes"][0]["structure"]["degrees_of_freedom"], 2);
  EXPECT_EQ(json["modes"][0]["characteristic_values"]["mu"], 2);
  EXPECT_EQ(json["modes"][0]["characteristic_values"]["d"], 2);
  EXPECT_EQ(json["status"]["code"], "success");
  EXPECT_EQ(json["status"]["t"], 0.1);
}

TEST(Check, TheRunGoesFromStartToStop) {
  constexpr const char* late = R"(model Late
  Real x(start = 1, fixed = true);
equation
  der(x) = if time > 3 then -x else 1;
end Late;
)";
  const auto modes = [&](const std::vector<std::string>& options) {
    std::vector<std::string> more = options;
    more.insert(more.end(), {"--json", "-"});
    return nlohmann::json::parse(check(late, ExitCode::success, more))["modes"].size();
  };
  EXPECT_EQ(modes({}), 1u);
  EXPECT_EQ(modes({"--stop", "4"}), 2u);
  EXPECT_EQ(modes({"--start", "3.5", "--stop", "4"}), 1u);
}

}  // namespace
}  // namespace saltus::cli
