// Arrays and loops of C++ models: kept as cells, written out, and written by hand, all with the same results.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compile.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/model.hpp>

#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace saltus {
namespace {

bool is_written_out(const HybridSystem& system) {
  return dynamic_cast<const CompiledModel*>(&system) != nullptr;
}

/// Compares events and values of two runs.
void expect_same(const Trajectory& a, const Trajectory& b, double difference) {
  ASSERT_EQ(a.status().code, b.status().code) << a.status().message << " | " << b.status().message;
  ASSERT_EQ(a.variables().size(), b.variables().size());
  for (std::size_t k = 0; k < a.variables().size(); ++k) {
    ASSERT_EQ(a.variables()[k].name, b.variables()[k].name);
    ASSERT_EQ(a.variables()[k].start, b.variables()[k].start);
    ASSERT_EQ(a.variables()[k].fixed, b.variables()[k].fixed);
    ASSERT_EQ(*a.variables()[k].details, *b.variables()[k].details);
  }
  ASSERT_EQ(a.final().size(), b.final().size());
  for (std::size_t k = 0; k < a.final().size(); ++k) ASSERT_NEAR(a.final()[k], b.final()[k], difference) << k;
  ASSERT_EQ(a.events().size(), b.events().size());
  for (std::size_t k = 0; k < a.events().size(); ++k) {
    ASSERT_NEAR(a.events()[k].t, b.events()[k].t, difference);
    ASSERT_EQ(a.events()[k].kind, b.events()[k].kind);
    if (difference == 0.0) {
      ASSERT_EQ(a.events()[k].describe(), b.events()[k].describe());
    }
  }
}

/// A model of loops three ways: as cells, written out by the library, and with the loops of C++.
void compare(const std::function<Model(bool loops)>& make, double stop, bool kept = true, double difference = 0.0,
             double tolerance = 1e-6) {
  const SimulateOptions options{.stop = stop, .rtol = tolerance, .atol = tolerance, .flights_after = -1};
  const Model loops = make(true), by_hand = make(false);
  const auto cells = compile(loops);
  ASSERT_EQ(is_written_out(*cells), !kept);
  const auto written = std::make_shared<CompiledModel>(loops), plain = std::make_shared<CompiledModel>(by_hand);
  const Trajectory a = simulate(cells, options), b = simulate(written, options), c = simulate(plain, options);
  ASSERT_EQ(a.status().code, StatusCode::success) << a.status().message;
  expect_same(b, c, difference);
  expect_same(a, b, difference);
  EXPECT_TRUE(a.statistics().local_events > 0 || b.statistics().local_events == 0);
}

/// Writes the passes of a loop with it or without.
void each(Model& m, bool loops, const IndexRange& range, const std::function<void(const Index&)>& body) {
  if (loops) return m.for_each(range, body);
  for (int i = range.first; i < range.end; ++i) body(i);
}

std::vector<double> starts(int n) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(20.0 + std::sin(0.7 * i));
  return values;
}

Model rod(int n, bool loops) {
  Model m("rod");
  const Expr k = m.parameter("k", 30.0);
  const Array T = m.array("T", n, starts(n), {.fixed = true});
  m.equation(der(T[0]) == k * (T[1] - T[0]));
  each(m, loops, {1, n - 1}, [&](const Index& i) { m.equation(der(T[i]) == k * (T[i - 1] - 2.0 * T[i] + T[i + 1])); });
  m.equation(der(T[n - 1]) == k * (T[n - 2] - T[n - 1]));
  return m;
}

TEST(ArrayLoops, ARodIsTheSameThreeWays) {
  compare([](bool loops) { return rod(300, loops); }, 0.3);
  compare([](bool loops) { return rod(20, loops); }, 0.3, false);  // small models are written out
}

