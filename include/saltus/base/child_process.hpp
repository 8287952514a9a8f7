// Programs that are started: for their output (gnuplot, Graphviz), or to show a file.
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

/// Whether the system finds the program, in PATH or under its name.
bool program_exists(const std::string& program);

/// Starts a program and does not wait for it; it lives on when this one ends. Throws UsageError if no process can be
/// made.
void start_program(const std::vector<std::string>& words);

}  // namespace saltus
