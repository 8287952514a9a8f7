// How do time and memory of the analysis grow with the number of variables n?
//
// Structural analysis: equations and variables as a modeller writes them, and in random order. `growth` is the factor
// per factor of 10 in n; n log n would be 13.3, 12.5, 12. In random order the first pass over the structure reads
// memory at random, each place depending on the one before; the yardstick shows what such accesses cost at that size (a
// walk along a random cycle through as many numbers), so that one sees which part of the growth is the machine's.
//
// Analysis of the heat model (index 1; structure, consistent point and certificate): bytes that the analysis asks for,
// and the peak of a process for each n, which includes the sparse LU and the model itself.
#include <saltus/dae/characteristic_values.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <random>

#include "problems/heat.hpp"
#include "problems/structures.hpp"
#include "suites/count_allocations.hpp"

namespace {

using namespace saltus;

// Milliseconds of processor time, so that other programs matter less.
double now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

template <class Work>
double best_of(int repetitions, Work work) {
  double best = 1e300;
  for (int k = 0; k < repetitions; ++k) {
    const double start = now();
    work();
    best = std::min(best, now() - start);
  }
  return best;
}

double analysis_time(const Structure& structure) {
  volatile int index = 0;
  return best_of(5, [&] { index = analyse_structure(structure).index; });
}

// Nanoseconds of one access when each tells where the next one goes.
double random_access(int n) {
  std::vector<int> order(static_cast<std::size_t>(n)), next(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  for (std::size_t k = 0; k < order.size(); ++k) next[order[k]] = order[(k + 1) % order.size()];
  volatile int end = 0;
  return best_of(5,
                 [&] {
                   int at = 0;
                   for (int k = 0; k < n; ++k) at = next[at];
                   end = at;
                 }) *
         1e6 / n;
}

void structures() {
  struct Family {
    const char* name;
    Structure (*make)(int n);
    bool shuffle;
  };
  const Family families[] = {
      {"hanging chain, index 3", [](int n) { return problems::hanging_chain(n / 5); }, true},
      {"heat rod, index 1", [](int n) { return problems::heat_rod(n / 2); }, true},
      {"differentiators, index n", problems::differentiator_chain, false},
  };
  std::printf("\nstructural analysis\n%-26s %8s | %10s %7s | %10s %7s | %12s %7s\n", "", "n", "written ms", "growth",
              "random ms", "growth", "random access", "growth");
  for (const Family& family : families) {
    double last[3] = {0.0, 0.0, 0.0};
    for (int n : {1000, 10000, 100000, 1000000}) {
      const Structure structure = family.make(n);
      const int places = structure.state_pattern.nonzeros() + structure.derivative_pattern.nonzeros();
      const double time[3] = {analysis_time(structure),
                              family.shuffle ? analysis_time(problems::shuffled(structure, 1)) : 0.0,
                              random_access(2 * places)};  // rows and columns of the places
      std::printf("%-26s %8d |", family.name, n);
      for (int k = 0; k < 3; ++k) {
        if (time[k] == 0.0) {
          std::printf(" %10s %7s |", "-", "");
          continue;
        }
        std::printf(k < 2 ? " %10.2f" : " %10.1f ns", time[k]);
        if (last[k] > 0.0)
          std::printf(" %7.1f", time[k] / last[k]);
        else
          std::printf(" %7s", "");
        std::printf(k < 2 ? " |" : "\n");
        last[k] = time[k];
      }
    }
  }
}

void heat() {
  std::printf("heat model, all of the analysis\n%8s %10s %10s %16s %22s\n", "n", "status", "ms", "own bytes / n",
              "process, peak bytes / n");
  for (int n : {1000, 10000, 100000, 1000000}) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const problems::Problem p = problems::heat_rod_model(n / 2);
      suite::forget_peak();
      const double start = now();
      const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
      const double time = now() - start;
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      const bool right = values.status == AnalysisStatus::clear && values.numbers == p.expected;
      std::printf("%8d %10s %10.1f %16.0f %22.0f\n", n, right ? "clear" : "WRONG", time,
                  static_cast<double>(suite::peak_bytes()) / n, 1024.0 * static_cast<double>(usage.ru_maxrss) / n);
      std::fflush(stdout);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
}

}  // namespace

int main() {
  heat();  // first: its processes start with the memory of this one
  structures();
}
