#include "model/model_equations.hpp"

#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace saltus {

namespace {

struct SignedTerm {
  NodeId node;
  signed char sign;
};

/// Appends the terms of a sum.
void split(const Graph& graph, NodeId root, signed char sign, std::vector<SignedTerm>& terms) {
  std::vector<SignedTerm> open{{root, sign}};
  while (!open.empty()) {
    const SignedTerm term = open.back();
    open.pop_back();
    const Node& node = graph.node(term.node);
    const auto other = static_cast<signed char>(-term.sign);
    if (node.op == Op::add || node.op == Op::sub) {
      open.push_back({node.b, node.op == Op::add ? term.sign : other});
      open.push_back({node.a, term.sign});
    } else if (node.op == Op::neg) {
      open.push_back({node.a, other});
    } else {
      terms.push_back(term);
    }
  }
}

}  // namespace

std::string describe_equation(const ModelData::NamedEquation& equation) {
  std::string text = equation.name.empty() ? to_string(equation.equation, 70) : equation.name;
  if (equation.where.known()) text += " (" + to_string(equation.where) + ")";
  return text;
}

ModelEquations::ModelEquations(Source source) {
  using Groups = std::vector<std::vector<Expr>>;
  const auto shared = std::make_shared<Shared>();
  const auto graph = source.time.graph();
  std::unordered_map<NodeId, int> place;
  for (std::size_t k = 0; k < source.locks.size(); ++k) place.emplace(source.locks[k].id(), static_cast<int>(k));
  shared->pushed = find_pushed(source);
  shared->common = source.common;
  shared->guards = source.guards;
  std::vector<Expr> outputs;
  std::vector<SignedTerm> terms;
  const auto add = [&](const Expr& left, const Expr& right) {
    shared->first_term.push_back(static_cast<int>(outputs.size()));
    terms.clear();
    signed char sign = 1;
    for (const Expr* side : {&left, &right}) {
      if (side->graph())
        split(*graph, side->id(), sign, terms);
      else if (side->constant_value() != 0.0)
        terms.push_back({side->in(*graph), sign});
      sign = -1;
    }
    for (const SignedTerm& term : terms) {
      outputs.emplace_back(graph, term.node);
      shared->sign.push_back(term.sign);
    }
  };
  std::vector<std::vector<int>> readers(source.locks.size());
  for (const ModelData::NamedEquation& written : source.equations) {
    add(written.equation.lhs, written.equation.rhs);
    if (place.empty()) continue;
    std::vector<int>& locks = shared->locks.emplace_back();
    const Expr sides[] = {written.equation.lhs, written.equation.rhs};
    for (const Expr& lock : locks_of(sides)) {
      locks.push_back(place.at(lock.id()));
      readers[static_cast<std::size_t>(locks.back())].push_back(static_cast<int>(shared->locks.size()) - 1);
    }
  }
  for (Relation& relation : source.relations) {
    add(relation.function, Expr(0.0));
    if (!relation.function.is_constant())
      for (const Expr& lock : locks_of(std::span(&relation.function, 1)))
        relation.nested.push_back(place.at(lock.id()));
    if (relation.own >= 0) relation.readers = readers[static_cast<std::size_t>(relation.own)];
  }
  shared->first_term.push_back(static_cast<int>(outputs.size()));
  shared->equations = std::move(source.equations);
  shared->relations = std::move(source.relations);
  shared->lock_places = std::move(source.lock_places);
  shared->surface_locks = std::move(source.surface_locks);
  // evaluated now and then: not worth native code
  terms_program_ = RunnableProgram(Program(
      Groups{{source.time}, source.variables, source.derivatives, source.parameters, source.discretes, source.locks},
      Groups{outputs}, {.backend = Backend::interpreter}));
  terms_.resize(outputs.size());
  lock_values_.resize(source.locks.size());
  shared_ = shared;
}

