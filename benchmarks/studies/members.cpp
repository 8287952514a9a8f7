// Members of studies: each by a Simulator, eight at a time in lanes, and on a CUDA device where there is one. Lanes and
// device must have the same bits; lanes and full runs must agree in the number of events.
#include <fmt/format.h>
#include <saltus/saltus.hpp>
#include <saltus/study/run_study.hpp>

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace saltus::bench {
namespace {

struct Problem {
  std::string name;
  Model model;
  StudyPlan plan;
};

/// A driven oscillator that hits a wall, sampled once in a period of the force.
Problem impact(std::int64_t members, std::int64_t periods) {
  Model m("impact");
  const Expr omega = m.parameter("omega", 0.8);
  const Expr x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true}), T = m.variable("T");
  m.equation(der(x) == v);
  m.equation(der(v) == cos(omega * m.time()) - x - 0.1 * v);
  m.equation(T == 6.283185307179586 / omega);
  m.when(x > 1.0).reset(v, -0.7 * v);
  StudyPlan plan{
      .axes = {{"omega", 0.6, 1.6, members}},
      .simulate = {.rtol = 1e-6, .atol = 1e-6},
      .sampling = {.at = SampleAt::period, .variable = "T", .transient = periods - periods / 4, .keep = periods / 4},
      .collect = {{Collect::sample, "x"}}};
  return {"impacts", std::move(m), std::move(plan)};
}

/// Dry friction: sticks and slips.
Problem friction(std::int64_t members) {
  Model m("friction");
  const Expr r = m.parameter("r", 3.0);
  const Expr x = m.variable("x", 0.1, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == sin(m.time() / r) - x - 0.4 * sign(v));
  return {"dry friction",
          std::move(m),
          {.axes = {{"r", 1.0, 5.0, members}},
           .simulate = {.stop = 400.0, .rtol = 1e-6, .atol = 1e-6},
           .collect = {{Collect::final_value, "x"}, {Collect::final_value, "v"}}}};
}

/// A converter whose switch is turned at the ends of a band.
Problem converter(std::int64_t members) {
  Model m("converter");
  const Expr band = m.parameter("band", 0.4);
  const Expr i = m.variable("i", 0.0, {.fixed = true}), u = m.variable("u", 0.0, {.fixed = true});
  const Expr on = m.discrete("on", 1.0);
  m.equation(der(i) == (24.0 * on - u) / 0.02);
  m.equation(der(u) == (i - u / 20.0) / 47e-6);
  m.when(u > 11.0 + band).assign(on, 0.0);
  m.when(u < 11.0).assign(on, 1.0);
  return {"converter",
          std::move(m),
          {.axes = {{"band", 0.1, 0.6, members}},
           .simulate = {.stop = 0.1, .rtol = 1e-6, .atol = 1e-6},
           .collect = {{Collect::final_value, "i"}, {Collect::final_value, "u"}}}};
}

StudyResult timed(const Problem& problem, const char* way, MemberPath path, std::shared_ptr<StudyExecutor> executor,
                  int threads) {
  StudyPlan plan = problem.plan;
  plan.path = path;
  const Study study(problem.model, plan);
  const auto begin = std::chrono::steady_clock::now();
  StudyResult result =
      run_study(study, {.threads = threads, .block = study.members(), .executor = std::move(executor)});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  double steps = 0.0, events = 0.0, flown = 0.0;
  for (const double v : result.values("steps")) steps += v;
  for (const double v : result.values("events")) events += v;
  for (const double v : result.values("path")) flown += v == 1.0 ? 1.0 : 0.0;
  fmt::print(
      "{:<14} {:<6} {:>9} members {:>9.3f} s {:>10.0f} members/s {:>8.1f} ns/step {:>12.0f} events {:>9} in lanes\n",
      problem.name, way, result.members(), seconds, static_cast<double>(result.members()) / seconds,
      1e9 * seconds / steps, events, static_cast<std::int64_t>(flown));
  std::fflush(stdout);
  return result;
}

std::int64_t different(const StudyResult& a, const StudyResult& b) {
  std::int64_t count = 0;
  for (const StudyArray& array : a.arrays()) {
    const std::vector<double> x = a.values(array.name), y = b.values(array.name);
    for (std::size_t k = 0; k < x.size(); ++k)
      count += std::bit_cast<std::uint64_t>(x[k]) != std::bit_cast<std::uint64_t>(y[k]) ? 1 : 0;
  }
  return count;
}

void run(const Problem& problem, bool with_full, int threads) {
  const StudyResult lanes = timed(problem, "lanes", MemberPath::lanes, make_lane_executor(threads), threads);
  if (with_full) {
    const StudyResult full = timed(problem, "full", MemberPath::full, make_thread_executor(threads), threads);
    fmt::print("  numbers of events {}\n", full.values("events") == lanes.values("events") ? "agree" : "DIFFER");
  }
  StudyPlan plan = problem.plan;
  plan.path = MemberPath::lanes;
  const std::vector<std::string> obstacles = obstacles_to_device(Study(problem.model, plan));
  if (!obstacles.empty()) {
    fmt::print("  no device: {}\n", obstacles.front());
    return;
  }
  const StudyResult device = timed(problem, "cuda", MemberPath::lanes, make_cuda_executor(threads), threads);
  fmt::print("  numbers with other bits than in lanes: {}\n", different(lanes, device));
}

}  // namespace
}  // namespace saltus::bench

/// Arguments: members (1000), threads (0: all), 1 to run them in full, too (1), periods of the impacts (132).
int main(int argc, char** argv) {
  const auto argument = [&](int k, long long otherwise) { return argc > k ? std::atoll(argv[k]) : otherwise; };
  const std::int64_t members = argument(1, 1000), periods = argument(4, 132);
  const int threads = static_cast<int>(argument(2, 0));
  const bool full = argument(3, 1) != 0;
  saltus::bench::run(saltus::bench::impact(members, periods), full, threads);
  saltus::bench::run(saltus::bench::friction(members), full, threads);
  saltus::bench::run(saltus::bench::converter(members), full, threads);
}