TEST(ArrayLoops, ARodHasTheExactDecay) {
  // T_i = sin(pi (i + 1)/(n + 1)) decays with lambda = 2 k (cos(pi/(n + 1)) - 1)
  constexpr int n = 400;
  constexpr double pi = 3.14159265358979323846, k = 1e4;
  Model m("rod");
  std::vector<double> start;
  for (int i = 0; i < n; ++i) start.push_back(std::sin(pi * (i + 1) / (n + 1)));
  const Array T = m.array("T", n, start, {.fixed = true});
  m.equation(der(T[0]) == k * (T[1] - 2.0 * T[0]));
  m.for_each({1, n - 1}, [&](const Index& i) { m.equation(der(T[i]) == k * (T[i - 1] - 2.0 * T[i] + T[i + 1])); });
  m.equation(der(T[n - 1]) == k * (T[n - 2] - 2.0 * T[n - 1]));
  const Trajectory run = simulate(m, {.stop = 2.0, .rtol = 1e-8, .atol = 1e-10});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  const double decay = std::exp(2.0 * 2.0 * k * (std::cos(pi / (n + 1)) - 1.0));
  for (int i = 0; i < n; ++i)
    EXPECT_NEAR(run.final()[static_cast<std::size_t>(i)], decay * start[static_cast<std::size_t>(i)], 1e-6);
}

Model thermostats(int n, bool loops) {
  Model m("thermostats");
  const Array T = m.array("T", n, starts(n), {.fixed = true}), loss = m.array("loss", n);
  const BoolArray on = m.discrete_array("on", n, false);
  std::vector<double> powers;
  for (int i = 0; i < n; ++i) powers.push_back(4.0 + 0.003 * i);
  const Array power = m.parameter_array("power", powers);
  const Expr outside = m.variable("outside", 5.0, {.fixed = true});
  m.equation(der(outside) == 0.1);
  each(m, loops, n, [&](const Index& i) {
    m.equation(loss[i] == 0.2 * (T[i] - outside));
    m.equation(der(T[i]) ==
               if_else(on[i], power[i], 0.0) - loss[i] + 0.1 * (T[max(i - 1, 0)] - 2.0 * T[i] + T[min(i + 1, n - 1)]));
    m.when(T[i] < 19.0).assign(on[i], true).otherwise_when(T[i] > 21.0).assign(on[i], false);
  });
  return m;
}

TEST(ArrayLoops, ThermostatsSwitchAtTheSameTimes) {
  compare([](bool loops) { return thermostats(250, loops); }, 3.0, true, 1e-4);
  compare([](bool loops) { return thermostats(30, loops); }, 3.0, false);
}

TEST(ArrayLoops, NumbersOfPassesAreData) {
  const auto make = [](bool loops) {
    constexpr int n = 260;
    Model m("numbers");
    const Array x = m.array("x", n, 1.0, {.fixed = true});
    each(m, loops, n, [&](const Index& i) { m.equation(der(x[i]) == -0.01 * i.number() * x[i] + pow(x[i], 2.0)); });
    m.for_each(0, [&](const Index& i) { m.equation(x[i] == 0.0); });  // no pass at all
    return m;
  };
  compare(make, 0.4);
  // x' = -a x + x^2: x = a/(1 - (1 - a) e^(a t))
  const Trajectory run = simulate(make(true), {.stop = 0.4, .rtol = 1e-9, .atol = 1e-11});
  for (const int i : {0, 1, 7, 100, 259}) {
    const double a = 0.01 * i, exact = i == 0 ? 1.0 / (1.0 - 0.4) : a / (1.0 - (1.0 - a) * std::exp(0.4 * a));
    EXPECT_NEAR(run.final()[static_cast<std::size_t>(i)], exact, 1e-7) << i;
  }
}

