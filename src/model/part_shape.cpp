// The small family of a shape: a model of its own, made of the expressions of one part. Everything that differs between
// parts of the shape is a discrete variable in it: its own ones, the values of parameters, and the polynomials that
// stand for the variables of other parts.
#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "model/graph_copy.hpp"
#include "model/model_access.hpp"
#include "model/model_parts.hpp"

namespace saltus {
namespace {

/// Writes the model of one part.
class PartModel {
 public:
  PartModel(const PartSource& source, const FamilyPart& part, const PartStructure::Further& further)
      : source_(source),
        part_(part),
        further_(further),
        model_(source.logic.mode_names.empty() ? "part" : source.logic.mode_names.front()) {}

  ModelData write() {
    declare();
    copy_expressions();
    ModelData data = model_.data();
    put_in_order(data);
    for (std::size_t k = 0; k < part_.discretes.size(); ++k) {
      const ModelData::Discrete& q = source_.discretes[static_cast<std::size_t>(part_.discretes[k])];
      ModelData::Discrete& own = data.discretes[k];
      own.hidden = q.hidden;
      own.pulse = q.pulse;
      own.boolean = q.boolean;
      own.details = q.details;
    }
    for (std::size_t k = part_.discretes.size(); k < data.discretes.size(); ++k) data.discretes[k].hidden = true;
    take_clauses(data);
    return data;
  }
  /// The locks of the part, in the graph of the model.
  const std::vector<Expr>& locks() const { return locks_; }

 private:
  void declare() {
    known_.emplace(source_.time.id(), model_.time().id());
    // in the order of the large model: what is older stands first in a relation
    enum Kind { variable, discrete, parameter, foreign, constant };
    struct Declaration {
      NodeId age;
      Kind kind;
      std::size_t index;
    };
    std::vector<Declaration> all;
    const auto list = [&](Kind kind, std::span<const int> places, auto symbol) {
      for (std::size_t k = 0; k < places.size(); ++k)
        all.push_back({symbol(static_cast<std::size_t>(places[k])).id(), kind, k});
    };
    list(variable, part_.variables, [&](std::size_t k) { return source_.variables[k]; });
    list(discrete, part_.discretes, [&](std::size_t k) { return source_.discretes[k].symbol; });
    list(parameter, part_.parameters, [&](std::size_t k) { return source_.parameters[k]; });
    list(foreign, part_.foreign, [&](std::size_t k) { return source_.variables[k]; });
    for (std::size_t k = 0; k < further_.constants.size(); ++k)
      if (Expr(source_.graph, further_.constants[k]).is_symbol()) all.push_back({further_.constants[k], constant, k});
    std::ranges::sort(all, {}, &Declaration::age);
    variables_.resize(part_.variables.size());
    places_.resize(first_constant() + further_.constants.size());
    for (const auto& [age, kind, k] : all) {
      switch (kind) {
        case variable:
          declare_variable(k);
          break;
        case discrete: {
          const ModelData::Discrete& q = source_.discretes[static_cast<std::size_t>(part_.discretes[k])];
          know(q.symbol, declare_discrete(k, q.name, q.start));
          break;
        }
        case parameter: {
          const Expr& symbol = source_.parameters[static_cast<std::size_t>(part_.parameters[k])];
          know(symbol, declare_discrete(part_.discretes.size() + k, "value of " + symbol.name(), 0.0));
          break;
        }
        case foreign: {
          const Expr& symbol = source_.variables[static_cast<std::size_t>(part_.foreign[k])];
          know(symbol, polynomial(k, symbol.name()));
          break;
        }
        case constant:
          declare_constant(k);
          break;
      }
    }
    for (std::size_t k = 0; k < further_.constants.size(); ++k)
      if (!known_.contains(further_.constants[k])) declare_constant(k);
    for (const int flag : {source_.logic.initial_flag, source_.logic.terminal_flag})
      if (flag >= 0)
        known_.emplace(source_.logic.discretes[static_cast<std::size_t>(flag)].id(), graph()->constant(0.0));
    const auto before = [&](const std::vector<std::pair<Expr, Expr>>& pairs) {
      for (const auto& [symbol, pre] : pairs) {
        const auto it = known_.find(symbol.id());
        if (it == known_.end()) continue;
        const Expr own(graph(), it->second);
        known_.emplace(pre.id(), own.is_symbol() ? model_.pre(own).id() : own.id());
      }
    };
    before(source_.logic.pre_discretes);
    before(source_.logic.pre_variables);
  }

  void declare_variable(std::size_t k) {
    const auto i = static_cast<std::size_t>(part_.variables[k]);
    const VariableInfo& info = source_.info[i];
    variables_[k] = model_.variable(info.name, info.start, {.fixed = true, .nominal = info.nominal});
    order_.push_back(k);
    know(source_.variables[i], variables_[k]);
    know(source_.derivatives[i], der(variables_[k]));
  }
  /// `place`: where the discrete variable will stand.
  Expr declare_discrete(std::size_t place, const std::string& name, double start) {
    places_[place] = model_.data().discretes.size();
    return model_.discrete(name, start);
  }
  void declare_constant(std::size_t k) {
    const Expr own = declare_discrete(first_constant() + k, fmt::format("constant {}", k + 1), 0.0);
    known_.emplace(further_.constants[k], own.id());
  }
  std::size_t first_polynomial(std::size_t k) const {
    return part_.discretes.size() + part_.parameters.size() + k * static_cast<std::size_t>(source_.degree + 2);
  }
  std::size_t first_constant() const { return first_polynomial(part_.foreign.size()); }

