// What the parts of the work-precision benchmark share: problems, solvers, results.
#pragma once

#include <saltus/dae/system.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace saltus::bench {

/// A problem to be solved from t0 to t1, with a reference there.
struct Case {
  std::string name;
  std::shared_ptr<System> system;   ///< as the user writes it
  std::shared_ptr<System> reduced;  ///< without hidden constraints, for our implicit methods; null: the system itself
  double t0 = 0.0, t1 = 1.0;
  std::vector<double> x0, xp0, reference;
  std::vector<int> compared;   ///< variables whose error counts; empty: all
  double atol_factor = 1.0;    ///< atol = atol_factor * rtol
  bool stiff = false;          ///< not for series
  std::function<void()> rewind = [] {};  ///< before each run: forgets what the reduction has learnt
  /// The same problem in a form of index 2 for peers that need one; null: they get the system.
  std::shared_ptr<System> stabilised;
  std::vector<double> stabilised_x0, stabilised_xp0;
};

struct Outcome {
  bool ok = false;
  std::string message;
  std::vector<double> x;  ///< at t1
  long steps = 0, evaluations = 0;
};

/// One way to solve problems. `solve` gives nothing (ok = false, empty message) for problems that it is not made for.
struct Solver {
  std::string name;
  bool ours = false;
  std::function<Outcome(const Case&, double rtol)> solve;
};

struct Result {
  std::string problem, solver;
  bool ours = false, ok = false;
  double tolerance = 0.0, error = 0.0, seconds = 0.0;
  long steps = 0, evaluations = 0;
  std::string message;
};

std::vector<Case> all_cases();
std::vector<Solver> own_solvers();
std::vector<Solver> sundials_solvers();  // if built with it
std::vector<Solver> odeint_solvers();    // if built with it

/// Seconds at this error by interpolation (in logarithms) on the lower envelope of a solver's results; NaN outside.
double time_at_error(const std::vector<Result>& results, const std::string& problem, const std::string& solver,
                     double error);
void print_table(const std::vector<Result>& results);
void write_json(const std::vector<Result>& results, const std::string& file);
/// One plot per problem by gnuplot, into a folder.
void write_plots(const std::vector<Result>& results, const std::string& folder);

}  // namespace saltus::bench
