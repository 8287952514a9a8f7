// The adjoint between events: the transposed of the steps, or the adjoint equations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "sens/adjoint_run.hpp"
#include "sens/discrete_adjoint.hpp"
#include "sens/gradient_sums.hpp"
#include "sens/quadrature.hpp"

namespace saltus {

static bool is_series(const Trajectory::Step& step) {
  return step.method == Method::taylor;
}

bool AdjointRun::add_integral(const RunLeg& leg, RecordedPath& path, Gradient& integrand) {
  Quadrature quadrature({1e-3 * options_.atol}, 0.1 * options_.rtol);
  bool good = true;
  for (const Trajectory::Step& step : leg.own_steps()) {
    quadrature.add(step.polynomial.t0, step.t_end, [&](double t, std::span<double> out) {
      const LinearPoint* const point = path.at(t);
      if (!point) {
        good = false;
        return;
      }
      point->evaluate(integrand);
      out[0] += integrand.value();
    });
  }
  result_.value += quadrature.sum()[0];
  return good || fail(leg.from, "the equations of the mode cannot be linearised");
}

bool AdjointRun::integrate_back(const RunLeg& leg, RecordedPath& path) {
  Gradient* integrand = nullptr;
  if (integrates_) {
    integrand = &*terms_of(leg.mode, path.point()).integrand;
    if (!add_integral(leg, path, *integrand)) return false;
    if (!path.at(leg.to)) return fail(leg.to, "the equations of the mode cannot be linearised");
  }
  const bool is_explicit = path.point().mode().is_explicit();
  if (!integrand && is_explicit && follow_back(leg, path)) return true;
  // series are long steps of equations that are not stiff: methods of high order follow them better
  const bool series = std::ranges::all_of(leg.own_steps(), &is_series);
  if (!series && !(is_explicit && integrand)) return step_back(leg, path, integrand);
  const Covector function = function_;
  const std::vector<int> held = path.point().held();
  if (integrate_smoothly(leg, path, integrand)) return true;
  if (is_explicit) return false;
  // the choice of the held variables may have become singular inside a long step
  result_.why.clear();
  function_ = function;
  path.point().set_held(held);
  return (path.at(leg.to) || fail(leg.to, "the equations of the mode cannot be linearised")) &&
         step_back(leg, path, integrand);
}

/// By the adjoint equations, which are integrated like others.
bool AdjointRun::integrate_smoothly(const RunLeg& leg, RecordedPath& path, Gradient* integrand) {
  if (!path.point().mode().hidden_constraints()) return integrate_stretch(leg.to, leg.from, path, integrand);
  // The held variables are those of the end, as long as the others follow well from them: the equations may turn over
  // between two places, where they are singular in between.
  constexpr double worse = 0.1;
  std::vector<double> places;  // where that is looked at; steps of high order are long
  for (const Trajectory::Step& step : leg.own_steps()) {
    const int parts = 1 + step.polynomial.degree / 3;
    for (int k = 0; k < parts; ++k)
      places.push_back(step.polynomial.t0 + (step.t_end - step.polynomial.t0) * k / parts);
  }
  double late = leg.to, last = leg.to, best = path.point().condition();
  int orientation = path.point().orientation();
  const auto good_at = [&](double t) {
    if (!path.at(t) || path.point().orientation() != orientation) return false;
    best = std::max(best, path.point().condition());
    return path.point().condition() >= worse * best;
  };
  for (std::size_t k = places.size(); k-- > 0;) {
    if (!good_at(places[k])) {
      if (last == late) return fail(last, "the held variables do not serve for a part of a step");
      if (!integrate_stretch(late, last, path, integrand)) return false;
      change_held(path.point(), {});
      best = path.point().condition();
      orientation = path.point().orientation();
      late = last;
      if (!good_at(places[k])) return fail(last, "the held variables do not serve for a part of a step");
    }
    last = places[k];
  }
  return integrate_stretch(late, leg.from, path, integrand);
}

/// The transposed of the steps that an explicit method has made. False: there are none, or they are too long.
bool AdjointRun::follow_back(const RunLeg& leg, RecordedPath& path) {
  const std::span<const Trajectory::Step> made = leg.own_steps();
  const auto by_another = [&](const Trajectory::Step& step) { return step.method != made.front().method; };
  const Tableau* const tableau = tableau_of(made);
  if (!tableau || is_series(made.front()) || std::ranges::any_of(made, by_another)) return false;
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(leg.mode));
  const double rtol = options_.rtol_each.empty() ? options_.rtol : *std::ranges::min_element(options_.rtol_each);
  DiscreteAdjoint steps(tools_.code().tangents(model_, leg.mode, system), system, *tableau, rtol);
  DiscreteAdjoint::Function function{function_.held, function_.data};
  if (!steps.pull(made, leg.to, leg.from, function) || !path.at(leg.from)) return false;
  result_.steps += steps.steps();
  function_.held = std::move(function.x);
  function_.data = std::move(function.data);
  return true;
}

