#include "sens/constrained_tangents.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace saltus {

namespace {

/// An explicit Runge-Kutta method for the held variables.
class HeldTangents final : public TangentStepper {
 public:
  HeldTangents(ConstrainedEquations& equations, const Tableau& tableau, const Lanes& lanes)
      : equations_(equations), tableau_(tableau), lanes_(lanes) {}
  int error_exponent() const override { return tableau_.error_exponent; }

  bool step(double t, double h, SolutionPath& path, const TangentValues& values, std::span<const double> s,
            std::span<double> s1, std::span<double> error) override {
    const std::size_t stages = static_cast<std::size_t>(tableau_.stages), width = tableau_.c.size(),
                      lanes = lanes_.lanes(), blocks = lanes_.blocks(), held = equations_.held_places().size(),
                      size = held * lanes;
    k_.resize(stages * blocks * size);
    const auto slopes = [&](std::size_t i, std::size_t b) { return k_.data() + (i * blocks + b) * size; };
    const auto keep_slopes = [&](std::size_t i, std::span<const double> y) {
      for (std::size_t b = 0; b < blocks; ++b)
        for (std::size_t k = 0; k < held; ++k)
          std::copy_n(y.data() + b * lanes_.block() + static_cast<std::size_t>(equations_.slope_places()[k]) * lanes,
                      lanes, slopes(i, b) + k * lanes);
    };
    /// The held values of s, and h times the sum of the slopes with these weights, go to `out`.
    const auto combine = [&](std::span<const double> weights, bool with_base, std::span<double> out) {
      for (std::size_t b = 0; b < blocks; ++b)
        for (std::size_t k = 0; k < held; ++k) {
          const std::size_t place = b * lanes_.block() + static_cast<std::size_t>(equations_.held_places()[k]) * lanes;
          for (std::size_t l = 0; l < lanes; ++l) {
            double sum = 0.0;
            for (std::size_t i = 0; i < weights.size(); ++i)
              if (weights[i] != 0.0) sum += weights[i] * slopes(i, b)[k * lanes + l];
            out[place + l] = (with_base ? s[place + l] : 0.0) + h * sum;
          }
        }
    };
    keep_slopes(0, s);
    double known = t;  // time of the factors that are there
    for (std::size_t i = 1; i < stages; ++i) {
      combine(std::span(tableau_.a).subspan(i * width, i), true, s1);
      const double at = t + tableau_.c[i] * h;
      if (at != known || i == 1) {
        if (!equations_.evaluate(at, path, values, at_) || !equations_.factorise_free(at_)) return false;
        known = at;
      }
      equations_.push(at_, values, lanes_, s1);
      keep_slopes(i, s1);
    }
    std::ranges::fill(error, 0.0);
    combine(std::span(tableau_.error).first(stages), false, error);
    if (!tableau_.second_error.empty()) {  // Hairer, Norsett, Wanner I, (10.17), value by value
      second_.assign(error.size(), 0.0);
      combine(std::span(tableau_.second_error).first(stages), false, second_);
      for (std::size_t i = 0; i < error.size(); ++i) {
        const double norm = error[i] * error[i] + 0.01 * second_[i] * second_[i];
        error[i] = norm > 0.0 ? error[i] * error[i] / std::sqrt(norm) : 0.0;
      }
    }
    return all_are_finite(s1) && all_are_finite(error);
  }

 private:
  ConstrainedEquations& equations_;
  const Tableau& tableau_;
  Lanes lanes_;
  LinearEquations::Values at_;
  std::vector<double> k_, second_;
};

}  // namespace

ConstrainedTangents::ConstrainedTangents(std::shared_ptr<const LinearMode> mode, std::shared_ptr<TangentWork> observer)
    : mode_(std::move(mode)),
      observer_(std::move(observer)),
      equations_(mode_),
      lanes_(mode_->unknowns(), observer_->lanes().directions),
      weights_(mode_->unknowns(), 0.0) {
  for (const int j : mode_->candidates()) {
    const auto variable = static_cast<std::size_t>(j);
    weights_[static_cast<std::size_t>(mode_->place(variable, 0))] = 1.0 / mode_->nominal(variable);
  }
}

