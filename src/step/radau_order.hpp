// Which of the Radau IIA methods makes the next step (E. Hairer, G. Wanner, J. Comput. Appl. Math. 111 (1999) 93-111,
// section 3): a higher order pays where the simplified Newton iteration converges fast, for then it could afford more
// stages; a lower one where it hardly converges. In modes whose equations move with the Jacobian (reduced ones) the
// rate is that of the turning projectors, 0.1 whatever the order; there a higher order pays as long as accuracy, not
// convergence, limits the steps.
#pragma once

#include <algorithm>
#include <cmath>

namespace saltus {

class RadauOrder {
 public:
  /// `stages`: 3, 5 or 7, fixed; 0: variable.
  explicit RadauOrder(int stages) : variable_(stages == 0), stages_(variable_ ? 3 : stages) {}

  bool variable() const { return variable_; }
  int stages() const { return stages_; }

  /// Begins with the order that the tolerance alone suggests.
  void restart(double rtol, bool moving) {
    fast_ = moving ? 0.15 : 2e-3;
    // measured on Robertson, HIRES, Oregonator and van der Pol: the next order costs no more evaluations from here on
    most_ = moving || rtol < 3e-8 ? 7 : rtol < 3e-5 ? 5 : 3;
    if (variable_) stages_ = rtol < 1e-10 ? 7 : rtol < 1e-5 ? 5 : 3;
    since_ = 0;
    rate_ = failures_ = 0.0;
  }

  /// After an accepted step, with the rate of convergence of its iteration, the change of step size that follows and
  /// whether a failure of the iteration limits it. Returns whether the order changes.
  bool after_step(double rate, double change, bool limited) {
    if (!variable_) return false;
    const double mean = rate_ > 0.0 ? std::sqrt(rate * rate_) : rate;
    rate_ = std::max(rate, 1e-10);
    failures_ *= 0.8;
    ++since_;
    const bool steady = change > 0.8 && change < 1.2;
    if (steady && !limited && mean < fast_ && since_ >= patience_ && stages_ < most_) return move(+2, 5);
    if (mean > slow && stages_ > 3) return move(-2, 10);
    return false;
  }

  /// The iteration has not converged. Returns whether the order changes.
  bool after_failure() {
    failures_ += 1.0;
    if (!variable_ || stages_ == 3 || failures_ < 4.0) return false;
    return move(-2, 20);
  }

 private:
  static constexpr double slow = 0.8;

  bool move(int by, int patience) {
    stages_ += by;
    since_ = 0;
    patience_ = patience;
    rate_ = failures_ = 0.0;
    return true;
  }

  bool variable_;
  int stages_, most_ = 7;
  int since_ = 0, patience_ = 3;  // steps since the last change, and how many to wait before the order is raised
  double fast_ = 2e-3, rate_ = 0.0, failures_ = 0.0;
};

}  // namespace saltus
