#include "sens/tangent_stepper.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "sens/linear_equations.hpp"

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
  static std::atomic<std::uint64_t> last = 0;
  number = ++last;
  spread_data.resize(data.size() * lanes.lanes());
  spread_locks.resize(locks.size() * lanes.lanes());
  spread(data, lanes.width, spread_data.data());
  spread(locks, lanes.width, spread_locks.data());
  const Lanes of_data(data.size(), lanes.directions);
  changes.assign(of_data.size(), 0.0);
  for (std::size_t k = 0; k < data_changes.size(); ++k)
    for (std::size_t i = 0; i < data.size(); ++i) {
      changes[of_data.place(k, i)] = data_changes[k][i];
      if (data_changes[k][i] != 0.0) sparse_.push_back({k, i, data_changes[k][i]});
    }
}

std::span<const TangentValues::Change> TangentValues::changes_from(std::size_t direction) const {
  const auto first = std::ranges::lower_bound(sparse_, direction, {}, &Change::direction);
  return {first, sparse_.end()};
}

namespace {

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

}  // namespace

std::unique_ptr<TangentStepper> make_explicit_tangents(const TangentCode& code, const Tableau& tableau,
                                                       const Lanes& lanes) {
  const TapeRunner* const runner = code.step(tableau, lanes.width);
  return runner ? std::make_unique<ExplicitTangents>(*runner, tableau, lanes) : nullptr;
}

}  // namespace saltus
