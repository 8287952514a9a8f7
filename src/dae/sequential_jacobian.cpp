#include <saltus/dae/sequential_jacobian.hpp>

#include <algorithm>

namespace saltus {

std::vector<int> SequentialJacobian::order(const Structure& structure, const StructuralAnalysis& analysis) {
  if (analysis.singular() || std::ranges::any_of(analysis.equation_offset, [](int c) { return c > 0; })) return {};
  const auto for_each_in = [&](int j, auto visit) {
    const SparsePattern& p = analysis.variable_offset[j] > 0 ? structure.derivative_pattern : structure.state_pattern;
    for (int k = p.start[j]; k < p.start[j + 1]; ++k) visit(p.row[k]);
  };
  std::vector<int> unknown(static_cast<std::size_t>(structure.equations), 0), found;  // unknown variables in each equation
  found.reserve(unknown.size());
  for (int j = 0; j < structure.variables; ++j) for_each_in(j, [&](int i) { ++unknown[i]; });
  const auto note = [&](int i) {
    if (unknown[i] == 1) found.push_back(i);
  };
  for (int i = 0; i < structure.equations; ++i) note(i);
  for (std::size_t k = 0; k < found.size(); ++k)
    for_each_in(analysis.matched_variable[found[k]], [&](int i) {
      --unknown[i];
      note(i);
    });
  if (found.size() != unknown.size()) return {};
  return found;
}

int SequentialJacobian::determinant_sign() const {
  int sign = +1;
  for (const int i : order_) {
    const double pivot = entry(i, analysis_.matched_variable[i]);
    if (pivot == 0.0 || !std::isfinite(pivot)) return 0;
    if (pivot < 0.0) sign = -sign;
  }
  return sign;
}

/// G^T y = c, from the last equation to the first: the rows of a column are its own and later ones.
void SequentialJacobian::solve_transposed(std::span<const double> c, std::span<double> y) const {
  for (std::size_t k = order_.size(); k-- > 0;) {
    const int i = order_[k], j = analysis_.matched_variable[i];
    const Part& part = part_of(j);
    double sum = c[j], pivot = 0.0;
    for (int p = part.pattern.start[j]; p < part.pattern.start[j + 1]; ++p) {
      if (part.pattern.row[p] == i)
        pivot = part.values[p];
      else
        sum -= part.values[p] * y[part.pattern.row[p]];
    }
    y[i] = sum / pivot;
  }
}

double SequentialJacobian::inverse_norm(std::span<const std::int8_t> rows, std::span<const std::int8_t> columns,
                                        std::vector<double>& workspace) const {
  const auto n = static_cast<std::size_t>(state_.pattern.columns);
  if (n == 0) return 0.0;
  workspace.resize(2 * n);
  const std::span<double> b = std::span(workspace).first(n), y = std::span(workspace).subspan(n, n);
  std::vector<bool> negative(n);
  const auto apply = [&] {  // y := A^-1 b; its norm
    double norm = 0.0;
    for (std::size_t i = 0; i < n; ++i) b[i] *= power_of_two(static_cast<std::int8_t>(-rows[i]));
    solve(b, [&](int j, double z) {
      y[j] = z * power_of_two(static_cast<std::int8_t>(-columns[j]));
      norm += std::abs(y[j]);
    });
    return norm;
  };
  std::ranges::fill(b, 1.0 / static_cast<double>(n));
  double norm = apply();
  for (int round = 0; round < 5 && n > 1; ++round) {
    bool same = round > 0;
    for (std::size_t j = 0; j < n; ++j) {
      const bool now = y[j] < 0.0;
      same = same && now == negative[j];
      negative[j] = now;
      y[j] = (now ? -1.0 : 1.0) * power_of_two(static_cast<std::int8_t>(-columns[j]));
    }
    if (same) break;
    solve_transposed(y, b);
    std::size_t largest = 0;
    double mean = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      b[i] *= power_of_two(static_cast<std::int8_t>(-rows[i]));
      mean += b[i];
      if (std::abs(b[i]) > std::abs(b[largest])) largest = i;
    }
    if (round == 0 && std::abs(b[largest]) <= mean / static_cast<double>(n)) break;  // the first vector was the best
    std::ranges::fill(b, 0.0);
    b[largest] = 1.0;
    const double next = apply();
    if (!(next > norm)) break;
    norm = next;
  }
  // a vector that is not misled by cancellation in the others
  for (std::size_t i = 0; i < n; ++i)
    b[i] = (i % 2 == 0 ? 1.0 : -1.0) * (1.0 + static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(n - 1, 1)));
  return std::max(norm, 2.0 * apply() / (3.0 * static_cast<double>(n)));
}

}  // namespace saltus