  /// Puts variables and discrete variables into the order that runs expect.
  void put_in_order(ModelData& data) const {
    const std::vector<ModelData::Discrete> declared = std::move(data.discretes);
    data.discretes.clear();
    for (const std::size_t place : places_) {
      data.names.at(declared[place].name).index = data.discretes.size();
      data.discretes.push_back(declared[place]);
    }
    const std::vector<VariableInfo> info = std::move(data.variable_info);
    data.variable_info.resize(info.size());
    for (std::size_t k = 0; k < order_.size(); ++k) {
      data.variables[order_[k]] = variables_[order_[k]];
      data.variable_info[order_[k]] = info[k];
      data.names.at(info[k].name).index = order_[k];
    }
  }

  /// c_0 + (c_1 + (c_2 + …) s) s with s = time - since.
  Expr polynomial(std::size_t foreign, const std::string& name) {
    std::vector<Expr> c;
    std::size_t place = first_polynomial(foreign);
    for (int k = 0; k <= source_.degree; ++k)
      c.push_back(declare_discrete(place++, fmt::format("{} of {}", k, name), 0.0));
    const Expr s = model_.time() - declare_discrete(place, "since of " + name, 0.0);
    Expr value = c.back();
    for (std::size_t k = c.size() - 1; k-- > 0;) value = value * s + c[k];
    return value;
  }

  void copy_expressions() {
    const EventLogic::Setup& logic = source_.logic;
    std::vector<Expr> all;
    for (const int i : part_.variables) all.push_back(source_.right_hand_sides[static_cast<std::size_t>(i)]);
    for (const int k : part_.conditions) {
      const ModelData::Clause& c = logic.clauses[static_cast<std::size_t>(k)];
      all.push_back(c.condition.expr());
      for (const ModelData::Action& action : c.actions)
        for (const Expr* e : {&action.target, &action.value, &action.only_if.expr()}) all.push_back(*e);
    }
    for (const int k : further_.definitions) {
      all.push_back(logic.definitions[static_cast<std::size_t>(k)].discrete);
      all.push_back(logic.definitions[static_cast<std::size_t>(k)].value);
    }
    for (const int k : further_.assertions)
      all.push_back(logic.assertions[static_cast<std::size_t>(k)].condition.expr());
    for (const int k : further_.solutions) all.push_back(source_.solutions[static_cast<std::size_t>(k)]);
    for (const int k : part_.locks) all.push_back(source_.guards.locks()[static_cast<std::size_t>(k)]);
    std::vector<NodeId> leaves;
    for (const auto& [id, own] : known_) leaves.push_back(id);
    std::vector<Expr> with_graph;  // the source does not grow: bare numbers stay as they are
    for (const Expr& e : all)
      if (e.graph()) with_graph.push_back(e);
    std::vector<Expr> copies = GraphCopy(source_.graph, graph(), with_graph, leaves).with(known_);
    auto copy = copies.begin();
    for (const Expr& e : all) copied_.push_back(e.graph() ? *copy++ : e);
    for (std::size_t k = 0; k < part_.variables.size(); ++k) model_.equation(der(variables_[k]) == take());
  }

  void take_clauses(ModelData& data) {
    const EventLogic::Setup& logic = source_.logic;
    for (std::size_t k = 0; k < part_.conditions.size(); ++k) {
      ModelData::Clause c = logic.clauses[static_cast<std::size_t>(part_.conditions[k])];
      c.condition = BoolExpr(take());
      for (ModelData::Action& action : c.actions) {
        action.target = take();
        action.value = take();
        action.only_if = BoolExpr(take());
      }
      if (c.after >= 0)
        c.after = static_cast<int>(std::ranges::lower_bound(part_.conditions, c.after) - part_.conditions.begin());
      if (!c.name.empty()) c.name = std::to_string(k);  // by which runs find the clause of another part
      data.clauses.push_back(std::move(c));
    }
    for (const int k : further_.definitions) {
      const Expr target = take(), value = take();
      data.definitions.push_back({target, value, logic.definitions[static_cast<std::size_t>(k)].where});
    }
    for (const int k : further_.assertions) {
      const ModelData::Assertion& a = logic.assertions[static_cast<std::size_t>(k)];
      data.assertions.push_back({BoolExpr(take()), a.message, a.where});
    }
    for (const int k : further_.solutions) {
      const Expr y = Expr(data.graph, data.graph->symbol(fmt::format("solution {}", k), SymbolKind::variable));
      data.names.emplace(y.name(), ModelData::Declared{SymbolKind::variable, data.variables.size()});
      data.variables.push_back(y);
      data.variable_info.push_back({.name = y.name()});
      data.equations.push_back({y == take(), "", {}});
    }
    while (next_ < copied_.size()) locks_.push_back(take());
  }

