// Contact. Impacts x⁺ = x⁻ + Δ(x⁻) that accumulate end where Δ vanishes: on g = 0 for resets that move g itself, on g = d/dt g = 0 for
// those that move its speed only. What remains of them is a force along their direction r:
//
//   x' = f + λ r,   r = ∂Δ/∂x · ξ,   ξ = -side · gradient of what the resets turn round,
//
// with λ from the condition that g, or its speed, stays zero. Near that set Δ = r s with a scalar s that vanishes on it, so r does not
// depend on the choice of ξ but for its length. The contact holds as long as the free motion would go to the forbidden side. In modes that
// are not explicit λ is an unknown, x' - λ r stands where x' stood, and g = 0 is an equation.
//
// Sliding. Explicit modes whose fields are affine in the weights have them in closed form (sliding.cpp). All others are the equations
// with the weights as unknowns and the surfaces as constraints: a mode of higher index like any other.
#include "model/surface_equations.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <unordered_set>

#include "model/expression_tests.hpp"
#include "model/normal_form.hpp"

namespace saltus {

namespace {

/// Every lock with what stands for it; those that no weight replaces stand for themselves.
void complete(std::vector<std::pair<Expr, Expr>>& weights, std::span<const Expr> locks) {
  for (const Expr& lock : locks)
    if (std::none_of(weights.begin(), weights.end(), [&](const auto& w) { return w.first.same(lock); }))
      weights.emplace_back(lock, lock);
}

/// d/dt of a function of t and x along x' = rhs. Locks are constant.
Expr along(const Expr& function, const RecordedEquations& eq, std::span<const Expr> rhs) {
  std::vector<Expr> symbols{eq.time}, directions{Expr(1.0)};
  symbols.insert(symbols.end(), eq.variables.begin(), eq.variables.end());
  directions.insert(directions.end(), rhs.begin(), rhs.end());
  return directional_derivative(std::span(&function, 1), symbols, directions).front();
}

std::vector<Expr> gradient(const Expr& function, std::span<const Expr> variables) {
  std::vector<Expr> row(variables.size(), Expr(0.0));
  for (const auto& entry : jacobian(std::span(&function, 1), variables).entries) row[entry.column] = entry.value;
  return row;
}

Expr dot(std::span<const Expr> a, std::span<const Expr> b) {
  Expr sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

/// By how much the resets of a contact change the variables.
std::vector<Expr> reset_change(const ContactSurface& contact, const RecordedEquations& eq, std::span<const Expr> rhs) {
  const std::size_t n = eq.variables.size();
  std::vector<std::pair<Expr, Expr>> derivatives;
  for (std::size_t j = 0; j < n; ++j) derivatives.emplace_back(der(eq.variables[j]), rhs[j]);
  for (const Expr& lock : eq.locks) derivatives.emplace_back(lock, lock);
  std::vector<Expr> change(n, Expr(0.0));
  for (const auto& [variable, value] : contact.resets)
    for (std::size_t j = 0; j < n; ++j)
      if (eq.variables[j].same(variable)) change[j] = substitute(std::span(&value, 1), derivatives).front() - variable;
  return change;
}

/// The direction in which the resets of a contact move the state, as a function of it.
std::vector<Expr> reset_direction(const ContactSurface& contact, const RecordedEquations& eq,
                                  std::span<const Expr> change, const Expr& turned) {
  std::vector<Expr> direction = gradient(turned, eq.variables);
  for (Expr& e : direction) e = -static_cast<double>(contact.side) * e;
  return directional_derivative(change, eq.variables, direction);
}

/// Whether resets that move g itself change nothing on g = 0, so that they may hold it there: their change of g is a
/// multiple of g. (`when x > 1 then reinit(x, 0)` takes x somewhere else.)
bool returns_to_surface(const ContactSurface& contact, const RecordedEquations& eq, std::span<const Expr> change) {
  const Expr moved = dot(gradient(contact.function, eq.variables), change);
  const auto graph = common_graph(eq.variables);
  std::unordered_set<NodeId> constants;
  for (const Expr& e : eq.data)
    if (e.is_symbol()) constants.insert(e.in(*graph));
  NormalForms forms(*graph, std::move(constants));
  const auto form = forms.of(moved.in(*graph)), of_guard = forms.of(contact.function.in(*graph));
  return form && of_guard && multiple(*form, *of_guard) < 0;
}

struct ContactField {
  std::vector<Expr> rhs, forces, invariants;
};

std::optional<ContactField> contact_field(const RecordedEquations& eq, std::span<const Expr> rhs,
                                          std::span<const ContactSurface> contacts) {
  const std::size_t n = eq.variables.size(), p = contacts.size();
  ContactField field{{rhs.begin(), rhs.end()}, {}, {}};
  std::vector<std::vector<Expr>> directions;
  std::vector<Expr> kept, change;  // what stays zero because of the force, and its rate without it
  for (const ContactSurface& contact : contacts) {
    const Expr speed = along(contact.function, eq, rhs);
    field.invariants.push_back(contact.function);
    // impacts turn the speed round and leave g alone; other resets move g itself
    const std::vector<Expr> reset = reset_change(contact, eq, rhs);
    std::vector<Expr> r = reset_direction(contact, eq, reset, speed);
    const bool impact = !std::ranges::all_of(r, is_zero) && is_zero(dot(gradient(contact.function, eq.variables), r));
    if (impact) {
      field.invariants.push_back(speed);
      kept.push_back(speed);
    } else {
      if (!returns_to_surface(contact, eq, reset)) return std::nullopt;
      r = reset_direction(contact, eq, reset, contact.function);
      kept.push_back(contact.function);
    }
    if (std::all_of(r.begin(), r.end(), is_zero)) return std::nullopt;
    directions.push_back(std::move(r));
    change.push_back(along(kept.back(), eq, rhs));
    field.forces.push_back(-static_cast<double>(contact.side) * change.back());
  }
  std::vector<std::vector<Expr>> A(p, std::vector<Expr>(p));
  std::vector<Expr> b(p);
  for (std::size_t i = 0; i < p; ++i) {
    const std::vector<Expr> row = gradient(kept[i], eq.variables);
    for (std::size_t j = 0; j < p; ++j) A[i][j] = dot(row, directions[j]);
    b[i] = -change[i];
  }
  const auto lambda = solve(std::move(A), std::move(b));
  if (!lambda) return std::nullopt;
  if (p > 1)  // the others carry part of the load: the force itself decides
    for (std::size_t i = 0; i < p; ++i) field.forces[i] = (*lambda)[i];
  for (std::size_t i = 0; i < p; ++i)
    for (std::size_t j = 0; j < n; ++j) field.rhs[j] += (*lambda)[i] * directions[i][j];
  return field;
}

void add_unknown(RecordedEquations& eq, const Expr& unknown, const Expr& equation, std::string name) {
  eq.variables.push_back(unknown);
  eq.equations.push_back(equation);
  if (!eq.equation_names.empty()) eq.equation_names.push_back(std::move(name));
  if (!eq.nominal.empty()) eq.nominal.push_back(1.0);
}

/// x_j' as a function of t and x, for the variables whose derivative one equation gives: c x_j' = rest with a constant c. Others are NaN.
std::vector<Expr> known_derivatives(const RecordedEquations& eq) {
  std::vector<Expr> derivatives;
  for (const Expr& x : eq.variables) derivatives.push_back(der(x));
  std::vector<std::pair<Expr, Expr>> at_rest;
  for (const Expr& d : derivatives) at_rest.emplace_back(d, Expr(0.0));
  for (const Expr& lock : eq.locks) at_rest.emplace_back(lock, lock);
  const SparseExprMatrix M = jacobian(eq.equations, derivatives);
  std::vector<int> in_row(eq.equations.size(), 0);
  for (const auto& entry : M.entries) ++in_row[entry.row];
  std::vector<Expr> known(eq.variables.size(), Expr(std::nan("")));
  for (const auto& entry : M.entries)
    if (in_row[entry.row] == 1 && entry.value.is_constant())
      known[entry.column] = -substitute(std::span(&eq.equations[entry.row], 1), at_rest).front() / entry.value;
  return known;
}

/// Contacts of a mode that is not explicit: the forces are unknowns, and g = 0 an equation.
bool add_contact_forces(const SurfaceSetup& setup, SurfaceEquations& mode, std::vector<Expr>& forces) {
  RecordedEquations& eq = mode.equations;
  const auto graph = common_graph(eq.variables);
  const std::vector<Expr> rhs = known_derivatives(eq);
  const std::size_t n = eq.variables.size();
  std::vector<Expr> shift(n, Expr(0.0));
  for (const ContactSurface& contact : setup.contacts) {
    const std::vector<Expr> normal = gradient(contact.function, eq.variables);
    const auto unknown = [&](std::size_t j) {
      return !is_zero(normal[j]) && rhs[j].is_constant() && std::isnan(rhs[j].constant_value());
    };
    std::vector<Expr> r;
    if (std::ranges::none_of(std::views::iota(std::size_t{0}, n), unknown)) {
      std::vector<Expr> used = rhs;
      for (std::size_t j = 0; j < n; ++j)
        if (is_zero(normal[j])) used[j] = 0.0;
      r = reset_direction(contact, eq, reset_change(contact, eq, used), along(contact.function, eq, used));
    }
    if (std::ranges::all_of(r, is_zero) || !is_zero(dot(normal, r))) {  // no impact: the resets move g itself
      const std::vector<Expr> reset = reset_change(contact, eq, rhs);
      if (!returns_to_surface(contact, eq, reset)) return false;
      r = reset_direction(contact, eq, reset, contact.function);
    }
    forces.emplace_back(graph, graph->symbol("force of " + to_string(contact.function, 40) + " = 0", SymbolKind::variable));
    for (std::size_t j = 0; j < n; ++j) shift[j] += forces.back() * r[j];
  }
  std::vector<std::pair<Expr, Expr>> driven;
  for (std::size_t j = 0; j < n; ++j)
    if (!is_zero(shift[j])) driven.emplace_back(der(eq.variables[j]), der(eq.variables[j]) - shift[j]);
  for (const Expr& lock : eq.locks) driven.emplace_back(lock, lock);
  eq.equations = substitute(eq.equations, driven);
  for (std::size_t c = 0; c < forces.size(); ++c) {
    const Expr& g = setup.contacts[c].function;
    add_unknown(eq, forces[c], g, "contact with " + to_string(g, 60) + " = 0");
  }
  return true;
}

/// Weights as unknowns: the equations with relaxed locks, and g = 0 for each surface.
void add_weights(const SurfaceSetup& setup, SurfaceEquations& mode) {
  RecordedEquations& eq = mode.equations;
  const auto graph = common_graph(eq.variables);
  std::vector<Expr> unknowns;
  for (const SlidingSurface& s : setup.sliding) {
    unknowns.emplace_back(graph, graph->symbol("weight of " + to_string(s.function, 40) + " = 0", SymbolKind::variable));
    for (std::size_t i = 0; i < s.locks.size(); ++i) mode.lock_weights.emplace_back(s.locks[i], s.weight_of(i, unknowns.back()));
  }
  complete(mode.lock_weights, setup.locks);
  eq.equations = relax(eq.equations, mode.lock_weights);
  eq.guards = relax(eq.guards, mode.lock_weights);
  for (std::size_t k = 0; k < unknowns.size(); ++k) {
    const Expr& g = setup.sliding[k].function;
    add_unknown(eq, unknowns[k], g, "sliding on " + to_string(g, 60) + " = 0");
    eq.guards.push_back(unknowns[k]);
    eq.guards.push_back(1.0 - unknowns[k]);
  }
}

}  // namespace

std::optional<SurfaceEquations> surface_equations(const SurfaceSetup& setup) {
  SurfaceEquations mode;
  mode.equations = setup.base.equations;
  RecordedEquations& eq = mode.equations;
  if (!setup.base.explicit_ode) {
    std::vector<Expr> forces;
    if (!setup.contacts.empty() && !add_contact_forces(setup, mode, forces)) return std::nullopt;
    add_weights(setup, mode);
    eq.guards.insert(eq.guards.end(), forces.begin(), forces.end());
    return mode;
  }
  std::vector<Expr> rhs = setup.base.rhs, forces;
  if (!setup.contacts.empty()) {
    auto contact = contact_field(eq, rhs, setup.contacts);
    if (!contact) return std::nullopt;
    rhs = std::move(contact->rhs);
    forces = std::move(contact->forces);
    eq.invariants = std::move(contact->invariants);
  }
  if (!setup.sliding.empty()) {
    const SlidingField field = sliding_field(eq.time, eq.variables, rhs, setup.sliding, setup.locks);
    if (field.kind == SlidingField::Kind::none) return std::nullopt;
    if (field.kind == SlidingField::Kind::implicit) {
      if (!setup.contacts.empty()) return std::nullopt;
      add_weights(setup, mode);
      return mode;
    }
    rhs = field.rhs;
    mode.lock_weights = field.lock_weights;
    complete(mode.lock_weights, setup.locks);
    eq.guards = relax(eq.guards, mode.lock_weights);
    forces = relax(forces, mode.lock_weights);
    for (const Expr& w : field.weights) {
      eq.guards.push_back(w);
      eq.guards.push_back(1.0 - w);
    }
    for (const SlidingSurface& s : setup.sliding) {
      if (setup.stabilisation == 0.0) {
        eq.invariants.push_back(s.function);
        continue;
      }
      const std::vector<Expr> normal = gradient(s.function, eq.variables);
      for (std::size_t j = 0; j < rhs.size(); ++j) rhs[j] -= setup.stabilisation * s.function * normal[j];
    }
  } else {
    complete(mode.lock_weights, setup.locks);
  }
  eq.guards.insert(eq.guards.end(), forces.begin(), forces.end());
  for (std::size_t j = 0; j < eq.variables.size(); ++j) eq.equations[j] = der(eq.variables[j]) - rhs[j];
  return mode;
}

}  // namespace saltus
