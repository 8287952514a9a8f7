// What does an event of a large model cost: settled in the part in which it happens, and in the whole model?
//
//   saltus_bench_local_events [LARGEST]     cells, 10000 if not given; the whole model is left out beyond 1000
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace saltus;

std::string name(const char* what, int k) {
  return std::string(what) + "[" + std::to_string(k) + "]";
}

/// A plate of cells, each with a heater and a thermostat of its own.
Model thermostats(int cells) {
  const int n = static_cast<int>(std::lround(std::sqrt(cells)));
  Model m("thermostats");
  const Expr k = m.parameter("k", 1.0);
  std::vector<Expr> T, on;
  for (int i = 0; i < n * n; ++i) {
    const double start = 18.0 + 4.0 * std::abs(std::sin(12.9898 * (i / n + 1) + 78.233 * (i % n + 1)));
    T.push_back(m.variable(name("T", i), start));
    on.push_back(m.discrete(name("on", i), 0.0));
  }
  const auto at = [&](int row, int column) {
    return T[static_cast<std::size_t>(std::clamp(row, 0, n - 1) * n + std::clamp(column, 0, n - 1))];
  };
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < n; ++c) {
      const auto i = static_cast<std::size_t>(r * n + c);
      const Expr from_others = at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1) - 4.0 * T[i];
      m.equation(der(T[i]) == k * from_others + 3.0 * on[i] - 0.1 * (T[i] - 10.0));
      m.when(T[i] > 21.0).assign(on[i], 0.0);
      m.when(T[i] < 19.0).assign(on[i], 1.0);
    }
  return m;
}

/// Masses on a moving belt, coupled by springs, with friction that falls with the speed.
Model belt(int n) {
  Model m("belt");
  std::vector<Expr> x, v;
  for (int i = 0; i < n; ++i) {
    x.push_back(m.variable(name("x", i), 0.8 * std::sin(7.31 * i)));
    v.push_back(m.variable(name("v", i), 0.2 * std::cos(3.7 * i)));
  }
  for (int i = 0; i < n; ++i) {
    const auto c = static_cast<std::size_t>(i);
    const Expr left = i > 0 ? x[c - 1] : x[c], right = i + 1 < n ? x[c + 1] : x[c], speed = v[c] - 0.3;
    m.equation(der(x[c]) == v[c]);
    m.equation(der(v[c]) == 0.2 * (left - 2.0 * x[c] + right) - x[c] - sign(speed) / (1.0 + abs(speed)));
  }
  return m;
}

/// A ring of neurons, each charged by its neighbour, and discharged where it reaches 1.
Model neurons(int n) {
  Model m("neurons");
  std::vector<Expr> u, w;
  for (int i = 0; i < n; ++i) {
    u.push_back(m.variable(name("u", i), std::fmod(0.618033988749895 * (i + 1), 1.0)));
    w.push_back(m.variable(name("w", i), 0.0));
  }
  for (int i = 0; i < n; ++i) {
    const auto c = static_cast<std::size_t>(i), before = static_cast<std::size_t>((i + n - 1) % n);
    m.equation(der(u[c]) == 1.2 - u[c] + 0.2 * w[before]);
    m.equation(der(w[c]) == -w[c] / 0.1);
    m.when(u[c] > 1.0).reset(u[c], 0.0).reset(w[c], w[c] + 1.0);
  }
  return m;
}

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Prints a row, and returns the values at the end.
std::vector<double> measure(const char* what, int cells, const CompiledModel& model, double stop, bool local) {
  Simulator run(
      std::make_shared<CompiledModel>(model),
      {.stop = stop, .method = Method::dopri5, .local_events_from = local ? 2 : -1, .keep_event_values = false});
  const double begin = processor_seconds();
  run.run();
  const double seconds = processor_seconds() - begin;
  const RunStatistics& s = run.trajectory().statistics();
  std::printf("%-12s %7d  %-11s %8lld events %8lld runs of parts %10.1f us per event  %s\n", what, cells,
              local ? "in parts" : "one by one", static_cast<long long>(s.events), static_cast<long long>(s.part_runs),
              1e6 * seconds / static_cast<double>(std::max<std::int64_t>(1, s.events)), run.status().message.c_str());
  return run.values();
}

}  // namespace

int main(int argc, char** argv) {
  const int largest = argc > 1 ? std::atoi(argv[1]) : 10000;
  struct Problem {
    const char* name;
    Model (*make)(int);
    double stop;
  };
  for (const Problem& problem :
       {Problem{"thermostats", thermostats, 0.3}, Problem{"belt", belt, 0.3}, Problem{"neurons", neurons, 1.0}})
    for (int cells = 100; cells <= largest; cells *= 10) {
      const CompiledModel model(problem.make(cells));
      const std::vector<double> parts = measure(problem.name, cells, model, problem.stop, true);
      if (cells > 1000) continue;
      const std::vector<double> whole = measure(problem.name, cells, model, problem.stop, false);
      double difference = 0.0;
      for (std::size_t j = 0; j < parts.size(); ++j) difference = std::max(difference, std::abs(parts[j] - whole[j]));
      std::printf("%-12s %7d  largest difference at the end %.1e\n", problem.name, cells, difference);
    }
}
