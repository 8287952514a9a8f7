#include "cli/ranks.hpp"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace saltus::cli {

namespace {

/// A whole number in a variable of the environment.
std::optional<int> number_of(const char* name) {
  const char* text = std::getenv(name);
  if (!text) return {};
  const std::string_view digits(text);
  int value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc() || end != digits.data() + digits.size() || value < 0) return {};
  return value;
}

struct Launcher {
  const char *rank, *size, *local;
};
constexpr Launcher launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"},
};

}  // namespace

Ranks find_ranks() {
  for (const Launcher& launcher : launchers) {
    const auto rank = number_of(launcher.rank), size = number_of(launcher.size);
    if (!rank || !size || *size < 2 || *rank >= *size) continue;
    return Ranks{*rank, *size, number_of(launcher.local).value_or(1)};
  }
  return {};
}

}  // namespace saltus::cli
