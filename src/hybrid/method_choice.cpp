#include "hybrid/method_choice.hpp"

#include <saltus/step/bdf.hpp>
#include <saltus/step/explicit_runge_kutta.hpp>
#include <saltus/step/radau.hpp>
#include <saltus/step/rosenbrock.hpp>
#include <saltus/step/tableau.hpp>
#include <saltus/step/taylor.hpp>

#include <algorithm>

namespace saltus {

namespace {

bool is_explicit_method(Method m) {
  return m == Method::dopri5 || m == Method::tsit5 || m == Method::bs3 || m == Method::dop853 || m == Method::taylor;
}

std::unique_ptr<Stepper> make(Method method, const StepOptions& options) {
  switch (method) {
    case Method::tsit5: return make_explicit_runge_kutta(tsitouras_5(), options);
    case Method::bs3: return make_explicit_runge_kutta(bogacki_shampine_3(), options);
    case Method::dop853: return make_explicit_runge_kutta(dormand_prince_8(), options);
    case Method::taylor: return make_taylor(options);
    case Method::rodas4: return make_rosenbrock(rodas_4(), options);
    case Method::rodas5p: return make_rosenbrock(rodas_5p(), options);
    case Method::radau: return make_radau(options, {.order = 0});
    case Method::radau5: return make_radau(options, {.order = 5});
    case Method::radau9: return make_radau(options, {.order = 9});
    case Method::radau13: return make_radau(options, {.order = 13});
    case Method::bdf: return make_bdf(options);
    default: return make_explicit_runge_kutta(dormand_prince_5(), options);
  }
}

}  // namespace

MethodChoice::MethodChoice(const SimulateOptions& o, bool dense_matters)
    : wanted_(o.method), mode_methods_(o.mode_methods) {
  options_.rtol = o.rtol;
  options_.atol = o.atol_each.empty() ? std::vector{o.atol} : o.atol_each;
  options_.further_atol = std::max(o.atol, o.rtol);  // weights of surfaces lie between 0 and 1
  options_.max_step = o.max_step;
  options_.initial_step = o.initial_step;
  options_.control_dense = dense_matters;
}

/// A description begins with the name of the explicit mode, if there is one.
Method MethodChoice::wanted_for(const std::string& mode) const {
  if (mode_methods_.empty()) return wanted_;
  for (const std::string& key : {mode, mode.substr(0, mode.find(','))})
    if (const auto it = mode_methods_.find(key); it != mode_methods_.end()) return it->second;
  return wanted_;
}

Method MethodChoice::kind_for(const System& system, Method wanted, std::string& problem) const {
  const Structure& s = system.structure();
  if (s.explicit_ode) {
    if (wanted == Method::taylor && !s.taylor) problem = "the Taylor method cannot expand external functions; use method = auto";
    if (wanted != Method::automatic) return wanted;
    if (stiff_.contains(&s)) return options_.rtol < 1e-7 ? Method::radau : Method::rodas5p;
    return options_.rtol < 1e-8 ? Method::dop853 : Method::dopri5;
  }
  if (is_explicit_method(wanted))
    problem = std::string(to_string(wanted)) + " integrates explicit equations x' = f(t, x) only; use method = auto";
  const bool rosenbrock = wanted == Method::rodas4 || wanted == Method::rodas5p;
  if (rosenbrock && !s.constant_mass)
    problem = std::string(to_string(wanted)) +
              " needs constant coefficients of the derivatives and no hidden constraints in every mode; use method = auto or radau";
  if (wanted != Method::automatic) return wanted;
  // a Rosenbrock method needs no iteration; the reduced form of a mode with hidden constraints needs one
  return s.constant_mass ? Method::rodas5p : Method::radau;
}

Stepper* MethodChoice::choose(const System& system, const std::string& mode, std::string& problem) {
  problem.clear();
  const Method wanted = wanted_for(mode);
  const Method method = kind_for(system, wanted, problem);
  if (!problem.empty()) return nullptr;
  auto& stepper = steppers_[method];
  if (!stepper) {
    stepper = make(method, options_);
    reasons_[method] = wanted != Method::automatic          ? "asked for"
                       : stiff_.contains(&system.structure()) ? "stiff"
                       : method == Method::rodas5p           ? "differential-algebraic equations of index 1"
                       : !system.structure().explicit_ode    ? "differential-algebraic equations"
                       : method == Method::dop853            ? "explicit equations, tight tolerance"
                                                             : "explicit equations";
  }
  return stepper.get();
}

bool MethodChoice::dense_is_accurate(const Stepper& stepper) const {
  return std::any_of(steppers_.begin(), steppers_.end(),
                     [&](const auto& entry) { return entry.second.get() == &stepper && is_explicit_method(entry.first); });
}

bool MethodChoice::note_stiff(const System& system) {
  return wanted_ == Method::automatic && stiff_.insert(&system.structure()).second;
}

StepStatistics MethodChoice::statistics() const {
  StepStatistics sum;
  for (const auto& [method, stepper] : steppers_) {
    const StepStatistics& s = stepper->statistics();
    sum.steps += s.steps;
    sum.rejected += s.rejected;
    sum.evaluations += s.evaluations;
    sum.jacobians += s.jacobians;
    sum.factorisations += s.factorisations;
    sum.iterations += s.iterations;
  }
  return sum;
}

std::string MethodChoice::description() const {
  std::string text;
  for (const auto& [method, reason] : reasons_) {
    const std::string algebra = steppers_.at(method)->linear_algebra();
    text += (text.empty() ? "" : ", ") + std::string(to_string(method)) + " (" + reason +
            (algebra.empty() ? "" : "; matrices " + algebra) + ")";
  }
  return text;
}

}  // namespace saltus
