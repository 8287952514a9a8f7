#include "sens/linear_adjoint.hpp"

#include "sens/lanes.hpp"

namespace saltus {

LinearAdjoint::LinearAdjoint(LinearEquations& equations, const RosenbrockTableau& tableau)
    : equations_(equations), tableau_(tableau), nodes_(equations, tableau) {}

bool LinearAdjoint::pull(double t, double h, SolutionPath& path, const TangentValues& values,
                         std::span<const double> behind, Function& before, Function& error) {
  if (!nodes_.find(t, h, path, values)) return false;
  if (!equations_.factorise(1.0 / (h * tableau_.gamma), nodes_.first())) return false;
  y_.assign(2 * equations_.size(), 0.0);
  data_.assign(2 * values.data.size(), 0.0);
  sweep(h, behind);
  filter_error(h);
  const auto split = [](const std::vector<double>& pairs, std::vector<double>& first, std::vector<double>& second) {
    first.resize(pairs.size() / 2);
    second.resize(pairs.size() / 2);
    for (std::size_t k = 0; k < first.size(); ++k) {
      first[k] = pairs[2 * k];
      second[k] = pairs[2 * k + 1];
    }
  };
  split(y_, before.y, error.y);
  split(data_, before.data, error.data);
  return all_are_finite(before.y) && all_are_finite(before.data);
}

/// y += A^T w and data += B^T w.
void LinearAdjoint::add_transposed(const LinearEquations::Values& at, std::span<const double> w, std::span<double> y) {
  using Pair = LaneVector<2>::type;
  const LaneRows& rows = equations_.pattern();
  for (std::size_t i = 0; i + 1 < rows.start.size(); ++i) {
    const Pair from = lanes_at<2>(w.data() + 2 * i);
    if (from[0] == 0.0 && from[1] == 0.0) continue;
    for (int e = rows.start[i]; e < rows.start[i + 1]; ++e)
      lanes_at<2>(y.data() + 2 * static_cast<std::size_t>(rows.column[static_cast<std::size_t>(e)])) +=
          at.a[static_cast<std::size_t>(e)] * from;
  }
  const std::vector<LinearEquations::Entry>& by_data = equations_.by_data();
  for (std::size_t e = 0; e < by_data.size();) {  // column by column
    const int column = by_data[e].column;
    Pair sum{};
    for (; e < by_data.size() && by_data[e].column == column; ++e)
      sum += at.b[e] * lanes_at<2>(w.data() + 2 * static_cast<std::size_t>(by_data[e].row));
    lanes_at<2>(data_.data() + 2 * static_cast<std::size_t>(column)) += sum;
  }
}

/// The stages of the step in reverse order, from those functions of them that y_1 and its error (the last stage) are.
void LinearAdjoint::sweep(double h, std::span<const double> behind) {
  const std::size_t n = behind.size(), size = 2 * n, stages = static_cast<std::size_t>(tableau_.stages);
  const double* const b = tableau_.a.data() + (stages - 1) * stages;
  u_.assign(stages * size, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    double* const u = u_.data() + 2 * k;
    for (std::size_t j = 0; j + 1 < stages; ++j) u[j * size] = b[j] * behind[k];
    u[(stages - 1) * size] = u[(stages - 1) * size + 1] = y_[2 * k] = behind[k];
  }
  slope_w_.assign(size, 0.0);
  for (std::size_t i = stages; i-- > 0;) {
    const double* const stage = u_.data() + i * size;
    w_.assign(stage, stage + size);
    equations_.solve_transposed(w_);
    v_.assign(size, 0.0);
    add_transposed(nodes_.of_stage(i), w_, v_);
    for (std::size_t k = 0; k < size; ++k) y_[k] += v_[k];
    if (const double hd = h * tableau_.d[i]; hd != 0.0 && !nodes_.constant())
      for (std::size_t k = 0; k < size; ++k) slope_w_[k] += hd * w_[k];
    for (std::size_t j = 0; j < i; ++j)
      add_stage(tableau_.a[i * stages + j], tableau_.C[i * stages + j] / h, u_.data() + j * size);
  }
  if (!nodes_.constant()) add_transposed(nodes_.slope(), slope_w_, y_);
}

/// u += a v + c M^T w
void LinearAdjoint::add_stage(double a, double c, double* u) const {
  const std::size_t size = v_.size();
  if (equations_.identity()) {
    for (std::size_t k = 0; k < size; ++k) u[k] += a * v_[k] + c * w_[k];
    return;
  }
  for (std::size_t k = 0; k < size && a != 0.0; ++k) u[k] += a * v_[k];
  for (const LinearEquations::Entry& m : equations_.mass())
    for (std::size_t l = 0; l < 2; ++l)
      u[2 * static_cast<std::size_t>(m.column) + l] += c * w_[2 * static_cast<std::size_t>(m.row) + l];
}

/// Without fast parts, which die out on the way back, see TangentStepper::filter.
void LinearAdjoint::filter_error(double h) {
  const double shift = 1.0 / (h * tableau_.gamma);
  w_ = y_;
  equations_.solve_transposed(w_);
  if (equations_.identity()) {
    for (std::size_t k = 1; k < y_.size(); k += 2) y_[k] = shift * w_[k];
    return;
  }
  for (std::size_t k = 1; k < y_.size(); k += 2) y_[k] = 0.0;
  for (const LinearEquations::Entry& m : equations_.mass())
    y_[2 * static_cast<std::size_t>(m.column) + 1] = shift * w_[2 * static_cast<std::size_t>(m.row) + 1];
}

}  // namespace saltus
