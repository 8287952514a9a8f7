// Equations that determine one derivative each, as right-hand sides.
#pragma once

#include <saltus/model/recorded_system.hpp>

#include <span>
#include <vector>

namespace saltus {

class ExplicitForm {
 public:
  ExplicitForm() = default;
  /// If every equation determines one derivative, c x_j' = rest with c constant or a function of data, the system is put into the form
  /// 0 = x_j' - rest/c, in the order of the variables, and the derivatives in its guards are replaced. Otherwise nothing is changed.
  ExplicitForm(RecordedEquations& eq, const std::vector<Expr>& derivatives, std::span<const double> data);

  bool found() const { return found_; }
  const std::vector<Expr>& right_hand_sides() const { return f_; }
  /// Whether coefficients of derivatives do.
  bool depends_on_data() const { return !coefficients_.empty(); }
  /// Whether it is there for other data too: no coefficient of a derivative vanishes.
  bool possible(const RecordedEquations& eq, std::span<const double> data) const {
    return coefficients_.empty() || coefficients_nonzero(eq, data);
  }

 private:
  bool coefficients_nonzero(const RecordedEquations& eq, std::span<const double> data) const;

  bool found_ = false;
  std::vector<Expr> f_;
  std::vector<Expr> coefficients_;  // of the derivatives, where they depend on data
};

}  // namespace saltus
