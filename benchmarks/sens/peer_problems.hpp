// Problems with their derivatives, by hand, for CVODES and IDAS.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "problems.hpp"

namespace saltus::bench {

/// y' = f(y, p). All derivatives are exact.
class PeerProblem {
 public:
  int n = 0, parameters = 0;
  int band = -1;  ///< width of the band of the Jacobian on each side; -1: dense
  double rtol, atol;
  std::vector<double> start, scales;

  PeerProblem(double relative, double absolute) : rtol(relative), atol(absolute) {}

  virtual ~PeerProblem() = default;
  virtual void rhs(const double* y, double* f) const = 0;
  /// J(i, j) is set to f_i by y_j by `set(i, j, value)`; the rest is zero.
  template <class Set>
  void jacobian(const double* y, const double* f, const Set& set) const {
    const int width = band < 0 ? n : band;
    std::vector<double> row(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
      jacobian_row(y, f, i, row.data());
      for (int j = std::max(0, i - width); j <= std::min(n - 1, i + width); ++j)
        set(i, j, row[static_cast<std::size_t>(j)]);
    }
  }
  /// ds = J s + f_p for each parameter.
  virtual void tangents(const double* y, const double* f, const std::vector<double*>& s,
                        const std::vector<double*>& ds) const = 0;
  /// result = Jᵀ w
  virtual void transposed(const double* y, const double* f, const double* w, double* result) const = 0;
  /// result_k = f_pₖᵀ w
  virtual void by_parameters(const double* y, const double* w, double* result) const = 0;

 protected:
  /// Row i, in the band.
  virtual void jacobian_row(const double* y, const double* f, int i, double* row) const = 0;
};

class RobertsonByHand final : public PeerProblem {
 public:
  RobertsonByHand(double relative, double absolute) : PeerProblem(relative, absolute) {
    n = parameters = 3;
    start = {1.0, 0.0, 0.0};
    scales.assign(p, p + 3);
  }
  void rhs(const double* y, double* f) const override {
    f[0] = -p[0] * y[0] + p[1] * y[1] * y[2];
    f[2] = p[2] * y[1] * y[1];
    f[1] = -f[0] - f[2];
  }
  void tangents(const double* y, const double*, const std::vector<double*>& s,
                const std::vector<double*>& ds) const override {
    const double by[3][2] = {{-y[0], 0.0}, {y[1] * y[2], 0.0}, {0.0, y[1] * y[1]}};
    for (std::size_t k = 0; k < 3; ++k) {
      const double* const u = s[k];
      double* const d = ds[k];
      d[0] = -p[0] * u[0] + p[1] * (y[2] * u[1] + y[1] * u[2]) + by[k][0];
      d[2] = 2.0 * p[2] * y[1] * u[1] + by[k][1];
      d[1] = -d[0] - d[2];
    }
  }
  void transposed(const double* y, const double*, const double* w, double* result) const override {
    const double first = w[0] - w[1], third = w[2] - w[1];
    result[0] = -p[0] * first;
    result[1] = p[1] * y[2] * first + 2.0 * p[2] * y[1] * third;
    result[2] = p[1] * y[1] * first;
  }
  void by_parameters(const double* y, const double* w, double* result) const override {
    result[0] = -y[0] * (w[0] - w[1]);
    result[1] = y[1] * y[2] * (w[0] - w[1]);
    result[2] = y[1] * y[1] * (w[2] - w[1]);
  }

 protected:
  void jacobian_row(const double* y, const double*, int i, double* row) const override {
    const double first[3] = {-p[0], p[1] * y[2], p[1] * y[1]}, third[3] = {0.0, 2.0 * p[2] * y[1], 0.0};
    for (int j = 0; j < 3; ++j) row[j] = i == 0 ? first[j] : i == 2 ? third[j] : -first[j] - third[j];
  }

