// How much time does which error cost, with our methods and with the peers?
//
//   saltus_bench_work_precision [--only NAME]... [--json FILE] [--plots FOLDER] [--from 3] [--to 12] [--seconds 0.1]
//
// Every solver evaluates the same native code through the same System. CPU time; the least of several runs, solvers in
// turn, so that phases of a busy machine hit all alike. Errors are largest differences at the end over |reference| +
// atol/rtol.
#include "work_precision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>

using namespace saltus::bench;

namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double error_of(const Case& c, const std::vector<double>& x) {
  double largest = 0.0;
  const auto compare = [&](std::size_t j) {
    const double e = std::abs(x[j] - c.reference[j]) / (std::abs(c.reference[j]) + c.atol_factor);
    largest = e <= largest ? largest : e;
  };
  if (c.compared.empty())
    for (std::size_t j = 0; j < c.reference.size(); ++j) compare(j);
  else
    for (const int j : c.compared) compare(static_cast<std::size_t>(j));
  return largest;
}

Result run(const Case& c, const Solver& s, double rtol) {
  Result r{.problem = c.name, .solver = s.name, .ours = s.ours, .tolerance = rtol};
  c.rewind();
  const double begin = cpu_seconds();
  const Outcome o = s.solve(c, rtol);
  r.seconds = cpu_seconds() - begin;
  r.ok = o.ok && o.x.size() == c.x0.size();
  r.message = o.message;
  r.steps = o.steps;
  r.evaluations = o.evaluations;
  if (r.ok) r.error = error_of(c, o.x);
  r.ok = r.ok && std::isfinite(r.error) && r.error < 1.0;
  return r;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> only;
  std::string json, plots;
  int from = 3, to = 12;
  double budget = 0.1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--only") only.emplace_back(argv[i + 1]);
    if (option == "--json") json = argv[i + 1];
    if (option == "--plots") plots = argv[i + 1];
    if (option == "--from") from = std::atoi(argv[i + 1]);
    if (option == "--to") to = std::atoi(argv[i + 1]);
    if (option == "--seconds") budget = std::atof(argv[i + 1]);
  }
  std::vector<Solver> solvers = own_solvers();
#ifdef WITH_SUNDIALS
  for (Solver& s : sundials_solvers()) solvers.push_back(std::move(s));
#endif
#ifdef WITH_ODEINT
  for (Solver& s : odeint_solvers()) solvers.push_back(std::move(s));
#endif
  std::vector<Result> results;
  for (const Case& c : all_cases()) {
    if (!only.empty() && std::find(only.begin(), only.end(), c.name) == only.end()) continue;
    for (int decade = from; decade <= to; ++decade) {
      const double rtol = std::pow(10.0, -decade);
      std::vector<Result> best;
      for (const Solver& s : solvers) best.push_back(run(c, s, rtol));
      // small times are repeated, in turn
      double spent = 0.0;
      for (int round = 0; round < 20 && spent < budget * static_cast<double>(solvers.size()); ++round)
        for (std::size_t k = 0; k < solvers.size(); ++k) {
          if (!best[k].ok || best[k].seconds > budget) continue;
          const Result again = run(c, solvers[k], rtol);
          spent += again.seconds;
          best[k].seconds = std::min(best[k].seconds, again.seconds);
        }
      for (Result& r : best) {
        if (!r.ok && r.message.empty()) continue;
        fmt::print("{:22} {:16} {:.0e} {:9.1e} {:12.3f} ms {:8} steps {}\n", r.problem, r.solver, r.tolerance, r.error,
                   1e3 * r.seconds, r.steps, r.ok ? "" : "FAILED " + r.message);
        results.push_back(std::move(r));
      }
      std::fflush(stdout);
    }
  }
  print_table(results);
  if (!json.empty()) write_json(results, json);
  if (!plots.empty()) write_plots(results, plots);
}
