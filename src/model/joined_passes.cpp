// The equations of all passes are put into block triangular form, with states as known and derivatives as unknown.
// Blocks that have derivatives of states, relations or discrete variables are the cores of cells; those which decide
// something for each other are one. Blocks between them are smooth and algebraic: each cell computes those that it
// needs for itself, and one cell has their variables as its own. What no cell needs follows from the values of others.
#include "model/joined_passes.hpp"

#include <saltus/dae/structural_analysis.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "model/iterator_form.hpp"
#include "model/rewrite_model.hpp"

namespace saltus {

namespace {

using Shape = RepeatedModel::Shape;

std::size_t at(int place) {
  return static_cast<std::size_t>(place);
}

void sort_once(std::vector<int>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// What an equation, or all clauses and definitions of a pass, name: places in the lists of the model of the shape.
struct Names {
  std::vector<int> variables;    ///< their values
  std::vector<int> derivatives;  ///< variables whose derivatives occur
  std::vector<int> discretes;
  std::vector<int> compared;  ///< variables and variables whose derivatives decide about relations

  bool decides() const { return !compared.empty() || !discretes.empty(); }
};

/// Sets of numbers that are joined one after the other.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int find(int k) {
    while (parent_[at(k)] != k) k = parent_[at(k)] = parent_[at(parent_[at(k)])];
    return k;
  }
  void join(int a, int b) { parent_[at(find(b))] = find(a); }

 private:
  std::vector<int> parent_;
};

class PassJoiner {
 public:
  explicit PassJoiner(const RepeatedModel& passes) : passes_(passes), graph_(*passes.shapes.front().model.graph) {}

  std::shared_ptr<const RepeatedModel> make() {
    if (!find_blocks()) return nullptr;
    find_units();
    result_->name = passes_.name;
    result_->variables = passes_.variables;
    result_->discretes = passes_.discretes;
    result_->parameters = passes_.parameters;
    list_cells();
    return every_discrete_has_a_cell() ? result_ : nullptr;
  }

 private:
  static constexpr std::size_t most_blocks = 100, most_shapes = 64;

  /// The names in the passes of one shape.
  struct Template {
    const Shape* shape;
    std::vector<Names> equations;
    Names events;  ///< of all clauses and definitions
    int first_equation = 0, first_pass = 0;
    int equation_count() const { return static_cast<int>(equations.size()); }
  };
  struct Place {  ///< an equation, or a pass
    const Template* shape;
    int pass, equation;
  };

  // --- what is named where

