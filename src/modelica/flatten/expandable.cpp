// Expandable connectors (Modelica 3.7, 9.1.3): buses whose members are those that connections name.
//
// Before variables are declared, all connections of the model are walked until nothing changes any more:
//   - connect(bus.x, y) gives the bus a member x with the type and the size of y, if it has none;
//   - connect(bus.x[3], y) makes the array x at least as large;
//   - buses that are connected have the same members, and members that are buses are connected, too.
// What a bus declares exists only if a connection or an expression names it. After that a bus is a connector like any
// other one, whose members have no direction of their own.
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

/// The mark of a member that an expression reads.
std::string read_member(const Component& component) {
  return "member " + component.path;
}

}  // namespace

class BusMembers {
 public:
  explicit BusMembers(Flattener& flattener) : f_(flattener) {}

  void complete() {
    do {
      changed_ = false;
      walk(*f_.top_);
      for (std::size_t k = 0; k < buses_.size(); ++k) share_members(*buses_[k]);
    } while (changed_ && !f_.diagnostics_.full());
    report_unknown();
    remove_unnamed();
  }

 private:
  /// One side of a connection, as far as it is known.
  struct End {
    std::vector<Instance*> instances;  ///< of a connector class
    Component* component = nullptr;    ///< the first one that the name means; null: unknown
    Dims dims;
    Instance* bus = nullptr;              ///< which lacks the member, or is too small for it
    const ReferencePart* part = nullptr;  ///< that member
    std::vector<std::int64_t> least;      ///< the sizes that its subscripts ask for
    Dims selected;                        ///< the sizes of subscripts that are vectors
    bool last = true;
    bool absent = false;
  };

  void walk(Instance& instance) {
    for (const LayoutSection& section : instance.layout->sections)
      if (section.equations && !section.equations->is_initial)
        walk(section.equations->equations, Context{&instance, section.lexical});
    for (Component& component : instance.components)
      if (!component.absent)
        for (Instance* element : component.elements) walk(*element);
    if (instance.is_expandable && !set_of_.contains(&instance)) {
      set_of_.emplace(&instance, &instance);
      buses_.push_back(&instance);
      changed_ = true;
    }
  }

  void walk(const std::vector<const Equation*>& equations, const Context& context) {
    for (const Equation* equation : equations) {
      f_.charge(1, equation->where);
      try {  // what is wrong is reported when the equations are read
        if (const auto* connection = equation->as<ConnectEquation>()) {
          connect(*connection, equation->where, context);
        } else if (const auto* loop = equation->as<ForEquation>()) {
          f_.repeat(*loop, 0, context, [&](const Context& inner) { walk(loop->body, inner); });
        } else if (const auto* choice = equation->as<IfEquation>()) {
          for (const auto& branch : choice->branches) {
            if (branch.condition) {
              const Value condition = f_.eval(branch.condition, context);
              if (condition.variability < Variability::parameter) break;
              if (!f_.known(condition, branch.condition->where).value_or(false)) continue;
            }
            walk(branch.body, context);
            break;
          }
        }
      } catch (const Poisoned&) {
      } catch (const Fault&) {
      }
    }
  }

  void connect(const ConnectEquation& node, const Location& where, const Context& context) {
    const End a = resolve(node.first, context), b = resolve(node.second, context);
    if (a.absent || b.absent) return;
    if (a.bus && !b.bus && b.component) return add(a, b, where);
    if (b.bus && !a.bus && a.component) return add(b, a, where);
    if (a.bus || b.bus) {
      const End& end = a.bus ? a : b;
      unknown_.try_emplace({end.bus, end.part->name.text}, where);
      return;
    }
    if (a.instances.size() != b.instances.size()) return;
    for (std::size_t k = 0; k < a.instances.size(); ++k)
      if (a.instances[k]->is_expandable && b.instances[k]->is_expandable) join(*a.instances[k], *b.instances[k]);
  }