  const std::shared_ptr<Graph>& graph() const { return model_.data().graph; }
  void know(const Expr& symbol, const Expr& own) { known_.emplace(symbol.id(), own.in(*graph())); }
  Expr take() { return copied_[next_++]; }

  const PartSource& source_;
  FamilyPart part_;
  const PartStructure::Further& further_;
  Model model_;
  std::unordered_map<NodeId, NodeId> known_;
  std::vector<Expr> variables_, copied_, locks_;
  std::vector<std::size_t> places_;  // of discrete variables: where they were declared
  std::vector<std::size_t> order_;   // of variables, as they were declared: where they stand
  std::size_t next_ = 0;
};

/// The places of the part's locks in the small family. Empty if they are not the same.
std::vector<int> places_of_locks(const std::vector<Expr>& wanted, const std::vector<Expr>& locks) {
  std::unordered_map<NodeId, int> place;
  for (std::size_t k = 0; k < locks.size(); ++k) place.emplace(locks[k].id(), static_cast<int>(k));
  std::vector<int> places;
  for (const Expr& lock : wanted) {
    const auto it = lock.graph() ? place.find(lock.id()) : place.end();
    if (it == place.end()) return {};
    places.push_back(it->second);
  }
  if (places.size() != locks.size()) return {};
  return places;
}

/// The same for guards: each has the same relations, in the same way.
std::vector<int> places_of_guards(const FamilyPart& part, const ModelGuards& large, const std::vector<int>& lock_places,
                                  const ModelGuards& small) {
  std::unordered_map<int, int> lock_of;  // of the large family, in the small one
  for (std::size_t k = 0; k < part.locks.size(); ++k) lock_of.emplace(part.locks[k], lock_places[k]);
  std::vector<char> taken(small.guards().size(), 0);
  std::vector<int> places;
  for (const int g : part.guards) {
    const ModelGuards::Guard& guard = large.guards()[static_cast<std::size_t>(g)];
    int found = -1;
    for (std::size_t k = 0; k < small.guards().size() && found < 0; ++k) {
      const ModelGuards::Guard& other = small.guards()[k];
      if (taken[k] || other.kind != guard.kind || other.locks.size() != guard.locks.size() ||
          other.signs != guard.signs || other.weak != guard.weak || (other.same_as < 0) != (guard.same_as < 0) ||
          large.info()[static_cast<std::size_t>(g)].time_only != small.info()[k].time_only)
        continue;
      const auto same = [&](int a, int b) { return lock_of.at(a) == b; };
      if (std::ranges::equal(guard.locks, other.locks, same)) found = static_cast<int>(k);
    }
    if (found < 0) return {};
    taken[static_cast<std::size_t>(found)] = 1;
    places.push_back(found);
  }
  return places.size() == small.guards().size() ? places : std::vector<int>{};
}

bool watches_foreign(const PartSource& source, const FamilyPart& part) {
  ModelReads reads(source);
  bool found = false;
  const auto look = [&](const ModelReads::Read& read) {
    found = found || ((read.kind == ReadKind::variable || read.kind == ReadKind::before_variable) &&
                      std::ranges::find(part.foreign, read.index) != part.foreign.end());
  };
  for (const int l : part.locks) reads.inside(source.guards.locks()[static_cast<std::size_t>(l)], look);
  for (const int k : part.conditions) {
    const ModelData::Clause& c = source.logic.clauses[static_cast<std::size_t>(k)];
    reads.for_each(c.condition.expr(), look);
    for (const ModelData::Action& action : c.actions) reads.for_each(action.value, look);
  }
  return found;
}

}  // namespace

std::unique_ptr<const PartShape> make_part_shape(const PartSource& source, const PartStructure& structure, int shape) {
  return make_part_shape(source, structure.part(structure.representative(shape)), structure.further(shape));
}

std::unique_ptr<const PartShape> make_part_shape(const PartSource& source, const FamilyPart& part,
                                                 const PartStructure::Further& further) {
  PartModel writer(source, part, further);
  auto made = std::make_unique<PartShape>();
  made->degree = source.degree;
  std::shared_ptr<CompiledModel> family;
  try {
    const ModelData data = writer.write();
    family = ModelAccess::compiled(data, source.options);
  } catch (const ModelError&) {  // what the large model has, a part of it need not have
    return nullptr;
  }
  const EventLogic::Setup& logic = ModelAccess::logic(*family);
  const std::size_t numbers = made->discretes(part);
  if (family->variables().size() != part.variables.size() || logic.discretes.size() != numbers ||
      logic.clauses.size() != part.conditions.size())
    return nullptr;
  made->locks = places_of_locks(writer.locks(), logic.locks);
  if (made->locks.size() != part.locks.size()) return nullptr;
  made->guards = places_of_guards(part, source.guards, made->locks, ModelAccess::guards(*family));
  if (made->guards.size() != part.guards.size()) return nullptr;
  made->watches_foreign = watches_foreign(source, part);
  made->family = std::move(family);
  return made;
}

}  // namespace saltus
