#include "model/surface_modes.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "model/all_slides.hpp"
#include "model/rehome.hpp"

namespace saltus {

namespace {

bool depends_on_state(const Expr& g) {
  return !symbols_of(std::span(&g, 1), SymbolKind::variable).empty() ||
         !symbols_of(std::span(&g, 1), SymbolKind::derivative).empty();
}

/// Whether corresponding equations contain the derivatives in the same way, linearly.
bool same_derivatives(std::span<const Expr> a, std::span<const Expr> b, std::span<const Expr> variables) {
  if (a.size() != b.size()) return false;
  std::vector<Expr> derivatives;
  for (const Expr& x : variables) derivatives.push_back(der(x));
  const SparseExprMatrix A = jacobian(a, derivatives), B = jacobian(b, derivatives);
  if (A.entries.size() != B.entries.size()) return false;
  for (std::size_t k = 0; k < A.entries.size(); ++k) {
    const auto &x = A.entries[k], &y = B.entries[k];
    const bool linear = symbols_of(std::span(&x.value, 1), SymbolKind::derivative).empty();
    const bool equal = x.value.same(y.value) || (x.value.is_constant() && y.value.is_constant() &&
                                                 x.value.constant_value() == y.value.constant_value());
    if (x.row != y.row || x.column != y.column || !equal || !linear) return false;
  }
  return true;
}

bool has_resets(const std::vector<ModelData::Action>& actions) {
  return std::any_of(actions.begin(), actions.end(),
                     [](const auto& a) { return a.kind == ModelData::Action::Kind::reset; });
}

/// The explicit mode to which a transition without actions leads as soon as the surface is crossed to the side, if one
/// leads back from there; -1 if there is none. `which`: the transition.
int opposite_mode(const SurfaceModes::Setup& setup, int automaton, int surface, int side, int* which) {
  const SurfaceModes::Surface& crossed = setup.surfaces[surface];
  const auto leads = [&](int from, int to_side, int* found) {
    std::vector<std::pair<Expr, Expr>> there, here;
    for (std::size_t i = 0; i < crossed.locks.size(); ++i) {
      const bool holds = to_side * crossed.signs[i] > 0;
      there.emplace_back(setup.locks[crossed.locks[i]], Expr(holds ? 1.0 : 0.0));
      here.emplace_back(setup.locks[crossed.locks[i]], Expr(holds ? 0.0 : 1.0));
    }
    for (std::size_t k = 0; k < setup.transitions.size(); ++k) {
      const auto& t = setup.transitions[k];
      if (static_cast<int>(t.from) != from || t.from == t.to || !t.actions.empty()) continue;
      const Expr condition = t.condition.expr();
      const Expr on = substitute(std::span(&condition, 1), there).front(),
                 off = substitute(std::span(&condition, 1), here).front();
      if (on.is_constant() && on.constant_value() != 0.0 && off.is_constant() && off.constant_value() == 0.0) {
        if (found) *found = static_cast<int>(k);
        return static_cast<int>(t.to);
      }
    }
    return -1;
  };
  const int other = leads(automaton, side, which);
  return other >= 0 && leads(other, -side, nullptr) == automaton ? other : -1;
}

}  // namespace

SurfaceModes::SurfaceModes(Setup setup) : setup_(std::move(setup)), all_slides_(setup_.systems.size()) {
  find_resets();
  find_pairs();
}

void SurfaceModes::find_pairs() {
  if (setup_.transitions.empty()) return;
  for (int mode = 0; mode < static_cast<int>(setup_.systems.size()); ++mode)
    for (int k = 0; k < static_cast<int>(setup_.surfaces.size()); ++k)
      for (const int side : {+1, -1}) {
        if (!setup_.surfaces[k].relation) continue;
        int which = -1;
        const int other = opposite_mode(setup_, mode, k, side, &which);
        if (other >= 0) pairs_.push_back({mode, k, side, other, which});
      }
}

/// Makes one mode, in a clone of the graph: what becomes of it does not depend on the modes that were made before.
class SurfaceModes::Maker {
 public:
  Maker(const Setup& setup, const std::vector<PairedModes>& pairs)
      : setup_(setup),
        pairs_(pairs),
        graph_(setup.systems.front()->equations().time.graph()->clone()),
        locks_(in_clone(setup.locks)) {}

