// G. Benettin, L. Galgani, A. Giorgilli, J.-M. Strelcyn, Meccanica 15 (1980): the derivatives of the state after an
// interval, M, act on an orthonormal basis Q; M Q = Q' R; the exponents are the averages of log |R_kk| in time.
#include <fmt/format.h>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/sens/lyapunov.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "sens/state_variables.hpp"

namespace saltus {

namespace {

class ExponentAverage {
 public:
  ExponentAverage(const CompiledModel& model, const LyapunovOptions& options)
      : model_(model), options_(options), state_(state_variables(model, options.variables)) {
    const auto d = static_cast<Eigen::Index>(state_.names.size());
    basis_ = Eigen::MatrixXd::Identity(d, d);
    lost_.assign(state_.names.size(), 0);
  }

  LyapunovExponents run() {
    SimulateOptions options = options_.simulate;
    options.stop = options.start + options_.transient;
    const Trajectory before = simulate(model_, options);
    t_ = options.stop;
    values_ = before.final();
    if (before.status().code != StatusCode::success) {
      fail(fmt::format("the transient ended at t = {:.9g}: {}", before.t_end(), before.status().message));
      return finish();
    }
    for (int k = 0; k < options_.intervals; ++k)
      if (!advance()) break;
    return finish();
  }

 private:
  bool fail(std::string message) {
    result_.status = LyapunovStatus::no_derivative;
    result_.message = std::move(message);
    return false;
  }

  /// One interval, or several where it would end at an event or on a surface: a run cannot begin there.
  bool advance() {
    std::vector<std::pair<std::string, double>> changes = discrete_values(model_, values_);
    std::vector<std::string> names;
    for (std::size_t k = 0; k < state_.names.size(); ++k) {
      changes.emplace_back(state_.names[k], values_[state_.places[k]]);
      names.push_back(state_.names[k] + ".start");
    }
    const CompiledModel model = model_.with_values(changes);
    SimulateOptions options = options_.simulate;
    options.start = t_;
    double length = options_.interval;
    for (int k = 0; k < 100; ++k, length += 0.37 * options_.interval) {
      options.stop = t_ + length;
      const SensitivityRun run = simulate_with_sensitivities(model, names, options);
      const Trajectory& trajectory = run.trajectory();
      if (trajectory.status().code != StatusCode::success)
        return fail(fmt::format("the run ended at t = {:.9g}: {}", trajectory.t_end(), trajectory.status().message));
      if (!run.why().empty())
        return fail(fmt::format("the run has no derivative behind t = {:.9g}: {}", run.end(), run.why()));
      const auto& segments = trajectory.segments();
      const bool at_event =
          !trajectory.events().empty() && trajectory.events().back().t >= options.stop - 1e-9 * length;
      if (at_event || segments.back().slides || segments.back().in_contact) continue;
      if (trajectory.mode(segments.back()).automaton != model.initial_mode().automaton)
        return fail("a run cannot begin in an explicit mode other than the first one");
      take(run, names, length);
      return true;
    }
    return fail(fmt::format("the run slides or rests in contact for a hundred intervals behind t = {:.9g}", t_));
  }

  void take(const SensitivityRun& run, const std::vector<std::string>& names, double length) {
    const auto d = static_cast<Eigen::Index>(names.size());
    Eigen::MatrixXd m(d, d);
    for (Eigen::Index j = 0; j < d; ++j) {
      const std::vector<double> by = run.final(names[static_cast<std::size_t>(j)]);
      for (Eigen::Index i = 0; i < d; ++i) m(i, j) = by[state_.places[static_cast<std::size_t>(i)]];
    }
    const auto& segments = run.trajectory().segments();
    const bool loses = std::ranges::any_of(segments, [](const auto& s) { return s.slides || s.in_contact; });
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(m * basis_);
    const double nothing = loses ? 1e3 * options_.simulate.rtol * m.norm() : 0.0;
    Sums sums{length, {}};
    for (Eigen::Index k = 0; k < d; ++k) {
      const double size = std::abs(qr.matrixQR()(k, k));
      if (size <= nothing) lost_[static_cast<std::size_t>(k)] = 1;
      sums.growth.push_back(size > 0.0 ? std::log(size) : 0.0);
    }
    intervals_.push_back(std::move(sums));
    basis_ = qr.householderQ();
    t_ = run.trajectory().t_end();
    values_ = run.trajectory().final();
  }

  LyapunovExponents finish() {
    result_.t_end = t_;
    std::vector<std::pair<double, double>> all;  // exponent and error
    for (const Sums& sums : intervals_) result_.time += sums.length;
    for (std::size_t k = 0; k < state_.names.size() && !intervals_.empty(); ++k)
      all.push_back(lost_[k] ? std::pair(-std::numeric_limits<double>::infinity(), 0.0) : average(k));
    std::ranges::sort(all, std::greater());
    for (const auto& [value, error] : all) {
      result_.values.push_back(value);
      result_.errors.push_back(error);
    }
    return std::move(result_);
  }

  std::pair<double, double> average(std::size_t k) const {
    constexpr std::size_t most_blocks = 20;
    const std::size_t blocks = std::min(most_blocks, intervals_.size());
    std::vector<double> means;
    double whole = 0.0;
    for (std::size_t b = 0; b < blocks; ++b) {
      double growth = 0.0, time = 0.0;
      for (std::size_t i = b * intervals_.size() / blocks; i < (b + 1) * intervals_.size() / blocks; ++i) {
        growth += intervals_[i].growth[k];
        time += intervals_[i].length;
      }
      whole += growth;
      means.push_back(growth / time);
    }
    const double mean = whole / result_.time;
    double squares = 0.0;
    for (const double value : means) squares += (value - mean) * (value - mean);
    const double n = static_cast<double>(blocks);
    return {mean, blocks > 1 ? std::sqrt(squares / (n * (n - 1.0))) : std::numeric_limits<double>::infinity()};
  }

  struct Sums {
    double length;
    std::vector<double> growth;  // logarithms
  };

  CompiledModel model_;
  const LyapunovOptions& options_;
  StateVariables state_;
  Eigen::MatrixXd basis_;
  std::vector<char> lost_;  // directions that a surface has taken away
  double t_ = 0.0;
  std::vector<double> values_;
  std::vector<Sums> intervals_;
  LyapunovExponents result_;
};

}  // namespace

std::string_view to_string(LyapunovStatus status) {
  return status == LyapunovStatus::finished ? "finished" : "no_derivative";
}

LyapunovExponents lyapunov_exponents(const CompiledModel& model, const LyapunovOptions& options) {
  if (!(options.interval > 0.0) || options.intervals < 1 || !(options.transient >= 0.0))
    throw UsageError("Lyapunov exponents need a positive interval, at least one of them, and a transient of 0 or more");
  return ExponentAverage(model, options).run();
}
LyapunovExponents lyapunov_exponents(const Model& model, const LyapunovOptions& options) {
  return lyapunov_exponents(CompiledModel(model), options);
}

}  // namespace saltus
