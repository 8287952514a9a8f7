// Timing of several solvers on the same work, by turns, so that what disturbs the machine disturbs all of them.
#pragma once

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace saltus::bench {

/// What one run reports.
struct Work {
  long steps = 0, evaluations = 0, guard_evaluations = 0, events = 0;
  double error = 0.0;
  std::string note = {};
  double seconds = 0.0;  ///< of the solution alone; 0: all of it
};

inline double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The argument with this number, or `otherwise` if there are fewer. Ends the program, with its usage, where it is no number of `least` or more.
inline double argument(int argc, char** argv, int number, double otherwise, const char* usage, double least = 1.0) {
  if (argc <= number) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(argv[number], &end);
  if (end != argv[number] && *end == '\0' && value >= least) return value;
  fmt::print(stderr, "'{}' is not a number of at least {}; usage: {} {}\n", argv[number], least, argv[0], usage);
  std::exit(2);
}

class Table {
 public:
  static void header() {
    fmt::print("{:<22} {:<26} {:>7} {:>11} {:>10} {:>9} {:>10} {:>9} {:>8} {:>9}\n", "problem", "solver", "rtol", "time [ms]", "us/event",
               "steps", "evals", "guards", "events", "error");
  }
  void add(std::string solver, std::function<Work()> run) { rows_.push_back({std::move(solver), std::move(run), {}, 1e300}); }
  /// Runs everything `rounds` times and prints the least time of each.
  void run(const std::string& problem, double rtol, int rounds) {
    for (int round = 0; round < rounds; ++round)
      for (Row& row : rows_) {
        const double begin = cpu_seconds();
        row.work = row.run();
        row.seconds = std::min(row.seconds, row.work.seconds > 0.0 ? row.work.seconds : cpu_seconds() - begin);
      }
    for (const Row& row : rows_) {
      const Work& w = row.work;
      fmt::print("{:<22} {:<26} {:>7.0e} {:>11.3f} {:>10.3f} {:>9} {:>10} {:>9} {:>8} {:>9.1e} {}\n", problem, row.solver, rtol,
                 1e3 * row.seconds, 1e6 * row.seconds / static_cast<double>(std::max(1L, w.events)), w.steps, w.evaluations,
                 w.guard_evaluations, w.events, w.error, w.note);
    }
    std::fflush(stdout);
    rows_.clear();
  }

 private:
  struct Row {
    std::string solver;
    std::function<Work()> run;
    Work work;
    double seconds;
  };
  std::vector<Row> rows_;
};

}  // namespace saltus::bench
