#include "sens/linear_rosenbrock.hpp"

#include <algorithm>
#include <array>

namespace saltus {

namespace {

/// So many numbers of the stages fit into the caches near the processor.
constexpr std::size_t near_memory = 4000000;

/// Wide blocks read the matrices seldom, and hide how long the solution waits for the numbers before.
int width_for(std::size_t n, std::size_t directions, std::size_t stages) {
  if (directions == 1) return 1;
  int width = directions <= 4 ? 4 : directions <= 8 ? 8 : 16;
  while (width > 4 && static_cast<std::size_t>(width) * n * stages > near_memory) width /= 2;
  return width;
}

/// The weights of values at `nodes` in the slope, at the first of them, of the polynomial through them.
std::vector<double> slope_weights(std::span<const double> nodes) {
  std::vector<double> weights(nodes.size(), 0.0);
  for (std::size_t k = 1; k < nodes.size(); ++k) {
    weights[k] = 1.0 / (nodes[k] - nodes[0]);
    for (std::size_t j = 1; j < nodes.size(); ++j)
      if (j != k) weights[k] *= (nodes[0] - nodes[j]) / (nodes[k] - nodes[j]);
    weights[0] -= weights[k];
  }
  return weights;
}

/// The same lanes in blocks of another width, from or to blocks of four, of which the wider ones consist.
void repack(const Lanes& from, const double* values, const Lanes& to, double* out) {
  for (std::size_t first = 0; first < from.directions; first += 4) {
    const double* in = values + from.place(first, 0);
    double* o = out + to.place(first, 0);
    for (std::size_t i = 0; i < from.n; ++i, in += from.width, o += to.width) lanes_at<4>(o) = lanes_at<4>(in);
  }
}

}  // namespace

LinearNodes::LinearNodes(LinearEquations& equations, const RosenbrockTableau& tableau)
    : equations_(equations), nodes_(tableau.c) {
  std::ranges::sort(nodes_);
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  for (const double c : tableau.c)
    node_of_stage_.push_back(static_cast<std::size_t>(std::ranges::lower_bound(nodes_, c) - nodes_.begin()));
  slope_weights_ = slope_weights(nodes_);
  at_.resize(nodes_.size());
}

bool LinearNodes::find(double t, double h, SolutionPath& path, const TangentValues& values) {
  const double end = t + nodes_.back() * h;
  const bool same = known_ == values.number && version_ == equations_.version();
  bool begins = same && known_begin_ == t, ends = same && known_end_ == end;
  if (same && !begins && !ends && (known_end_ == t || known_begin_ == end)) {
    begins = known_end_ == t;
    ends = !begins;
    std::swap(at_.front(), at_.back());
  }
  known_ = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    if ((k == 0 && begins) || (k + 1 == nodes_.size() && ends)) continue;
    if (!equations_.evaluate(t + nodes_[k] * h, path, values, at_[k])) return false;
  }
  known_begin_ = t;
  known_end_ = end;
  known_ = values.number;
  version_ = equations_.version();
  find_slope(h);
  return true;
}

void LinearNodes::find_slope(double h) {
  const LinearEquations::Values& first = at_.front();
  constant_ = std::ranges::all_of(at_, [&](const auto& at) { return at.a == first.a && at.b == first.b; });
  if (constant_) return;
  slope_.a.assign(first.a.size(), 0.0);
  slope_.b.assign(first.b.size(), 0.0);
  for (std::size_t k = 1; k < nodes_.size(); ++k) {
    const double weight = slope_weights_[k] / h;
    for (std::size_t e = 0; e < slope_.a.size(); ++e) slope_.a[e] += weight * (at_[k].a[e] - first.a[e]);
    for (std::size_t e = 0; e < slope_.b.size(); ++e) slope_.b[e] += weight * (at_[k].b[e] - first.b[e]);
  }
}

LinearRosenbrock::LinearRosenbrock(LinearEquations& equations, const RosenbrockTableau& tableau, const Lanes& lanes)
    : equations_(equations),
      tableau_(tableau),
      outer_(lanes),
      inner_(lanes.n, lanes.directions,
             width_for(lanes.n, lanes.directions, static_cast<std::size_t>(tableau.stages) + 3)),
      kernels_(lane_kernels(inner_.width)),
      nodes_(equations, tableau),
      size_(inner_.block()) {
  if (inner_.width != outer_.width)
    for (auto* v : {&y_, &y1_, &error_}) v->resize(inner_.size());
  argument_.resize(size_);
  if (!equations.identity()) sum_.resize(size_);
  u_.resize((static_cast<std::size_t>(tableau.stages) + 1) * size_);
}