 private:
  static constexpr const double* p = Robertson::p;
};

/// The rod, with what its functions share: conductivities of the faces.
class HeatByHand final : public PeerProblem {
 public:
  HeatByHand(const Heat& rod, double relative, double absolute)
      : PeerProblem(relative, absolute), rod_(rod), square_(rod.inverse_square()) {
    n = rod.n;
    parameters = rod.parameters;
    band = 1;
    for (int i = 0; i < n; ++i) start.push_back(rod.start(i));
    for (int k = 0; k < parameters; ++k) scales.push_back(rod.conductivity(k));
    for (int f = 0; f <= n; ++f) {
      const auto [node, share] = rod.face(f);
      faces_.push_back((1.0 - share) * rod.conductivity(node) + share * rod.conductivity(node + 1));
      nodes_.emplace_back(node, share);
    }
  }
  void rhs(const double* T, double* f) const override {
    for (int i = 0; i < n; ++i) f[i] = flow(T, i) * inverse_capacity(T[i]);
  }
  void tangents(const double* T, const double* f, const std::vector<double*>& s,
                const std::vector<double*>& ds) const override {
    for (std::size_t k = 0; k < s.size(); ++k)
      for (int i = 0; i < n; ++i) ds[k][i] = (flow(s[k], i) - Heat::beta * f[i] * s[k][i]) * inverse_capacity(T[i]);
    for (int face = 0; face <= n; ++face) {
      const auto [node, share] = nodes_[static_cast<std::size_t>(face)];
      const double step = (at(T, face) - at(T, face - 1)) * square_;
      for (const auto& [k, weight] : {std::pair(node, 1.0 - share), std::pair(node + 1, share)}) {
        double* const d = ds[static_cast<std::size_t>(k)];
        if (face > 0) d[face - 1] += weight * step * inverse_capacity(T[face - 1]);
        if (face < n) d[face] -= weight * step * inverse_capacity(T[face]);
      }
    }
  }
  void transposed(const double* T, const double* f, const double* w, double* result) const override {
    // the flow is symmetric: its transposed is the flow of w over the capacity
    double before = 0.0, here = w[0] * inverse_capacity(T[0]);
    for (int i = 0; i < n; ++i) {
      const double next = i + 1 < n ? w[i + 1] * inverse_capacity(T[i + 1]) : 0.0;
      const auto j = static_cast<std::size_t>(i);
      result[i] = (faces_[j + 1] * (next - here) - faces_[j] * (here - before)) * square_ - Heat::beta * f[i] * here;
      before = here;
      here = next;
    }
  }
  void by_parameters(const double* T, const double* w, double* result) const override {
    std::fill(result, result + parameters, 0.0);
    for (int face = 0; face <= n; ++face) {
      const auto [node, share] = nodes_[static_cast<std::size_t>(face)];
      const double step = (at(T, face) - at(T, face - 1)) * square_;
      double by = 0.0;
      if (face > 0) by += w[face - 1] * inverse_capacity(T[face - 1]) * step;
      if (face < n) by -= w[face] * inverse_capacity(T[face]) * step;
      result[node] += (1.0 - share) * by;
      result[node + 1] += share * by;
    }
  }

 protected:
  void jacobian_row(const double* T, const double* f, int i, double* row) const override {
    const auto j = static_cast<std::size_t>(i);
    const double c = inverse_capacity(T[i]), d = c * square_;
    if (i > 0) row[i - 1] = faces_[j] * d;
    if (i + 1 < n) row[i + 1] = faces_[j + 1] * d;
    row[i] = -(faces_[j] + faces_[j + 1]) * d - Heat::beta * c * f[i];
  }

 private:
  static double inverse_capacity(double T) { return 1.0 / (1.0 + Heat::beta * T); }
  double at(const double* T, int i) const { return i < 0 || i >= n ? 0.0 : T[i]; }
  double flow(const double* T, int i) const {
    const auto f = static_cast<std::size_t>(i);
    return (faces_[f + 1] * (at(T, i + 1) - T[i]) - faces_[f] * (T[i] - at(T, i - 1))) * square_;
  }

  Heat rod_;
  double square_;
  std::vector<double> faces_;
  std::vector<std::pair<int, double>> nodes_;
};

}  // namespace saltus::bench
