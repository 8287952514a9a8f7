// How do time and memory grow with the size of a model, stage by stage? Read: from text to a model; compile; start:
// modes, consistent values; step: one of the first steps or events. Times are of the processor, bytes those that are
// held afterwards. Behind each number the exponent from the size before: 1 is linear, above 1.15 some place is not.
//
// Each size runs in a process of its own, and ends there when it takes too long.
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>

#include "models.hpp"

namespace saltus::bench {
namespace {

constexpr std::array stages = {"read", "compile", "start", "step"};
constexpr int steps = 10;
constexpr unsigned longest = 120;  // seconds

struct Growth {
  std::array<double, stages.size()> seconds{}, bytes{};
  double peak = 0.0;
};

double now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double held() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

Growth measure(const LargeModel& which, int n) {
  Growth growth;
  double time = now(), bytes = held();
  std::size_t stage = 0;
  const auto note = [&](double part = 1.0) {
    growth.seconds[stage] = (now() - time) * part;
    growth.bytes[stage] = (held() - bytes) * part;
    ++stage;
    time = now();
    bytes = held();
  };
  const ModelicaModel text = load_modelica(which.text, "model.mo", {.parameters = {{"n", static_cast<double>(n)}}});
  note();
  const std::shared_ptr<HybridSystem> compiled = compile(text.model);
  note();
  Simulator simulator(compiled, {.stop = which.stop, .rtol = 1e-5, .atol = 1e-5});
  note();
  int made = 0;
  while (made < steps && simulator.step()) ++made;
  note(1.0 / std::max(1, made));
  if (!simulator.status().ok() && made < steps) std::fprintf(stderr, "%s\n", simulator.status().message.c_str());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  growth.peak = 1024.0 * static_cast<double>(usage.ru_maxrss);
  return growth;
}

std::optional<Growth> measure_apart(const LargeModel& which, int n) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{longest, longest};
    setrlimit(RLIMIT_CPU, &limit);
    const Growth growth = measure(which, n);
    const bool written = write(ends[1], &growth, sizeof growth) == static_cast<ssize_t>(sizeof growth);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  Growth growth;
  const bool complete = read(ends[0], &growth, sizeof growth) == static_cast<ssize_t>(sizeof growth);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return complete ? std::optional(growth) : std::nullopt;
}

void print(const LargeModel& which, int largest) {
  std::optional<Growth> before;
  double size_before = 0.0;
  for (int size = 1000; size <= largest; size *= 10) {
    if (which.slides && size > 1000) break;
    const int n = which.square ? static_cast<int>(std::lround(std::sqrt(size))) : size;
    const double cells = which.square ? static_cast<double>(n) * n : n;
    const std::optional<Growth> growth = measure_apart(which, n);
    std::printf("%-20s %7.0f |", which.name, cells);
    if (!growth) {
      std::printf(" more than %u s\n", longest);
      return;
    }
    const auto exponent = [&](double value, double old) {
      if (before && old > 1e-3 && value > 0.0)
        std::printf(" %5.2f", std::log(value / old) / std::log(cells / size_before));
      else
        std::printf(" %5s", "");
    };
    for (std::size_t k = 0; k < stages.size(); ++k) {
      std::printf(" %9.4f", growth->seconds[k]);
      exponent(growth->seconds[k], before ? before->seconds[k] : 0.0);
    }
    std::printf(" |");
    for (std::size_t k = 0; k < stages.size(); ++k) std::printf(" %7.0f", growth->bytes[k] / cells);
    std::printf(" | %7.0f\n", growth->peak / cells);
    std::fflush(stdout);
    before = growth;
    size_before = cells;
  }
}

}  // namespace
}  // namespace saltus::bench

/// Arguments: the largest size (100000), and a word that the names of the models contain (all).
int main(int argc, char** argv) {
  using namespace saltus::bench;
  const int largest = argc > 1 ? std::atoi(argv[1]) : 100000;
  if (largest < 1000) {
    std::fprintf(stderr, "usage: %s [LARGEST [NAME]], with a size of 1000 or more\n", argv[0]);
    return 2;
  }
  std::printf("%-20s %7s | %9s %5s %9s %5s %9s %5s %9s %5s | %31s | %7s\n", "", "cells", "read s", "exp", "compile",
              "exp", "start", "exp", "a step", "exp", "bytes kept per cell, by stage", "peak");
  for (const LargeModel& which : large_models)
    if (argc < 3 || std::strstr(which.name, argv[2])) print(which, largest);
}