/// The forces of a contact change derivatives of the variables that its clauses reset, and whatever equations make of
/// these. An equation that reads none of it holds as it is written.
std::vector<std::vector<char>> ModelEquations::find_pushed(const Source& source) {
  const std::size_t equations = source.equations.size();
  std::vector<std::vector<char>> pushed(source.reset_targets.size());
  if (std::ranges::all_of(source.reset_targets, &std::vector<int>::empty)) return pushed;
  constexpr std::size_t largest = 1'000'000;  // guards times equations; in larger models no equation counts in contact
  if (pushed.size() * equations > largest) return pushed;
  // variables without a derivative follow from the others; those with one do not change at once
  std::vector<std::vector<NodeId>> reads(equations);  // derivatives and variables
  std::vector<char> integrated(source.variables.size(), 0);
  std::unordered_map<NodeId, std::size_t> variable_place;
  for (std::size_t k = 0; k < source.variables.size(); ++k) variable_place.emplace(source.variables[k].id(), k);
  for (std::size_t i = 0; i < equations; ++i) {
    const Expr sides[] = {source.equations[i].equation.lhs, source.equations[i].equation.rhs};
    for (const SymbolKind kind : {SymbolKind::derivative, SymbolKind::variable})
      for (const Expr& symbol : symbols_of(sides, kind)) reads[i].push_back(symbol.id());
  }
  std::unordered_set<NodeId> read;
  for (const std::vector<NodeId>& list : reads) read.insert(list.begin(), list.end());
  for (std::size_t k = 0; k < source.variables.size(); ++k)
    integrated[k] = read.contains(source.all_derivatives[k].id());
  for (std::size_t g = 0; g < pushed.size(); ++g) {
    if (source.reset_targets[g].empty()) continue;
    std::vector<char>& of_guard = pushed[g];
    of_guard.assign(equations, 0);
    std::vector<NodeId> changed;
    for (const int target : source.reset_targets[g]) {
      changed.push_back(source.all_derivatives[static_cast<std::size_t>(target)].id());
      if (!integrated[static_cast<std::size_t>(target)])
        changed.push_back(source.variables[static_cast<std::size_t>(target)].id());
    }
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < equations; ++i) {
        const auto is_changed = [&](NodeId id) { return std::ranges::find(changed, id) != changed.end(); };
        if (of_guard[i] || std::ranges::none_of(reads[i], is_changed)) continue;
        of_guard[i] = 1;
        again = true;
        for (const NodeId id : reads[i]) {
          const auto variable = variable_place.find(id);
          const bool stays = variable != variable_place.end() && integrated[variable->second];
          if (!stays && !is_changed(id)) changed.push_back(id);
        }
      }
    }
  }
  return pushed;
}

/// Values of the locks, and which equations hold as they are written: those without a lock of a surface on which the
/// mode slides.
void ModelEquations::read_locks(const Mode& mode) {
  relaxed_.clear();
  for (const int guard : mode.sliding) {
    const std::vector<int>& locks = shared_->surface_locks[static_cast<std::size_t>(guard)];
    relaxed_.insert(relaxed_.end(), locks.begin(), locks.end());
  }
  std::sort(relaxed_.begin(), relaxed_.end());
  comparable_.clear();
  const std::vector<int>& places = shared_->lock_places;
  const std::size_t equations = shared_->equations.size();
  bool some_not = !mode.contacts.empty() || (!mode.sliding.empty() && shared_->common < equations);
  const auto follows = [&](int place) { return place >= 0 && !std::ranges::binary_search(relaxed_, place); };
  for (std::size_t k = 0; k < places.size(); ++k) {
    lock_values_[k] = places[k] >= 0 ? mode.locks[static_cast<std::size_t>(places[k])] : 0.0;
    some_not = some_not || !follows(places[k]);
  }
  if (!some_not) return;
  comparable_.assign(equations, 1);
  for (std::size_t i = 0; i < shared_->locks.size(); ++i)
    comparable_[i] =
        std::ranges::all_of(shared_->locks[i], [&](int k) { return follows(places[static_cast<std::size_t>(k)]); });
  // where explicit modes are the sides of a surface their fields are mixed
  if (!mode.sliding.empty())
    std::fill(comparable_.begin() + static_cast<std::ptrdiff_t>(std::min(shared_->common, equations)),
              comparable_.end(), 0);
  for (const int guard : mode.contacts) {
    const std::vector<char>& pushed = shared_->pushed[static_cast<std::size_t>(guard)];
    for (std::size_t i = 0; i < equations; ++i)
      if (pushed.empty() || pushed[i]) comparable_[i] = 0;
  }
}

void ModelEquations::evaluate(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp) {
  const double* in[] = {&t, values.data(), xp.data(), parameters_, mode.discrete.data(), lock_values_.data()};
  double* const out[] = {terms_.data()};
  terms_program_(in, out);
}