TEST(ArrayLoops, ImpactsAndValuesBeforeThem) {
  const auto make = [](bool loops) {
    constexpr int n = 220;
    Model m("balls");
    std::vector<double> heights;
    for (int i = 0; i < n; ++i) heights.push_back(1.0 + 0.01 * i);
    const Array h = m.array("h", n, heights, {.fixed = true}), v = m.array("v", n, 0.0, {.fixed = true});
    const Array hits = m.discrete_array("hits", n, 0.0);
    each(m, loops, n, [&](const Index& i) {
      m.equation(der(h[i]) == v[i]);
      m.equation(der(v[i]) == -9.81);
      m.when(h[i] < 0.0).reset(v[i], -0.8 * v[i]).assign(hits[i], m.pre(hits[i]) + 1.0);
    });
    return m;
  };
  compare(make, 1.0, true, 1e-6);
  const Trajectory run = simulate(make(true), {.stop = 1.0});
  for (const int i : {0, 100, 219}) {
    const double first = std::sqrt(2.0 * (1.0 + 0.01 * i) / 9.81), speed = 0.8 * 9.81 * first, later = 1.0 - first;
    EXPECT_NEAR(run.final()[static_cast<std::size_t>(i)], speed * later - 4.905 * later * later, 1e-5);
    EXPECT_EQ(run.final()[static_cast<std::size_t>(440 + i)], 1.0);
  }
}

TEST(ArrayLoops, PlatesHaveTwoSubscripts) {
  const auto make = [](bool loops) {
    constexpr int nx = 24, ny = 17;
    Model m("plate");
    const Array T = m.array("T", {nx, ny}, starts(nx * ny), {.fixed = true});
    const auto equation = [&](const Index& i, const Index& j) {
      m.equation(der(T(i, j)) == 5.0 * (T(max(i - 1, 0), j) + T(min(i + 1, nx - 1), j) + T(i, max(j - 1, 0)) +
                                        T(i, min(j + 1, ny - 1)) - 4.0 * T(i, j)));
    };
    if (loops) {
      m.for_each({0, 10}, ny, equation);
      m.for_each({10, nx}, [&](const Index& i) {  // loops inside of loops
        m.for_each(ny, [&](const Index& j) { equation(i, j); });
      });
    } else {
      for (int i = 0; i < nx; ++i)
        for (int j = 0; j < ny; ++j) equation(i, j);
    }
    return m;
  };
  compare(make, 0.2, true, 1e-9);  // terms have another order
  EXPECT_EQ(make(true).data().variables[17 * 3 + 5].name(), "T[3,5]");
}

/// A model with random loops: neighbours at random distances, scalars, single elements, numbers, clauses.
Model random_model(unsigned seed, bool loops) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const auto real = [&] { return std::uniform_real_distribution<double>(-1.0, 1.0)(random); };
  const int n = 200 + below(40);
  Model m("random");
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(real());
  const Array x = m.array("x", n, values, {.fixed = true}), y = m.array("y", n), r = m.parameter_array("r", values);
  const Array q = m.discrete_array("q", n, 0.0);
  const Expr s = m.variable("s", 0.5, {.fixed = true}), w = m.variable("w"), a = m.parameter("a", real());
  const int cut = below(2) == 0 ? n : 1 + below(n - 1);  // one loop, or two
  std::vector<double> factors;
  for (int k = 0; k < 8; ++k) factors.push_back(real());
  const int left = 1 + below(3), right = 1 + below(3), single = below(n), kind = below(4);
  const double threshold = 0.5 * real();
  const auto body = [&](const Index& i) {
    m.equation(y[i] == factors[0] * x[i] + factors[1] * s);
    Expr side = factors[2] * x[max(i - left, 0)] + factors[3] * x[min(i + right, n - 1)] + 0.3 * y[i] - x[i] +
                factors[4] * sin(x[single]) + a * x[i] * s;
    if (kind % 2 == 0) side += 0.1 * r[i] + 1e-3 * i.number();
    m.equation(der(x[i]) == side + 0.2 * q[i]);
    const When jump = m.when(x[i] > threshold).assign(q[i], m.pre(q[i]) + 1.0);
    if (kind >= 2) When(jump).reset(x[i], x[i] - 0.7);
  };
  each(m, loops, {0, cut}, body);
  each(m, loops, {cut, n}, body);
  m.equation(der(s) == 0.1 * (x[0] - s));
  m.equation(w == s * s);
  return m;
}

