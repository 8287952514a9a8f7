#include <saltus/step/dense_polynomial.hpp>

#include <algorithm>
#include <utility>

namespace saltus {

namespace {
constexpr int few = 8;  // variables: one after the other, in registers
}

PolynomialOfPart::~PolynomialOfPart() {
  while (before && before.use_count() == 1) {
    std::shared_ptr<const PolynomialOfPart> next = std::move(const_cast<PolynomialOfPart&>(*before).before);
    before = std::move(next);
  }
}

template <class Read>
void DensePolynomial::read_parts(std::span<double> out, Read read) const {
  std::vector<const PolynomialOfPart*> chain;
  for (const PolynomialOfPart* part = parts.get(); part; part = part->before.get()) chain.push_back(part);
  read(*parts->all, out);
  std::vector<double> values;
  for (std::size_t k = chain.size(); k-- > 0;) {
    values.resize(chain[k]->variables.size());
    read(chain[k]->polynomial, values);
    for (std::size_t j = 0; j < values.size(); ++j) out[static_cast<std::size_t>(chain[k]->variables[j])] = values[j];
  }
}

[[gnu::hot]] void DensePolynomial::evaluate(double t, std::span<double> x) const {
  if (parts) [[unlikely]]
    return read_parts(x, [t](const DensePolynomial& p, std::span<double> out) { p.evaluate(t, out); });
  const double theta = h == 0.0 ? 0.0 : (t - t0) / h;
  const double* row = c.data() + static_cast<std::size_t>(degree) * static_cast<std::size_t>(variables);
  if (variables <= few) {
    for (int j = 0; j < variables; ++j) {
      const double* coefficient = row + j;
      double value = *coefficient;
      for (int k = degree; k > 0; --k) value = value * theta + *(coefficient -= variables);
      x[j] = value;
    }
    return;
  }
  for (int j = 0; j < variables; ++j) x[j] = row[j];
  for (int k = degree; k-- > 0;) {
    row -= variables;
    for (int j = 0; j < variables; ++j) x[j] = x[j] * theta + row[j];
  }
}

double DensePolynomial::evaluate(double t, int j) const {
  for (const PolynomialOfPart* part = parts.get(); part; part = part->before.get()) {
    const auto place = std::find(part->variables.begin(), part->variables.end(), j);
    if (place != part->variables.end())
      return part->polynomial.evaluate(t, static_cast<int>(place - part->variables.begin()));
  }
  if (parts) return parts->all->evaluate(t, j);
  const double theta = h == 0.0 ? 0.0 : (t - t0) / h;
  double value = 0.0;
  for (int k = degree; k >= 0; --k) value = value * theta + c[static_cast<std::size_t>(k * variables + j)];
  return value;
}

void DensePolynomial::tail(double t, DensePolynomial& part) const {
  if (parts) {
    part = *this;
    part.t0 = t;
    part.h = t1() - t;
    return;
  }
  part.parts = nullptr;
  part.t0 = t;
  part.h = t1() - t;
  part.degree = degree;
  part.variables = variables;
  part.c = c;
  const auto n = static_cast<std::size_t>(variables), top = static_cast<std::size_t>(degree);
  const double theta = h == 0.0 ? 0.0 : (t - t0) / h, ratio = h == 0.0 ? 0.0 : part.h / h;
  // Horner's scheme again and again: after round k, rows 0 … k are the coefficients of powers of the distance from theta
  for (std::size_t k = 0; k < top; ++k)
    for (std::size_t i = top; i-- > k;)
      for (std::size_t j = 0; j < n; ++j) part.c[i * n + j] += theta * part.c[(i + 1) * n + j];
  double scale = 1.0;
  for (std::size_t k = 1; k <= top; ++k) {
    scale *= ratio;
    for (std::size_t j = 0; j < n; ++j) part.c[k * n + j] *= scale;
  }
}

void DensePolynomial::derivative(double t, std::span<double> xp) const {
  if (parts) return read_parts(xp, [t](const DensePolynomial& p, std::span<double> out) { p.derivative(t, out); });
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
