// InputSignal: the values of an input over the time of a run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace saltus {

/// A value that is cheap to copy: copies share the table.
class InputSignal {
 public:
  /// What happens between two rows of a table.
  enum class Between {
    lines,  ///< a straight line
    steps,  ///< the value of the row before
  };

  /// The same value all the time.
  static InputSignal constant(double value);
  /// Rows of times and values. Times may not go back. Two rows with one time are a jump there, from the value of the
  /// first to that of the last; times that agree within rounding errors are one. Before the first row the input has its
  /// value, and from the last row on that one's. Throws UsageError, with the number of the row, for lists of different
  /// lengths, without rows, with values that are not finite, or with times that go back.
  static InputSignal table(std::vector<double> times, std::vector<double> values, Between between = Between::lines);
  /// A function of time, for inputs that are declared InputCurve::smooth. It is replaced by polynomials of degree 5
  /// that agree with it within a hundredth of the tolerance of the run, and it is these whose derivatives are used. At
  /// `breaks` it may jump or have a kink: each is an instant, and the function is asked on both sides, some rounding
  /// errors away from it. Elsewhere it must be continuous. Where it is not, and where its value is not finite, the run
  /// throws UsageError with the time. What happens between points at which it is asked (a pulse shorter than the
  /// 400th part of the run) may be missed, unless breaks or max_step are nearer. It is called in the thread of the run.
  static InputSignal function(std::function<double(double)> values, std::vector<double> breaks = {});

  /// What it is made of, for the runs.
  struct Data;
  const Data& data() const { return *data_; }

 private:
  explicit InputSignal(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

/// A change of an input during a run.
struct InputChange {
  std::string name;
  double value = 0.0;
  double slope = 0.0;  ///< of the line along which it moves from now on
};

}  // namespace saltus
