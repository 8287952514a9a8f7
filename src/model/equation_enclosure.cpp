#include "model/equation_enclosure.hpp"

namespace saltus {

void EquationEnclosure::begin(TaylorEnclosure& work, Interval t, int order, const Values& values) {
  work.start(order);
  work.set(0, 0, 0, t);
  if (order > 0) work.set(0, 0, 1, 1.0);
  for (std::size_t k = 0; k < values.data.size(); ++k) work.set(3, static_cast<int>(k), 0, values.data[k]);
  for (std::size_t k = 0; k < values.locks.size(); ++k) work.set(4, static_cast<int>(k), 0, values.locks[k]);
}

void EquationEnclosure::residual(Interval t, int order, std::span<const Interval> X, std::size_t variables,
                                 const Values& values, std::span<const int> which, std::size_t equations,
                                 std::span<Interval> F) {
  residual_.select(which);
  begin(residual_, t, order, values);
  for (int k = 0; k <= order; ++k) {
    const Interval* const row = X.data() + static_cast<std::size_t>(k) * variables;
    for (std::size_t j = 0; j < variables; ++j) {
      residual_.set(1, static_cast<int>(j), k, row[j]);
      residual_.set(2, static_cast<int>(j), k, Interval(k + 1.0) * row[variables + j]);
    }
    residual_.advance(k);
    for (const int i : which)
      F[static_cast<std::size_t>(k) * equations + static_cast<std::size_t>(i)] = residual_.get(0, i, k);
  }
}

void EquationEnclosure::jacobian(Interval t, std::span<const Interval> X, std::size_t variables, const Values& values,
                                 std::span<Interval> Fx, std::span<Interval> Fxp) {
  begin(jacobian_, t, 0, values);
  for (std::size_t j = 0; j < variables; ++j) {
    jacobian_.set(1, static_cast<int>(j), 0, X[j]);
    jacobian_.set(2, static_cast<int>(j), 0, X[variables + j]);
  }
  jacobian_.advance(0);
  for (std::size_t k = 0; k < Fx.size(); ++k) Fx[k] = jacobian_.get(1, static_cast<int>(k), 0);
  for (std::size_t k = 0; k < Fxp.size(); ++k) Fxp[k] = jacobian_.get(2, static_cast<int>(k), 0);
}

}  // namespace saltus
