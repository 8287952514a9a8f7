#include "hybrid/far_root.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace saltus {
namespace {

/// The sign of the determinant of a matrix of size m by columns; 0 if it is singular or not finite.
int sign_of_determinant(std::vector<double>& a, std::size_t m) {
  int sign = 1;
  for (std::size_t k = 0; k < m; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < m; ++i) {
      if (!std::isfinite(a[k * m + i])) return 0;
      if (std::abs(a[k * m + i]) > std::abs(a[k * m + pivot])) pivot = i;
    }
    if (a[k * m + pivot] == 0.0) return 0;
    if (pivot != k) sign = -sign;
    for (std::size_t j = k; j < m; ++j) std::swap(a[j * m + k], a[j * m + pivot]);
    if (a[k * m + k] < 0.0) sign = -sign;
    for (std::size_t j = k + 1; j < m; ++j) {
      const double factor = a[j * m + k] / a[k * m + k];
      for (std::size_t i = k + 1; i < m; ++i) a[j * m + i] -= factor * a[k * m + i];
    }
  }
  return sign;
}

/// The sign of the determinant of a block of the system Jacobian along the way from the guess to the start.
class SignsOnTheWay {
 public:
  SignsOnTheWay(System& system, const StructuralAnalysis& structure, int block)
      : system_(system), jacobian_(system.structure(), structure) {
    const BlockTriangularForm& form = structure.blocks;
    const Structure& s = system.structure();
    row_.assign(static_cast<std::size_t>(s.equations), -1);
    for (int k = form.start[block]; k < form.start[block + 1]; ++k) {
      row_[static_cast<std::size_t>(form.equation[k])] = k - form.start[block];
      variables_.push_back(form.variable[k]);
    }
    Fx_.resize(static_cast<std::size_t>(s.state_pattern.nonzeros()));
    Fxp_.resize(static_cast<std::size_t>(s.derivative_pattern.nonzeros()));
    J_.resize(static_cast<std::size_t>(jacobian_.pattern().nonzeros()));
  }

  int at(double t, std::span<const double> x, std::span<const double> xp) {
    system_.jacobian(t, x, xp, Fx_, Fxp_);
    jacobian_.assemble(Fx_, Fxp_, J_);
    const std::size_t m = variables_.size();
    matrix_.assign(m * m, 0.0);
    const SparsePattern& p = jacobian_.pattern();
    for (std::size_t c = 0; c < m; ++c)
      for (int k = p.start[variables_[c]]; k < p.start[variables_[c] + 1]; ++k)
        if (const int row = row_[static_cast<std::size_t>(p.row[k])]; row >= 0)
          matrix_[c * m + static_cast<std::size_t>(row)] = J_[static_cast<std::size_t>(k)];
    return sign_of_determinant(matrix_, m);
  }

 private:
  System& system_;
  SystemJacobian jacobian_;
  std::vector<int> row_, variables_;
  std::vector<double> Fx_, Fxp_, J_, matrix_;
};

}  // namespace

std::string describe_far_root(System& system, const StructuralAnalysis& structure, double t,
                              std::span<const double> guess, std::span<const double> x, std::span<const double> xp) {
  constexpr int places = 16, largest_block = 100;
  const Structure& s = system.structure();
  if (s.linear || s.equations != s.variables || structure.singular()) return "";
  const BlockTriangularForm& form = structure.blocks;
  std::vector<double> between(x.size());
  for (int b = 0; b < form.blocks(); ++b) {
    const auto far = [&](int j) { return guess[j] != 0.0 && std::abs(x[j] - guess[j]) > std::abs(guess[j]); };
    const auto first = form.variable.begin() + form.start[b], last = form.variable.begin() + form.start[b + 1];
    const auto found = std::find_if(first, last, far);
    if (found == last || last - first > largest_block) continue;
    SignsOnTheWay signs(system, structure, b);
    int seen = signs.at(t, x, xp);
    for (int k = 0; k < places && seen != 0; ++k) {
      for (std::size_t j = 0; j < x.size(); ++j) between[j] = guess[j] + (x[j] - guess[j]) * k / places;
      if (signs.at(t, between, xp) != -seen) continue;
      return fmt::format(
          "{} = {:.6g} was found from the start value {:.6g}, beyond a place where its equations are singular: they "
          "may "
          "have a nearer solution; give a start value near the one that is meant",
          system.variable_name(*found), x[*found], guess[*found]);
    }
  }
  return "";
}

}  // namespace saltus
