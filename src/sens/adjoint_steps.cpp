// The adjoint between events in stiff and in constrained modes: by the transposed of steps of a Rosenbrock method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "sens/adjoint_run.hpp"
#include "sens/integral_equations.hpp"
#include "sens/linear_adjoint.hpp"

namespace saltus {

namespace {

/// As for derivatives that follow the steps (tangent_flow.cpp).
constexpr double adjoint_error_allowed = 30.0;
/// Other variables are held where those that are make the equations so much worse conditioned.
constexpr double worse_condition = 0.1;

}  // namespace

/// The equations of the changes in a mode, and what a step back needs.
struct AdjointRun::StepsBack {
  std::unique_ptr<ExplicitEquations> plain;
  std::unique_ptr<ConstrainedEquations> constrained;
  std::unique_ptr<IntegralEquations> integral;
  std::unique_ptr<LinearAdjoint> step;
  std::size_t unknowns = 0;
};

std::shared_ptr<AdjointRun::StepsBack> AdjointRun::steps_back(const Mode& mode, Gradient* integrand) {
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
  std::shared_ptr<StepsBack>& known = steps_back_[system.structure().id.number()];
  if (known) return known;
  known = std::make_shared<StepsBack>();
  const std::shared_ptr<const LinearMode> linear = linear_modes_.code(mode);
  if (linear->is_explicit()) {
    known->plain = std::make_unique<ExplicitEquations>(*tools_.code().tangents(model_, mode, system));
    known->step = std::make_unique<LinearAdjoint>(*known->plain, rodas_5p());
    return known;
  }
  known->constrained = std::make_unique<ConstrainedEquations>(linear);
  known->unknowns = linear->unknowns();
  if (!integrand) known->step = std::make_unique<LinearAdjoint>(*known->constrained, rodas_5p());
  return known;
}

/// Errors over what is allowed: relative to the largest derivative, where variables change by their largest values in
/// the mode (`sizes`), and data by their own.
double AdjointRun::error_ratio(const LinearPoint& point, std::span<const double> sizes, const Covector& error,
                               const Covector& function) const {
  double size = 0.0, worst = 0.0;
  for (std::size_t k = 0; k < error.held.size(); ++k) {
    const double change = sizes[static_cast<std::size_t>(point.held()[k])];
    size = std::max({size, std::abs(function.held[k]) * change, std::abs(function_.held[k]) * change});
    worst = std::max(worst, std::abs(error.held[k]) * change);
  }
  for (std::size_t k = 0; k < error.data.size(); ++k) {
    const double value = point.data()[k], scale = value == 0.0 ? 1.0 : std::abs(value);
    size = std::max(size, std::abs(function.data[k]) * scale);
    worst = std::max(worst, std::abs(error.data[k]) * scale);
  }
  const double rtol = options_.rtol_each.empty() ? options_.rtol : *std::ranges::min_element(options_.rtol_each);
  return size > 0.0 ? worst / (adjoint_error_allowed * rtol * size) : 0.0;
}

bool AdjointRun::step_back(const RunLeg& leg, RecordedPath& path, Gradient* integrand) {
  const auto cannot = [&](double t) { return fail(t, "the equations of the mode cannot be linearised"); };
  const auto zero = [](double v) { return v == 0.0; };
  if (!integrand && std::ranges::all_of(function_.held, zero)) return path.at(leg.from) || cannot(leg.from);
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(leg.mode));
  const TangentValues values(Lanes(system.structure().variables, 1), system.data(), system.locks(), {});
  SolutionPath along(*leg.steps);
  const std::shared_ptr<StepsBack> steps = steps_back(leg.mode, integrand);
  ConstrainedEquations* const constrained = steps->constrained.get();
  if (constrained) {
    const Trajectory::Step& last = along.step(leg.to);
    std::vector<double> xp(static_cast<std::size_t>(last.polynomial.variables));
    last.polynomial.derivative(leg.to, xp);
    if (!constrained->open(values, leg.to, value_at(last, leg.to), xp, path.point().held())) return cannot(leg.to);
    if (integrand) {
      steps->integral = std::make_unique<IntegralEquations>(*constrained, *integrand);
      steps->step = std::make_unique<LinearAdjoint>(*steps->integral, rodas_5p());
    }
  }
  // smaller values do not count in the run either
  const double atol = options_.atol_each.empty() ? options_.atol : *std::ranges::min_element(options_.atol_each);
  std::vector<double> sizes(static_cast<std::size_t>(system.structure().variables), atol / options_.rtol);
  for (const Trajectory::Step& step : *leg.steps)
    for (std::size_t j = 0; j < sizes.size(); ++j) sizes[j] = std::max(sizes[j], std::abs(step.polynomial.c[j]));
  double best = path.point().condition(), t = leg.to;
  int orientation = path.point().orientation();
  const double sign = leg.from <= t ? 1.0 : -1.0;
  double suggested = std::abs(t - along.step(t).polynomial.t0);
  bool fresh = true;  // choice of the held variables
  std::vector<double> behind;
  LinearAdjoint::Function before, error;
  for (int failures = 0; t != leg.from;) {
    const double left = std::abs(t - leg.from), h = sign * (suggested > 0.99 * left ? left : suggested);
    const double begin = suggested > 0.99 * left ? leg.from : t - h;
    if (constrained) {
      behind.assign(steps->unknowns + (integrand ? 1 : 0), integrand ? 1.0 : 0.0);
      std::fill_n(behind.begin(), steps->unknowns, 0.0);
      for (std::size_t k = 0; k < function_.held.size(); ++k)
        behind[static_cast<std::size_t>(constrained->held_places()[k])] = function_.held[k];
    } else {
      behind = function_.held;
    }
    // held variables from which the others do not follow somewhere in the step do not serve for it
    const bool good = steps->step->pull(begin, t - begin, along, values, behind, before, error) && path.at(begin) &&
                      path.point().orientation() == orientation;
    Covector function = path.point().covector(), of_error = function;
    double ratio = std::numeric_limits<double>::infinity();
    if (good) {
      if (constrained) {
        path.point().pull(std::span(before.y).first(steps->unknowns), function);
        path.point().pull(std::span(error.y).first(steps->unknowns), of_error);
      } else {
        function.held = before.y;
        of_error.held = error.y;
      }
      for (std::size_t k = 0; k < function.data.size(); ++k) {
        function.data[k] += before.data[k] + function_.data[k];
        of_error.data[k] += error.data[k];
      }
      ratio = error_ratio(path.point(), sizes, of_error, function);
    }
    if (!(ratio <= 1.0)) {
      suggested = std::abs(h) * (std::isfinite(ratio) ? std::clamp(0.9 * std::pow(ratio, -0.2), 0.1, 0.9) : 0.25);
      if (++failures > 60 || t - sign * suggested == t)
        return fail(t, "the adjoint equations cannot be integrated: a step is too small");
      if (failures == 3 && constrained && constrained->point().mode().hidden_constraints() && !fresh && path.at(t)) {
        change_held(path.point(), {});
        constrained->hold(path.point().held());
        if (steps->integral) steps->integral->update();
        best = path.point().condition();
        orientation = path.point().orientation();
        fresh = true;
      }
      continue;
    }
    function.time = 0.0;
    function_ = std::move(function);
    t = begin;
    ++result_.steps;
    const double growth = 0.9 * std::pow(std::max(ratio, 1e-8), -1.0 / steps->step->error_exponent());
    suggested = std::abs(h) * std::clamp(growth, 0.2, failures > 0 ? 1.0 : 5.0);
    failures = 0;
    fresh = false;
    best = std::max(best, path.point().condition());
    if (constrained && path.point().condition() < worse_condition * best) {
      change_held(path.point(), {});
      constrained->hold(path.point().held());
      if (steps->integral) steps->integral->update();
      best = path.point().condition();
      orientation = path.point().orientation();
      fresh = true;
    }
  }
  return true;
}

}  // namespace saltus