  End resolve(ExprPtr expression, const Context& context) {
    End end;
    const auto* reference = expression->as<ComponentReference>();
    if (!reference || reference->global) return end;
    std::vector<Instance*> here{context.instance};
    for (std::size_t k = 0; k < reference->parts.size(); ++k) {
      const ReferencePart& part = reference->parts[k];
      end.last = k + 1 == reference->parts.size();
      Component* first = nullptr;
      std::vector<Instance*> next;
      for (Instance* instance : here) {
        Component* component = k == 0 ? f_.own_component(part.name.text, context) : instance->find(part.name.text);
        if (!component || (component->owner->is_expandable && !part.subscripts.empty())) {
          if (!(component ? component->owner : instance)->is_expandable) return {};
          end.bus = component ? component->owner : instance;
          end.part = &part;
          read_subscripts(part, context, end);
          if (component) f_.shape(*component);
          if (component && fits(*component, end))
            end.bus = nullptr;
          else
            return end;
        }
        f_.shape(*component);
        if (component->absent) {
          end.absent = true;
          return end;
        }
        if (component->owner->is_expandable) named_.insert(component->path);
        if (!first) first = component;
        const auto selection = f_.select(component->dims, part.subscripts, context, expression->where, component->path);
        if (instance == here.front())
          for (std::size_t d = 0; d < component->dims.size(); ++d)
            if (selection.keeps[d]) end.dims.push_back(static_cast<std::int64_t>(selection.indices[d].size()));
        if (component->type.builtin) continue;
        for (const std::size_t offset : Flattener::offsets_of(selection, component->dims))
          next.push_back(&component->element(offset));
      }
      end.component = first;
      here = std::move(next);
    }
    end.instances = std::move(here);
    return end;
  }

  void read_subscripts(const ReferencePart& part, const Context& context, End& end) {
    end.least.clear();
    end.selected.clear();
    for (const ExprPtr subscript : part.subscripts) {
      if (subscript->as<WholeDimension>()) {
        end.least.push_back(0);
        continue;
      }
      const Value value = f_.eval(subscript, context);
      std::int64_t most = 0;
      for (std::size_t k = 0; k < value.elements.size(); ++k)
        most = std::max(most, f_.integer(value.at(k), subscript->where, "a subscript"));
      end.least.push_back(most);
      if (!value.is_scalar()) end.selected.push_back(value.dims.front());
    }
  }

  /// False if connections have added the member, and it must become larger.
  bool fits(const Component& component, const End& end) const {
    if (!is_added(component) || component.dims.size() < end.least.size()) return true;
    for (std::size_t k = 0; k < end.least.size(); ++k)
      if (component.dims[k] < end.least[k]) return false;
    return true;
  }

  /// Gives a bus the member that one side of a connection names, with the type of the other side.
  void add(const End& end, const End& partner, const Location& where) {
    if (!end.last) {
      unknown_.try_emplace({end.bus, end.part->name.text}, where);
      return;
    }
    Dims dims = end.least;
    for (std::size_t k = end.selected.size(); k < partner.dims.size(); ++k) dims.push_back(partner.dims[k]);
    for (std::size_t k = 0, from = 0; k < end.least.size(); ++k)
      if (end.least[k] == 0 && from < partner.dims.size()) dims[k] = partner.dims[from++];
    const bool whole = dims == partner.component->dims;
    named_.insert(make(*end.bus, end.part->name.text, *partner.component,
                       partner.instances.empty() ? nullptr : partner.instances.front(), dims, whole)
                      .path);
  }

