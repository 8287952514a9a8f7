#include <saltus/step/dense_polynomial.hpp>

namespace saltus {

void DensePolynomial::evaluate(double t, std::span<double> x) const {
  const double theta = h == 0.0 ? 0.0 : (t - t0) / h;
  const double* row = c.data() + static_cast<std::size_t>(degree) * static_cast<std::size_t>(variables);
  for (int j = 0; j < variables; ++j) x[j] = row[j];
  for (int k = degree; k-- > 0;) {
    row -= variables;
    for (int j = 0; j < variables; ++j) x[j] = x[j] * theta + row[j];
  }
}

double DensePolynomial::evaluate(double t, int j) const {
  const double theta = h == 0.0 ? 0.0 : (t - t0) / h;
  double value = 0.0;
  for (int k = degree; k >= 0; --k) value = value * theta + c[static_cast<std::size_t>(k * variables + j)];
  return value;
}

void DensePolynomial::derivative(double t, std::span<double> xp) const {
  if (h == 0.0 || degree == 0) {
    for (int j = 0; j < variables; ++j) xp[j] = 0.0;
    return;
  }
  const double theta = (t - t0) / h;
  for (int j = 0; j < variables; ++j) {
    double value = 0.0;
    for (int k = degree; k >= 1; --k) value = value * theta + k * c[static_cast<std::size_t>(k * variables + j)];
    xp[j] = value / h;
  }
}

}  // namespace saltus
