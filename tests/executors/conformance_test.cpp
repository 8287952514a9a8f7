// What every HybridSystem promises, for kept loops, imported FMUs and the decorator of the sensitivities. (Families
// that are written by hand, compiled or forwarded: tests/hybrid/conformance_test.cpp.)
#include <gtest/gtest.h>
#include <saltus/model/compile.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/modelica/modelica.hpp>

#include <cmath>
#include <numbers>

#include "sens/watched_model.hpp"
#include "suites/hand_written_families.hpp"
#include "suites/hybrid_system_suite.hpp"
#ifdef SALTUS_FMU_LIBRARY
#include <saltus/fmi/export_fmu.hpp>
#include <saltus/fmi/imported_fmu.hpp>

#include "fmi/unpacked_fmu.hpp"
#endif

namespace saltus {
namespace {

using suite::Family;

constexpr int cells = 200;  // loops over fewer are written out

std::shared_ptr<HybridSystem> kept(const Model& model) {
  std::shared_ptr<HybridSystem> system = compile(model);
  EXPECT_EQ(dynamic_cast<const CompiledModel*>(system.get()), nullptr) << "the loop is written out";
  return system;
}

/// As suite::relay_model, many times.
std::shared_ptr<HybridSystem> relay_cells() {
  Model m("relays");
  const Array x = m.array("x", cells, -1.0), y = m.array("y", cells, 0.0);
  m.for_each(cells, [&](Index i) {
    const Expr u = if_else(x[i] > 0.0, 1.0, 0.0);
    m.equation(der(x[i]) == 0.5 + 0.25 * y[i] - u);
    m.equation(der(y[i]) == u);
  });
  return kept(m);
}

/// A thermostat and a counter in each cell, each beside its neighbour.
std::shared_ptr<HybridSystem> thermostat_cells() {
  Model m("thermostats");
  const Array T = m.array("T", cells, 20.0), on = m.discrete_array("on", cells, 1.0),
              n = m.discrete_array("n", cells, 0.0);
  m.for_each(cells, [&](Index i) {
    m.equation(der(T[i]) == 2.0 * on[i] - 1.0 + 0.1 * (T[max(i - 1, 0)] - T[i]));
    m.when(T[i] > 21.0).assign(on[i], 0.0).assign(n[i], m.pre(n[i]) + 1.0);
    m.when(T[i] < 19.0).assign(on[i], 1.0);
  });
  return kept(m);
}

template <Model (*model)()>
std::shared_ptr<HybridSystem> watched() {
  return std::make_shared<WatchedModel>(CompiledModel(model()), std::make_shared<std::vector<Act>>());
}

#ifdef SALTUS_FMU_LIBRARY
std::shared_ptr<HybridSystem> exchanged(const std::string& text, double stop) {
  const TemporaryFolder folder;
  ModelicaModel model = load_modelica(text, "family.mo");
  model.experiment.stop = stop;
  export_fmu(model, folder.path() + "/family.fmu", {.kind = FmuKind::model_exchange, .library = SALTUS_FMU_LIBRARY});
  return import_fmu(folder.path() + "/family.fmu", ImportOptions{.stop = stop, .tolerance = 1e-10});
}
std::shared_ptr<HybridSystem> exchanged_relay() {
  return exchanged(
      "model Relay Real x(start = -1, fixed = true), y(start = 0, fixed = true); equation der(x) = 0.5 + 0.25*y - (if "
      "x "
      "> 0 then 1 else 0); der(y) = if x > 0 then 1 else 0; end Relay;",
      6.0);
}
std::shared_ptr<HybridSystem> exchanged_counter() {
  return exchanged(
      "model Counter Real x(start = 0, fixed = true); discrete Real n(start = 0, fixed = true); equation der(x) = 1; "
      "when x > 1 then reinit(x, 0); n = pre(n) + 1; end when; end Counter;",
      7.5);
}
#endif

std::vector<double> repeat(const std::vector<double>& each) {
  std::vector<double> all;
  for (const double value : each) all.insert(all.end(), cells, value);
  return all;
}

std::vector<Family> families() {
  // see the families of tests/hybrid/conformance_test.cpp
  const double exit = 2.0 + 4.0 * std::numbers::ln2, rest = 6.0 - exit, period = 1.0 + std::numbers::ln2;
  const std::vector<double> relay{rest * rest / 8.0, 2.0 + rest};
  const std::vector<std::string> slide{"slide_enter", "slide_exit"};
  std::vector<Family> list{
      {"RelayInCells", relay_cells, 6.0, repeat(relay), slide},
      // all rise to 21 in 1, fall to 19 in 2, rise in 2: T = 20 at t = 6, after 1 + 1 turns
      {"ThermostatInCells", thermostat_cells, 6.0, repeat({20.0, 0.0, 2.0}), {}},
      {"RelayWatched", watched<suite::relay_model>, 6.0, relay, slide},
      {"BallWatched", watched<suite::ball_model>, 12.0, {8.0 / 60.0, 0.2}, {}},
      {"AutomatonWatched", watched<suite::automaton_model>, 7.0, {7.0 - 4.0 * period, 4.0}, {}},
  };
#ifdef SALTUS_FMU_LIBRARY
  const std::vector<Method> without_derivatives{Method::automatic, Method::dop853, Method::rodas5p, Method::radau};
  // (an FMU shows derivatives, too)
  const std::vector<double> exchanged{relay[0], relay[1], 0.25 * relay[1] - 0.5, 1.0};
  list.push_back({"RelayExchanged", exchanged_relay, 6.0, exchanged, {}, without_derivatives});
  list.push_back({"CounterExchanged", exchanged_counter, 7.5, {0.5, 7.0, 1.0}, {}, without_derivatives});
#endif
  return list;
}

class Conformance : public testing::TestWithParam<Family> {};

TEST_P(Conformance, KeepsItsPromises) {
  suite::conforms(GetParam());
}

INSTANTIATE_TEST_SUITE_P(HybridSystem, Conformance, testing::ValuesIn(families()),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace saltus
