// What does an event of a large model cost: settled in the part in which it happens, and in the whole model?
//
//   saltus_bench_local_events [LARGEST [NAME [ROUNDS [SMALLEST]]]]
//
// LARGEST: cells, 10000 if not given; NAME: a word that the names of the models contain, all if not given; ROUNDS: of
// which the fastest counts, 3; SMALLEST: 100. The whole model is left out beyond 1000 cells.
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "models.hpp"

namespace {

using namespace saltus;

double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Prints a row, and returns the values at the end.
std::vector<double> measure(const bench::LargeModel& what, double cells, const std::shared_ptr<HybridSystem>& system,
                            bool local, int rounds) {
  double seconds = std::numeric_limits<double>::infinity();
  RunStatistics s;
  std::vector<double> values;
  std::string message;
  for (int round = 0; round < rounds; ++round) {
    Simulator run(
        system,
        {.stop = what.stop, .method = Method::dopri5, .local_events_from = local ? 2 : -1, .keep_event_values = false});
    const double begin = processor_seconds();
    run.run();
    seconds = std::min(seconds, processor_seconds() - begin);
    s = run.trajectory().statistics();
    values = run.values();
    if (!run.status().ok()) message = run.status().message;
  }
  std::printf("%-20s %7.0f  %-10s %7lld events %5lld steps %8lld runs of parts %8.1f us per event  %s\n", what.name,
              cells, local ? "in parts" : "one by one", static_cast<long long>(s.events),
              static_cast<long long>(s.steps), static_cast<long long>(s.part_runs),
              1e6 * seconds / static_cast<double>(std::max<std::int64_t>(1, s.events)), message.c_str());
  std::fflush(stdout);
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  const int largest = argc > 1 ? std::atoi(argv[1]) : 10000, rounds = argc > 3 ? std::atoi(argv[3]) : 3,
            smallest = argc > 4 ? std::atoi(argv[4]) : 100;
  for (const bench::LargeModel& what : bench::models_with_local_events) {
    if (argc > 2 && !std::strstr(what.name, argv[2])) continue;
    for (int size = smallest; size <= largest; size *= 10) {
      const int n = what.square ? static_cast<int>(std::lround(std::sqrt(size))) : size;
      const ModelicaModel text = load_modelica(what.text, "model.mo", {.parameters = {{"n", static_cast<double>(n)}}});
      const std::shared_ptr<HybridSystem> system = compile(text.model);
      const std::vector<double> parts = measure(what, what.square ? n * n : n, system, true, rounds);
      if (size > 1000) continue;
      const std::vector<double> whole = measure(what, what.square ? n * n : n, system, false, 1);
      double difference = 0.0;
      for (std::size_t j = 0; j < parts.size(); ++j) difference = std::max(difference, std::abs(parts[j] - whole[j]));
      std::printf("%-20s %7d  largest difference at the end %.1e\n", what.name, size, difference);
    }
  }
}
