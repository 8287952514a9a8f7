#include "sens/tangent_stepper.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace saltus {

const Trajectory::Step& SolutionPath::step(double t) {
  const std::vector<Trajectory::Step>& steps = *steps_;
  const double sign = steps.front().polynomial.h >= 0.0 ? 1.0 : -1.0;
  const auto before_end = [&](const Trajectory::Step& s) { return (s.t_end - t) * sign >= 0.0; };
  if ((t - steps[last_].polynomial.t0) * sign >= 0.0) {
    if (before_end(steps[last_]) || last_ + 1 == steps.size()) return steps[last_];
    if (before_end(steps[last_ + 1])) return steps[++last_];
  }
  const auto it = std::partition_point(steps.begin(), steps.end(), [&](const auto& s) { return !before_end(s); });
  last_ = std::min(static_cast<std::size_t>(it - steps.begin()), steps.size() - 1);
  return steps[last_];
}

const Trajectory::Step& SolutionPath::step_from(double t) {
  step(t);
  if (steps_->at(last_).t_end == t && last_ + 1 < steps_->size()) ++last_;
  return (*steps_)[last_];
}

TangentValues::TangentValues(const Lanes& layout, std::vector<double> numbers, std::span<const double> lock_values,
                             std::span<const std::vector<double>> data_changes)
    : data(std::move(numbers)), locks(lock_values.begin(), lock_values.end()), lanes(layout) {
  spread_data.resize(data.size() * lanes.lanes());
  spread_locks.resize(locks.size() * lanes.lanes());
  spread(data, lanes.width, spread_data.data());
  spread(locks, lanes.width, spread_locks.data());
  const Lanes of_data(data.size(), lanes.directions);
  changes.assign(of_data.size(), 0.0);
  for (std::size_t k = 0; k < data_changes.size(); ++k)
    for (std::size_t i = 0; i < data.size(); ++i) changes[of_data.place(k, i)] = data_changes[k][i];
}

namespace {

bool all_are_finite(std::span<const double> values) {
  double sum = 0.0;
  for (const double v : values) sum += 0.0 * v;
  return sum == 0.0;
}

class ExplicitTangents final : public TangentStepper {
 public:
  ExplicitTangents(const TapeRunner& runner, const Tableau& tableau, const Lanes& lanes)
      : runner_(runner), tableau_(tableau), lanes_(lanes), memory_(runner.memory()), t_(lanes.lanes()), h_(t_) {
    for (auto* v : {&x_, &x1_, &second_}) v->resize(lanes.block());
    point_.resize(lanes.n);
  }
  int error_exponent() const override { return tableau_.error_exponent; }

  bool step(double t, double h, SolutionPath& path, const TangentValues& values, std::span<const double> s,
            std::span<double> s1, std::span<double> error) override {
    const DensePolynomial& polynomial = path.step_from(t).polynomial;
    const double* x = polynomial.c.data();
    if (t != polynomial.t0) {
      polynomial.evaluate(t, point_);
      x = point_.data();
    }
    std::ranges::fill(t_, t);
    std::ranges::fill(h_, h);
    spread({x, lanes_.n}, lanes_.width, x_.data());
    const std::size_t size = lanes_.block();
    for (std::size_t b = 0; b < lanes_.blocks(); ++b) {
      const double* const in[] = {t_.data(),
                                  h_.data(),
                                  x_.data(),
                                  s.data() + b * size,
                                  values.spread_data.data(),
                                  values.block_changes(b),
                                  values.spread_locks.data()};
      double* const e = error.data() + b * size;
      double* const out[] = {x1_.data(), s1.data() + b * size, e, second_.data()};
      runner_(in, out, memory_);
      // Hairer, Norsett, Wanner I, (10.17), value by value
      if (tableau_.second_error.empty()) continue;
      for (std::size_t i = 0; i < size; ++i) {
        const double first = e[i], norm = first * first + 0.01 * second_[i] * second_[i];
        e[i] = norm > 0.0 ? first * first / std::sqrt(norm) : 0.0;
      }
    }
    return all_are_finite(s1) && all_are_finite(error);
  }