WrittenResidual ModelEquations::sum(std::size_t output) const {
  WrittenResidual r;
  for (auto k = static_cast<std::size_t>(shared_->first_term[output]);
       k < static_cast<std::size_t>(shared_->first_term[output + 1]); ++k) {
    r.value += shared_->sign[k] * terms_[k];
    r.terms += std::abs(terms_[k]);
  }
  return r;
}

void ModelEquations::residuals(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp,
                               std::span<WrittenResidual> residuals) {
  read_locks(mode);
  evaluate(mode, t, values, xp);
  for (std::size_t i = 0; i < residuals.size(); ++i)
    residuals[i] = comparable_.empty() || comparable_[i] ? sum(i) : WrittenResidual{};
}

std::string ModelEquations::relation_name(int i, const Mode& mode) const {
  const Relation& relation = shared_->relations[static_cast<std::size_t>(i)];
  const double truth = mode.locks[static_cast<std::size_t>(relation.lock)];
  if (relation.rounding) return fmt::format("floor({}) = {:g}", relation.text, truth);
  const bool on_surface = std::ranges::any_of(relation.guards, [&](int k) {
    return std::ranges::find(mode.sliding, k) != mode.sliding.end() ||
           std::ranges::find(mode.contacts, k) != mode.contacts.end();
  });
  return on_surface ? relation.text + ", which is kept at zero"
                    : relation.text + (truth != 0.0 ? ", which is taken as true" : ", which is taken as false");
}

/// Whether an equation that can be compared has another value where the relation has the other truth.
bool ModelEquations::changes_an_equation(const Relation& relation, const Mode& mode, double t,
                                         std::span<const double> values, std::span<const double> xp, double truth) {
  constexpr double rounding = 1e-12;
  std::vector<WrittenResidual> before;
  for (const int i : relation.readers) before.push_back(sum(static_cast<std::size_t>(i)));
  double& lock = lock_values_[static_cast<std::size_t>(relation.own)];
  const double kept = std::exchange(lock, truth);
  evaluate(mode, t, values, xp);
  bool changes = false;
  for (std::size_t k = 0; k < before.size(); ++k) {
    const auto i = static_cast<std::size_t>(relation.readers[k]);
    const WrittenResidual other = sum(i);
    if (!comparable_.empty() && !comparable_[i]) continue;
    changes = changes || std::abs(other.value - before[k].value) > rounding * (other.terms + before[k].terms);
  }
  lock = kept;
  evaluate(mode, t, values, xp);
  return changes;
}

void ModelEquations::wrong_relations(const Mode& mode, double t, std::span<const double> values,
                                     std::span<const double> xp, std::span<WrittenResidual> wrong) {
  read_locks(mode);
  evaluate(mode, t, values, xp);
  shared_->guards->positions(mode, positions_);
  const std::size_t equations = shared_->equations.size();
  for (std::size_t k = 0; k < shared_->relations.size(); ++k) {
    const Relation& relation = shared_->relations[k];
    wrong[k] = {};
    const auto known = [&](int lock) {
      const int place = shared_->lock_places[static_cast<std::size_t>(lock)];
      return place >= 0 && !std::ranges::binary_search(relaxed_, place);
    };
    if (!std::ranges::all_of(relation.nested, known)) continue;
    WrittenResidual r = sum(equations + k);
    const double lock = mode.locks[static_cast<std::size_t>(relation.lock)];
    bool watched = false, kept = false;
    for (const int guard : relation.guards) {
      const Position position = positions_[static_cast<std::size_t>(guard)];
      watched = watched || position != Position::unwatched;
      kept = kept || on_surface(position);
    }
    double other = lock;  // the lock that the function asks for
    if (relation.rounding) {
      if (kept || (r.value >= lock && r.value < lock + 1.0)) continue;
      other = std::floor(r.value);
      r.value -= r.value < lock ? lock : lock + 1.0;
    } else if (!kept) {
      const bool holds = (lock != 0.0) != relation.negated;
      if (holds ? r.value >= 0.0 : r.value <= 0.0) continue;
      other = 1.0 - lock;
    }
    // a relation that no guard watches must not matter
    if (!watched && (relation.own < 0 || !changes_an_equation(relation, mode, t, values, xp, other))) continue;
    wrong[k] = r;
  }
}

}  // namespace saltus
