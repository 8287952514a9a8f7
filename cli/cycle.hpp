// saltus cycle: a periodic solution of a model, its period and its multipliers.
#pragma once

#include "cli/accurate_run.hpp"
#include "cli/app.hpp"

#include <saltus/sens/cycle.hpp>

namespace saltus::cli {

/// How a cycle is looked for, as it was typed.
struct CycleCommandOptions : AccurateRunOptions {
  std::string period, section;
  double period_guess = 0.0, transient = 0.0;
  std::vector<std::string> state;

  /// Declares --period, --period-guess, --section, --transient and --state.
  void add_cycle(CLI::App& app);
  /// Without `simulate`. Expressions become variables by the extension.
  CycleOptions cycle_options(ModelExtension& extension) const;
};

/// "0.356", or "0.3 + 0.2i".
std::string multiplier_text(const std::complex<double>& value);

Command cycle_command();

}  // namespace saltus::cli
