// The transposed of the steps of an explicit Runge-Kutta method: gradients are those of what the run has computed, not
// only of the solution. With the stages k_i = f(Y_i), Y_i = x + h sum_j a_ij k_j, and b the last row of a:
//
//   w_i = h (b_i lambda + sum_{j>i} a_ji v_j),   v_i = f_x(Y_i)^T w_i,
//   lambda := lambda + sum_i v_i,                mu := mu + sum_i f_d(Y_i)^T w_i
//
// (A. Sandu, On the properties of Runge-Kutta discrete adjoints, ICCS 2006, (9)). The same sums with the weights of the
// error estimate tell how far the gradient of the solution is away: where that is too far, a step is divided.
#pragma once

#include <saltus/model/recorded_system.hpp>
#include <saltus/step/tableau.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sens/tangent_stepper.hpp"

namespace saltus {

class DiscreteAdjoint {
 public:
  /// Of an explicit mode; `system` has its values.
  DiscreteAdjoint(std::shared_ptr<const TangentCode> code, RecordedSystem& system, const Tableau& tableau, double rtol);

  /// A linear function of changes: of the variables and of the data.
  struct Function {
    std::vector<double> x, data;
  };
  /// Takes a function of the changes at `late` to one at `early`. False: these are not steps of this method, or much
  /// too long for derivatives; the function is of no use then.
  bool pull(std::span<const Trajectory::Step> steps, double late, double early, Function& function);
  /// Steps taken so far; more than the run has where steps were divided.
  std::int64_t steps() const { return steps_; }

 private:
  bool find_stages(double t, double h, std::span<const double> x);
  bool same_end(const DensePolynomial& polynomial, double t) const;
  template <int Sums>
  void sweep(double h, std::span<const double> lambda);
  bool accurate(const Function& function) const;

  std::shared_ptr<const TangentCode> code_;
  RecordedSystem& system_;
  const Tableau& tableau_;
  double rtol_;
  std::size_t n_, stages_;
  const TangentCode::Jacobian& jacobian_;
  Workspace work_;
  std::vector<double> data_, locks_, nominal_, x_, end_;
  std::vector<double> k_;                            // slopes, stage by stage
  std::vector<std::vector<double>> by_x_, by_data_;  // derivatives, by stage
  std::size_t swept_;                                // stages with a weight
  // Sums over the stages side by side: the change of the solution, and one or two estimates of its error.
  std::size_t sums_;             // 2 or 4; the fourth is 0
  std::vector<double> weights_;  // by stage
  std::vector<double> w_, v_, by_x_sums_, by_data_sums_;
  std::int64_t steps_ = 0;
};

}  // namespace saltus