  Template read_template(const Shape& shape) const {
    const ModelData& m = shape.model;
    std::unordered_map<NodeId, int> variables, discretes;
    for (std::size_t k = 0; k < m.variables.size(); ++k) variables.emplace(m.variables[k].id(), static_cast<int>(k));
    for (std::size_t k = 0; k < m.discretes.size(); ++k)
      discretes.emplace(m.discretes[k].symbol.id(), static_cast<int>(k));
    for (const auto& [symbol, before] : m.pre_symbols)
      for (auto* places : {&variables, &discretes})
        if (const auto it = places->find(symbol.id()); it != places->end()) places->emplace(before.id(), it->second);
    const auto add = [&](std::vector<Expr> all, Names& names) {
      std::erase_if(all, [](const Expr& e) { return e.is_constant(); });
      for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::discrete})
        for (const Expr& s : symbols_of(all, kind)) {
          if (const auto it = variables.find(s.id()); it != variables.end()) names.variables.push_back(it->second);
          if (const auto it = discretes.find(s.id()); it != discretes.end()) names.discretes.push_back(it->second);
        }
      for (const Expr& s : symbols_of(all, SymbolKind::derivative))
        names.derivatives.push_back(variables.at(graph_.symbol_of(s.id()).base));
    };
    Template result{.shape = &shape};
    for (const ModelData::NamedEquation& e : m.equations) {
      Names& names = result.equations.emplace_back();
      const std::vector<Expr> sides{e.equation.lhs, e.equation.rhs};
      add(sides, names);
      std::vector<Expr> locks = sides;
      std::erase_if(locks, [](const Expr& side) { return side.is_constant(); });
      Names inside;
      add(locks_of(locks), inside);
      names.compared = inside.variables;
      names.compared.insert(names.compared.end(), inside.derivatives.begin(), inside.derivatives.end());
      if (!locks_of(locks).empty() && names.compared.empty()) throw NotKept{};  // an event of time alone
    }
    ModelData events;
    events.graph = m.graph;
    events.clauses = m.clauses;
    events.definitions = m.definitions;
    add(expressions_of(events), result.events);
    for (const auto& [symbol, before] : m.pre_symbols)
      if (const auto it = discretes.find(symbol.id()); it != discretes.end())
        result.events.discretes.push_back(it->second);
    for (Names* names : {&result.events})
      for (std::vector<int>* list : {&names->variables, &names->derivatives, &names->discretes}) sort_once(*list);
    return result;
  }

  int variable_at(const Template& t, int pass, int k) const {
    return t.shape->variables[at(pass) * t.shape->model.variables.size() + at(k)];
  }
  static std::size_t true_discretes(const Shape& shape) { return shape.model.discretes.size() - shape.numbers; }
  /// -1: a number.
  static int discrete_at(const Template& t, int pass, int k) {
    const std::size_t width = true_discretes(*t.shape);
    return at(k) < width ? t.shape->discretes[at(pass) * width + at(k)] : -1;
  }
  Place equation(int number) const {
    const auto t = std::prev(std::ranges::upper_bound(templates_, number, {}, &Template::first_equation));
    const Template* from = &*t;
    while (from->equations.empty()) --from;  // shapes without equations begin at the same number
    const int offset = number - from->first_equation;
    return {from, offset / from->equation_count(), offset % from->equation_count()};
  }
  Place pass(int number) const {
    const auto t = std::prev(std::ranges::upper_bound(templates_, number, {}, &Template::first_pass));
    return {&*t, number - t->first_pass, 0};
  }
  static int pass_number(const Place& p) { return p.shape->first_pass + p.pass; }
  const Names& names(const Place& p) const { return p.shape->equations[at(p.equation)]; }

  // --- blocks

  bool find_blocks() {
    int equations = 0, count = 0;
    for (const Shape& shape : passes_.shapes) {
      Template& t = templates_.emplace_back(read_template(shape));
      t.first_equation = std::exchange(equations, equations + t.equation_count() * static_cast<int>(shape.cells));
      t.first_pass = std::exchange(count, count + static_cast<int>(shape.cells));
    }
    passes_count_ = count;
    const int sums = static_cast<int>(passes_.sums.size());
    first_sum_ = equations;
    equations += sums;
    const auto n = static_cast<int>(passes_.variables.size());
    if (equations != n) return false;
    is_state_.assign(at(n), 0);
    for_each_pass([&](const Template& t, int pass) {
      for (const Names& e : t.equations)
        for (const int k : e.derivatives) is_state_[at(variable_at(t, pass, k))] = 1;
    });
    Structure structure;
    structure.variables = structure.equations = n;
    std::vector<std::pair<int, int>> entries;
    start_.assign(at(n) + 1, 0);
    for (int e = 0; e < n; ++e) {
      start_[at(e)] = static_cast<int>(unknowns_.size());
      list_unknowns(e, unknowns_);
      for (std::size_t k = at(start_[at(e)]); k < unknowns_.size(); ++k) entries.emplace_back(e, unknowns_[k]);
    }
    start_.back() = static_cast<int>(unknowns_.size());
    structure.state_pattern = make_pattern(n, n, entries);
    structure.derivative_pattern.rows = structure.derivative_pattern.columns = n;
    structure.derivative_pattern.start.assign(at(n) + 1, 0);
    const StructuralAnalysis analysis = analyse_structure(structure);
    if (analysis.singular()) return false;
    blocks_ = analysis.blocks;
    block_of_equation_.resize(at(n));
    block_of_unknown_.resize(at(n));
    is_core_.assign(at(blocks_.blocks()), 0);
    for (int b = 0; b < blocks_.blocks(); ++b)
      for (int k = blocks_.start[at(b)]; k < blocks_.start[at(b) + 1]; ++k) {
        const int e = blocks_.equation[at(k)];
        block_of_equation_[at(e)] = b;
        block_of_unknown_[at(blocks_.variable[at(k)])] = b;
        if (is_state_[at(blocks_.variable[at(k)])] || (e < first_sum_ && names(equation(e)).decides()))
          is_core_[at(b)] = 1;
      }
    return true;
  }

  template <class Visit>
  void for_each_pass(Visit&& visit) const {
    for (const Template& t : templates_)
      for (int pass = 0; pass < static_cast<int>(t.shape->cells); ++pass) visit(t, pass);
  }

  /// Derivatives of states, and values of other variables.
  void list_unknowns(int number, std::vector<int>& list) const {
    const auto first = static_cast<std::ptrdiff_t>(list.size());
    if (number >= first_sum_) {
      for (const RepeatedModel::Sum::Term& term : passes_.sums[at(number - first_sum_)].terms)
        if (!is_state_[at(term.variable)]) list.push_back(term.variable);
    } else {
      const Place p = equation(number);
      for (const int k : names(p).derivatives) list.push_back(variable_at(*p.shape, p.pass, k));
      for (const int k : names(p).variables)
        if (const int v = variable_at(*p.shape, p.pass, k); !is_state_[at(v)]) list.push_back(v);
    }
    std::sort(list.begin() + first, list.end());
    list.erase(std::unique(list.begin() + first, list.end()), list.end());
  }
  std::span<const int> unknowns(int e) const {
    return std::span(unknowns_).subspan(at(start_[at(e)]), at(start_[at(e) + 1] - start_[at(e)]));
  }
  std::span<const int> equations_of(int block) const {
    return std::span(blocks_.equation).subspan(at(blocks_.start[at(block)]), size_of(block));
  }
  std::span<const int> unknowns_of(int block) const {
    return std::span(blocks_.variable).subspan(at(blocks_.start[at(block)]), size_of(block));
  }
  std::size_t size_of(int block) const { return at(blocks_.start[at(block) + 1] - blocks_.start[at(block)]); }

  /// Calls `visit` for the blocks that others need, one after the other, each once; it says whether to go on to what
  /// the block itself needs.
  template <class Visit>
  void walk(std::vector<int> open, Visit&& visit) {
    ++walk_;
    seen_.resize(is_core_.size(), 0);
    for (const int b : open) seen_[at(b)] = walk_;
    std::size_t count = 0;
    while (!open.empty()) {
      const int block = open.back();
      open.pop_back();
      if (!visit(block)) continue;
      if (++count > most_blocks) throw NotKept{};
      for (const int e : equations_of(block)) {
        if (unknowns(e).size() > most_blocks) throw NotKept{};
        for (const int v : unknowns(e))
          if (const int next = block_of_unknown_[at(v)]; std::exchange(seen_[at(next)], walk_) != walk_)
            open.push_back(next);
      }
    }
  }

  // --- what is one cell

  void find_units() {
    const int blocks = blocks_.blocks();
    units_ = Sets(at(blocks + passes_count_));
    std::vector<int> first_with(passes_.discretes.size(), -1);
    const auto join_discretes = [&](const Template& t, int pass, const Names& names) {
      for (const int k : names.discretes)
        if (const int q = discrete_at(t, pass, k); q >= 0) {
          if (first_with[at(q)] < 0) first_with[at(q)] = pass_node(t, pass);
          units_.join(first_with[at(q)], pass_node(t, pass));
        }
    };
    has_events_.assign(at(passes_count_), 0);
    is_needed_.assign(at(blocks), 0);
    for_each_pass([&](const Template& t, int pass) {
      char& has_events = has_events_[at(t.first_pass + pass)];
      join_discretes(t, pass, t.events);
      if (!t.shape->model.clauses.empty() || !t.shape->model.definitions.empty()) {
        has_events = 1;
        for_each_read({&t, pass, 0}, [&](int v) { join_deciding(pass_node(t, pass), v); });
      }
      for (int k = 0; k < t.equation_count(); ++k) {
        const Names& e = t.equations[at(k)];
        if (!e.decides()) continue;
        units_.join(pass_node(t, pass), block_of_equation_[at(t.first_equation + pass * t.equation_count() + k)]);
        join_discretes(t, pass, e);
        for (const int c : e.compared) join_deciding(pass_node(t, pass), variable_at(t, pass, c));
      }
    });
    // unknowns of cores can be had nowhere else
    for (int b = 0; b < blocks; ++b)
      if (is_core_[at(b)]) join_cores(b);
    for (int b = blocks - 1; b >= 0; --b)
      if (!is_core_[at(b)] && !is_needed_[at(b)] && reads_derivatives(b)) {
        is_core_[at(b)] = 1;
        join_cores(b);
      }
  }
  /// The variables that clauses and definitions of a pass read.
  template <class Visit>
  void for_each_read(const Place& p, Visit&& visit) const {
    for (const std::vector<int>* list : {&p.shape->events.variables, &p.shape->events.derivatives})
      for (const int k : *list) visit(variable_at(*p.shape, p.pass, k));
  }
  int pass_node(const Template& t, int pass) const { return blocks_.blocks() + t.first_pass + pass; }

  void join_cores(int core) {
    walk({core}, [&](int block) {
      if (block == core) return true;
      if (is_core_[at(block)]) {
        units_.join(core, block);
        return false;
      }
      is_needed_[at(block)] = 1;
      return true;
    });
  }

  /// A variable that decides about an event: all states behind it belong to the cell.
  void join_deciding(int node, int variable) {
    if (is_state_[at(variable)]) return units_.join(node, block_of_unknown_[at(variable)]);
    walk({block_of_unknown_[at(variable)]}, [&](int block) {
      if (is_core_[at(block)])
        units_.join(node, block);
      else
        is_needed_[at(block)] = 1;
      for (const int v : unknowns_of(block))
        if (is_state_[at(v)]) return false;
      for (const int e : equations_of(block)) {
        const Place p = equation(e);
        for (const int k : names(p).variables)
          if (const int v = variable_at(*p.shape, p.pass, k); is_state_[at(v)])
            units_.join(node, block_of_unknown_[at(v)]);
      }
      return true;
    });
  }

  /// Of states of other blocks: results do not have them.
  bool reads_derivatives(int block) const {
    return std::ranges::any_of(equations_of(block),
                               [&](int e) { return e < first_sum_ && !names(equation(e)).derivatives.empty(); });
  }

  // --- cells

  struct Cell {
    std::vector<int> equations, passes;  // passes: with events
    std::vector<int> blocks;
  };
  enum Role : char { foreign = 0, own = 1, copy = 2 };

  void list_cells() {
    const int blocks = blocks_.blocks();
    std::map<int, Cell> cells;  // by the first variable or pass, so that cells have the order of the model
    std::unordered_map<int, int> first;
    const auto note = [&](int node, int number) {
      const auto [it, fresh] = first.try_emplace(units_.find(node), number);
      if (!fresh) it->second = std::min(it->second, number);
    };
    const auto n = static_cast<int>(passes_.variables.size());
    for (int b = 0; b < blocks; ++b)
      if (is_core_[at(b)])
        for (const int v : unknowns_of(b)) note(b, v);
    for (int p = 0; p < passes_count_; ++p)
      if (has_events_[at(p)]) note(blocks + p, n + p);
    for (int b = 0; b < blocks; ++b)
      if (is_core_[at(b)]) cells[first.at(units_.find(b))].blocks.push_back(b);
    for (int p = 0; p < passes_count_; ++p)
      if (has_events_[at(p)]) cells[first.at(units_.find(blocks + p))].passes.push_back(p);
    owned_.assign(at(n), 0);
    for (auto& [number, cell] : cells) add_cell(cell);
    // what follows, in the order in which it can be computed
    std::vector<int> level(at(blocks), 0);
    for (int b = 0; b < blocks; ++b) {
      if (is_core_[at(b)] || is_needed_[at(b)]) continue;
      int own_level = 1;
      for (const int e : equations_of(b))
        for (const int v : unknowns(e)) own_level = std::max(own_level, level[at(block_of_unknown_[at(v)])] + 1);
      level[at(b)] = own_level;
      add_follower(b, own_level);
    }
  }

  bool every_discrete_has_a_cell() const {
    std::vector<char> has(passes_.discretes.size(), 0);
    for (const Shape& shape : result_->shapes)
      for (const int q : shape.discretes) has[at(q)] = 1;
    return std::ranges::find(has, 0) == has.end();
  }

  void add_cell(Cell& cell) {
    std::vector<int> all;
    std::vector<int> roots = cell.blocks;
    for (const int number : cell.passes)
      for_each_read(pass(number), [&](int v) {
        if (!is_state_[at(v)]) roots.push_back(block_of_unknown_[at(v)]);
      });
    sort_once(roots);
    walk(roots, [&](int block) {
      all.push_back(block);
      return true;
    });
    if (all.size() > most_blocks) throw NotKept{};
    for (const int b : all)
      for (const int e : equations_of(b)) cell.equations.push_back(e);
    std::ranges::sort(cell.equations);
    std::ranges::sort(cell.passes);
    list_row(cell);
    std::vector<int> determined;
    for (const int b : all)
      for (const int v : unknowns_of(b)) determined.push_back(v);
    std::ranges::sort(determined);
    roles_.clear();
    for (const int v : row_) {
      const bool is_own = std::ranges::binary_search(determined, v);
      roles_.push_back(!is_own ? foreign : std::exchange(owned_[at(v)], 1) ? copy : own);
    }
    add(cell, 0);
  }

  void add_follower(int block, int level) {
    Cell cell{.blocks = {block}};
    if (equations_of(block).front() >= first_sum_) {
      if (size_of(block) != 1) throw NotKept{};
      RepeatedModel::Sum sum = passes_.sums[at(equations_of(block).front() - first_sum_)];
      sum.target = unknowns_of(block).front();
      sum.level = level;
      result_->sums.push_back(std::move(sum));
      return;
    }
    cell.equations.assign(equations_of(block).begin(), equations_of(block).end());
    std::ranges::sort(cell.equations);
    if (cell.equations.back() >= first_sum_) throw NotKept{};
    list_row(cell);
    roles_.clear();
    for (const int v : row_) roles_.push_back(block_of_unknown_[at(v)] == block && !is_state_[at(v)] ? own : foreign);
    add(cell, level);
  }

  /// All variables and discrete variables of a cell, in their order.
  void list_row(const Cell& cell) {
    row_.clear();
    discrete_row_.clear();
    if (!cell.equations.empty() && cell.equations.back() >= first_sum_) throw NotKept{};
    const auto list = [&](const Place& p, const Names& names) {
      for (const std::vector<int>* variables : {&names.variables, &names.derivatives})
        for (const int k : *variables) row_.push_back(variable_at(*p.shape, p.pass, k));
      for (const int k : names.discretes)
        if (const int q = discrete_at(*p.shape, p.pass, k); q >= 0) discrete_row_.push_back(q);
    };
    for (const int e : cell.equations) list(equation(e), names(equation(e)));
    for (const int p : cell.passes) list(pass(p), pass(p).shape->events);
    sort_once(row_);
    sort_once(discrete_row_);
  }

  /// Cells of one shape have the same signature.
  void add(const Cell& cell, int level) {
    signature_.clear();
    numbers_.clear();
    const auto sign = [&](const Place& p, const Names& names) {
      for (const std::vector<int>* variables : {&names.variables, &names.derivatives})
        for (const int k : *variables) signature_.push_back(rank(row_, variable_at(*p.shape, p.pass, k)));
      for (const int k : names.discretes) {
        const int q = discrete_at(*p.shape, p.pass, k);
        signature_.push_back(q >= 0 ? rank(discrete_row_, q) : number(p, k));
      }
    };
    signature_.push_back(level);
    for (const int e : cell.equations) {
      const Place p = equation(e);
      signature_.push_back(static_cast<int>(p.shape - templates_.data()) * 1000 + p.equation);
      sign(p, names(p));
    }
    signature_.push_back(-1);
    for (const int number : cell.passes) {
      const Place p = pass(number);
      signature_.push_back(static_cast<int>(p.shape - templates_.data()));
      sign(p, p.shape->events);
    }
    for (std::size_t k = 0; k < row_.size(); ++k) {
      const VariableInfo& info = passes_.variables[at(row_[k])];
      const bool guess = !is_state_[at(row_[k])] && info.start != 0.0;
      signature_.push_back(roles_[k] + (info.fixed ? 4 : 0) + (guess ? 8 : 0));
    }
    const auto [it, fresh] = known_.try_emplace(signature_, shapes_count_);
    if (fresh) {
      if (++shapes_count_ > most_shapes) throw NotKept{};
      Shape shape = model_of(cell);
      shape.level = level;
      result_->shapes.push_back(std::move(shape));
    }
    Shape& shape = result_->shapes[it->second];
    ++shape.cells;
    shape.variables.insert(shape.variables.end(), row_.begin(), row_.end());
    shape.discretes.insert(shape.discretes.end(), discrete_row_.begin(), discrete_row_.end());
    for (std::size_t k = 0; k < numbers_.size(); ++k) shape.number_values.push_back(number_value(k));
  }
  double number_value(std::size_t number) const {
    const auto& [place, k] = numbers_[number];
    const Shape& from = *place.shape->shape;
    return from.number_values[at(place.pass) * from.numbers + at(k) - true_discretes(from)];
  }
  static int rank(const std::vector<int>& list, int value) {
    return static_cast<int>(std::ranges::lower_bound(list, value) - list.begin());
  }
  int number(const Place& p, int k) {
    const auto known = std::ranges::find_if(
        numbers_, [&](const auto& entry) { return pass_number(entry.first) == pass_number(p) && entry.second == k; });
    const auto place = known - numbers_.begin();
    if (known == numbers_.end()) numbers_.emplace_back(p, k);
    return static_cast<int>(place);
  }

  // --- the model of the first cell of a shape

  Shape model_of(const Cell& cell) {
    Shape result;
    ModelData& m = result.model;
    m = passes_.shapes.front().model;
    m.variables.clear();
    m.variable_info.clear();
    m.discretes.clear();
    m.equations.clear();
    m.clauses.clear();
    m.definitions.clear();
    m.pre_symbols.clear();
    m.pre_places.clear();
    std::erase_if(m.names, [](const auto& entry) { return entry.second.kind != SymbolKind::parameter; });
    for (const int v : row_) {
      const Expr symbol = symbol_of(variables_, v, passes_.variables[at(v)].name, SymbolKind::variable);
      m.names.emplace(symbol.name(), ModelData::Declared{SymbolKind::variable, m.variables.size()});
      m.variables.push_back(symbol);
      m.variable_info.push_back(passes_.variables[at(v)]);
    }
    const auto declare = [&](ModelData::Discrete q) {
      m.names.emplace(q.name, ModelData::Declared{SymbolKind::discrete, m.discretes.size()});
      m.discretes.push_back(std::move(q));
    };
    for (const int q : discrete_row_) {
      ModelData::Discrete declared = declaration_of(cell, q);
      declared.name = passes_.discretes[at(q)].name;
      declared.symbol = symbol_of(discretes_, q, declared.name, SymbolKind::discrete);
      declared.start = passes_.discretes[at(q)].start;
      declared.details = passes_.discretes[at(q)].details;
      declare(std::move(declared));
    }
    for (std::size_t k = 0; k < numbers_.size(); ++k) {
      const std::string name =
          "'number " + std::to_string(k + 1) + " of shape " + std::to_string(result_->shapes.size() + 1) + "'";
      const Expr symbol(m.graph, graph_.symbol(name, SymbolKind::discrete));
      declare({.symbol = symbol, .start = number_value(k), .name = name, .hidden = true});
      number_symbols_.push_back(symbol);
    }
    result.own.assign(roles_.begin(), roles_.end());
    result.numbers = numbers_.size();
    for (std::size_t k = 0; k < cell.equations.size();) {  // those of one pass are rewritten together
      const Place p = equation(cell.equations[k]);
      ModelData part = part_of(p);
      for (; k < cell.equations.size(); ++k) {
        const Place next = equation(cell.equations[k]);
        if (pass_number(next) != pass_number(p)) break;
        part.equations.push_back(p.shape->shape->model.equations[at(next.equation)]);
      }
      append(part, p, m);
    }
    for (const int number : cell.passes) {
      const Place p = pass(number);
      ModelData part = part_of(p);
      part.clauses = p.shape->shape->model.clauses;
      part.definitions = p.shape->shape->model.definitions;
      append(part, p, m);
    }
    number_symbols_.clear();
    return result;
  }

  ModelData part_of(const Place& p) const {
    ModelData part;
    part.graph = p.shape->shape->model.graph;
    return part;
  }

  const ModelData::Discrete& declaration_of(const Cell& cell, int q) const {
    const auto find = [&](const Place& p, const Names& names) -> const ModelData::Discrete* {
      for (const int k : names.discretes)
        if (discrete_at(*p.shape, p.pass, k) == q) return &p.shape->shape->model.discretes[at(k)];
      return nullptr;
    };
    for (const int e : cell.equations)
      if (const ModelData::Discrete* found = find(equation(e), names(equation(e)))) return *found;
    for (const int p : cell.passes)
      if (const ModelData::Discrete* found = find(pass(p), pass(p).shape->events)) return *found;
    throw NotKept{};
  }

  Expr symbol_of(std::unordered_map<int, Expr>& known, int place, const std::string& name, SymbolKind kind) {
    const auto it = known.find(place);
    if (it != known.end()) return it->second;
    const std::shared_ptr<Graph>& graph = passes_.shapes.front().model.graph;
    return known.emplace(place, Expr(graph, graph_.symbol(name, kind))).first->second;
  }

  static bool declares(const ModelData& m, const Expr& symbol) {
    const auto it = m.names.find(symbol.name());
    if (it == m.names.end()) return false;
    const bool is_variable = it->second.kind == SymbolKind::variable;
    return (is_variable ? m.variables[it->second.index] : m.discretes[it->second.index].symbol).same(symbol);
  }

  /// Adds equations, clauses and definitions of a pass, with the symbols of the cell.
  void append(ModelData& part, const Place& p, ModelData& m) {
    const Shape& from = *p.shape->shape;
    Rewrite rules(graph_);
    for (std::size_t k = 0; k < from.model.variables.size(); ++k) {
      const int v = variable_at(*p.shape, p.pass, static_cast<int>(k));
      const auto it = variables_.find(v);
      if (it == variables_.end()) continue;  // the equations of this cell do not have it
      const Expr& symbol = from.model.variables[k];
      if (it->second.same(symbol)) continue;
      rules.replace.emplace(symbol.id(), it->second.id());
      rules.replace.emplace(der(symbol).id(), der(it->second).id());
    }
    for (std::size_t k = 0; k < from.model.discretes.size(); ++k) {
      const int q = discrete_at(*p.shape, p.pass, static_cast<int>(k));
      const NodeId symbol = from.model.discretes[k].symbol.id();
      if (q >= 0) {
        if (const auto it = discretes_.find(q); it != discretes_.end()) rules.replace.emplace(symbol, it->second.id());
      } else {
        for (std::size_t j = 0; j < numbers_.size(); ++j)
          if (pass_number(numbers_[j].first) == pass_number(p) && numbers_[j].second == static_cast<int>(k))
            rules.replace.emplace(symbol, number_symbols_[j].id());
      }
    }
    for (const auto& [symbol, before] : from.model.pre_symbols) {
      const Expr element(m.graph, rules(symbol.id()));
      if (!declares(m, element)) continue;
      const auto [place, fresh] = m.pre_places.emplace(element.id(), m.pre_symbols.size());
      if (fresh)
        m.pre_symbols.emplace_back(element,
                                   Expr(m.graph, graph_.symbol("pre(" + element.name() + ")", SymbolKind::discrete)));
      rules.replace.emplace(before.id(), m.pre_symbols[place->second].second.id());
    }
    rewrite_model(part, rules);
    const auto first = static_cast<int>(m.clauses.size());
    for (ModelData::NamedEquation& e : part.equations) m.equations.push_back(std::move(e));
    for (ModelData::Definition& d : part.definitions) {
      d.discrete = Expr(m.graph, rules(d.discrete.id()));
      m.definitions.push_back(std::move(d));
    }
    for (ModelData::Clause& c : part.clauses) {
      if (!c.name.empty()) c.name = (c.after >= 0 ? "elsewhen " : "when ") + to_string(c.condition);
      if (c.after >= 0) c.after += first;
      m.clauses.push_back(std::move(c));
    }
  }

  const RepeatedModel& passes_;
  Graph& graph_;
  std::vector<Template> templates_;
  int first_sum_ = 0, passes_count_ = 0;
  std::vector<char> is_state_, is_core_, is_needed_, has_events_, owned_;
  std::vector<int> start_, unknowns_, block_of_equation_, block_of_unknown_;
  BlockTriangularForm blocks_;
  Sets units_{0};
  int walk_ = 0;
  std::vector<int> seen_;

  std::shared_ptr<RepeatedModel> result_ = std::make_shared<RepeatedModel>();
  std::vector<int> row_, discrete_row_, signature_;
  std::vector<char> roles_;
  std::vector<std::pair<Place, int>> numbers_;  // of the present cell
  std::vector<Expr> number_symbols_;
  std::map<std::vector<int>, std::size_t> known_;
  std::size_t shapes_count_ = 0;
  std::unordered_map<int, Expr> variables_, discretes_;  // symbols by place
};

}  // namespace

std::shared_ptr<const RepeatedModel> join_passes(const RepeatedModel& passes) {
  try {
    return PassJoiner(passes).make();
  } catch (const NotKept&) {
    return nullptr;
  }
}

}  // namespace saltus
