#include "sens/linear_adjoint.hpp"

#include <algorithm>

namespace saltus {

LinearAdjoint::LinearAdjoint(LinearEquations& equations, const RosenbrockTableau& tableau)
    : equations_(equations), tableau_(tableau), nodes_(equations, tableau) {}

bool LinearAdjoint::pull(double t, double h, SolutionPath& path, const TangentValues& values,
                         std::span<const double> behind, Function& before, Function& error) {
  if (!nodes_.find(t, h, path, values)) return false;
  if (!equations_.factorise(1.0 / (h * tableau_.gamma), nodes_.first())) return false;
  for (Function* f : {&before, &error}) {
    f->y.assign(equations_.size(), 0.0);
    f->data.assign(values.data.size(), 0.0);
    sweep(h, behind, f == &error, *f);
  }
  return all_are_finite(before.y) && all_are_finite(before.data);
}

/// y += A^T w and data += B^T w.
void LinearAdjoint::add_transposed(const LinearEquations::Values& at, std::span<const double> w, double* y,
                                   double* data) const {
  const LaneRows& rows = equations_.pattern();
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (w[i] == 0.0) continue;
    for (int e = rows.start[i]; e < rows.start[i + 1]; ++e)
      y[rows.column[static_cast<std::size_t>(e)]] += at.a[static_cast<std::size_t>(e)] * w[i];
  }
  const std::vector<LinearEquations::Entry>& by_data = equations_.by_data();
  for (std::size_t e = 0; e < by_data.size(); ++e)
    data[by_data[e].column] += at.b[e] * w[static_cast<std::size_t>(by_data[e].row)];
}

/// The stages of the step in reverse order, from those functions of them that y_1 (or its error, the last stage) is.
void LinearAdjoint::sweep(double h, std::span<const double> behind, bool error, Function& out) {
  const std::size_t n = behind.size(), stages = static_cast<std::size_t>(tableau_.stages);
  const std::vector<LinearEquations::Entry>& mass = equations_.mass();
  u_.assign(stages * n, 0.0);
  std::ranges::copy(behind, u_.begin() + static_cast<std::ptrdiff_t>((stages - 1) * n));
  const double* const b = tableau_.a.data() + (stages - 1) * stages;
  for (std::size_t j = 0; j + 1 < stages && !error; ++j)
    for (std::size_t k = 0; k < n; ++k) u_[j * n + k] = b[j] * behind[k];
  if (!error) std::ranges::copy(behind, out.y.begin());
  slope_w_.assign(n, 0.0);
  for (std::size_t i = stages; i-- > 0;) {
    w_.assign(u_.begin() + static_cast<std::ptrdiff_t>(i * n), u_.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
    equations_.solve_transposed(w_);
    v_.assign(n, 0.0);
    add_transposed(nodes_.of_stage(i), w_, v_.data(), out.data.data());
    for (std::size_t k = 0; k < n; ++k) out.y[k] += v_[k];
    if (const double hd = h * tableau_.d[i]; hd != 0.0 && !nodes_.constant())
      for (std::size_t k = 0; k < n; ++k) slope_w_[k] += hd * w_[k];
    for (std::size_t j = 0; j < i; ++j) {
      double* const u = u_.data() + j * n;
      const double a = tableau_.a[i * stages + j], c = tableau_.C[i * stages + j] / h;
      if (a != 0.0)
        for (std::size_t k = 0; k < n; ++k) u[k] += a * v_[k];
      if (equations_.identity())
        for (std::size_t k = 0; k < n; ++k) u[k] += c * w_[k];
      else
        for (const LinearEquations::Entry& m : mass) u[m.column] += c * w_[static_cast<std::size_t>(m.row)];
    }
  }
  if (!nodes_.constant()) add_transposed(nodes_.slope(), slope_w_, out.y.data(), out.data.data());
  if (!error) return;
  // without fast parts, which die out on the way back, see TangentStepper::filter
  w_ = out.y;
  equations_.solve_transposed(w_);
  const double shift = 1.0 / (h * tableau_.gamma);
  if (equations_.identity()) {
    for (std::size_t k = 0; k < n; ++k) out.y[k] = shift * w_[k];
    return;
  }
  std::ranges::fill(out.y, 0.0);
  for (const LinearEquations::Entry& m : mass)
    out.y[static_cast<std::size_t>(m.column)] = shift * w_[static_cast<std::size_t>(m.row)];
}

}  // namespace saltus
