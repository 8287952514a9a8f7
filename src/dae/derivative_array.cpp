#include <saltus/dae/derivative_array.hpp>

#include <limits>

#include <fmt/format.h>

namespace saltus {

DerivativeArray::DerivativeArray(System& system)
    : system_(&system), m_(system.structure().equations), n_(system.structure().variables) {}

int DerivativeArray::highest_level() const {
  return system_->structure().taylor ? std::numeric_limits<int>::max() : 0;
}

void DerivativeArray::require_level(int level) const {
  if (level < 0) throw UsageError("derivative array: the level must not be negative");
  if (level > highest_level())
    throw UsageError(fmt::format(
        "derivative array of level {}: this system has no Taylor coefficients (structure().taylor is false); "
        "write its equations as expressions, or implement System::taylor and System::taylor_jacobian",
        level));
}

void DerivativeArray::evaluate(double t, int level, std::span<const double> X, std::span<double> f) {
  require_level(level);
  if (system_->structure().taylor)
    system_->taylor(t, level, X, f);
  else
    system_->residual(t, X.first(n_), X.subspan(n_, n_), f);
}

void DerivativeArray::evaluate_coefficients(double t, int level, std::span<const double> X, std::span<double> f) {
  require_level(level);
  const Structure& s = system_->structure();
  Fx_.resize(s.state_pattern.row.size() * (static_cast<std::size_t>(level) + 1));
  Fxp_.resize(s.derivative_pattern.row.size() * (static_cast<std::size_t>(level) + 1));
  if (s.taylor) {
    system_->taylor_jacobian(t, level, X, f, Fx_, Fxp_);
  } else {
    system_->residual(t, X.first(n_), X.subspan(n_, n_), f);
    system_->jacobian(t, X.first(n_), X.subspan(n_, n_), Fx_, Fxp_);
  }
}

void DerivativeArray::evaluate(double t, int level, std::span<const double> X, std::span<double> f, Matrix& jacobian) {
  evaluate_coefficients(t, level, X, f);
  jacobian.reset(rows(level), columns(level));
  const Structure& s = system_->structure();
  const auto add = [&](const SparsePattern& p, std::span<const double> values, int shift, auto weight) {
    for (int q = 0; q <= level; ++q)  // coefficient q stands in block (j, i) with j - i + shift = q
      for (int i = 0; i <= level + 1; ++i) {
        const int j = q + i - shift;
        if (j < 0 || j > level || weight(i) == 0.0) continue;
        const auto coefficient = values.subspan(q * p.row.size(), p.row.size());
        for (int c = 0; c < p.columns; ++c)
          for (int k = p.start[c]; k < p.start[c + 1]; ++k)
            jacobian(j * m_ + p.row[k], i * n_ + c) += weight(i) * coefficient[k];
      }
  };
  add(s.state_pattern, Fx_, 0, [](int) { return 1.0; });
  add(s.derivative_pattern, Fxp_, 1, [](int i) { return static_cast<double>(i); });
}

}  // namespace saltus
