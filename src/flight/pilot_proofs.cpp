// Proofs that guards which are not affine stay on their sides.
#include <algorithm>
#include <cmath>

#include "base/finite.hpp"
#include "flight/pilot.hpp"

namespace saltus {

/// Interpolation does not see what happens between its points: bounds prove that no guard has left its side before the
/// crossing, or in the whole step.
bool Pilot::proved(const flight::Crossing& crossing) {
  enclosing_ = false;
  bounds_.high = -1.0;
  const FlightTape& of = tape();
  const double end = crossing.guard < 0 ? 1.0 : crossing.u;
  for (std::size_t k = 0; k < of.guards.size(); ++k)
    if (mode().sides[k] != 0 && !of.affine[k] && !stays(k, 0.0, end, static_cast<int>(k) == crossing.guard, 0))
      return false;
  return true;
}

/// Whether a guard is on its side in a part of the step. `reaches_zero`: not before the end of this part, where it is
/// zero. Bounds are tried first, on finer and finer parts, then enclosures.
bool Pilot::stays(std::size_t guard, double low, double high, bool reaches_zero, int depth) {
  constexpr int deepest = 6;
  const int place = tape().bounds.places[guard];
  if (place >= 0) {
    find_bounds(low, high);
    const auto k = static_cast<std::size_t>(place);
    const double* const* const found = bounds_.groups_out.data();
    const bool positive = mode().sides[guard] > 0;
    if (positive ? found[0][k] > 0.0 : found[1][k] < 0.0) return true;
    if (reaches_zero && (positive ? found[3][k] < 0.0 : found[2][k] > 0.0)) return true;
  }
  if ((place < 0 || depth == deepest) && is_enclosed(guard, low, high, reaches_zero)) return true;
  if (depth == deepest) return false;
  const double middle = 0.5 * (low + high);
  return stays(guard, low, middle, false, depth + 1) && stays(guard, middle, high, reaches_zero, depth + 1);
}

bool Pilot::is_enclosed(std::size_t guard, double low, double high, bool reaches_zero) {
  if (!system_) {
    write_mode(mode_now_);
    system_ = &model_.system(mode_now_);
  }
  if (!enclosing_) {
    write_dense(dense_);
    enclosure_.start(*system_, dense_);
    enclosing_ = true;
  }
  const int number = tape().guards[guard];
  const bool positive = mode().sides[guard] > 0;
  if (!enclosure_.enclose(low, high, reaches_zero ? 1 : 0, std::span(&number, 1))) return false;
  const Interval value = enclosure_.coefficient(number, 0);
  if (positive ? value.lower > 0.0 : value.upper < 0.0) return true;
  if (!reaches_zero) return false;
  const Interval slope = enclosure_.coefficient(number, 1);
  return positive ? slope.upper < 0.0 : slope.lower > 0.0;
}

/// Bounds of the guards over a piece of the step. Variables are polynomials there: about the middle they are shifted
/// to, terms of the second and higher orders are what they may deviate by, and rounding errors.
void Pilot::find_bounds(double low, double high) {
  if (bounds_.low == low && bounds_.high == high) return;
  bounds_.low = low;
  bounds_.high = high;
  const FlightTape& of = tape();
  Seat& s = seat();
  const std::size_t n = of.n, guards = of.bounds.program.tape().outputs.front().size();
  const int degree = code_->method.dense_degree();
  constexpr double unit = 32.0 * eps;
  const double h = end_.h, middle = 0.5 * (low + high),
               radius = (1.0 + 4.0 * eps) * std::max(high - middle, middle - low);
  bounds_.in.resize(2 + 6 * n);
  bounds_.out.resize(4 * guards);
  double* const in = bounds_.in.data();
  in[0] = t_ + middle * h;
  in[1] = radius * h + unit * (std::abs(t_) + h);
  for (std::size_t j = 0; j < n; ++j) {
    double p[highest_crossing_degree + 1], size = std::abs(s.x[j]), slope_size = 0.0;
    p[0] = s.x[j];
    for (int k = 1; k <= degree; ++k) {
      p[k] = s.dense[static_cast<std::size_t>(k - 1) * n + j];
      size += std::abs(p[k]);
      slope_size += k * std::abs(p[k]);
    }
    for (int i = 0; i < degree; ++i)  // repeated Horner's scheme
      for (int k = degree - 1; k >= i; --k) p[k] += middle * p[k + 1];
    double deviation = unit * size, slope_deviation = unit * slope_size, power = radius;
    for (int k = 2; k <= degree; ++k) {
      if (k > 2) slope_deviation += k * power * std::abs(p[k]);
      power *= radius;
      deviation += power * std::abs(p[k]);
    }
    double* const place = in + 2 + j;
    place[0] = p[0];
    place[n] = radius * p[1];
    place[2 * n] = deviation;
    place[3 * n] = p[1] / h;
    place[4 * n] = degree > 1 ? 2.0 * radius * p[2] / h : 0.0;
    place[5 * n] = slope_deviation / h;
  }
  bounds_.groups_in.assign({in});
  for (std::size_t group = 0; group < 6; ++group) bounds_.groups_in.push_back(in + 2 + group * n);
  bounds_.groups_in.push_back(s.data);
  bounds_.groups_out.clear();
  for (std::size_t group = 0; group < 4; ++group) bounds_.groups_out.push_back(bounds_.out.data() + group * guards);
  of.bounds.program(bounds_.groups_in, bounds_.groups_out, s.bounds);
}

}  // namespace saltus
