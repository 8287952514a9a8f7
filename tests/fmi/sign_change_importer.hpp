// An importer for model exchange as simple as the standard allows, with the habits of importers around CVODE.
//
// - The integrator starts anew only where the FMU says that its states have changed. Otherwise it proceeds from the end
//   of its last step, beyond the event, with the derivatives that it has there.
// - Steps go beyond communication points and time events; values between are interpolated. They are not longer than the
//   distance of two communication points: two zeros of an indicator within one step leave its sign as it was.
// - Events are sign changes of indicators between the ends of steps. An indicator of zero at the start is looked at
// again
//   a tenth of a step later, and is inactive until it differs from zero. One that is zero at the last event and a
//   hundred rounding errors later ends the run: "root found at and very near t".
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "fmi/called_fmu.hpp"

namespace saltus::fmi_tests {

class SignChangeImporter {
 public:
  struct Counts {
    int steps = 0, events = 0, restarts = 0;
  };
  using Sampler = std::function<void(double t)>;

  /// `fmu` is initialised already.
  SignChangeImporter(ExchangeFmu& fmu, std::size_t states, std::size_t indicators, double tolerance)
      : fmu_(fmu), tolerance_(tolerance), glo_(indicators), ghi_(indicators), active_(indicators, true), x_(states) {
    for (auto* list : {&x_end_, &error_, &work_}) list->resize(states);
    for (auto& k : k_) k.resize(states);
  }

  /// Integrates to all times, and calls the sampler there; then the FMU has the values of that time.
  Counts run(double start, const std::vector<double>& times, const Sampler& sample) {
    t_ = start;
    longest_ = times.front() - start;
    if (!settle()) return counts_;
    restart();
    for (const double until : times) {
      while (t_ < until) {
        const double target = next_event_ && *next_event_ < until ? *next_event_ : until;
        const bool root = advance(target);
        place(t_);
        const bool timed = next_event_ && t_ >= *next_event_;
        if (!root && !timed) continue;
        ++counts_.events;
        fmu_.enter_event_mode();
        changed_ = false;
        if (!settle()) return counts_;
        if (changed_)
          restart();
        else
          after_root_ = root;
        if (counts_.events > most) throw std::runtime_error(fmt::format("too many events before t = {}", t_));
      }
      sample(t_);
    }
    return counts_;
  }

 private:
  static constexpr int most = 100000;

  bool settle() {
    for (;;) {
      const EventOutcome outcome = fmu_.update_discrete_states();
      changed_ = changed_ || outcome.states_changed;
      next_event_ = outcome.next_time;
      if (outcome.terminate) return false;
      if (!outcome.again) break;
    }
    fmu_.enter_continuous_mode();
    return true;
  }

