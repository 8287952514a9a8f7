#include "dae/component_choice.hpp"

#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {
namespace {

constexpr double dependent = 1e-8;

// Rows of a matrix, made orthogonal to those already chosen.
class RowBasis {
 public:
  explicit RowBasis(const Matrix& a) : rest_(a) {}
  double length(int i) const {
    double sum = 0.0;
    for (int j = 0; j < rest_.columns(); ++j) sum += rest_(i, j) * rest_(i, j);
    return std::sqrt(sum);
  }
  void take(int i) {
    std::vector<double> q(static_cast<std::size_t>(rest_.columns()));
    const double size = length(i);
    for (int j = 0; j < rest_.columns(); ++j) q[j] = rest_(i, j) / size;
    for (int k = 0; k < rest_.rows(); ++k) {
      double product = 0.0;
      for (int j = 0; j < rest_.columns(); ++j) product += rest_(k, j) * q[j];
      for (int j = 0; j < rest_.columns(); ++j) rest_(k, j) -= product * q[j];
    }
  }

 private:
  Matrix rest_;
};

}  // namespace

Admissibility check_fixed(const Matrix& T2, std::span<const int> fixed) {
  Admissibility result;
  if (fixed.empty()) return result;
  RowBasis basis(T2);
  for (int j : fixed)
    if (basis.length(j) > dependent) {
      basis.take(j);
      result.kept.push_back(j);
    }
  result.admissible = result.kept.size() == fixed.size();
  if (result.admissible) return result;
  const Svd rows = svd(select_rows(T2, fixed));
  const int rank = static_cast<int>(std::ranges::count_if(rows.s, [](double s) { return s > dependent; }));
  for (int i = 0; i < rows.U.rows(); ++i) {
    double share = 0.0;
    for (int k = rank; k < rows.U.columns(); ++k) share = std::max(share, std::abs(rows.U(i, k)));
    if (share > 1e-6) result.conflicting.push_back(fixed[i]);
  }
  return result;
}

std::vector<int> choose_components(const Matrix& T2, const Structure& structure, const StructuralAnalysis& analysis,
                                   std::span<const int> preferred, std::span<const int> first) {
  const auto order = [&](int j) {
    return analysis.variable_offset.empty() ? static_cast<int>(structure.differentiated(j))
                                            : analysis.variable_offset[j];
  };
  int highest = 0;
  for (int j = 0; j < structure.variables; ++j) highest = std::max(highest, order(j));
  RowBasis basis(T2);
  std::vector<int> chosen;
  std::vector<char> taken(static_cast<std::size_t>(structure.variables), 0), wanted(taken.size(), 0);
  for (const int j : first) wanted[j] = 1;
  for (const int j : preferred) wanted[j] = 2;
  for (const int j : first) {
    if (!preferred.empty() || !(basis.length(j) > dependent)) continue;
    basis.take(j);
    taken[j] = 1;
    chosen.push_back(j);
  }
  // poor pivots only when nothing better is left
  for (const double threshold : {1e-2, 1e-5, dependent})
    for (int level = highest; level >= 0; --level) {
      if (level == 0 && threshold > dependent) continue;
      while (static_cast<int>(chosen.size()) < T2.columns()) {
        int best = -1;
        double largest = threshold;
        for (int j = 0; j < structure.variables; ++j) {
          if (taken[j] || order(j) != level || (best >= 0 && wanted[j] < wanted[best])) continue;
          const double length = basis.length(j);
          if (length > (best >= 0 && wanted[j] == wanted[best] ? largest : threshold)) {
            best = j;
            largest = length;
          }
        }
        if (best < 0) break;
        basis.take(best);
        taken[best] = 1;
        chosen.push_back(best);
      }
    }
  return chosen;
}

}  // namespace saltus