int ConstrainedTangents::choice() {
  const auto it = std::ranges::find(choices_, equations_.held());
  if (it == choices_.end()) choices_.push_back(equations_.held());
  return static_cast<int>(std::ranges::find(choices_, equations_.held()) - choices_.begin());
}

void ConstrainedTangents::choose(int choice) {
  const std::vector<int>& held = choices_[static_cast<std::size_t>(choice)];
  if (held != equations_.held()) equations_.hold(held);
}

bool ConstrainedTangents::open(const TangentValues& values, double t, std::span<const double> x,
                               std::span<const double> xp, const std::vector<int>& held) {
  if (!equations_.open(values, t, x, xp, held)) return false;
  best_condition_ = equations_.point().condition();
  orientation_ = equations_.point().orientation();
  return true;
}

bool ConstrainedTangents::move(double t, SolutionPath& path, const TangentValues& values) {
  return equations_.move(t, path, values);
}

bool ConstrainedTangents::follow(const TangentValues& values, std::span<double> y) {
  equations_.read(at_);
  if (!equations_.factorise_free(at_)) return false;
  equations_.push(at_, values, lanes_, y);
  return all_are_finite(y);
}

ConstrainedTangents::Point ConstrainedTangents::point() const {
  const LinearPoint& point = equations_.point();
  const std::vector<double> rates = point.rates();
  Point result;
  for (std::size_t j = 0; j < mode_->variables(); ++j) {
    const auto rate = [&](int order) {
      const int place = mode_->place(j, order);
      return place >= 0 ? rates[static_cast<std::size_t>(place)] : 0.0;
    };
    result.x.push_back(point.value(j, 0));
    result.xp.push_back(rate(0));
    result.xpp.push_back(rate(1));
  }
  return result;
}

std::vector<double> ConstrainedTangents::part(std::span<const double> y, int order) const {
  const Lanes& of_variables = observer_->lanes();
  std::vector<double> result(of_variables.size(), 0.0);
  for (std::size_t k = 0; k < lanes_.directions; ++k)
    for (std::size_t j = 0; j < mode_->variables(); ++j)
      if (const int place = mode_->place(j, order); place >= 0)
        result[of_variables.place(k, j)] = y[lanes_.place(k, static_cast<std::size_t>(place))];
  return result;
}

TangentStepper* ConstrainedTangents::explicit_stepper(const Tableau& tableau) {
  std::unique_ptr<TangentStepper>& stepper = explicit_[&tableau];
  if (!stepper) stepper = std::make_unique<HeldTangents>(equations_, tableau, lanes_);
  return stepper.get();
}

TangentStepper& ConstrainedTangents::implicit_stepper() {
  if (!implicit_) implicit_ = std::make_unique<LinearRosenbrock>(equations_, rodas_5p(), lanes_);
  return *implicit_;
}

bool ConstrainedTangents::serves(double end, SolutionPath& path, const TangentValues& values) {
  return !mode_->hidden_constraints() || (move(end, path, values) && equations_.point().orientation() == orientation_);
}

int ConstrainedTangents::passed(double t, SolutionPath& path, const TangentValues& values, std::span<double> y,
                                bool anew, bool& good) {
  good = true;
  if (!mode_->hidden_constraints()) return choice();
  good = move(t, path, values);
  if (!good) return 0;
  constexpr double worse = 0.1;
  LinearPoint& point = equations_.point();
  best_condition_ = std::max(best_condition_, point.condition());
  if (anew || point.condition() < worse * best_condition_) {
    good = point.choose_held();
    if (!good) return 0;
    if (point.held() != equations_.held()) equations_.hold(point.held());
    best_condition_ = point.condition();
    orientation_ = point.orientation();
  }
  good = follow(values, y);
  return choice();
}

std::vector<double> ConstrainedTangents::observed_slopes(double t, SolutionPath& path, const TangentValues& values,
                                                         std::span<const double> /*y*/) {
  move(t, path, values);
  const Point at = point();
  return observer_->observe_time(t, at.x, at.xp, at.xpp, values);
}

std::vector<std::vector<double>> ConstrainedTangents::observed(double t, SolutionPath& path,
                                                               const TangentValues& values, std::span<const double> y) {
  move(t, path, values);
  const Point at = point();
  return observer_->observe(t, at.x, at.xp, values, part(y, 0), part(y, 1));
}

}  // namespace saltus
