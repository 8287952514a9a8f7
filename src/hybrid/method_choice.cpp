#include "hybrid/method_choice.hpp"

#include <fmt/format.h>
#include <saltus/step/dummy_derivatives.hpp>
#include <saltus/step/tableau.hpp>

#include <algorithm>
#include <cassert>

namespace saltus {

namespace {

// Larger modes with hidden constraints are solved with dummy derivatives where their structure allows it.
constexpr int largest_dense = 50;
constexpr const char* no_series = "the Taylor method cannot expand external functions; use method = auto";

/// "" if the series of a differential-algebraic mode can be had.
std::string why_not_taylor(const MethodChoice::Candidate& mode) {
  if (!mode.system.structure().taylor) return no_series;
  const std::string what =
      "the Taylor method needs equations that are regular by their structure, with a system Jacobian that is not singular; ";
  if (!mode.values) return what + "nothing is known about those of this mode; use method = auto or radau";
  const StructuralAnalysis& structure = mode.values->structure;
  if (structure.singular())
    return what + describe_singularity(structure, mode.system) + "; use method = auto or radau";
  if (!mode.values->certificate.valid)
    return what + fmt::format("that of this mode is (reciprocal condition {:.1g}); use method = auto or radau",
                              mode.values->certificate.reciprocal_condition);
  return "";
}

/// Whether the equations contain derivatives of variables that constraints determine, and not as a constant combination of all derivatives,
/// which can be integrated as it is: x = sin(time); der(z) = der(x)^2. Steps would control the error of x, but not of x'.
bool needs_derivatives_of_constraints(const MethodChoice::Candidate& mode) {
  if (mode.hidden_constraints) return true;
  if (mode.system.structure().constant_mass || !mode.values) return false;
  return std::ranges::any_of(mode.values->structure.equation_offset, [](int c) { return c > 0; });
}

}  // namespace

MethodChoice::MethodChoice(const SimulateOptions& o, bool dense_matters)
    : wanted_(o.method), mode_methods_(o.mode_methods) {
  for (const auto& [mode, method] : mode_methods_) not_entered_.insert(mode);
  options_.rtol = o.rtol;
  options_.rtol_each = o.rtol_each;
  options_.atol = o.atol_each.empty() ? std::vector{o.atol} : o.atol_each;
  options_.further_atol = std::max(o.atol, o.rtol);  // weights of surfaces lie between 0 and 1
  options_.max_step = o.max_step;
  options_.initial_step = o.initial_step;
  options_.max_order = o.max_order;
  options_.control_dense = dense_matters;
  options_.keep_dense = o.keep_steps;
}

/// A description begins with the name of the explicit mode, if there is one.
Method MethodChoice::wanted_for(const std::string& mode) {
  if (mode_methods_.empty()) return wanted_;
  for (const std::string& key : {mode, mode.substr(0, mode.find(','))})
    if (const auto it = mode_methods_.find(key); it != mode_methods_.end()) {
      not_entered_.erase(key);
      return it->second;
    }
  return wanted_;
}

MethodChoice::Choice MethodChoice::kind_for(const Candidate& mode, Method wanted, std::string& problem) const {
  const Structure& s = mode.system.structure();
  if (s.explicit_ode) {
    if (wanted == Method::taylor && !s.taylor) problem = no_series;
    if (wanted != Method::automatic) return {wanted};
    if (stiff_.contains(s.id.number())) return {stiff_method()};
    return {explicit_method()};
  }
  if (wanted == Method::taylor) {
    problem = why_not_taylor(mode);
    return {wanted};
  }
  if (is_explicit(wanted))
    problem = std::string(to_string(wanted)) + " integrates explicit equations x' = f(t, x) only; use method = auto";
  const bool rosenbrock = info(wanted).family == MethodFamily::rosenbrock;
  const bool regular = why_not_taylor(mode).empty() && !unstructured_.contains(s.id.number()),
             constrained = regular && needs_derivatives_of_constraints(mode);
  if (constrained && wanted == Method::automatic) {
    // series keep hidden constraints as they are, and are much faster than implicit methods where nothing is stiff
    if (!stiff_.contains(s.id.number()) || (!s.differentiable && !mode.reducible)) return {Method::taylor};
    if (s.differentiable) return {stiff_method(), true};
  }
  // The reduced form mixes equations, so that one bent variable spoils the others inside the steps; it is moving: no Rosenbrock method
  // can follow it; and it is dense: for others it costs n^3 in each step. With derivatives as variables the mass matrix is constant. A
  // multistep method would have to begin anew with every other choice of states.
  const bool reduced =
      wanted == Method::bdf && mode.hidden_constraints && mode.reducible && s.variables <= largest_dense;
  if (regular && s.differentiable && !reduced && (constrained || (rosenbrock && !s.constant_mass))) return {wanted, true};
  if (rosenbrock && (!s.constant_mass || mode.hidden_constraints))
    problem = std::string(to_string(wanted)) +
              " needs constant coefficients of the derivatives, or equations that are regular by their structure; use method = auto or radau";
  if (mode.hidden_constraints && !mode.reducible)
    problem = fmt::format("this mode has hidden constraints ({}) and {} variables: so large a mode must be regular by its structure; {}",
                          to_string(mode.values->numbers), s.variables, regular ? "use method = auto" : why_not_taylor(mode));
  if (wanted != Method::automatic) return {wanted};
  // a Rosenbrock method needs no iteration; the reduced form of a mode with hidden constraints needs one
  const bool linear_steps = s.constant_mass && !mode.hidden_constraints && !mode.singular_start;
  return {linear_steps && !iterated_.contains(s.id.number()) ? Method::rodas5p : Method::radau};
}

Method MethodChoice::explicit_method() const {
  return options_.tightest_rtol() < 1e-8 ? Method::dop853 : Method::dopri5;
}

const Tableau* MethodChoice::explicit_tableau() const {
  return explicit_method() == Method::dop853 ? &dormand_prince_8() : &dormand_prince_5();
}

Method MethodChoice::stiff_method() const { return options_.tightest_rtol() < 1e-7 ? Method::radau : Method::rodas5p; }

std::unique_ptr<Stepper> MethodChoice::make(const Choice& choice) const {
  if (!choice.dummy_derivatives) return info(choice.method).make(options_);
  return make_dummy_derivatives(options_, info(choice.method).make);
}

Stepper* MethodChoice::choose(const Candidate& mode, std::string& problem) {
  problem.clear();
  const Method wanted = wanted_for(mode.description);
  const Choice choice = kind_for(mode, wanted, problem);
  if (!problem.empty()) return nullptr;
  auto& stepper = steppers_[choice];
  if (!stepper) {
    stepper = make(choice);
    const Method method = choice.method;
    reasons_[choice] = wanted != Method::automatic          ? "asked for"
                       : unstructured_.contains(mode.system.structure().id.number()) ? "hidden constraints, badly scaled"
                       : stiff_.contains(mode.system.structure().id.number()) ? "stiff"
                       : method == Method::taylor            ? "hidden constraints, not stiff"
                       : iterated_.contains(mode.system.structure().id.number()) ? "linear steps fail"
                       : method == Method::rodas5p           ? "differential-algebraic equations of index 1"
                       : !mode.system.structure().explicit_ode ? "differential-algebraic equations"
                       : method == Method::dop853            ? "explicit equations, tight tolerance"
                                                             : "explicit equations";
    if (choice.dummy_derivatives) reasons_[choice] += ", dummy derivatives";
  }
  return stepper.get();
}

Stepper* MethodChoice::helper(const Stepper& stepper) {
  for (const auto& [choice, known] : steppers_)
    if (known.get() == &stepper && choice.method != Method::taylor && is_explicit(choice.method)) return nullptr;
  const Choice choice{Method::dopri5};
  auto& found = steppers_[choice];
  if (!found) {
    found = make(choice);
    reasons_[choice] = "steps where derivatives are infinite";
  }
  return found.get();
}

bool MethodChoice::dense_is_accurate(const Stepper& stepper, const System& system) const {
  return system.structure().explicit_ode &&
         std::any_of(steppers_.begin(), steppers_.end(),
                     [&](const auto& entry) { return entry.second.get() == &stepper && is_explicit(entry.first.method); });
}

bool MethodChoice::note_stiff(const System& system) {
  return wanted_ == Method::automatic && stiff_.insert(system.structure().id.number()).second;
}

bool MethodChoice::note_structure_fails(const System& system) {
  const MethodFamily family = info(wanted_).family;  // Radau methods and bdf can follow the reduced form instead
  const bool another_form =
      wanted_ == Method::automatic || family == MethodFamily::radau || family == MethodFamily::bdf;
  return another_form && unstructured_.insert(system.structure().id.number()).second;
}

bool MethodChoice::note_linear_steps_fail(const System& system, const Stepper& stepper) {
  const bool linear = std::ranges::any_of(steppers_, [&](const auto& entry) {
    return entry.second.get() == &stepper && info(entry.first.method).family == MethodFamily::rosenbrock;
  });
  return linear && wanted_ == Method::automatic && iterated_.insert(system.structure().id.number()).second;
}

void MethodChoice::persist(const System& system, StateArchive& archive) {
  const std::uint64_t structure = system.structure().id.number();
  bool stiff = stiff_.contains(structure), unstructured = unstructured_.contains(structure),
       iterated = iterated_.contains(structure);
  archive(stiff, unstructured, iterated);
  if (stiff) stiff_.insert(structure);
  if (unstructured) unstructured_.insert(structure);
  if (iterated) iterated_.insert(structure);
}

bool MethodChoice::persist_steppers(System& system, Stepper*& current, StateArchive& archive) {
  std::size_t count = steppers_.size();
  archive(count);
  auto next = steppers_.begin();
  for (std::size_t k = 0; k < count; ++k) {
    Choice choice{Method::automatic};
    bool in_use = false;
    if (archive.writes()) {
      choice = next->first;
      in_use = next->second.get() == current;
      ++next;
    }
    archive(choice.method, choice.dummy_derivatives, in_use);
    auto& stepper = steppers_[choice];
    if (!stepper) stepper = make(choice);
    archive(reasons_[choice]);
    if (in_use) current = stepper.get();
    if (!stepper->persist(in_use ? &system : nullptr, archive)) return false;
  }
  return true;
}

Method MethodChoice::method_of(const Stepper& stepper) const {
  const auto found = std::ranges::find_if(steppers_, [&](const auto& one) { return one.second.get() == &stepper; });
  assert(found != steppers_.end());
  return found->first.method;
}

StepStatistics MethodChoice::statistics() const {
  StepStatistics sum;
  for (const auto& [choice, stepper] : steppers_) sum += stepper->statistics();
  return sum;
}

std::string MethodChoice::description() const {
  std::string text;
  for (const auto& [choice, reason] : reasons_) {
    const std::string algebra = steppers_.at(choice)->linear_algebra();
    text += (text.empty() ? "" : ", ") + std::string(to_string(choice.method)) + " (" + reason +
            (algebra.empty() ? "" : "; matrices " + algebra) + ")";
  }
  return text;
}

}  // namespace saltus
