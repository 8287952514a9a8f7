// Derivatives by differences with extrapolation: C. J. F. Ridders, Adv. Eng. Software 4 (1982) 75-76. Central
// differences of steps h, h/1.6, h/1.6^2, … have errors in even powers of h, which a Neville table removes one by one;
// of all entries the one whose neighbours differ least counts. Near a root of the unit roundoff times 100.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace saltus {

/// The derivatives at 0 of many functions of one number, and estimates of their errors. `values(h, out)` fills out with
/// the functions at h, and returns false where they have no values. Not a number where no pair of steps has values.
struct Differences {
  std::vector<double> derivatives, errors;
};

template <class Values>
Differences differentiate_at_zero(std::size_t functions, double first_step, Values&& values, int steps = 10) {
  constexpr double shrinks = 1.6;
  Differences found;
  found.derivatives.assign(functions, std::numeric_limits<double>::quiet_NaN());
  found.errors.assign(functions, std::numeric_limits<double>::infinity());
  std::vector<std::vector<double>> row, last;
  std::vector<double> back(functions);
  double h = first_step;
  for (int i = 0; i < steps; ++i, h /= shrinks) {
    row.assign(1, std::vector<double>(functions));
    if (!values(h, row[0]) || !values(-h, back)) continue;
    for (std::size_t k = 0; k < functions; ++k) row[0][k] = (row[0][k] - back[k]) / (2.0 * h);
    double factor = shrinks * shrinks;
    for (std::size_t j = 1; j <= last.size(); ++j, factor *= shrinks * shrinks) {
      row.emplace_back(functions);
      for (std::size_t k = 0; k < functions; ++k) {
        row[j][k] = (factor * row[j - 1][k] - last[j - 1][k]) / (factor - 1.0);
        const double error = std::max(std::abs(row[j][k] - row[j - 1][k]), std::abs(row[j][k] - last[j - 1][k]));
        if (error < found.errors[k]) {
          found.errors[k] = error;
          found.derivatives[k] = row[j][k];
        }
      }
    }
    last = std::move(row);
  }
  return found;
}

}  // namespace saltus
