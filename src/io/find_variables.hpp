// The variables that a user names for a file or plot.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace saltus {

/// Places of the variables that the names stand for, in their order, each once: single variables, whole arrays and
/// patterns (NameTable::find_all), and their derivatives behind them (Trajectory::index); all variables without names.
/// Throws UsageError for names that stand for none.
std::vector<std::size_t> find_variables(const std::vector<VariableInfo>& variables,
                                        const std::vector<std::string>& wanted);

}  // namespace saltus
