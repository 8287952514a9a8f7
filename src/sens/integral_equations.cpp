#include "sens/integral_equations.hpp"

#include <algorithm>

#include "sens/linear_mode.hpp"

namespace saltus {

IntegralEquations::IntegralEquations(ConstrainedEquations& equations, Gradient& integrand)
    : equations_(equations), integrand_(integrand) {
  identity_ = false;
  update();
}

void IntegralEquations::update() {
  n_ = equations_.size();
  const int row = static_cast<int>(n_);
  pattern_ = equations_.pattern();
  by_data_ = equations_.by_data();
  mass_ = equations_.mass();
  mass_.push_back({row, row});
  for (const Gradient::Entry& e : integrand_.entries()) {
    if (e.group == LinearMode::by_unknown) pattern_.column.push_back(static_cast<int>(e.place));
    if (e.group == LinearMode::by_data) by_data_.push_back({row, static_cast<int>(e.place)});
  }
  pattern_.start.push_back(static_cast<int>(pattern_.column.size()));
  version_ = equations_.version();
}

bool IntegralEquations::evaluate(double t, SolutionPath& path, const TangentValues& values, Values& out) {
  if (!equations_.evaluate(t, path, values, out)) return false;
  equations_.point().evaluate(integrand_);
  for (const Gradient::Entry& e : integrand_.entries()) {
    if (e.group == LinearMode::by_unknown) out.a.push_back(e.value);
    if (e.group == LinearMode::by_data) out.b.push_back(e.value);
  }
  return all_are_finite(out.a) && all_are_finite(out.b);
}

bool IntegralEquations::factorise(double shift, const Values& at) {
  shift_ = shift;
  row_.assign(at.a.begin() + equations_.pattern().start.back(), at.a.end());
  return equations_.factorise(shift, at);
}

void IntegralEquations::solve(double* r, int width) {
  const auto lanes = static_cast<std::size_t>(width);
  equations_.solve(r, width);
  double* const q = r + n_ * lanes;
  for (std::size_t k = 0; k < row_.size(); ++k) {
    const auto column = static_cast<std::size_t>(pattern_.column[static_cast<std::size_t>(pattern_.start[n_]) + k]);
    for (std::size_t l = 0; l < lanes; ++l) q[l] += row_[k] * r[column * lanes + l];
  }
  for (std::size_t l = 0; l < lanes; ++l) q[l] /= shift_;
}

void IntegralEquations::solve_transposed(std::span<double> r) {
  const double w[2] = {r[2 * n_] / shift_, r[2 * n_ + 1] / shift_};
  for (std::size_t k = 0; k < row_.size(); ++k) {
    const auto column = static_cast<std::size_t>(pattern_.column[static_cast<std::size_t>(pattern_.start[n_]) + k]);
    for (std::size_t l = 0; l < 2; ++l) r[2 * column + l] += row_[k] * w[l];
  }
  equations_.solve_transposed(r.first(2 * n_));
  std::copy_n(w, 2, r.begin() + static_cast<std::ptrdiff_t>(2 * n_));
}

}  // namespace saltus