TEST(ArrayLoops, RandomOnesAreTheSameThreeWays) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    compare([&](bool loops) { return random_model(seed, loops); }, 1.0, true, 1e-5, 1e-8);
    if (HasFatalFailure()) return;
  }
}

TEST(ArrayLoops, VariablesOfOthersAndAssertionsAreKeptInitialEquationsAreNot) {
  const auto make = [](bool loops, int which) {
    constexpr int n = 210;
    Model m("rest");
    const Array x = m.array("x", n, 1.0, {.fixed = which != 2}), y = m.array("y", n);
    each(m, loops, n, [&](const Index& i) {
      m.equation(y[i] == 0.5 * x[i]);
      m.equation(der(x[i]) == -(which == 0 ? y[max(i - 1, 0)] : y[i]));
      if (which == 1) m.assertion(x[i] > 0.0, "x is positive");
      if (which == 2) m.initial_equation(x[i] == 1.0 + 0.1 * i.number());
    });
    return m;
  };
  for (const int which : {0, 1, 2}) {
    SCOPED_TRACE(which);
    compare([&](bool loops) { return make(loops, which); }, 0.5, which != 2, 1e-11);
  }
}

TEST(ArrayLoops, ValuesBeforeAnEventMayBeThoseOfOthers) {
  // of a discrete variable, which all cells would read; of a single element; of a scalar state; of a neighbour
  const auto make = [](bool loops, int which) {
    constexpr int n = 220;
    Model m("before");
    const Array T = m.array("T", n, 1.0, {.fixed = true}), c = m.discrete_array("c", n, 0.0);
    const Expr q = m.discrete("q", 2.0), s = m.variable("s", 0.5, {.fixed = true});
    m.equation(der(s) == 1.0);
    m.when(s > 0.7).assign(q, 5.0);
    each(m, loops, n, [&](const Index& i) {
      m.equation(der(T[i]) == -T[i] * (1.0 + 1e-3 * i.number()));
      const Expr sources[] = {m.pre(q), m.pre(T[0]), m.pre(s), m.pre(T[max(i - 1, 0)])};
      m.when(T[i] < 0.5).assign(c[i], sources[which]);
    });
    return m;
  };
  for (const int which : {0, 1, 2, 3}) {
    SCOPED_TRACE(which);
    compare([&](bool loops) { return make(loops, which); }, 1.0, which != 0, 1e-6, 1e-8);
    if (HasFatalFailure()) return;
  }
  // T[100] falls below 1/2 at ln 2/1.1; s = 1/2 + t
  const Trajectory run = simulate(make(true, 2), {.stop = 1.0, .rtol = 1e-9, .atol = 1e-9});
  EXPECT_NEAR(run.at(1.0, "c[100]"), 0.5 + std::log(2.0) / 1.1, 1e-7);
}

TEST(ArrayLoops, ElementsHaveNamesAndValues) {
  Model m = rod(250, true);
  m.set("T[7]", 90.0);
  m.set("k", 10.0);
  EXPECT_EQ(m.symbol("T[7]").name(), "T[7]");
  EXPECT_EQ(m.data().variable_info[7].start, 90.0);
  EXPECT_THROW(m.set("T[250]", 1.0), ModelError);
  EXPECT_THROW(m.set("T[1,2]", 1.0), ModelError);
  EXPECT_THROW(m.variable("T"), ModelError);
  // the model can be changed after it was read, and copied
  const Expr total = m.variable("total");
  Model copied = m.copy();
  std::vector<Expr> terms;
  for (int i = 0; i < 250; ++i) terms.push_back(m.symbol("T[" + std::to_string(i) + "]"));
  m.equation(total == sum(terms));
  const Trajectory run = simulate(m, {.stop = 0.1});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  double expected = 90.0 - starts(250)[7];
  for (const double start : starts(250)) expected += start;
  EXPECT_NEAR(run.at(0.1, "total"), expected, 1e-3);
}

