// Models exported for model exchange and imported again: the same events, the same values as a run without FMUs.
#include <gtest/gtest.h>
#include <saltus/fmi/imported_fmu.hpp>
#include <saltus/hybrid/simulate.hpp>

#include <cmath>
#include <set>

#include "fmi/fmu_master.hpp"

namespace saltus::fmi_tests {
namespace {

struct Case {
  std::string name;
  FmiVersion version = FmiVersion::fmi2;

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

class RoundTrip : public testing::TestWithParam<Case> {};

TEST_P(RoundTrip, has_the_events_and_values_of_a_run) {
  const ModelicaModel model = gallery_model(GetParam().name);
  SimulateOptions options;
  options.stop = model.experiment.stop.value_or(1.0);
  options.rtol = options.atol = 1e-9;
  const Trajectory direct = simulate(model.model, options);
  ASSERT_TRUE(direct.status().ok()) << direct.status().message;
  const ScratchFile file("model.fmu");
  export_fmu(model, file.path(),
             {.version = GetParam().version, .kind = FmuKind::model_exchange, .library = SALTUS_FMU_LIBRARY});
  const auto fmu = import_fmu(file.path(), ImportOptions{.tolerance = 1e-9});
  const Trajectory back = simulate(fmu, options);
  ASSERT_TRUE(back.status().ok()) << back.status().message;
  // indicators are smooth, also those of slides; a restart at each event takes some steps more than a run
  EXPECT_LE(back.statistics().steps,
            3 * direct.statistics().steps + 20 * static_cast<std::int64_t>(back.events().size()) + 50);
  // events that change values or derivatives, up to repetitions at one instant
  const auto times = [](const Trajectory& run) {
    std::vector<double> list;
    for (const Event& e : run.events())
      if (e.t > run.t_start() && (list.empty() || e.t - list.back() > 1e-7)) list.push_back(e.t);
    return list;
  };
  const std::vector<double> expected = times(direct), found = times(back);
  // an FMU comes to rest where flights are lower than the tolerance: they are shorter than its square root
  const double last_flights = 10.0 * std::sqrt(options.rtol);
  const auto rests_soon = [&](double t) {
    return std::ranges::any_of(direct.events(), [&](const Event& e) {
      return e.kind == EventKind::contact && e.t >= t && e.t - t < last_flights;
    });
  };
  for (const double t : expected) {
    double nearest = 1e300;
    for (const double other : found) nearest = std::min(nearest, std::abs(other - t));
    EXPECT_LT(nearest, rests_soon(t) ? last_flights : 1e-5 * std::max(1.0, options.stop)) << "no event near " << t;
  }
  std::vector<double> sizes(direct.variables().size(), 1e-3);
  const auto samples = direct.sample(200);
  for (const auto& row : samples.values)
    for (std::size_t k = 0; k < row.size(); ++k) sizes[k] = std::max(sizes[k], std::abs(row[k]));
  double worst = 0.0;
  for (int i = 0; i <= 100; ++i) {
    const double t = options.stop * i / 100.0;
    const bool near = std::ranges::any_of(expected, [&](double e) { return std::abs(e - t) < 1e-4 * options.stop; });
    if (near) continue;
    const std::vector<double> exact = direct.at(t), values = back.at(t);
    for (std::size_t k = 0; k < exact.size(); ++k)
      worst = std::max(worst, std::abs(values[back.index(direct.variables()[k].name)] - exact[k]) / sizes[k]);
  }
  EXPECT_LT(worst, 1e-5);  // two runs with a tolerance of 1e-9 each, whose errors events amplify
}

std::vector<Case> round_trips() {
  // see refuses_modes_with_hidden_constraints
  const std::set<std::string> without = {"Clutch", "FrictionPendulum", "RopePendulum"};
  std::vector<Case> list;
  for (const std::string& name : gallery_names())
    if (!without.contains(name))
      for (const FmiVersion version : {FmiVersion::fmi2, FmiVersion::fmi3}) list.push_back({name, version});
  return list;
}

INSTANTIATE_TEST_SUITE_P(models, RoundTrip, testing::ValuesIn(round_trips()), [](const auto& test) {
  return test.param.name + (test.param.version == FmiVersion::fmi2 ? "2" : "3");
});

// Initial equations and clauses of the start see the values that inputs have there: they are set in Initialization
// Mode.
TEST(RoundTripInputs, are_known_when_the_fmu_is_initialised) {
  const ModelicaModel model = load_modelica(
      "model M input Real u; discrete input Real k(start = 1); input Integer n; input Boolean b; Real x, z(start = 2);"
      " discrete Real d, e; Integer i; Boolean up; initial equation x = u; z^2 = 4 + 5*k; equation der(x) = u;"
      " der(z) = 0; up = x > 0.5; algorithm when initial() then d := k; e := if b then 10 else 20; i := n; end when;"
      " end M;",
      "M.mo");
  const auto line = InputSignal::table({0.0, 1.0}, {0.6, 1.6});
  const std::map<std::string, InputSignal> given = {{"u", line},
                                                    {"k", InputSignal::constant(9.0)},
                                                    {"n", InputSignal::constant(3.0)},
                                                    {"b", InputSignal::constant(1.0)}};
  const std::map<std::string, InputSignal> other = {{"u", InputSignal::constant(-1.0)}};
  for (const FmiVersion version : {FmiVersion::fmi2, FmiVersion::fmi3}) {
    const ScratchFile file("model.fmu");
    export_fmu(model, file.path(),
               {.version = version, .kind = FmuKind::model_exchange, .library = SALTUS_FMU_LIBRARY});
    const auto fmu = import_fmu(file.path());
    // runs with other inputs in between change nothing, and results stay readable
    const Trajectory first = simulate(fmu, {.stop = 1.0, .inputs = given});
    const Trajectory second = simulate(fmu, {.stop = 1.0, .inputs = other});
    const Trajectory third = simulate(fmu, {.stop = 1.0, .inputs = given});
    const Trajectory plain = simulate(fmu, {.stop = 1.0});
    for (const auto& [run, inputs] :
         {std::pair(&first, &given), std::pair(&second, &other), std::pair(&third, &given)}) {
      ASSERT_TRUE(run->status().ok()) << run->status().message;
      const Trajectory direct = simulate(model.model, {.stop = 1.0, .inputs = *inputs});
      ASSERT_TRUE(direct.status().ok()) << direct.status().message;
      for (const double t : {0.0, 0.25, 1.0})
        for (const char* name : {"x", "z", "d", "e", "i", "up", "u", "k"})
          EXPECT_NEAR(run->at(t, name), direct.at(t, name), 1e-6) << name << " at " << t;
    }
    EXPECT_NEAR(first.at(0.0, "x"), 0.6, 1e-12);
    EXPECT_NEAR(first.at(0.0, "z"), 7.0, 1e-9);
    EXPECT_EQ(first.at(1.0, "d"), 9.0);
    EXPECT_EQ(second.at(0.0, "x"), -1.0);
    EXPECT_EQ(plain.at(0.0, "x"), 0.0);
    EXPECT_EQ(plain.at(1.0, "d"), 1.0);
  }
}

// A spin that loses a part at each of infinitely many impacts has lost all of it where they end; a counter has no limit
// there, and the run says so.
TEST(RoundTripResets, have_the_limits_of_infinitely_many) {
  const std::string ball =
      "model Ball Real h(start = 1, fixed = true), v(start = 0, fixed = true), w(start = 3, fixed = true); equation "
      "der(h) = v; der(v) = -9.81; der(w) = ";
  const auto exported = [](const std::string& text, const std::string& path, FmiVersion version) {
    export_fmu(load_modelica(text, "Ball.mo"), path,
               {.version = version, .kind = FmuKind::model_exchange, .library = SALTUS_FMU_LIBRARY});
    return import_fmu(path);
  };
  for (const FmiVersion version : {FmiVersion::fmi2, FmiVersion::fmi3}) {
    const ScratchFile file("ball.fmu");
    const Trajectory spin = simulate(
        exported(ball + "-w; when h < 0 then reinit(v, -0.7*pre(v)); reinit(w, 0.98*pre(w)); end when; end Ball;",
                 file.path(), version),
        {.stop = 5.0});
    ASSERT_TRUE(spin.status().ok()) << spin.status().message;
    EXPECT_NEAR(spin.at(5.0, "w"), 0.0, 1e-6);
    EXPECT_NEAR(spin.at(5.0, "h"), 0.0, 1e-6);
    const ScratchFile other("counter.fmu");
    const auto counter =
        exported(ball + "0; when h < 0 then reinit(v, -0.7*pre(v)); reinit(w, pre(w) + 1); end when; end Ball;",
                 other.path(), version);
    try {
      const Trajectory run = simulate(counter, {.stop = 5.0});
      EXPECT_FALSE(run.status().ok());
    } catch (const Error& problem) {
      EXPECT_NE(std::string(problem.what()).find("'w'"), std::string::npos) << problem.what();
    }
  }
}

TEST(RoundTripLimits, refuses_modes_with_hidden_constraints) {
  const ScratchFile file("model.fmu");
  for (const char* name : {"Clutch", "FrictionPendulum", "RopePendulum"}) {
    try {
      export_fmu(gallery_model(name), file.path(), {.kind = FmuKind::model_exchange, .library = SALTUS_FMU_LIBRARY});
      ADD_FAILURE() << name;
    } catch (const UsageError& problem) {
      EXPECT_NE(std::string(problem.what()).find("co-simulation has no such limit"), std::string::npos)
          << problem.what();
    }
    EXPECT_FALSE(std::filesystem::exists(file.path()));
  }
}

}  // namespace
}  // namespace saltus::fmi_tests
