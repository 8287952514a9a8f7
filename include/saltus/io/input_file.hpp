// Values of inputs from CSV files.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/hybrid/input_signal.hpp>

#include <map>
#include <string>

namespace saltus {

/// The values of one input: the column of its name, or the only column beside the time. The first column is the time.
/// A first line without numbers has the names; lines that begin with # are left out; fields are separated by commas, or
/// by semicolons. Values are numbers, or true and false. Throws UsageError, with the file and the line, for files that
/// cannot be read, columns that are missing, fields that are no finite numbers, and times that go back.
InputSignal read_input(const std::string& file, const std::string& name,
                       InputSignal::Between between = InputSignal::Between::lines);

/// The values of all inputs of a system that are columns of a file, by their names. Throws UsageError as read_input
/// does, and if no column is an input.
std::map<std::string, InputSignal> read_inputs(const std::string& file, const HybridSystem& system,
                                               InputSignal::Between between = InputSignal::Between::lines);

}  // namespace saltus
