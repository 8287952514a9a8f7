// GuardErrors: errors of guards with nominal values (GuardInfo::nominal) count in steps, as those of variables do.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/event/event_locator.hpp>
#include <saltus/step/stepper.hpp>

#include <limits>
#include <span>
#include <vector>

namespace saltus {

class GuardErrors {
 public:
  /// `rtol`, `atol`: of the values of guards, the latter for a nominal value of one.
  GuardErrors(std::span<const GuardInfo> guards, double rtol, double atol);

  bool any() const { return !controlled_.empty(); }
  /// The longest step that is worth trying.
  double longest() const { return longest_; }
  /// Whether the step that `stepper` has made from (t, x, xp) is short enough. False: longest() has become shorter.
  bool accept(System& system, std::span<const GuardWatch> watch, const Stepper& stepper, double t,
              std::span<const double> x, std::span<const double> xp, std::span<const double> rtol,
              std::span<const double> atol);
  void persist(StateArchive& archive) { archive(longest_); }

 private:
  struct Controlled {
    std::size_t guard;
    double nominal;
  };
  /// The largest error of a guard over what is allowed, by the error that the stepper has estimated.
  double ratio(System& system, std::span<const GuardWatch> watch, const Stepper& stepper, double t,
               std::span<const double> x, std::span<const double> xp, std::span<const double> rtol,
               std::span<const double> atol);

  std::vector<Controlled> controlled_;
  double rtol_, atol_;
  double longest_ = std::numeric_limits<double>::infinity();
  std::vector<double> begin_, end_, beside_, shifted_, error_;
};

}  // namespace saltus
