#include "step/bdf_history.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {

void BdfHistory::start(const DensePolynomial& p, int order) {
  const auto n = static_cast<std::size_t>(p.variables);
  const double h = p.h / order;
  for (auto& phi : phi_) phi.assign(n, 0.0);
  for (int i = 0; i <= order; ++i) p.evaluate(p.t1() - i * h, phi_[i]);
  // backward differences of equidistant values are the modified divided differences
  for (int level = 1; level <= order; ++level)
    for (int i = order; i >= level; --i)
      for (std::size_t j = 0; j < n; ++j) phi_[i][j] = phi_[i - 1][j] - phi_[i][j];
  for (int i = 0; i <= most + 1; ++i) psi_[i] = (i + 1) * h;
  t_ = p.t1();
  h_used_ = h_ = h;
  order_used_ = order_ = order;
  regular_ = order;  // the difference behind the last one is not known
}

void BdfHistory::begin(double h, int order) {
  if (h != h_used_ || order != order_used_) regular_ = 0;
  regular_ = std::min(regular_ + 1, order_used_ + 2);
  h_ = h;
  order_ = order;
  if (order + 1 >= regular_) {
    beta_[0] = alpha_[0] = sigma_[0] = 1.0;
    gamma_[0] = 0.0;
    double next = h;
    for (int i = 1; i <= order; ++i) {
      const double old = psi_[i - 1];
      psi_[i - 1] = next;
      beta_[i] = beta_[i - 1] * psi_[i - 1] / old;
      next = old + h;
      alpha_[i] = h / next;
      sigma_[i] = i * sigma_[i - 1] * alpha_[i];
      gamma_[i] = gamma_[i - 1] + alpha_[i - 1] / h;
    }
    psi_[order] = next;
  }
  double fixed = 0.0, moving = 0.0;
  for (int i = 0; i < order; ++i) {
    fixed -= 1.0 / (i + 1);
    moving -= alpha_[i];
  }
  leading_ = -fixed / h;
  error_constant_ = std::max(std::abs(alpha_[order] + fixed - moving), alpha_[order]);
  for (int i = regular_; i <= order; ++i)
    for (double& value : phi_[i]) value *= beta_[i];
}

void BdfHistory::restore() {
  for (int i = 1; i <= order_; ++i) psi_[i - 1] = psi_[i] - h_;
  for (int i = regular_; i <= order_; ++i)
    for (double& value : phi_[i]) value /= beta_[i];
}

void BdfHistory::predict(std::span<double> x, std::span<double> xp) const {
  std::copy(phi_[0].begin(), phi_[0].end(), x.begin());
  std::fill(xp.begin(), xp.end(), 0.0);
  for (int i = 1; i <= order_; ++i)
    for (std::size_t j = 0; j < x.size(); ++j) {
      x[j] += phi_[i][j];
      xp[j] += gamma_[i] * phi_[i][j];
    }
}

void BdfHistory::accept(std::span<const double> correction) {
  order_used_ = order_;
  h_used_ = h_;
  t_ += h_;
  if (order_ < most) std::copy(correction.begin(), correction.end(), phi_[order_ + 1].begin());
  for (std::size_t j = 0; j < correction.size(); ++j) phi_[order_][j] += correction[j];
  for (int i = order_ - 1; i >= 0; --i)
    for (std::size_t j = 0; j < correction.size(); ++j) phi_[i][j] += phi_[i + 1][j];
}

/// Newton's form: x_n + sum_i phi_i prod_{l<i} (s + psi_{l-1}) / psi_l with s = t - t_n, psi_{-1} = 0; here in powers of
/// theta, s = (theta - 1) h.
void BdfHistory::polynomial(DensePolynomial& p) const {
  const std::size_t n = phi_[0].size();
  const int k = order_used_;
  p.degree = k;
  p.variables = static_cast<int>(n);
  p.t0 = t_ - h_used_;
  p.h = h_used_;
  std::fill(p.c.begin(), p.c.end(), 0.0);
  std::array<double, most + 2> basis{}, longer{};
  basis[0] = 1.0;
  for (int i = 0; i <= k; ++i) {
    for (int power = 0; power <= i; ++power) {
      double* c = p.c.data() + static_cast<std::size_t>(power) * n;
      const double w = basis[power];
      for (std::size_t j = 0; j < n; ++j) c[j] += w * phi_[i][j];
    }
    // times ((theta - 1) h + psi_{i-1}) / psi_i
    const double slope = h_used_ / psi_[i], constant = ((i > 0 ? psi_[i - 1] : 0.0) - h_used_) / psi_[i];
    longer.fill(0.0);
    for (int power = 0; power <= i; ++power) {
      longer[power] += constant * basis[power];
      longer[power + 1] += slope * basis[power];
    }
    basis = longer;
  }
}

}  // namespace saltus
