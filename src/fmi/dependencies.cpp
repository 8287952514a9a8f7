// The equations of all modes are laid over each other; unknowns are derivatives of states, other variables, discrete
// variables and relations. What is zero in the inverse of every matrix with given places of non-zeros (a minor divided
// by the determinant) is so in the inverse of those with fewer non-zeros. So what the block triangular form of the
// whole finds to be independent is independent in each mode.
//
// A relation is an unknown because solutions slide: its weight then follows from the derivative of its switching
// function, and so from the derivatives of all states that this function depends on. Resets count in the same way,
// because contacts may follow from them.
#include "fmi/dependencies.hpp"

#include <saltus/dae/structural_analysis.hpp>
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>

namespace saltus {

namespace {

/// A set of knowns, by their numbers.
class Knowns {
 public:
  explicit Knowns(std::size_t size = 0) : words_((size + bits - 1) / bits) {}
  void insert(std::size_t k) { words_[k / bits] |= std::uint64_t{1} << k % bits; }
  bool contains(std::size_t k) const { return (words_[k / bits] >> k % bits & 1) != 0; }
  void insert(const Knowns& others) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= others.words_[w];
  }

 private:
  static constexpr std::size_t bits = 64;
  std::vector<std::uint64_t> words_;
};

class Overlay {
 public:
  explicit Overlay(const ExportedModel& model) : model_(model), data_(model.data()) {
    declare();
    add_equations();
    add_discretes();
    add_relations();
    add_resets();
  }

  /// What each unknown depends on.
  std::vector<Knowns> solve() {
    for (;;) {
      const std::vector<Knowns> found = by_blocks();
      if (found.empty()) return by_components();
      if (!follow_derivatives(found)) return found;
    }
  }
  int unknown_of(NodeId symbol) const { return place(unknown_, symbol); }
  int derivative_of(NodeId variable) const { return place(derivative_, variable); }
  int known_of(NodeId symbol) const { return place(known_, symbol); }
  /// Value references of the knowns.
  const std::vector<std::size_t>& references() const { return references_; }

 private:
  struct Row {
    std::vector<int> unknowns;
    Knowns knowns;
  };
  Row new_row(std::vector<int> unknowns = {}) const { return {std::move(unknowns), Knowns(references_.size())}; }
  using Places = std::unordered_map<NodeId, int>;

  static int place(const Places& places, NodeId symbol) {
    const auto at = places.find(symbol);
    return at == places.end() ? -1 : at->second;
  }
  const Expr& discrete(int number) const { return data_.discretes[static_cast<std::size_t>(number)].symbol; }

  void declare() {
    std::unordered_map<std::string, std::size_t> reference;
    for (std::size_t k = 0; k < model_.variables().size(); ++k) reference[model_.variables()[k].info.name] = k;
    const auto add_known = [&](const Expr& symbol, const std::string& name) {
      known_[symbol.id()] = static_cast<int>(references_.size());
      references_.push_back(reference.at(name));
    };
    add_known(data_.time, "time");
    for (const ModelData::Input& input : data_.inputs) {
      const InputInfo& p = input.places;
      const Expr& symbol = input.held ? discrete(p.variable) : data_.variables[static_cast<std::size_t>(p.variable)];
      add_known(symbol, input.name);
      for (const auto& numbers : {p.coefficients, p.next_coefficients, std::vector{p.since, p.next_since, p.next},
                                  std::vector{p.previous, p.following}})
        for (const int k : numbers)
          if (k >= 0) known_[discrete(k).id()] = known_.at(symbol.id());
    }
    for (std::size_t k = 0; k < data_.variables.size(); ++k)
      if (model_.variables()[reference.at(data_.variable_info[k].name)].state)
        add_known(data_.variables[k], data_.variable_info[k].name);
    for (const Expr& variable : data_.variables)
      if (!known_.contains(variable.id())) unknown_[variable.id()] = unknowns_++;
    for (const ModelData::Discrete& d : data_.discretes)
      if (!known_.contains(d.symbol.id())) unknown_[d.symbol.id()] = unknowns_++;
    for (const auto& [symbol, before] : data_.pre_symbols) {
      if (const int at = unknown_of(symbol.id()); at >= 0) unknown_[before.id()] = at;
      if (const int at = known_of(symbol.id()); at >= 0) known_[before.id()] = at;
    }
  }