TEST(ArrayLoops, SeveralThreadsCompileAndRunOneModel) {
  const Model m = thermostats(220, true);
  std::vector<std::vector<double>> finals(6);
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < finals.size(); ++k)
    threads.emplace_back([&, k] {
      const SimulateOptions options{.stop = 1.0, .flights_after = -1};
      finals[k] = k % 2 == 0 ? simulate(m, options).final() : simulate(CompiledModel(m), options).final();
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t k = 2; k < finals.size(); ++k) EXPECT_EQ(finals[k], finals[k - 2]);
  ASSERT_EQ(finals[0].size(), finals[1].size());
  for (std::size_t k = 0; k < finals[0].size(); ++k) EXPECT_NEAR(finals[0][k], finals[1][k], 1e-4);
}

TEST(ArrayLoops, MistakesAreTold) {
  Model m("wrong");
  const Array T = m.array("T", 5);
  const auto message = [](const std::function<void()>& act) {
    try {
      act();
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([&] { m.for_each(5, [&](const Index& i) { m.equation(der(T[i]) == T[i + 1]); }); }),
            "for_each: T[i + 1] with i = 4 has the subscript 5, but subscripts 1 of 'T' are 0 … 4");
  EXPECT_EQ(m.data().equations.size(), 0u);  // nothing is left of it
  EXPECT_NE(message([&] { m.for_each(5, [&](const Index&) { m.variable("x"); }); }).find("for_each: the body"),
            std::string::npos);
  EXPECT_NE(message([&] { m.array("T", 3); }).find("declared twice"), std::string::npos);
  EXPECT_NE(message([&] { m.array("U", 0); }).find("positive"), std::string::npos);
  EXPECT_NE(message([&] { m.array("U", 3, {1.0, 2.0}); }).find("3 elements, but 2 values"), std::string::npos);
  EXPECT_NE(message([&] { T[7]; }).find("has no element 7"), std::string::npos);
  EXPECT_NE(message([&] { T(1, 2); }).find("1 subscripts, not 2"), std::string::npos);
  // clauses and elements of a loop do not leave it
  std::optional<When> left;
  Expr kept;
  m.for_each(5, [&](const Index& i) {
    m.equation(der(T[i]) == 0.1);
    left = m.when(T[i] > 1.0);
    kept = T[i];
  });
  EXPECT_NE(message([&] { left->terminate(); }).find("body of that loop"), std::string::npos);
  std::optional<Index> index;
  m.for_each(5, [&](const Index& i) { index = i; });
  EXPECT_EQ(message([&] { m.for_each(5, [&](const Index&) { m.equation(T[*index] == 0.0); }); }),
            "an index is used outside of its loop");
  EXPECT_EQ(message([&] { m.for_each(5, [&](const Index& i) { m.equation(T[i + *index] == 0.0); }); }),
            "an index is used outside of its loop");
  EXPECT_EQ(message([&] { m.for_each(5, [&](const Index&) { m.equation(kept == 0.0); }); }),
            "'T[i]' stands outside of the loop whose index it has");
  When outside = m.when(m.time() > 1.0);
  EXPECT_NE(message([&] { m.for_each(5, [&](const Index& i) { outside.reset(T[i], 0.0); }); }).find("outside of loops"),
            std::string::npos);
  Model copied = m.copy();
  m.assertion(kept < 5.0, "too large");
  EXPECT_EQ(message([&] { simulate(m); }), "'T[i]' stands outside of the loop whose index it has");
  Model other("other");
  const Array U = other.array("U", 5);
  EXPECT_NE(message([&] { m.for_each(5, [&](const Index& i) { m.equation(U[i] == 0.0); }); }).find("another model"),
            std::string::npos);
}

}  // namespace
}  // namespace saltus