bool LinearRosenbrock::step(double t, double h, SolutionPath& path, const TangentValues& values,
                            std::span<const double> s, std::span<double> s1, std::span<double> error) {
  if (!nodes_.find(t, h, path, values)) return false;
  shift_ = 1.0 / (h * tableau_.gamma);
  if (!equations_.factorise(shift_, nodes_.first())) return false;
  const bool packed = inner_.width != outer_.width;
  if (packed) repack(outer_, s.data(), inner_, y_.data());
  const double* const from = packed ? y_.data() : s.data();
  double *const to = packed ? y1_.data() : s1.data(), *const e = packed ? error_.data() : error.data();
  for (std::size_t b = 0; b < inner_.blocks(); ++b)
    take(b * inner_.lanes(), h, values, from + b * size_, to + b * size_, e + b * size_);
  if (packed) {
    repack(inner_, y1_.data(), outer_, s1.data());
    repack(inner_, error_.data(), outer_, error.data());
  }
  return all_are_finite(s1);
}

void LinearRosenbrock::filter(std::span<double> error) {
  const bool packed = inner_.width != outer_.width;
  const std::size_t width = inner_.lanes();
  for (std::size_t b = 0; b < inner_.blocks(); ++b) {
    double* const e = (packed ? error_.data() : error.data()) + b * size_;
    if (equations_.identity()) {
      for (std::size_t k = 0; k < size_; ++k) e[k] *= shift_;
    } else {
      std::copy_n(e, size_, sum_.data());
      std::fill_n(e, size_, 0.0);
      for (const LinearEquations::Entry& m : equations_.mass())
        for (std::size_t l = 0; l < width; ++l)
          e[static_cast<std::size_t>(m.row) * width + l] =
              shift_ * sum_[static_cast<std::size_t>(m.column) * width + l];
    }
    equations_.solve(e, inner_.width);
  }
  if (packed) repack(inner_, error_.data(), outer_, error.data());
}

/// The argument of a stage, and the sums on its right-hand side.
void LinearRosenbrock::begin_stage(std::size_t i, double h, const double* y) {
  const auto stages = static_cast<std::size_t>(tableau_.stages);
  const double *const a = tableau_.a.data() + i * stages, *const C = tableau_.C.data() + i * stages;
  std::array<double, 16> for_y{}, for_sum{};
  const bool identity = equations_.identity(), with_slope = identity && !nodes_.constant();
  std::size_t count = 0;
  if (with_slope) for_sum[count++] = h * tableau_.d[i];
  for (std::size_t j = 0; j < i; ++j, ++count) {
    for_y[count] = a[j];
    for_sum[count] = C[j] / h;
  }
  // stiffly accurate methods have last stages whose arguments grow by one stage each
  const bool grows = i > 1 && std::equal(a, a + i - 1, a - stages) && a[i - 1] != 0.0;
  double* const r = u_.data() + slot(i);
  kernels_.sums({.base = grows ? argument_.data() : y,
                 .stages = u_.data() + (with_slope ? 0 : size_),
                 .stride = size_,
                 .count = static_cast<int>(count),
                 .first = grows ? static_cast<int>(count) - 1 : 0,
                 .a = for_y.data(),
                 .c = for_sum.data(),
                 .argument = argument_.data(),
                 .sum = identity ? r : sum_.data(),
                 .size = size_});
  if (identity) return;
  const double hd = nodes_.constant() ? 0.0 : h * tableau_.d[i];
  for (std::size_t k = 0; k < size_; ++k) r[k] = hd == 0.0 ? 0.0 : hd * u_[k];
  const std::size_t width = inner_.lanes();
  for (const LinearEquations::Entry& e : equations_.mass())
    for (std::size_t l = 0; l < width; ++l)
      r[static_cast<std::size_t>(e.row) * width + l] += sum_[static_cast<std::size_t>(e.column) * width + l];
}

void LinearRosenbrock::take(std::size_t first, double h, const TangentValues& values, const double* y, double* y1,
                            double* error) {
  const std::size_t stages = static_cast<std::size_t>(tableau_.stages), width = inner_.lanes();
  if (!nodes_.constant()) {
    std::fill_n(u_.data(), size_, 0.0);
    kernels_.multiply(equations_.pattern(), nodes_.slope().a.data(), y, u_.data());
    equations_.add_data(nodes_.slope(), 1.0, first, width, values, u_.data());
  }
  for (std::size_t i = 0; i < stages; ++i) {
    begin_stage(i, h, y);
    double* const r = u_.data() + slot(i);
    const LinearEquations::Values& at = nodes_.of_stage(i);
    kernels_.multiply(equations_.pattern(), at.a.data(), argument_.data(), r);
    equations_.add_data(at, 1.0, first, width, values, r);
    equations_.solve(r, inner_.width);
  }
  const double* const last = u_.data() + slot(stages - 1);
  for (std::size_t i = 0; i < size_; ++i) y1[i] = argument_[i] + last[i];
  std::copy_n(last, size_, error);
}

}  // namespace saltus
