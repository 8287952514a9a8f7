// What the importers of both kinds of FMUs do with start values and inputs.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmi/fmu_description.hpp"

namespace saltus {

/// A start value that the user has given.
using GivenValues = std::vector<std::pair<const DescribedVariable*, double>>;

/// Writes values of parameters and start values into the description. Throws UsageError for names that are not there.
GivenValues apply_values(FmuDescription& about, const std::vector<std::pair<std::string, double>>& values);

/// Places of an input in Mode::discrete, from `next` on; `variable` is its number among the observed ones.
InputInfo place_input(const DescribedVariable& input, int variable, int next);
/// The numbers of an input before a run gives it others: its start value, and no change.
void begin_input(const InputInfo& info, double start, std::vector<double>& numbers);
double input_value(const InputInfo& info, std::span<const double> numbers, double t);
/// The next polynomial takes the place of the present one.
void change_input(const InputInfo& info, std::vector<double>& numbers);

}  // namespace saltus