  double smallest(double h) const {
    return 100.0 * std::numeric_limits<double>::epsilon() * (std::abs(t_end_) + std::abs(h));
  }
  double weight(std::size_t j, std::span<const double> x) const { return tolerance_ * (1.0 + std::abs(x[j])); }
  double norm(std::span<const double> v, std::span<const double> x) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < v.size(); ++j) sum += v[j] * v[j] / (weight(j, x) * weight(j, x));
    return v.empty() ? 0.0 : std::sqrt(sum / static_cast<double>(v.size()));
  }
  bool field(double t, std::span<const double> x, std::span<double> xp) {
    fmu_.set_time(t);
    fmu_.set_states(x);
    return fmu_.derivatives(xp);
  }
  void indicators(double t, std::span<const double> x, std::vector<double>& g) {
    fmu_.set_time(t);
    fmu_.set_states(x);
    if (!fmu_.indicators(g)) throw std::runtime_error(fmt::format("no indicators at t = {}", t));
  }

  void restart() {
    ++counts_.restarts;
    if (!x_.empty()) fmu_.states(x_);
    t_begin_ = t_end_ = t_;
    x_end_ = x_;
    if (!field(t_, x_, k_[0])) throw std::runtime_error(fmt::format("no derivatives at t = {}", t_));
    k_[6] = k_[0];
    const double size = norm(k_[0], x_);
    h_ = size > 0.0 ? std::min(0.01 / size * std::sqrt(1.0 / tolerance_), 1e-3) : 1e-3;
    first_look_ = true;
    after_root_ = false;
  }

  /// States between the ends of the last step, or beyond them by the derivative.
  void interpolate(double t, std::vector<double>& x) const {
    const double length = t_end_ - t_begin_;
    x = x_end_;
    if (length <= 0.0) {
      for (std::size_t j = 0; j < x.size(); ++j) x[j] += (t - t_end_) * k_[0][j];
      return;
    }
    const double s = (t - t_begin_) / length;
    const double s1 = 1.0 - s;
    // E. Hairer, S. P. Noersett, G. Wanner, Solving ordinary differential equations I, section II.6: continuous output
    static constexpr std::array<double, 7> d = {-12715105075.0 / 11282082432.0,  0.0,
                                                87487479700.0 / 32700410799.0,   -10690763975.0 / 1880347072.0,
                                                701980252875.0 / 199316789632.0, -1453857185.0 / 822651844.0,
                                                69997945.0 / 29380423.0};
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double rise = x_end_[j] - x_[j];
      const double bend = length * k_[0][j] - rise;
      const double twist = rise - length * k_[6][j] - bend;
      double rest = 0.0;
      for (std::size_t i = 0; i < 7; ++i) rest += length * d[i] * k_[i][j];
      x[j] = x_[j] + s * (rise + s1 * (bend + s * (twist + s1 * rest)));
    }
  }
  void place(double t) {
    interpolate(t, work_);
    fmu_.set_time(t);
    fmu_.set_states(work_);
  }

  /// One accepted step of Dormand and Prince, from the end of the last one.
  void step() {
    static constexpr double a[7][6] = {{},
                                       {1.0 / 5},
                                       {3.0 / 40, 9.0 / 40},
                                       {44.0 / 45, -56.0 / 15, 32.0 / 9},
                                       {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
                                       {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
                                       {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
    static constexpr double c[7] = {0.0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1.0, 1.0};
    static constexpr double e[7] = {71.0 / 57600,      0.0,          -71.0 / 16695, 71.0 / 1920,
                                    -17253.0 / 339200, 22.0 / 525.0, -1.0 / 40};
    if (++counts_.steps > most) throw std::runtime_error(fmt::format("too many steps before t = {}", t_end_));
    x_ = x_end_;
    t_begin_ = t_end_;
    std::swap(k_[0], k_[6]);
    for (;;) {
      bool valid = true;
      for (std::size_t i = 1; i < 7 && valid; ++i) {
        for (std::size_t j = 0; j < x_.size(); ++j) {
          double sum = 0.0;
          for (std::size_t l = 0; l < i; ++l) sum += a[i][l] * k_[l][j];
          work_[j] = x_[j] + h_ * sum;
        }
        valid = field(t_begin_ + c[i] * h_, work_, k_[i]);
      }
      for (std::size_t j = 0; j < x_.size(); ++j) {
        error_[j] = 0.0;
        for (std::size_t i = 0; i < 7; ++i) error_[j] += h_ * e[i] * k_[i][j];
      }
      const double size = valid ? norm(error_, work_) : 1e3;
      const double factor = std::clamp(0.9 * std::pow(std::max(size, 1e-10), -0.2), 0.2, 5.0);
      const double tried = h_;
      h_ = std::min(h_ * factor, longest_);
      if (valid && size <= 1.0) {
        t_end_ = t_begin_ + tried;
        x_end_ = work_;
        return;
      }
      if (h_ < 1e-14 * (1.0 + std::abs(t_begin_)))
        throw std::runtime_error(fmt::format("the step is too small at t = {}", t_begin_));
    }
  }

  /// Goes on until the target or the next sign change before it; true if there is one, at t_.
  bool advance(double target) {
    if (first_look_) {
      step();
      look_at_start();
      first_look_ = false;
    } else if (after_root_) {
      after_root_ = false;
      if (look_after_root()) return true;
    }
    for (;;) {
      const double until = std::min(t_end_, target);
      if (until > t_ && find_root(until)) return true;
      if (t_end_ >= target) {
        t_ = target;
        return false;
      }
      step();
    }
  }

  void look_at_start() {
    indicators(t_, x_, glo_);
    std::vector<double> x(x_.size());
    interpolate(t_ + 0.1 * (t_end_ - t_begin_), x);
    indicators(t_ + 0.1 * (t_end_ - t_begin_), x, ghi_);
    for (std::size_t i = 0; i < glo_.size(); ++i) {
      active_[i] = glo_[i] != 0.0 || ghi_[i] != 0.0;
      if (glo_[i] == 0.0) glo_[i] = ghi_[i];
    }
  }

  /// Zeros where the last event was. True: an indicator has become zero just after it.
  bool look_after_root() {
    std::vector<double> x(x_.size());
    interpolate(t_, x);
    indicators(t_, x, glo_);
    std::vector<char> zero(glo_.size(), 0);
    bool any = false;
    for (std::size_t i = 0; i < glo_.size(); ++i)
      if (active_[i] && glo_[i] == 0.0) {
        zero[i] = 1;
        any = true;
      }
    if (!any) return false;
    const double later = t_ + smallest(t_end_ - t_begin_);
    interpolate(later, x);
    indicators(later, x, ghi_);
    bool found = false;
    for (std::size_t i = 0; i < glo_.size(); ++i) {
      if (!active_[i]) continue;
      if (ghi_[i] == 0.0 && zero[i])
        throw std::runtime_error(fmt::format("root found at and very near t = {}: indicator {}", t_, i + 1));
      found = found || ghi_[i] == 0.0;
      if (zero[i]) glo_[i] = ghi_[i];
    }
    if (found) t_ = later;
    return found;
  }

  /// The first sign change after t_, at most at `until`; t_ is just after it then, or at `until`.
  bool find_root(double until) {
    std::vector<double> x(x_.size()), g(glo_.size());
    double low = t_, high = until;
    interpolate(high, x);
    indicators(high, x, ghi_);
    const auto changes = [&](const std::vector<double>& to, std::size_t i) {
      return active_[i] && ((glo_[i] < 0.0) != (to[i] < 0.0) || to[i] == 0.0) && glo_[i] != 0.0;
    };
    const auto any = [&](const std::vector<double>& to) {
      for (std::size_t i = 0; i < to.size(); ++i)
        if (changes(to, i)) return true;
      return false;
    };
    const bool found = any(ghi_);
    const double tolerance = smallest(t_end_ - t_begin_);
    int same_side = 0;
    while (found && high - low > tolerance) {
      double part = 0.5,
             steepest = 0.0;  // by the secant of the indicator that changes most, and halves where that is slow
      for (std::size_t i = 0; i < g.size() && std::abs(same_side) < 2; ++i)
        if (changes(ghi_, i) && std::abs(ghi_[i] - glo_[i]) > steepest) {
          steepest = std::abs(ghi_[i] - glo_[i]);
          part = glo_[i] / (glo_[i] - ghi_[i]);
        }
      const double mid = std::clamp(low + part * (high - low), low + 0.4 * tolerance, high - 0.4 * tolerance);
      interpolate(mid, x);
      indicators(mid, x, g);
      if (any(g)) {
        same_side = same_side > 0 ? same_side + 1 : 1;
        high = mid;
        ghi_ = g;
      } else {
        same_side = same_side < 0 ? same_side - 1 : -1;
        low = mid;
        glo_ = g;
      }
      if (std::abs(same_side) > 2) same_side = 0;
    }
    t_ = high;
    for (std::size_t i = 0; i < glo_.size(); ++i)
      if (ghi_[i] != 0.0) active_[i] = true;
    glo_ = ghi_;
    return found;
  }

  ExchangeFmu& fmu_;
  double tolerance_;
  Counts counts_;
  double t_ = 0.0, t_begin_ = 0.0, t_end_ = 0.0, h_ = 0.0, longest_ = 0.0;
  bool first_look_ = true, after_root_ = false, changed_ = false;
  std::optional<double> next_event_;
  std::vector<double> glo_, ghi_;
  std::vector<bool> active_;
  std::vector<double> x_, x_end_, error_, work_;
  std::array<std::vector<double>, 7> k_;
};

}  // namespace saltus::fmi_tests
