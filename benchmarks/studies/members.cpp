// Members of studies: each by a Simulator, eight at a time in lanes, and on a CUDA device where there is one. Lanes and
// device must have the same bits; lanes and full runs must agree in the number of events.
#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "problems.hpp"

namespace saltus::bench {
namespace {

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
