#include "sens/discrete_adjoint.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sens/lanes.hpp"

namespace saltus {

namespace {

/// As for derivatives that follow the steps (tangent_flow.cpp).
constexpr double gradient_error_allowed = 10.0;
/// A step that would have to be divided into more parts is not worth it.
constexpr int most_parts = 256;

}  // namespace

DiscreteAdjoint::DiscreteAdjoint(std::shared_ptr<const TangentCode> code, RecordedSystem& system,
                                 const Tableau& tableau, double rtol)
    : code_(std::move(code)),
      system_(system),
      tableau_(tableau),
      rtol_(rtol),
      n_(code_->variables()),
      stages_(static_cast<std::size_t>(tableau.stages)),
      jacobian_(code_->jacobian()),
      work_(jacobian_.program.workspace()),
      data_(system.data()),
      locks_(system.locks().begin(), system.locks().end()),
      x_(n_),
      end_(n_),
      k_(stages_ * n_),
      by_x_(stages_, std::vector<double>(jacobian_.by_x.row.size())),
      by_data_(stages_, std::vector<double>(jacobian_.by_data.size())),
      swept_(stages_ - (tableau.error[stages_ - 1] == 0.0 ? 1 : 0)),
      sums_(tableau.second_error.empty() ? 2 : 4),
      weights_(stages_ * sums_),
      w_(n_ * sums_),
      v_(stages_ * n_ * sums_),
      by_x_sums_(n_ * sums_),
      by_data_sums_(data_.size() * sums_) {
  for (std::size_t j = 0; j < n_; ++j) nominal_.push_back(code_->nominal(j));
  for (std::size_t i = 0; i < stages_; ++i) {
    double* const weights = &weights_[i * sums_];
    if (i + 1 < stages_) weights[0] = tableau.a[(stages_ - 1) * tableau.c.size() + i];
    weights[1] = tableau.error[i];
    if (sums_ > 2 && i + 1 < stages_) weights[2] = tableau.second_error[i];
  }
}

/// Slopes and derivatives at all stages of a step, and its end.
bool DiscreteAdjoint::find_stages(double t, double h, std::span<const double> x) {
  const std::size_t width = tableau_.c.size(), last = stages_ - 1;
  for (std::size_t i = 0; i < stages_; ++i) {
    std::vector<double>& y = i == last ? end_ : x_;
    for (std::size_t j = 0; j < n_; ++j) {
      double sum = 0.0;
      for (std::size_t l = 0; l < i; ++l) sum += tableau_.a[i * width + l] * k_[l * n_ + j];
      y[j] = x[j] + h * sum;
    }
    if (i == last && tableau_.error[last] == 0.0) break;
    const double at = t + tableau_.c[i] * h;
    const std::span<double> k(k_.data() + i * n_, n_);
    system_.rhs(at, y, k);
    const double* const in[] = {&at, y.data(), data_.data(), locks_.data()};
    double* const out[] = {by_x_[i].data(), by_data_[i].data()};
    jacobian_.program(in, out, work_);
  }
  return std::ranges::all_of(end_, [](double v) { return std::isfinite(v); });
}

/// Whether the recorded solution has the end of the step, within some tolerances.
bool DiscreteAdjoint::same_end(const DensePolynomial& polynomial, double t) const {
  std::vector<double> recorded(n_);
  polynomial.evaluate(t, recorded);
  for (std::size_t j = 0; j < n_; ++j)
    if (!(std::abs(recorded[j] - end_[j]) <= 100.0 * rtol_ * (std::abs(recorded[j]) + nominal_[j]))) return false;
  return true;
}

/// What the sums of all h weights_i k_i make of a function `lambda` of their changes: functions of those at the
/// beginning. The sums, that is the change of the solution and the estimates of its error, stand side by side.
template <int Sums>
void DiscreteAdjoint::sweep(double h, std::span<const double> lambda) {
  using Values = typename LaneVector<Sums>::type;
  constexpr std::size_t width = Sums;
  const auto at = [](std::vector<double>& list, std::size_t k) -> Values& { return lanes_at<Sums>(&list[k * width]); };
  const SparsePattern& pattern = jacobian_.by_x;
  std::ranges::fill(by_x_sums_, 0.0);
  std::ranges::fill(by_data_sums_, 0.0);
  for (std::size_t i = swept_; i-- > 0;) {
    const Values weights = at(weights_, i);
    for (std::size_t j = 0; j < n_; ++j) at(w_, j) = weights * lambda[j];
    for (std::size_t l = i + 1; l < swept_; ++l)
      if (const double a = tableau_.a[l * tableau_.c.size() + i]; a != 0.0)
        for (std::size_t j = 0; j < n_; ++j) at(w_, j) += a * at(v_, l * n_ + j);
    for (double& value : w_) value *= h;
    const double* const by_x = by_x_[i].data();
    for (std::size_t j = 0; j < n_; ++j) {
      Values sum{};
      for (int e = pattern.start[j]; e < pattern.start[j + 1]; ++e)
        sum += by_x[e] * at(w_, static_cast<std::size_t>(pattern.row[e]));
      at(v_, i * n_ + j) = sum;
      at(by_x_sums_, j) += sum;
    }
    const double* const by_data = by_data_[i].data();
    for (std::size_t e = 0; e < jacobian_.by_data.size(); ++e)
      at(by_data_sums_, static_cast<std::size_t>(jacobian_.by_data[e].column)) +=
          by_data[e] * at(w_, static_cast<std::size_t>(jacobian_.by_data[e].row));
  }
}

/// Whether the step changes the function by what the solution would, up to the tolerance. The largest derivative
/// counts, in units of the nominal values, as do changes of data by their own size.
bool DiscreteAdjoint::accurate(const Function& function) const {
  const auto estimate = [&](const std::vector<double>& sums, std::size_t k) {
    const double first = sums[k * sums_ + 1];
    if (sums_ == 2 || first == 0.0) return std::abs(first);
    const double second = sums[k * sums_ + 2];
    return first * first / std::sqrt(first * first + 0.01 * second * second);
  };
  double size = 0.0, worst = 0.0;
  for (std::size_t j = 0; j < n_; ++j) {
    const double before = function.x[j], after = before + by_x_sums_[j * sums_];
    size = std::max({size, std::abs(before) * nominal_[j], std::abs(after) * nominal_[j]});
    worst = std::max(worst, estimate(by_x_sums_, j) * nominal_[j]);
  }
  for (std::size_t k = 0; k < data_.size(); ++k) {
    const double scale = data_[k] == 0.0 ? 1.0 : std::abs(data_[k]);
    size = std::max(size, std::abs(function.data[k]) * scale);
    worst = std::max(worst, estimate(by_data_sums_, k) * scale);
  }
  return worst <= gradient_error_allowed * rtol_ * size;
}

bool DiscreteAdjoint::pull(std::span<const Trajectory::Step> steps, double late, double early, Function& function) {
  const double sign = late >= early ? 1.0 : -1.0;
  std::vector<double> start(n_);
  for (std::size_t k = steps.size(); k-- > 0;) {
    const DensePolynomial& polynomial = steps[k].polynomial;
    double end = (steps[k].t_end - late) * sign > 0.0 || k + 1 == steps.size() ? late : steps[k].t_end;
    const double begin = (early - polynomial.t0) * sign > 0.0 ? early : polynomial.t0;
    if ((end - begin) * sign <= 0.0) continue;
    const double whole = std::abs(end - begin), smallest = whole / most_parts;
    double size = whole;
    while ((end - begin) * sign > 0.0) {
      const double t = std::abs(end - begin) <= 1.001 * size ? begin : end - sign * size;
      polynomial.evaluate(t, start);
      const double h = end - t;
      const bool good = find_stages(t, h, start);
      if (good && size == whole && !same_end(polynomial, end)) return false;
      if (good) sums_ == 2 ? sweep<2>(h, function.x) : sweep<4>(h, function.x);
      if (good && accurate(function)) {
        for (std::size_t j = 0; j < n_; ++j) function.x[j] += by_x_sums_[j * sums_];
        for (std::size_t i = 0; i < data_.size(); ++i) function.data[i] += by_data_sums_[i * sums_];
        ++steps_;
        end = t;
        continue;
      }
      size *= 0.5;
      if (size < smallest) return false;
    }
  }
  return true;
}

}  // namespace saltus
