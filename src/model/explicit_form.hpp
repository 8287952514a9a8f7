// Equations that determine one derivative each, as right-hand sides.
#pragma once

#include <saltus/model/recorded_system.hpp>
#include <saltus/program/program.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace saltus {

class ExplicitForm {
 public:
  ExplicitForm() = default;
  /// If every equation determines one derivative, c x_j' = rest with c constant or a function of data, the system is
  /// put into the form 0 = x_j' - rest/c, in the order of the variables, and the derivatives in its guards are
  /// replaced. Otherwise nothing is changed.
  ExplicitForm(RecordedEquations& eq, const std::vector<Expr>& derivatives, std::span<const double> data);

  bool found() const { return found_; }
  const std::vector<Expr>& right_hand_sides() const { return f_; }
  /// Whether coefficients of derivatives do.
  bool depends_on_data() const { return coefficient_count_ > 0; }
  /// Whether it is there for other data too: no coefficient of a derivative vanishes.
  bool possible(std::span<const double> data) const { return !found_ || !depends_on_data() || nonzero(data); }
  /// Whether the same form would be found if the system were built for these data.
  bool same_for(std::span<const double> data) const { return !depends_on_data() || nonzero(data) == found_; }

 private:
  bool nonzero(std::span<const double> data) const;

  bool found_ = false;
  std::vector<Expr> f_;
  Program coefficients_;  // of the derivatives, where they depend on data; no outputs: they do not
  std::size_t coefficient_count_ = 0;
};

}  // namespace saltus