 private:
  const TapeRunner& runner_;
  const Tableau& tableau_;
  Lanes lanes_;
  TapeRunner::Memory memory_;
  std::vector<double> t_, h_, x_, x1_, second_, point_;
};

// With A(t) = f_x and b(t) = f_d dd, a stage is (in the notation of rosenbrock.hpp)
//   (1/(h gamma) - A(t)) u_i = A(t_i) S_i + b(t_i) + sum_j C_ij/h u_j + h d_i (A'(t) s + b'(t)),  S_i = s + sum_j a_ij
//   u_j.
class ImplicitTangents final : public TangentStepper {
 public:
  ImplicitTangents(const TangentCode& code, const RosenbrockTableau& tableau, const Lanes& lanes)
      : jacobian_(code.jacobian()),
        tableau_(tableau),
        lanes_(lanes),
        work_(jacobian_.program.workspace()),
        slope_work_(jacobian_.slopes.workspace()) {
    find_nodes();
    matrix_.set_pattern(jacobian_.by_x);
    x_.resize(lanes.n);
    xp_.resize(lanes.n);
    for (Values& at : at_) {
      at.by_x.resize(jacobian_.by_x.row.size());
      at.by_data.resize(jacobian_.by_data.size());
    }
    slope_ = at_.front();
    shifted_.resize(slope_.by_x.size());
    argument_.resize(lanes.block());
    u_.resize(static_cast<std::size_t>(tableau.stages) * lanes.block());
  }
  int error_exponent() const override { return tableau_.error_exponent; }

  bool step(double t, double h, SolutionPath& path, const TangentValues& values, std::span<const double> s,
            std::span<double> s1, std::span<double> error) override {
    // The slope is that of the polynomial: f would magnify the errors of fast variables.
    const DensePolynomial& start = path.step_from(t).polynomial;
    start.evaluate(t, x_);
    start.derivative(t, xp_);
    evaluate(t, values, jacobian_.slopes, slope_work_, slope_);
    const auto zero = [](double v) { return v == 0.0; };
    constant_ = std::ranges::all_of(slope_.by_x, zero) && std::ranges::all_of(slope_.by_data, zero);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const double at = t + nodes_[k] * h;
      if (k > 0) path.step(at).polynomial.evaluate(at, x_);
      evaluate(at, values, jacobian_.program, work_, at_[k]);
    }
    const double shift = 1.0 / (h * tableau_.gamma);
    const SparsePattern& pattern = jacobian_.by_x;
    for (std::size_t e = 0; e < shifted_.size(); ++e) shifted_[e] = -at_[0].by_x[e];
    for (int j = 0; j < pattern.columns; ++j)
      for (int e = pattern.start[j]; e < pattern.start[j + 1]; ++e)
        if (pattern.row[e] == j) shifted_[static_cast<std::size_t>(e)] += shift;
    if (!all_are_finite(shifted_) || !matrix_.factorise(shifted_)) return false;
    const std::size_t size = lanes_.block();
    for (std::size_t b = 0; b < lanes_.blocks(); ++b) {
      const double *const from = s.data() + b * size, *const changes = values.block_changes(b);
      double *const to = s1.data() + b * size, *const e = error.data() + b * size;
      if (lanes_.width == 1)
        take<1>(h, from, changes, to, e);
      else
        take<4>(h, from, changes, to, e);
    }
    return all_are_finite(s1);
  }

 private:
  struct Values {
    std::vector<double> by_x, by_data;
  };

  /// The distinct times of the stages.
  void find_nodes() {
    for (const double c : tableau_.c) {
      const auto it = std::ranges::find(nodes_, c);
      node_of_stage_.push_back(static_cast<std::size_t>(it - nodes_.begin()));
      if (it == nodes_.end()) nodes_.push_back(c);
    }
    at_.resize(nodes_.size());
  }

  void evaluate(double t, const TangentValues& values, const Program& program, Workspace& work, Values& at) {
    const double* const in[] = {&t, x_.data(), xp_.data(), values.data.data(), values.locks.data()};
    double* const out[] = {at.by_x.data(), at.by_data.data()};
    program(in, out, work);
  }