  /// Adds what expressions contain to a row.
  void read(Row& row, std::span<const Expr> expressions) {
    std::vector<NodeId> roots;
    for (const Expr& e : expressions)
      if (e.graph()) roots.push_back(e.id());
    for (const NodeId id : data_.graph->reachable(roots)) {
      if (data_.graph->node(id).op != Op::symbol) continue;
      const Symbol& symbol = data_.graph->symbol_of(id);
      if (symbol.kind == SymbolKind::derivative && !unknown_.contains(id)) {
        unknown_[id] = unknowns_;
        derivative_[symbol.base] = unknowns_++;
      }
      if (const int at = unknown_of(id); at >= 0) row.unknowns.push_back(at);
      if (const int at = known_of(id); at >= 0) row.knowns.insert(static_cast<std::size_t>(at));
    }
  }
  /// The same for one expression, with its relations as unknowns.
  void read_relaxed(Row& row, const Expr& e) {
    read(row, std::span(&e, 1));
    for (const Expr& lock : locks_of(std::span(&e, 1))) {
      if (!unknown_.contains(lock.id())) {
        unknown_[lock.id()] = unknowns_++;
        relations_.push_back(lock);
      }
      row.unknowns.push_back(unknown_.at(lock.id()));
    }
  }

  bool is_input_equation(const Equation& e) const {
    return std::ranges::any_of(data_.inputs, [&](const ModelData::Input& input) {
      return !input.held && data_.variables[static_cast<std::size_t>(input.places.variable)].same(e.lhs) &&
             !symbols_of(std::span(&e.rhs, 1), SymbolKind::discrete).empty();
    });
  }

  void add_equations() {
    const auto add = [&](Row& row, const Equation& e) {
      read_relaxed(row, e.lhs);
      read_relaxed(row, e.rhs);
    };
    for (const ModelData::NamedEquation& e : data_.equations)
      if (!is_input_equation(e.equation)) add(rows_.emplace_back(new_row()), e.equation);
    const std::size_t common = rows_.size();
    std::vector<Expr> choices;  // they decide about explicit modes
    for (const ModelData::Transition& t : data_.transitions) choices.push_back(t.condition.expr());
    for (const ModelData::Mode& mode : data_.modes)
      for (std::size_t k = 0; k < mode.equations.size(); ++k) {
        if (common + k == rows_.size()) read(rows_.emplace_back(new_row()), choices);
        add(rows_[common + k], mode.equations[k].equation);
      }
  }

  void add_discretes() {
    std::unordered_map<NodeId, Row> rows;
    const auto assign = [&](const ModelData::Action& action, std::span<const Expr> conditions) {
      if (action.kind != ModelData::Action::Kind::assign) return;
      Row& row = rows.try_emplace(action.target.id(), new_row()).first->second;
      read(row, conditions);
      read(row, std::array{action.value, action.only_if.expr()});
    };
    for (std::size_t k = 0; k < data_.clauses.size(); ++k) {
      std::vector<Expr> conditions;
      for (int c = static_cast<int>(k); c >= 0; c = data_.clauses[static_cast<std::size_t>(c)].after)
        conditions.push_back(data_.clauses[static_cast<std::size_t>(c)].condition.expr());
      for (const ModelData::Action& action : data_.clauses[k].actions) assign(action, conditions);
    }
    for (const ModelData::Transition& t : data_.transitions)
      for (const ModelData::Action& action : t.actions) assign(action, std::array{t.condition.expr()});
    for (const ModelData::Definition& d : data_.definitions)
      read(rows.try_emplace(d.discrete.id(), new_row()).first->second, std::span(&d.value, 1));
    for (const ModelData::Discrete& d : data_.discretes) {
      const int at = unknown_of(d.symbol.id());
      if (at < 0) continue;
      Row& row = rows_.emplace_back(rows.try_emplace(d.symbol.id(), new_row()).first->second);
      row.unknowns.push_back(at);
    }
  }

