// The yardstick for a large stiff model: what a careful programmer writes for the rod with its thermostat. Rodas 4(3)
// as in stiff_by_hand.hpp, with a tridiagonal matrix that is factorised in place, and dense output for the sensor. It
// keeps nothing, and finds a switching only where the sensor is beyond its limit at the end of a step.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "heat.hpp"
#include "measure.hpp"

namespace saltus::bench {

class HeatByHand {
 public:
  explicit HeatByHand(const Heat& heat) : heat_(heat), n_(static_cast<std::size_t>(heat.n)) {
    for (auto* list : {&x_, &f_, &w_, &low_, &diagonal_, &high_}) list->resize(n_);
    for (auto& list : u_) list.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) x_[i] = heat_.start(static_cast<long>(i));
  }

  Work run(double stop, double rtol, double atol) {
    constexpr double behind_switching = 0.02;  // of the step before: the end of the rod is heated at once, or no longer
    double t = 0.0, h = 1e-6;
    while (t < stop) {
      rhs(x_, f_);
      double size, error;
      for (;;) {
        size = std::min(h, stop - t);
        error = attempt(size, rtol, atol);
        h = size * std::clamp(0.9 / std::sqrt(std::sqrt(std::max(error, 1e-8))), 1.0 / 6.0, 5.0);
        if (error <= 1.0) break;
      }
      ++work_.steps;
      const auto at = static_cast<std::size_t>(heat_.sensor);
      if (guard(end_of(at)) >= 0.0) {
        for (std::size_t i = 0; i < n_; ++i) x_[i] = end_of(i);
        t += size;
        continue;
      }
      double low = 0.0, high = 1.0;
      while (high - low > 1e-14) {  // the guard is monotonous here
        const double s = 0.5 * (low + high);
        (guard(dense(at, s)) >= 0.0 ? low : high) = s;
      }
      for (std::size_t i = 0; i < n_; ++i) x_[i] = dense(i, high);
      t += high * size;
      heat_.toggle(t);
      h = behind_switching * size;
    }
    work_.events = heat_.events;
    work_.error = heat_.last_event;
    return work_;
  }

 private:
  double guard(double T) const { return heat_.on ? Heat::warm - T : T - Heat::cold; }
  void rhs(const std::vector<double>& T, std::vector<double>& dT) {
    ++work_.evaluations;
    heat_.rhs(T.data(), dT.data());
  }
  double end_of(std::size_t i) const { return w_[i] + u_[5][i]; }
  double dense(std::size_t i, double s) const {
    const double d0 = 10.12623508344586 * u_[0][i] - 7.487995877610167 * u_[1][i] - 34.80091861555747 * u_[2][i] -
                      7.992771707568823 * u_[3][i] + 1.025137723295662 * u_[4][i];
    const double d1 = -0.6762803392801253 * u_[0][i] + 6.087714651680015 * u_[1][i] + 16.43084320892478 * u_[2][i] +
                      24.76722511418386 * u_[3][i] - 6.594389125716872 * u_[4][i];
    return (1.0 - s) * x_[i] + s * (end_of(i) + (1.0 - s) * (d0 + s * d1));
  }

  void factor(double h) {
    for (std::size_t i = 0; i < n_; ++i) {
      double row[3];
      heat_.jacobian_row(x_.data(), static_cast<long>(i), f_[i], row);
      low_[i] = -row[0];
      high_[i] = -row[2];
      double pivot = 1.0 / (0.25 * h) - row[1];
      if (i > 0) {
        low_[i] *= diagonal_[i - 1];
        pivot -= low_[i] * high_[i - 1];
      }
      diagonal_[i] = 1.0 / pivot;
    }
  }
  void solve(std::vector<double>& b) const {
    for (std::size_t i = 1; i < n_; ++i) b[i] -= low_[i] * b[i - 1];
    b[n_ - 1] *= diagonal_[n_ - 1];
    for (std::size_t i = n_ - 1; i-- > 0;) b[i] = (b[i] - high_[i] * b[i + 1]) * diagonal_[i];
  }
  template <class... Weights>
  void stage(std::size_t k, double per_step, Weights... c) {
    if (k > 0)
      rhs(w_, u_[k]);
    else
      u_[0] = f_;
    for (std::size_t i = 0; i < n_; ++i) {
      std::size_t from = 0;
      double sum = 0.0;
      ((sum += c * u_[from++][i]), ...);
      u_[k][i] += per_step * sum;
    }
    solve(u_[k]);
  }
  template <class... Weights>
  void point(Weights... a) {
    for (std::size_t i = 0; i < n_; ++i) {
      std::size_t from = 0;
      double sum = 0.0;
      ((sum += a * u_[from++][i]), ...);
      w_[i] = x_[i] + sum;
    }
  }
  double attempt(double h, double rtol, double atol) {
    const double q = 1.0 / h;
    factor(h);
    stage(0, q);
    point(1.544);
    stage(1, q, -5.6688);
    point(0.9466785280815826, 0.2557011698983284);
    stage(2, q, -2.430093356833875, -0.2063599157091915);
    point(3.314825187068521, 2.896124015972201, 0.9986419139977817);
    stage(3, q, -0.1073529058151375, -9.594562251023355, -20.47028614809616);
    point(1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950);
    stage(4, q, 7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160);
    for (std::size_t i = 0; i < n_; ++i) w_[i] += u_[4][i];
    stage(5, q, 8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054);
    double largest = 0.0;
    for (std::size_t i = 0; i < n_; ++i)
      largest = std::max(largest, std::abs(u_[5][i]) / (atol + rtol * std::max(std::abs(x_[i]), std::abs(end_of(i)))));
    return largest;
  }

  Heat heat_;
  std::size_t n_;
  std::vector<double> x_, f_, w_, low_, diagonal_, high_;
  std::array<std::vector<double>, 6> u_;
  Work work_;
};

}  // namespace saltus::bench