  /// The member of that name, of at least that size; its type is that of another component.
  Component& make(Instance& bus, std::string_view name, const Component type, Instance* element, const Dims dims,
                  bool with_modifier) {
    Component* member = bus.find(name);
    if (!member) {
      Layout& layout = f_.bus_layouts_.emplace_back(*bus.layout);
      ComponentDeclaration& declaration = f_.bus_declarations_.emplace_back(*type.source->declaration);
      declaration.name.text = name;
      declaration.modification = nullptr;
      declaration.condition = nullptr;
      LayoutComponent& source = f_.bus_components_.emplace_back(*type.source);
      source.declaration = &declaration;
      source.condition = nullptr;
      source.is_protected = source.is_inner = source.is_outer = source.is_replaceable = source.is_final = false;
      layout.index.emplace(name, layout.components.size());
      layout.components.push_back(source);
      bus.layout = &layout;
      member = &bus.components.emplace_back();
      member->source = &source;
      member->owner = &bus;
      member->path = join_path(bus.path, name);
      member->role = type.role;
      member->type = type.type;
      if (element) member->type.cls = element->cls;
      if (with_modifier) member->modifier = type.type.builtin ? without_value(type.modifier) : type.modifier;
      member->shape_state = Component::State::done;
      changed_ = true;
    }
    const auto is_made = [&] {
      return member->type.builtin || !member->elements.empty() ||
             std::ranges::find(member->dims, 0) != member->dims.end();
    };
    Dims larger = dims;
    for (std::size_t k = 0; k < std::min(larger.size(), member->dims.size()); ++k)
      larger[k] = std::max(larger[k], member->dims[k]);
    if (larger == member->dims && is_made()) return *member;
    const auto refuse = [&](const Fault& fault) {
      f_.report(fault);
      member->absent = true;
      member->shape_state = member->value_state = Component::State::failed;
      throw Poisoned{};
    };
    double elements = 1.0;
    for (const std::int64_t size : larger) elements *= static_cast<double>(size);
    if (elements > static_cast<double>(f_.limits_.scalars))
      refuse({member->where(),
              in_quotes(member->path) + " has more than " + std::to_string(f_.limits_.scalars) + " elements"});
    member->dims = larger;
    if (!member->type.builtin) {
      member->elements.clear();
      try {
        f_.make_elements(*member);
      } catch (const Fault& fault) {
        refuse(fault);
      }
      for (Instance* part : member->elements) f_.shape_all(*part);
    }
    changed_ = true;
    return *member;
  }

  /// The attributes of a variable, without its value.
  static ModifierPtr without_value(const ModifierPtr& modifier) {
    if (!modifier) return nullptr;
    auto copy = std::make_shared<Modifier>(*modifier);
    copy->value = {};
    copy->is_final = false;
    return copy;
  }

  Instance* root(Instance* bus) {
    while (set_of_.at(bus) != bus) bus = set_of_.at(bus);
    return bus;
  }

  void join(Instance& a, Instance& b) {
    for (Instance* bus : {&a, &b})
      if (set_of_.emplace(bus, bus).second) buses_.push_back(bus);
    Instance *x = root(&a), *y = root(&b);
    if (x == y) return;
    set_of_[x] = y;
    changed_ = true;
  }

  /// Gives the members of a bus to those that it is connected with.
  void share_members(Instance& bus) {
    Instance* const whole = root(&bus);
    for (std::size_t other = 0; other < buses_.size(); ++other) {
      Instance& partner = *buses_[other];
      if (&partner == &bus || root(&partner) != whole) continue;
      for (std::size_t k = 0; k < bus.components.size(); ++k) {
        const Component& component = bus.components[k];
        if (component.absent || component.shape_state != Component::State::done) continue;
        f_.charge(1, component.where());
        Component* same = partner.find(component.name());
        if (!same || (is_added(*same) && same->shape_state == Component::State::done))
          same = &make(partner, component.name(), component,
                       component.elements.empty() ? nullptr : component.elements.front(), component.dims, true);
        if (same->absent || same->elements.size() != component.elements.size()) continue;
        for (std::size_t n = 0; n < same->elements.size(); ++n)
          if (same->elements[n]->is_expandable && component.elements[n]->is_expandable)
            join(*same->elements[n], *component.elements[n]);
      }
    }
  }

  /// Whether a member is not declared in the class of the bus.
  bool is_added(const Component& component) const {
    return !f_.scopes_.layout(component.owner->cls).index.contains(component.name());
  }

  void report_unknown() {
    for (const auto& [place, where] : unknown_)
      if (!place.first->find(place.second))
        f_.report({where,
                   "the type of " + in_quotes(join_path(place.first->path, place.second)) +
                       " is not known: it is connected to nothing that has one",
                   "declare it in the expandable connector, or connect it to a connector of a component"});
  }