  void add_relations() {
    for (std::size_t k = 0; k < relations_.size(); ++k) {  // switching functions may contain further relations
      const Expr lock = relations_[k];
      Row row = new_row({unknown_.at(lock.id())});
      read_relaxed(row, switching_function(lock));
      watched_.push_back(rows_.size());
      rows_.push_back(std::move(row));
    }
  }

  /// One unknown for each clause with resets: the force of its contact, on which the derivatives of all its targets
  /// depend.
  void add_resets() {
    for (const ModelData::Clause& clause : data_.clauses) {
      std::vector<Expr> read_there{clause.condition.expr()};
      std::vector<int> targets;
      for (const ModelData::Action& action : clause.actions) {
        if (action.kind != ModelData::Action::Kind::reset) continue;
        read_there.insert(read_there.end(), {action.value, action.only_if.expr(), action.target});
        if (const int at = derivative_of(action.target.id()); at >= 0) targets.push_back(at);
      }
      if (targets.empty()) continue;
      const int force = unknowns_++;
      Row row = new_row({force});
      row.unknowns.insert(row.unknowns.end(), targets.begin(), targets.end());
      read(row, read_there);
      const auto is_target = [&](int unknown) { return std::ranges::find(targets, unknown) != targets.end(); };
      for (Row& other : rows_)
        if (std::ranges::any_of(other.unknowns, is_target)) other.unknowns.push_back(force);
      watched_.push_back(rows_.size());
      rows_.push_back(std::move(row));
    }
  }

  /// By the block triangular form; nothing if equations and unknowns do not fit together, as with hidden constraints.
  std::vector<Knowns> by_blocks() const {
    if (static_cast<int>(rows_.size()) != unknowns_) return {};
    std::vector<std::pair<int, int>> places;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (const int j : rows_[i].unknowns) places.emplace_back(static_cast<int>(i), j);
    Structure structure;
    structure.variables = structure.equations = unknowns_;
    structure.state_pattern = make_pattern(unknowns_, unknowns_, places);
    structure.derivative_pattern = make_pattern(unknowns_, unknowns_, {});
    const StructuralAnalysis analysis = analyse_structure(structure);
    if (analysis.singular()) return {};
    std::vector<Knowns> found(rows_.size(), Knowns(references_.size()));
    const BlockTriangularForm& form = analysis.blocks;
    for (int b = 0; b < form.blocks(); ++b) {
      const auto begin = static_cast<std::size_t>(form.start[static_cast<std::size_t>(b)]);
      const auto end = static_cast<std::size_t>(form.start[static_cast<std::size_t>(b) + 1]);
      Knowns all(references_.size());
      for (std::size_t k = begin; k < end; ++k) {
        const Row& row = rows_[static_cast<std::size_t>(form.equation[k])];
        all.insert(row.knowns);
        for (const int j : row.unknowns) all.insert(found[static_cast<std::size_t>(j)]);
      }
      for (std::size_t k = begin; k < end; ++k) found[static_cast<std::size_t>(form.variable[k])] = all;
    }
    return found;
  }

