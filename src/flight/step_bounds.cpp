#include "flight/step_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "base/finite.hpp"

namespace saltus {

StepBounds::StepBounds(const FlightTape& tape, int degree) : tape_(tape), degree_(degree) {
  if (tape.bounds.empty()) return;
  const std::size_t guards = tape.bounds.program.tape().outputs.front().size();
  work_ = tape.bounds.program.workspace();
  in_.resize(2 + 6 * tape.n);
  out_.resize(4 * guards);
  data_.resize(tape.data.size());
  groups_in_.push_back(in_.data());
  for (std::size_t group = 0; group < 6; ++group) groups_in_.push_back(in_.data() + 2 + group * tape.n);
  groups_in_.push_back(data_.data());
  for (std::size_t group = 0; group < 4; ++group) groups_out_.push_back(out_.data() + group * guards);
}

void StepBounds::start(const Step& step) {
  step_ = step;
  high_ = -1.0;
  for (std::size_t k = 0; k < data_.size(); ++k) data_[k] = step.data[k * step.stride];
}

bool StepBounds::bounds_prove(std::size_t place, int side, const Part& part) {
  find(part.low, part.high);
  const bool positive = side > 0;
  if (positive ? groups_out_[0][place] > 0.0 : groups_out_[1][place] < 0.0) return true;
  const bool leaves = positive ? groups_out_[2][place] > 0.0 : groups_out_[3][place] < 0.0;
  const bool returns = positive ? groups_out_[3][place] < 0.0 : groups_out_[2][place] > 0.0;
  return (part.leaves_zero && leaves) || (part.reaches_zero && returns);
}

/// Bounds of the guards over a piece of the step. Variables are polynomials there: about the middle they are shifted
/// to, terms of the second and higher orders are what they may deviate by, and rounding errors.
void StepBounds::find(double low, double high) {
  if (low_ == low && high_ == high) return;
  low_ = low;
  high_ = high;
  constexpr double unit = 32.0 * eps;
  const std::size_t n = tape_.n, stride = step_.stride;
  const double h = step_.h, middle = 0.5 * (low + high),
               radius = (1.0 + 4.0 * eps) * std::max(high - middle, middle - low);
  double* const in = in_.data();
  in[0] = step_.t + middle * h;
  in[1] = radius * h + unit * (std::abs(step_.t) + h);
  for (std::size_t j = 0; j < n; ++j) {
    const double x = step_.x[j * stride];
    double p[highest_crossing_degree + 1], size = std::abs(x), slope_size = 0.0;
    p[0] = x;
    for (int k = 1; k <= degree_; ++k) {
      p[k] = step_.dense[(static_cast<std::size_t>(k - 1) * n + j) * stride];
      size += std::abs(p[k]);
      slope_size += k * std::abs(p[k]);
    }
    for (int i = 0; i < degree_; ++i)  // repeated Horner's scheme
      for (int k = degree_ - 1; k >= i; --k) p[k] += middle * p[k + 1];
    double deviation = unit * size, slope_deviation = unit * slope_size, power = radius;
    for (int k = 2; k <= degree_; ++k) {
      if (k > 2) slope_deviation += k * power * std::abs(p[k]);
      power *= radius;
      deviation += power * std::abs(p[k]);
    }
    double* const place = in + 2 + j;
    place[0] = p[0];
    place[n] = radius * p[1];
    place[2 * n] = deviation;
    place[3 * n] = p[1] / h;
    place[4 * n] = degree_ > 1 ? 2.0 * radius * p[2] / h : 0.0;
    place[5 * n] = slope_deviation / h;
  }
  tape_.bounds.program(groups_in_, groups_out_, work_);
}

}  // namespace saltus