  /// Members that are declared, and that neither connections nor expressions name, do not exist.
  void remove_unnamed() {
    std::unordered_map<const Instance*, std::unordered_set<std::string_view>> names;
    for (Instance* bus : buses_)
      for (const Component& component : bus->components)
        if (named_.contains(component.path) || f_.structural_.contains(read_member(component)))
          names[root(bus)].insert(component.name());
    for (Instance* bus : buses_)
      for (Component& component : bus->components) {
        if (component.shape_state != Component::State::done || component.absent || component.is_parameter()) continue;
        if (!component.elements.empty() && component.elements.front()->is_expandable) continue;
        if (component.modifier && component.modifier->value) continue;
        if (names[root(bus)].contains(component.name())) continue;
        component.absent = true;
        component.elements.clear();
      }
  }

  Flattener& f_;
  bool changed_ = false;
  std::vector<Instance*> buses_;
  std::unordered_map<Instance*, Instance*> set_of_;  ///< the union of buses that are connected
  std::unordered_set<std::string> named_;            ///< paths of members that connections name
  std::map<std::pair<Instance*, std::string_view>, Location> unknown_;
};

void Flattener::complete_buses() {
  if (!has_buses_) return;
  if (!prototypes_.empty()) throw NotKept{};
  keep_loops_ = false;
  BusMembers(*this).complete();
}

void Flattener::check_bus_readers(const std::vector<std::vector<std::size_t>>& sets) {
  std::unordered_set<NodeId> named;  // by anything but connections
  const auto note = [&](const Expr& e) {
    if (e.is_constant()) return;
    for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::derivative, SymbolKind::discrete})
      for (const Expr& symbol : symbols_of(std::span(&e, 1), kind)) named.insert(symbol.id());
  };
  for (const auto* list : {&equations_, &initial_equations_})
    for (const FlatEquation& e : *list)
      for (const Value* side : {&e.lhs, &e.rhs})
        for (const Expr& element : side->elements) note(element);
  for (const Definition& definition : definitions_) note(definition.symbol);
  for (const FlatClause& clause : clauses_)
    for (const FlatAction& action : clause.actions) note(action.target);
  for (const auto& [id, where] : algorithm_targets_) named.insert(id);
  // a member belongs to two sets, one for each of its faces: they are one signal
  struct Signal {
    const ConnectionEnd *member = nullptr, *reader = nullptr;
    bool given = false;
  };
  std::vector<std::size_t> parent(sets.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto signal_of = [&](std::size_t set) {
    while (parent[set] != set) set = parent[set] = parent[parent[set]];
    return set;
  };
  std::map<std::pair<Component*, std::size_t>, std::size_t> other_face;
  for (std::size_t set = 0; set < sets.size(); ++set)
    for (const std::size_t k : sets[set]) {
      const ConnectionEnd& end = connection_ends_[k];
      if (!end.component->owner->in_bus) continue;
      const auto [face, fresh] = other_face.try_emplace({end.component, end.position}, set);
      if (!fresh) parent[signal_of(set)] = signal_of(face->second);
    }
  std::map<std::size_t, Signal> signals;
  for (std::size_t set = 0; set < sets.size(); ++set)
    for (const std::size_t k : sets[set]) {
      const ConnectionEnd& end = connection_ends_[k];
      Signal& signal = signals[signal_of(set)];
      const Component& component = *end.component;
      if (component.owner->in_bus) {
        signal.member = &end;
        signal.given = signal.given || component.role != ConnectorRole::none ||
                       (end.position < component.values.size() && named.contains(component.values[end.position].id()));
      } else if (component.direction == (end.outside ? Direction::output : Direction::input)) {
        signal.reader = &end;
      } else {
        signal.given = true;
      }
    }
  for (const auto& [number, signal] : signals) {
    if (!signal.member || !signal.reader || signal.given) continue;
    const auto name = [](const ConnectionEnd& end) {
      return in_quotes(end.component->path + subscript_text(end.component->dims, end.position));
    };
    report({connection_where_[node_of(*signal.reader)],
            "nothing gives " + name(*signal.member) + " a value, and " + name(*signal.reader) + " reads it",
            "connect it to an output, or leave the connection out"});
  }
}

void Flattener::require_bus_member(const Component& component) {
  if (!component.owner->is_expandable) return;
  structural_.emplace(read_member(component), "the members of a bus");
  structure_changed_ = true;
  throw Poisoned{};
}

}  // namespace saltus::modelica