  /// Everything that hangs together by unknowns or states.
  std::vector<Knowns> by_components() const {
    const std::size_t n = static_cast<std::size_t>(unknowns_) + references_.size();
    std::vector<std::size_t> root(n);
    std::iota(root.begin(), root.end(), std::size_t{0});
    const auto find = [&](std::size_t k) {
      while (root[k] != k) k = root[k] = root[root[k]];
      return k;
    };
    const auto state = [&](int known) { return static_cast<std::size_t>(unknowns_ + known); };
    for (const auto& [variable, derivative] : derivative_) {
      if (const int at = known_of(variable); at >= 0)
        root[find(state(at))] = find(static_cast<std::size_t>(derivative));
      if (const int at = unknown_of(variable); at >= 0)
        root[find(static_cast<std::size_t>(at))] = find(static_cast<std::size_t>(derivative));
    }
    const std::size_t first_state = 1 + data_.inputs.size();
    const auto members = [&](const Row& row) {
      std::vector<std::size_t> list(row.unknowns.begin(), row.unknowns.end());
      for (std::size_t k = first_state; k < references_.size(); ++k)
        if (row.knowns.contains(k)) list.push_back(state(static_cast<int>(k)));
      return list;
    };
    for (const Row& row : rows_) {
      const std::vector<std::size_t> list = members(row);
      for (const std::size_t k : list) root[find(k)] = find(list.front());
    }
    std::vector<Knowns> sets(n, Knowns(references_.size()));
    for (const Row& row : rows_)
      if (const std::vector<std::size_t> list = members(row); !list.empty())
        sets[find(list.front())].insert(row.knowns);
    std::vector<Knowns> found;
    for (std::size_t k = 0; k < static_cast<std::size_t>(unknowns_); ++k) found.push_back(sets[find(k)]);
    return found;
  }

  /// Adds the derivatives of the states that relations and resets depend on; false if they were all there.
  bool follow_derivatives(const std::vector<Knowns>& found) {
    bool changed = false;
    for (const std::size_t r : watched_) {
      const Knowns& all = found[static_cast<std::size_t>(rows_[r].unknowns.front())];
      for (const auto& [variable, derivative] : derivative_) {
        const int known = known_of(variable);
        if (known < 0 || !all.contains(static_cast<std::size_t>(known))) continue;
        if (std::ranges::find(rows_[r].unknowns, derivative) != rows_[r].unknowns.end()) continue;
        rows_[r].unknowns.push_back(derivative);
        changed = true;
      }
    }
    return changed;
  }

  const ExportedModel& model_;
  const ModelData& data_;
  int unknowns_ = 0;
  Places unknown_, derivative_, known_;  ///< by symbol or relation; derivatives by their variables
  std::vector<std::size_t> references_;  ///< time, inputs, states
  std::vector<Row> rows_;
  std::vector<Expr> relations_;
  std::vector<std::size_t> watched_;  ///< rows whose first unknown is a weight or a force
};

}  // namespace

Dependencies::Dependencies(const ExportedModel& model) : found_(model.variables().size()) {
  Overlay overlay(model);
  const std::vector<Knowns> sets = overlay.solve();
  const ModelData& data = model.data();
  std::unordered_map<std::string, NodeId> symbols;
  for (std::size_t k = 0; k < data.variables.size(); ++k) symbols[data.variable_info[k].name] = data.variables[k].id();
  for (const ModelData::Discrete& d : data.discretes) symbols[d.name] = d.symbol.id();
  for (std::size_t r = 0; r < found_.size(); ++r) {
    const FmuVariable& v = model.variables()[r];
    const bool derivative = v.kind == FmuVariable::Kind::derivative;
    if (!derivative && v.kind != FmuVariable::Kind::observed) continue;
    const auto symbol = symbols.find(derivative ? model.variables()[v.state_of].info.name : v.info.name);
    if (symbol == symbols.end()) continue;
    std::vector<std::size_t> list;
    const int unknown = derivative ? overlay.derivative_of(symbol->second) : overlay.unknown_of(symbol->second);
    if (!derivative && overlay.known_of(symbol->second) >= 0) {
      list = {r};  // itself
    } else if (unknown >= 0) {
      for (std::size_t k = 0; k < overlay.references().size(); ++k)
        if (sets[static_cast<std::size_t>(unknown)].contains(k)) list.push_back(overlay.references()[k]);
      if (list.size() == overlay.references().size()) continue;
    } else {
      continue;
    }
    std::ranges::sort(list);
    found_[r] = std::move(list);
  }
}

std::optional<std::vector<std::size_t>> Dependencies::of(std::size_t reference) const {
  return found_[reference];
}

}  // namespace saltus