  void make(const Mode& mode, Made& made);
  void make_all_slides(int automaton, Made& made);

 private:
  void compile(RecordedEquations equations, std::vector<Expr> observed, std::span<const Expr> active, Made& made);
  SlidingSurface sliding_surface(int surface, const Expr& function) const;
  SurfaceBase base_of(int automaton) const;
  std::optional<SurfaceBase> base(const Mode& mode) const;
  int opposite(int automaton, int surface, int side) const {
    for (const PairedModes& pair : pairs_)
      if (pair.automaton == automaton && pair.surface == surface && pair.side == side) return pair.other;
    return -1;
  }
  std::optional<SurfaceBase> pair(int plus, int minus, int surface) const;
  std::vector<std::pair<Expr, Expr>> resets(int automaton, int surface) const;

  /// The same in the clone.
  template <class T>
  T in_clone(T expressions) const {
    rehome(expressions, graph_);
    return expressions;
  }

  const Setup& setup_;  // in the graph of the model
  const std::vector<PairedModes>& pairs_;
  GraphHandle graph_;
  std::vector<Expr> locks_;  // in the clone
};

const SurfaceModes::Made& SurfaceModes::get(const Mode& mode) const {
  const std::lock_guard lock(making_);
  const auto [it, fresh] = made_.try_emplace(key_of(mode));
  if (fresh) Maker(setup_, pairs_).make(mode, it->second);
  return it->second;
}

const SurfaceModes::Made* SurfaceModes::among_all_slides(const Mode& mode) const {
  if (mode.sliding.empty() || !mode.contacts.empty()) return nullptr;
  const Made& all = all_slides_of(mode.automaton);
  if (!all.system) return nullptr;
  const auto outside = [&](int k) { return all.place_of[static_cast<std::size_t>(k)] < 0; };
  return std::none_of(mode.sliding.begin(), mode.sliding.end(), outside) ? &all : nullptr;
}

const SurfaceModes::Made& SurfaceModes::all_slides_of(int automaton) const {
  AllSlidesOfMode& all = all_slides_[static_cast<std::size_t>(automaton)];
  std::call_once(all.making, [&] { Maker(setup_, pairs_).make_all_slides(automaton, all.made); });
  return all.made;
}

SlidingSurface SurfaceModes::Maker::sliding_surface(int surface, const Expr& function) const {
  const Surface& s = setup_.surfaces[static_cast<std::size_t>(surface)];
  SlidingSurface result{function, {}, s.signs, s.step};
  for (const int lock : s.locks) result.locks.push_back(locks_[static_cast<std::size_t>(lock)]);
  return result;
}

void SurfaceModes::Maker::make_all_slides(int automaton, Made& made) {
  const SurfaceBase base = base_of(automaton);
  std::unordered_set<NodeId> in_field;
  for (const Expr& lock : locks_of(base.rhs)) in_field.insert(lock.id());
  const auto chooses = [&](int lock) { return in_field.contains(locks_[static_cast<std::size_t>(lock)].id()); };
  std::vector<int> candidates;
  for (int k = 0; k < static_cast<int>(setup_.surfaces.size()); ++k) {
    const Surface& surface = setup_.surfaces[static_cast<std::size_t>(k)];
    if (surface.relation && std::any_of(surface.locks.begin(), surface.locks.end(), chooses) &&
        depends_on_state(surface.function) && opposite(automaton, k, +1) < 0 && opposite(automaton, k, -1) < 0)
      candidates.push_back(k);
  }
  if (candidates.size() < 2 || setup_.stabilisation != 0.0) return;
  std::vector<SlidingSurface> surfaces;
  for (const int k : candidates)
    surfaces.push_back(sliding_surface(k, base.equations.guards[static_cast<std::size_t>(k)]));
  auto all = all_slides(base, surfaces);
  if (!all) return;
  made.place_of.assign(setup_.surfaces.size(), -1);
  for (const int c : all->surfaces) {
    const int k = candidates[static_cast<std::size_t>(c)];
    made.place_of[static_cast<std::size_t>(k)] = static_cast<int>(made.slides.size());
    made.slides.push_back(k);
  }
  compile(std::move(all->equations), relax(in_clone(setup_.observed), all->weights), all->active, made);
}

/// The programs of a mode that has been found.
void SurfaceModes::Maker::compile(RecordedEquations eq, std::vector<Expr> observed, std::span<const Expr> active,
                                  Made& made) {
  std::vector<Expr> derivatives, own_data = in_clone(setup_.discretes);
  for (const Expr& x : eq.variables) derivatives.push_back(der(x));
  own_data.insert(own_data.end(), active.begin(), active.end());
  made.observed = observed;
  made.observe = Program(
      std::vector<std::vector<Expr>>{
          {eq.time}, eq.variables, derivatives, in_clone(setup_.parameters), own_data, locks_},
      std::vector<std::vector<Expr>>{std::move(observed)}, setup_.options);
  std::vector<double> data = setup_.data;
  data.resize(data.size() + active.size(), 0.0);
  made.system = std::make_unique<RecordedSystem>(std::move(eq), data, setup_.start_locks, setup_.options);
  made.values = OccurringValues(made.system->equations(), in_clone(setup_.discretes), locks_);
  graph_->freeze();
}

void SurfaceModes::Maker::make(const Mode& mode, Made& made) {
  std::optional<SurfaceBase> found_base = base(mode);
  if (!found_base) return;
  SurfaceSetup setup{std::move(*found_base), locks_, {}, {}, setup_.stabilisation};
  const std::vector<Expr>& guards = setup.base.equations.guards;
  for (const int k : mode.sliding) {
    const Surface& surface = setup_.surfaces[k];
    if ((!surface.relation && surface.step == 0) || !depends_on_state(surface.function)) return;
    setup.sliding.push_back(sliding_surface(k, guards[k]));
  }
  for (std::size_t c = 0; c < mode.contacts.size(); ++c) {
    const int k = mode.contacts[c];
    if (!setup_.surfaces[k].relation) return;
    ContactSurface contact{guards[k], mode.contact_sides[c], resets(mode.automaton, k)};
    if (contact.resets.empty()) return;
    setup.contacts.push_back(std::move(contact));
  }
  auto found = surface_equations(setup);
  if (!found) return;
  for (std::size_t k = 0; k < setup_.surfaces.size(); ++k)  // the interval of a rounding is not between two integers
    if (setup_.surfaces[k].step != 0) found->equations.guards[k] = guards[k];
  std::vector<Expr> observed = relax_field(in_clone(setup_.observed), found->lock_weights);
  compile(std::move(found->equations), std::move(observed), {}, made);
}

SurfaceBase SurfaceModes::Maker::base_of(int automaton) const {
  const RecordedSystem& system = *setup_.systems[automaton];
  SurfaceBase result{system.equations(), system.right_hand_sides(), system.structure().explicit_ode};
  rehome(result.equations, graph_);
  rehome(result.rhs, graph_);
  return result;
}

/// The explicit mode itself, or, where its transitions lead to another one across a surface and back, the two as one
/// mode with a choice on that surface. Empty if more than one surface does so.
std::optional<SurfaceBase> SurfaceModes::Maker::base(const Mode& mode) const {
  std::optional<SurfaceBase> both;
  bool paired = false;
  for (const int k : mode.sliding)
    for (const int side : {+1, -1}) {
      const int other = opposite(mode.automaton, k, side);
      if (other < 0) continue;
      if (paired || mode.sliding.size() > 1) return std::nullopt;
      paired = true;
      both = side > 0 ? pair(other, mode.automaton, k) : pair(mode.automaton, other, k);
    }
  return paired ? std::move(both) : base_of(mode.automaton);
}

/// Two explicit modes as one with a choice on the surface. Empty if their equations do not correspond: each pair must
/// agree in its derivatives.
std::optional<SurfaceBase> SurfaceModes::Maker::pair(int plus, int minus, int surface) const {
  RecordedEquations eq = base_of(plus).equations;
  const std::vector<Expr> other = base_of(minus).equations.equations;
  if (!same_derivatives(eq.equations, other, eq.variables)) return std::nullopt;
  std::vector<std::pair<Expr, Expr>> at_rest;
  for (const Expr& x : eq.variables) at_rest.emplace_back(der(x), Expr(0.0));
  for (const Expr& lock : locks_) at_rest.emplace_back(lock, lock);
  const std::vector<Expr> f = substitute(eq.equations, at_rest), g = substitute(other, at_rest);
  const BoolExpr condition{locks_[setup_.surfaces[surface].locks.front()]};
  for (std::size_t i = 0; i < other.size(); ++i)
    eq.equations[i] = eq.equations[i] - f[i] + if_else(condition, f[i], g[i]);
  const RecordedSystem made(std::move(eq), setup_.data, setup_.start_locks, setup_.options);
  return SurfaceBase{made.equations(), made.right_hand_sides(), made.structure().explicit_ode};
}

/// What the clauses and transitions that the surface triggers make of the variables.
std::vector<std::pair<Expr, Expr>> SurfaceModes::Maker::resets(int automaton, int surface) const {
  std::vector<std::pair<Expr, Expr>> found;
  const auto collect = [&](const std::vector<ModelData::Action>& actions) {
    for (const auto& a : actions)
      if (a.kind == ModelData::Action::Kind::reset) found.emplace_back(a.target, if_else(a.only_if, a.value, a.target));
  };
  for (const int k : setup_.surfaces[surface].resetting_clauses) collect(in_clone(setup_.clauses[k].actions));
  for (const int k : setup_.surfaces[surface].resetting_transitions)
    if (static_cast<int>(setup_.transitions[k].from) == automaton) collect(in_clone(setup_.transitions[k].actions));
  return found;
}

/// The surfaces on whose sides each condition depends, directly or through discrete definitions.
void SurfaceModes::find_resets() {
  std::unordered_map<NodeId, std::size_t> definition_of;
  std::unordered_multimap<NodeId, std::size_t> surfaces_of_lock;
  for (std::size_t k = 0; k < setup_.definitions.size(); ++k)
    definition_of.emplace(setup_.definitions[k].discrete.id(), k);
  for (std::size_t k = 0; k < setup_.surfaces.size(); ++k)
    for (const int lock : setup_.surfaces[k].locks) surfaces_of_lock.emplace(setup_.locks[lock].id(), k);
  const auto find = [&](const Expr& condition, std::vector<int> Surface::*list, std::size_t which) {
    std::vector<Expr> open{condition};
    std::unordered_set<std::size_t> entered;
    while (!open.empty()) {
      const Expr e = open.back();
      open.pop_back();
      for (const Expr& lock : locks_of(std::span(&e, 1)))
        for (auto [it, end] = surfaces_of_lock.equal_range(lock.id()); it != end; ++it) {
          std::vector<int>& found = setup_.surfaces[it->second].*list;
          if (found.empty() || found.back() != static_cast<int>(which)) found.push_back(static_cast<int>(which));
        }
      for (const Expr& q : symbols_of(std::span(&e, 1), SymbolKind::discrete))
        if (const auto it = definition_of.find(q.id()); it != definition_of.end() && entered.insert(it->second).second)
          open.push_back(setup_.definitions[it->second].value);
    }
  };
  for (std::size_t k = 0; k < setup_.clauses.size(); ++k)
    if (has_resets(setup_.clauses[k].actions)) find(setup_.clauses[k].condition.expr(), &Surface::resetting_clauses, k);
  for (std::size_t k = 0; k < setup_.transitions.size(); ++k) {
    const ModelData::Transition& t = setup_.transitions[k];
    if (t.to == t.from && has_resets(t.actions)) find(t.condition.expr(), &Surface::resetting_transitions, k);
  }
}

}  // namespace saltus