bool AdjointRun::integrate_stretch(double late, double early, RecordedPath& path, Gradient* integrand) {
  const auto nothing = [](const std::vector<double>& list) {
    return std::ranges::all_of(list, [](double v) { return v == 0.0; });
  };
  if (late == early || (!integrand && nothing(function_.held)))
    return path.at(early) != nullptr || fail(early, "the equations of the mode cannot be linearised");
  AdjointEquations equations(path, integrand);
  // errors count relative to the largest part of the function
  LinearPoint* point = path.at(late);
  if (!point) return fail(late, "the equations of the mode cannot be linearised");
  std::vector<double> slopes(function_.held.size());
  equations.rhs(late, function_.held, slopes);
  const auto size_of = [&](std::size_t k) {
    return std::abs(function_.held[k]) + (integrand ? std::abs(slopes[k] * (late - early)) : 0.0);
  };
  double largest = 0.0;
  for (std::size_t k = 0; k < slopes.size(); ++k)
    largest = std::max(largest, size_of(k) * point->mode().nominal(static_cast<std::size_t>(point->held()[k])));
  std::vector<double> nominal;
  for (const int j : point->held())
    nominal.push_back(std::max(largest, 1e-100) / point->mode().nominal(static_cast<std::size_t>(j)));
  equations.set_nominal(nominal);
  SimulateOptions options{.start = late, .stop = early};
  const double rtol = options_.rtol_each.empty() ? options_.rtol : *std::ranges::min_element(options_.rtol_each);
  options.rtol = std::max(0.5 * rtol, 1e-13);
  options.atol = 0.01 * options.rtol;
  const MethodFamily family = info(options_.method).family;
  if (family == MethodFamily::radau || family == MethodFamily::bdf || family == MethodFamily::rosenbrock)
    options.method = Method::radau;
  options.max_steps = options_.max_steps;
  Simulator simulator(std::make_shared<AdjointFlow>(equations, function_.held), options);
  simulator.run();
  if (simulator.status().code != StatusCode::success)
    return fail(simulator.t(), "the adjoint equations cannot be integrated: " + simulator.status().message);
  const std::vector<double> at_start(simulator.x().begin(), simulator.x().end());
  const Trajectory adjoint = simulator.take();
  result_.steps += adjoint.statistics().steps;
  // what changes the functional by less than a thousandth of the tolerance, where a number changes by its own size
  std::vector<double> negligible;
  for (const double value : path.point().data())
    negligible.push_back(1e-3 * options.rtol * largest / (value == 0.0 ? 1.0 : std::abs(value)));
  Quadrature quadrature(std::move(negligible), options.rtol);
  std::vector<double> lambda(at_start.size()), function(path.point().mode().unknowns());
  bool good = true;
  for (const Trajectory::Segment& segment : adjoint.segments())
    for (const Trajectory::Step& step : segment.steps)
      quadrature.add(step.t_end, step.polynomial.t0, [&](double t, std::span<double> out) {
        const LinearPoint* const at = path.at(t);
        if (!at) {
          good = false;
          return;
        }
        step.polynomial.evaluate(t, lambda);
        equations.fill(*at, lambda, function);
        at->pull_data(function, out);
        if (integrand)
          for (const Gradient::Entry& e : integrand->entries())
            if (e.group == LinearMode::by_data) out[e.place] += e.value;
      });
  if (!good || !path.at(early)) return fail(early, "the equations of the mode cannot be linearised");
  function_.held = at_start;
  for (std::size_t k = 0; k < function_.data.size(); ++k) function_.data[k] += quadrature.sum()[k];
  return true;
}

}  // namespace saltus
