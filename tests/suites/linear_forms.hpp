// Linear guards that own their numbers.
#pragma once

#include <saltus/dae/system.hpp>

#include <vector>

namespace saltus::suite {

/// As LinearGuard, with lists of its own.
struct LinearForm {
  int guard = 0;
  double constant = 0.0;
  double time = 0.0;
  std::vector<int> variables = {};
  std::vector<double> coefficients = {};
};

/// The guards; they refer to the forms.
inline std::vector<LinearGuard> guards_of(const std::vector<LinearForm>& forms) {
  std::vector<LinearGuard> guards;
  for (const LinearForm& form : forms)
    guards.push_back({form.guard, form.constant, form.time, form.variables, form.coefficients});
  return guards;
}

}  // namespace saltus::suite
