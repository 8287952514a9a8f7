// The pieces of which an input is made in a run: polynomials, one after the other.
#pragma once

#include <saltus/hybrid/input_signal.hpp>

#include <memory>
#include <string>
#include <vector>

namespace saltus {

struct InputSignal::Data {
  std::vector<double> times, values;  ///< of a table; times do not go back, and none comes more than twice
  Between between = Between::lines;
  std::function<double(double)> function;  ///< null: it is a table
  std::vector<double> breaks;              ///< of the function, increasing
};

/// u(t) = sum_i c_i (t - since)^i.
struct InputPiece {
  double since = 0.0;
  std::vector<double> c = {};
  double end = 0.0;  ///< where the next one begins, in the direction of the run; infinite: nowhere

  /// Whether the curves are the same.
  bool same_curve(const InputPiece& other) const { return c == other.c && (c.size() == 1 || since == other.since); }
};

/// What a run knows that decides about pieces.
struct CourseSetup {
  double origin = 0.0, stop = 0.0;  ///< of the run; before the origin nothing is asked
  int direction = +1;
  double rtol = 1e-6, atol = 1e-9;
  double max_step = 0.0;
  int degree = 1;    ///< of the input: pieces have that many coefficients and one
  std::string name;  ///< of the input, for messages
};

class InputCourse {
 public:
  virtual ~InputCourse() = default;
  /// The piece with which the input goes on from a time, in the direction of the run.
  virtual InputPiece from(double t) = 0;

  /// Throws UsageError where the signal does not suit the input.
  static std::unique_ptr<InputCourse> make(const InputSignal& signal, const CourseSetup& setup);
};

}  // namespace saltus