  /// out += factor (A s + b).
  template <int Width>
  void add(double factor, const Values& at, const double* s, const double* changes, double* out) const {
    const SparsePattern& pattern = jacobian_.by_x;
    const int* const row = pattern.row.data();
    const double *const by_x = at.by_x.data(), *const by_data = at.by_data.data();
    for (int j = 0; j < pattern.columns; ++j) {
      const auto x = lanes_at<Width>(s + j * Width) * factor;
      for (int e = pattern.start[j]; e < pattern.start[j + 1]; ++e)
        lanes_at<Width>(out + row[e] * Width) += by_x[e] * x;
    }
    for (std::size_t e = 0; e < at.by_data.size(); ++e)
      lanes_at<Width>(out + jacobian_.by_data[e].row * Width) +=
          factor * by_data[e] * lanes_at<Width>(changes + jacobian_.by_data[e].column * Width);
  }

  /// argument = s + sum_j a_ij u_j and u_i = sum_j C_ij/h u_j, in one pass over the stages.
  template <int Width>
  void begin_stage(std::size_t i, double h, const double* s) {
    const auto stages = static_cast<std::size_t>(tableau_.stages);
    const double *const a = tableau_.a.data() + i * stages, *const C = tableau_.C.data() + i * stages;
    std::array<double, most_stages> c{};
    for (std::size_t j = 0; j < i; ++j) c[j] = C[j] / h;
    const std::size_t size = lanes_.block();
    double *const argument = argument_.data(), *const u = u_.data();
    for (std::size_t k = 0; k < size; k += Width) {
      auto sum = lanes_at<Width>(s + k);
      auto sum_c = sum - sum;
      for (std::size_t j = 0; j < i; ++j) {
        const auto from = lanes_at<Width>(u + j * size + k);
        sum += a[j] * from;
        sum_c += c[j] * from;
      }
      lanes_at<Width>(argument + k) = sum;
      lanes_at<Width>(u + i * size + k) = sum_c;
    }
  }

  template <int Width>
  void take(double h, const double* s, const double* changes, double* s1, double* error) {
    const std::size_t size = lanes_.block(), stages = static_cast<std::size_t>(tableau_.stages);
    for (std::size_t i = 0; i < stages; ++i) {
      begin_stage<Width>(i, h, s);
      double* const u = u_.data() + i * size;
      add<Width>(1.0, at_[node_of_stage_[i]], argument_.data(), changes, u);
      if (tableau_.d[i] != 0.0 && !constant_) add<Width>(h * tableau_.d[i], slope_, s, changes, u);
      matrix_.solve(u, Width);
    }
    const double* const last = u_.data() + (stages - 1) * size;
    for (std::size_t i = 0; i < size; ++i) s1[i] = argument_[i] + last[i];
    std::copy_n(last, size, error);
  }

  static constexpr std::size_t most_stages = 16;
  const TangentCode::Jacobian& jacobian_;
  const RosenbrockTableau& tableau_;
  Lanes lanes_;
  Workspace work_, slope_work_;
  std::vector<double> nodes_;
  std::vector<std::size_t> node_of_stage_;
  std::vector<Values> at_;  // by node
  Values slope_;
  LaneLu matrix_;
  bool constant_ = false;  // A and b do not change with time
  std::vector<double> x_, xp_, shifted_, argument_;
  std::vector<double> u_;  // stage by stage
};

}  // namespace

std::unique_ptr<TangentStepper> make_explicit_tangents(const TangentCode& code, const Tableau& tableau,
                                                       const Lanes& lanes) {
  const TapeRunner* const runner = code.step(tableau, lanes.width);
  return runner ? std::make_unique<ExplicitTangents>(*runner, tableau, lanes) : nullptr;
}

std::unique_ptr<TangentStepper> make_implicit_tangents(const TangentCode& code, const RosenbrockTableau& tableau,
                                                       const Lanes& lanes) {
  return std::make_unique<ImplicitTangents>(code, tableau, lanes);
}

}  // namespace saltus
