// Values of inputs from the command line.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/hybrid/input_signal.hpp>

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace saltus::cli {

struct InputOptions {
  std::vector<std::string> given;  ///< NAME=FILE, or FILE for all of its columns; ":held" behind it

  /// Declares --input.
  void add_to(CLI::App& app, const std::string& group = "");
  /// Reads the files. Throws UsageError for what is wrong with them, and for inputs that are given twice.
  std::map<std::string, InputSignal> read(const HybridSystem& model) const;
};

}  // namespace saltus::cli
