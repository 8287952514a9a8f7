// Programs that are started for their output: gnuplot, Graphviz.
#pragma once

#include <string>
#include <vector>

namespace saltus {

struct ChildOutput {
  bool started = false;  ///< false: there is no such program
  bool ended_well = false;
  std::string out, errors;  ///< what it has written
};

/// Starts a program (looked for in PATH), hands it an input, and waits for its end. No shell reads the words. Throws
/// UsageError if no process can be made.
ChildOutput run_program(const std::vector<std::string>& words, const std::string& input);

}  // namespace saltus
