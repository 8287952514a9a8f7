// Random models of some classes whose solutions are known without a solver.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "executors/promises.hpp"

namespace saltus::executors {

struct KnownModel {
  std::string text;  ///< as Promise::text
  double low = 0.0, high = 1.0;
  double stop = 1.0;
  double tolerance = 1e-6;  ///< of the values below, in their units
  /// Values of some variables at time t, in units in which they are about one; none where they are discontinuous within
  /// the errors of a run.
  std::function<Values(double p, double t)> exact;
  std::map<std::string, double> unit;  ///< of the variables
};

struct KnownClass {
  std::string name;
  std::function<KnownModel(unsigned seed)> make;
  bool starts_discretes = false;  ///< has initial equations of discrete variables
  bool rests = false;             ///< in contact: 200 of them in one model take minutes

  friend void PrintTo(const KnownClass& one, std::ostream* out) { *out << one.name; }
};

std::vector<KnownClass> known_classes();

}  // namespace saltus::executors
