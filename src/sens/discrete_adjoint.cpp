#include "sens/discrete_adjoint.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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
      w_(n_),
      v_(stages_ * n_) {
  for (std::size_t j = 0; j < n_; ++j) nominal_.push_back(code_->nominal(j));
  for (Function* f : {&change_, &error_, &second_error_}) {
    f->x.resize(n_);
    f->data.resize(data_.size());
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

/// What the sum of all h weights_i k_i makes of a function `lambda` of its changes: a function of those at the
/// beginning.
void DiscreteAdjoint::sweep(std::span<const double> weights, double h, std::span<const double> lambda, Function& out) {
  const std::size_t width = tableau_.c.size();
  const SparsePattern& pattern = jacobian_.by_x;
  std::ranges::fill(out.x, 0.0);
  std::ranges::fill(out.data, 0.0);
  for (std::size_t i = weights.size(); i-- > 0;) {
    double* const v = v_.data() + i * n_;
    for (std::size_t j = 0; j < n_; ++j) w_[j] = weights[i] * lambda[j];
    for (std::size_t l = i + 1; l < weights.size(); ++l)
      if (const double a = tableau_.a[l * width + i]; a != 0.0)
        for (std::size_t j = 0; j < n_; ++j) w_[j] += a * v_[l * n_ + j];
    for (double& value : w_) value *= h;
    for (int j = 0; j < pattern.columns; ++j) {
      double sum = 0.0;
      for (int e = pattern.start[j]; e < pattern.start[j + 1]; ++e)
        sum += by_x_[i][static_cast<std::size_t>(e)] * w_[static_cast<std::size_t>(pattern.row[e])];
      v[j] = sum;
      out.x[static_cast<std::size_t>(j)] += sum;
    }
    for (std::size_t e = 0; e < by_data_[i].size(); ++e)
      out.data[static_cast<std::size_t>(jacobian_.by_data[e].column)] +=
          by_data_[i][e] * w_[static_cast<std::size_t>(jacobian_.by_data[e].row)];
  }
}

/// Whether the step changes the function by what the solution would, up to the tolerance. The largest derivative
/// counts, in units of the nominal values, as do changes of data by their own size.
bool DiscreteAdjoint::accurate(const Function& function, double h) {
  sweep(std::span(tableau_.error).first(stages_ - (tableau_.error[stages_ - 1] == 0.0 ? 1 : 0)), h, function.x, error_);
  const bool two = !tableau_.second_error.empty();
  if (two) sweep(std::span(tableau_.second_error).first(stages_ - 1), h, function.x, second_error_);
  const auto estimate = [&](const std::vector<double>& first, const std::vector<double>& second, std::size_t k) {
    if (!two || first[k] == 0.0) return std::abs(first[k]);
    return first[k] * first[k] / std::sqrt(first[k] * first[k] + 0.01 * second[k] * second[k]);
  };
  double size = 0.0, worst = 0.0;
  for (std::size_t j = 0; j < n_; ++j) {
    size =
        std::max({size, std::abs(function.x[j]) * nominal_[j], std::abs(function.x[j] + change_.x[j]) * nominal_[j]});
    worst = std::max(worst, estimate(error_.x, second_error_.x, j) * nominal_[j]);
  }
  for (std::size_t k = 0; k < data_.size(); ++k) {
    const double scale = data_[k] == 0.0 ? 1.0 : std::abs(data_[k]);
    size = std::max(size, std::abs(function.data[k]) * scale);
    worst = std::max(worst, estimate(error_.data, second_error_.data, k) * scale);
  }
  return worst <= gradient_error_allowed * rtol_ * size;
}

bool DiscreteAdjoint::pull(std::span<const Trajectory::Step> steps, double late, double early, Function& function) {
  const double sign = late >= early ? 1.0 : -1.0;
  const std::span<const double> b(tableau_.a.data() + (stages_ - 1) * tableau_.c.size(), stages_ - 1);
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
      if (good) sweep(b, h, function.x, change_);
      if (good && accurate(function, h)) {
        for (std::size_t j = 0; j < n_; ++j) function.x[j] += change_.x[j];
        for (std::size_t i = 0; i < data_.size(); ++i) function.data[i] += change_.data[i];
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
