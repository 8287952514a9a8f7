// Every method of the table at the same time, on one compiled model; and models read from text in many threads.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>

#include <memory>

#include "threads/models.hpp"

namespace saltus::testing {
namespace {

/// Results of all methods, in the order of the table, from a model that nothing else uses.
std::vector<Fingerprint> each_alone(const Model& model, double stop) {
  std::vector<Fingerprint> results;
  for (const MethodInfo& row : method_table())
    results.push_back(fingerprint(simulate(model, {.stop = stop, .method = row.method})));
  return results;
}

// Each thread begins with another method, so that eight methods ask for their parts of the model at the same time.
TEST(MethodsInThreads, AllRunOneCompiledModelAtOnceWithTheSameBits) {
  constexpr double stop = 2.5;
  for (const auto make : {stick_slip, sampled_control}) {
    const Model model = make();
    SCOPED_TRACE(model.name());
    const std::vector<Fingerprint> expected = each_alone(model, stop);
    const CompiledModel compiled(model);
    const std::size_t methods = method_table().size();
    std::vector<std::vector<Fingerprint>> found(8, std::vector<Fingerprint>(methods));
    in_threads(8, [&](int thread) {
      for (std::size_t k = 0; k < methods; ++k) {
        const std::size_t row = (k + static_cast<std::size_t>(thread)) % methods;
        found[static_cast<std::size_t>(thread)][row] =
            fingerprint(simulate(compiled, {.stop = stop, .method = method_table()[row].method}));
      }
    });
    for (const auto& results : found)
      for (std::size_t row = 0; row < methods; ++row)
        EXPECT_TRUE(results[row] == expected[row]) << method_table()[row].name;
  }
}

constexpr const char* text = R"(
package P
  connector Pin
    Real v;
    flow Real i;
  end Pin;
  partial model TwoPins
    Pin p, n;
    Real v = p.v - n.v;
  equation
    p.i + n.i = 0;
  end TwoPins;
  model Resistor
    extends TwoPins;
    parameter Real R = 1;
  equation
    v = R*p.i;
  end Resistor;
  model Capacitor
    extends TwoPins(v(start = 1, fixed = true));
  equation
    der(v) = p.i;
  end Capacitor;
  model Ground
    Pin p;
  equation
    p.v = 0;
  end Ground;
  function limited
    input Real x;
    output Real y;
  algorithm
    y := if x > 0.5 then 0.5 else x;
  end limited;
  model Circuit
    Resistor r[2](R = {1, 2});
    Capacitor c;
    Ground ground;
    discrete Integer ticks(start = 0);
    Real y = limited(c.v);
  equation
    connect(r[1].n, r[2].p);
    connect(r[2].n, c.p);
    connect(c.n, r[1].p);
    connect(ground.p, c.n);
    when sample(0.1, 0.2) then
      ticks = pre(ticks) + 1;
    end when;
  end Circuit;
end P;
)";

TEST(ModelicaInThreads, OneTextIsReadAndRunByEightThreadsAtOnce) {
  const LoadOptions options{.model_name = "P.Circuit"};
  const auto run = [&] { return fingerprint(simulate(load_modelica(text, "P.mo", options).model, {.stop = 2.0})); };
  const Fingerprint expected = run();
  std::vector<Fingerprint> found(8);
  in_threads(8, [&](int thread) { found[static_cast<std::size_t>(thread)] = run(); });
  for (const Fingerprint& f : found) EXPECT_TRUE(f == expected);
}

TEST(ModelicaInThreads, ALoadedModelIsRunByEightThreadsAtOnce) {
  const ModelicaModel loaded = load_modelica(text, "P.mo", {.model_name = "P.Circuit"});
  const Fingerprint expected = fingerprint(simulate(loaded.model, {.stop = 2.0}));
  const CompiledModel compiled(loaded.model);
  std::vector<Fingerprint> found(8);
  in_threads(8, [&](int thread) {
    found[static_cast<std::size_t>(thread)] =
        fingerprint(thread % 2 == 0 ? simulate(compiled, {.stop = 2.0}) : simulate(loaded.model, {.stop = 2.0}));
  });
  for (const Fingerprint& f : found) EXPECT_TRUE(f == expected);
}

TEST(ModelicaInThreads, ErrorsHaveTheSameTextInEveryThread) {
  const auto message = [] {
    try {
      load_modelica("model M\n  Real x;\nequation\n  der(x) = y;\nend M;\n", "M.mo");
    } catch (const ModelicaError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string expected = message();
  EXPECT_FALSE(expected.empty());
  std::vector<std::string> found(8);
  in_threads(8, [&](int thread) { found[static_cast<std::size_t>(thread)] = message(); });
  for (const std::string& m : found) EXPECT_EQ(m, expected);
}

}  // namespace
}  // namespace saltus::testing
