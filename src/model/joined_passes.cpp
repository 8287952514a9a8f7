// Blocks that have derivatives of states, relations or discrete variables are the cores of cells; those which decide
// something for each other are one. Blocks between them are smooth and algebraic: each cell computes those that it
// needs for itself, and one cell has their variables as its own. What no cell needs follows from the values of others.
#include "model/joined_passes.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "model/joined_model.hpp"
#include "model/pass_blocks.hpp"

namespace saltus {

namespace {

void sort_once(std::vector<int>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// Sets of numbers that are joined one after the other.
class Sets {
 public:
  explicit Sets(int count) : parent_(at(count)) { std::iota(parent_.begin(), parent_.end(), 0); }
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
  explicit PassJoiner(const RepeatedModel& passes)
      : passes_(passes), blocks_(passes), models_(blocks_), units_(blocks_.blocks() + blocks_.passes()) {}

  std::shared_ptr<const RepeatedModel> make() {
    find_cores();
    join_by_events();
    join_by_need();
    result_->name = passes_.name;
    result_->variables = passes_.variables;
    result_->discretes = passes_.discretes;
    result_->parameters = passes_.parameters;
    add_cells();
    add_followers();
    models_.declare_parameters(result_->shapes);
    return every_discrete_is_assigned() ? result_ : nullptr;
  }

 private:
  enum Role : char { foreign = 0, own = 1, copy = 2 };  // as RepeatedModel::Shape::own

  // --- what is one cell: blocks and passes with events, as numbers of sets

  void find_cores() {
    is_core_.assign(at(blocks_.blocks()), 0);
    is_needed_.assign(at(blocks_.blocks()), 0);
    for (int b = 0; b < blocks_.blocks(); ++b) {
      const bool moves = std::ranges::any_of(blocks_.unknowns_of(b), [&](int v) { return blocks_.is_state(v); });
      const bool decides = std::ranges::any_of(
          blocks_.equations_of(b), [&](int e) { return !blocks_.is_sum(e) && blocks_.equation(e).names().decides(); });
      is_core_[at(b)] = moves || decides;
    }
  }

  int unit_of(const PassPlace& p) const { return blocks_.blocks() + p.pass_number(); }

  void join_by_events() {
    std::vector<int> first_with(passes_.discretes.size(), -1);
    const auto join_discretes = [&](const PassPlace& p, const PassNames& names) {
      for (const int k : names.discretes)
        if (int& first = first_with[at(p.discrete(k))]; first < 0)
          first = unit_of(p);
        else
          units_.join(first, unit_of(p));
    };
    for (int number = 0; number < blocks_.passes(); ++number) {
      PassPlace p = blocks_.pass(number);
      join_discretes(p, p.shape->events);
      if (p.shape->has_events()) for_each_read(p, [&](int v) { join_deciding(unit_of(p), v); });
      for (p.equation = 0; p.equation < p.shape->equation_count(); ++p.equation) {
        if (!p.names().decides()) continue;
        const int e = p.shape->first_equation + p.pass * p.shape->equation_count() + p.equation;
        units_.join(unit_of(p), blocks_.block_of_equation(e));
        join_discretes(p, p.names());
        for (const int k : p.names().compared) join_deciding(unit_of(p), p.variable(k));
      }
    }
  }

  /// The variables that clauses and definitions of a pass read.
  template <class Visit>
  static void for_each_read(const PassPlace& p, Visit&& visit) {
    for (const std::vector<int>* list : {&p.shape->events.variables, &p.shape->events.derivatives})
      for (const int k : *list) visit(p.variable(k));
  }

  /// A variable that decides about an event: all states behind it belong to the cell.
  void join_deciding(int unit, int variable) {
    if (blocks_.is_state(variable)) return units_.join(unit, blocks_.block_of_unknown(variable));
    blocks_.walk({blocks_.block_of_unknown(variable)}, [&](int block) {
      if (is_core_[at(block)])
        units_.join(unit, block);
      else
        is_needed_[at(block)] = 1;
      for (const int v : blocks_.unknowns_of(block))
        if (blocks_.is_state(v)) return false;
      for (const int e : blocks_.equations_of(block))
        blocks_.for_each_variable(e, [&](int v) {
          if (blocks_.is_state(v)) units_.join(unit, blocks_.block_of_unknown(v));
        });
      return true;
    });
  }

  /// Unknowns of cores can be had nowhere else.
  void join_by_need() {
    const auto join = [&](int core) {
      blocks_.walk({core}, [&](int block) {
        if (block == core) return true;
        if (is_core_[at(block)]) {
          units_.join(core, block);
          return false;
        }
        is_needed_[at(block)] = 1;
        return true;
      });
    };
    for (int b = 0; b < blocks_.blocks(); ++b)
      if (is_core_[at(b)]) join(b);
    for (int b = blocks_.blocks() - 1; b >= 0; --b)  // results do not have derivatives: these cannot follow from them
      if (!is_core_[at(b)] && !is_needed_[at(b)] && reads_derivatives(b)) {
        is_core_[at(b)] = 1;
        join(b);
      }
  }

  bool reads_derivatives(int block) const {
    return std::ranges::any_of(blocks_.equations_of(block), [&](int e) {
      return !blocks_.is_sum(e) && !blocks_.equation(e).names().derivatives.empty();
    });
  }

  // --- cells

  void add_cells() {
    struct Parts {
      std::vector<int> blocks, passes;
    };
    const auto n = static_cast<int>(passes_.variables.size());
    std::unordered_map<int, int> first;  // by set: its first variable or pass
    const auto note = [&](int unit, int number) {
      int& least = first.try_emplace(units_.find(unit), number).first->second;
      least = std::min(least, number);
    };
    const auto has_events = [&](int p) { return blocks_.pass(p).shape->has_events(); };
    for (int b = 0; b < blocks_.blocks(); ++b)
      if (is_core_[at(b)])
        for (const int v : blocks_.unknowns_of(b)) note(b, v);
    for (int p = 0; p < blocks_.passes(); ++p)
      if (has_events(p)) note(blocks_.blocks() + p, n + p);
    std::map<int, Parts> cells;  // in the order of the model
    for (int b = 0; b < blocks_.blocks(); ++b)
      if (is_core_[at(b)]) cells[first.at(units_.find(b))].blocks.push_back(b);
    for (int p = 0; p < blocks_.passes(); ++p)
      if (has_events(p)) cells[first.at(units_.find(blocks_.blocks() + p))].passes.push_back(p);
    owned_.assign(at(n), 0);
    for (auto& [number, parts] : cells) add_cell(std::move(parts.blocks), std::move(parts.passes));
  }

  void add_cell(std::vector<int> roots, std::vector<int> passes) {
    constexpr std::size_t most_cores = 100;
    if (roots.size() > most_cores) throw NotKept{};
    JoinedCell cell{.equations = {}, .passes = std::move(passes)};
    for (const int number : cell.passes)
      for_each_read(blocks_.pass(number), [&](int v) {
        if (!blocks_.is_state(v)) roots.push_back(blocks_.block_of_unknown(v));
      });
    sort_once(roots);
    std::vector<int> determined;
    blocks_.walk(std::move(roots), [&](int block) {
      for (const int e : blocks_.equations_of(block)) cell.equations.push_back(e);
      for (const int v : blocks_.unknowns_of(block)) determined.push_back(v);
      return true;
    });
    std::ranges::sort(determined);
    list_names(cell);
    for (const int v : cell.variables)
      cell.roles.push_back(!std::ranges::binary_search(determined, v) ? foreign
                           : std::exchange(owned_[at(v)], 1)          ? copy
                                                                      : own);
    add(cell, 0);
  }

  /// In the order in which they can be computed.
  void add_followers() {
    std::vector<int> level(at(blocks_.blocks()), 0);
    for (int b = 0; b < blocks_.blocks(); ++b) {
      if (is_core_[at(b)] || is_needed_[at(b)]) continue;
      int& own_level = level[at(b)];
      for (const int e : blocks_.equations_of(b))
        for (const int v : blocks_.unknowns(e)) own_level = std::max(own_level, level[at(blocks_.block_of_unknown(v))]);
      add_follower(b, ++own_level);
    }
  }

  void add_follower(int block, int level) {
    const std::span<const int> equations = blocks_.equations_of(block);
    if (equations.size() == 1 && blocks_.is_sum(equations.front())) {
      RepeatedModel::Sum& sum = result_->sums.emplace_back(blocks_.sum(equations.front()));
      sum.target = blocks_.unknowns_of(block).front();
      sum.level = level;
      return;
    }
    JoinedCell cell{.equations = {equations.begin(), equations.end()}, .passes = {}};
    list_names(cell);
    for (const int v : cell.variables)
      cell.roles.push_back(!blocks_.is_state(v) && blocks_.block_of_unknown(v) == block ? own : foreign);
    add(cell, level);
  }

  /// All variables and discrete variables of a cell.
  void list_names(JoinedCell& cell) {
    std::ranges::sort(cell.equations);
    const auto list = [&](const PassPlace& p, const PassNames& names) {
      for (const std::vector<int>* variables : {&names.variables, &names.derivatives})
        for (const int k : *variables) cell.variables.push_back(p.variable(k));
      for (const int k : names.discretes) cell.discretes.push_back(p.discrete(k));
    };
    for (const int e : cell.equations)
      if (blocks_.is_sum(e))
        blocks_.for_each_variable(e, [&](int v) { cell.variables.push_back(v); });
      else
        list(blocks_.equation(e), blocks_.equation(e).names());
    for (const int p : cell.passes) list(blocks_.pass(p), blocks_.pass(p).shape->events);
    sort_once(cell.variables);
    sort_once(cell.discretes);
  }

  /// Cells of one shape have the same signature.
  void add(JoinedCell& cell, int level) {
    constexpr std::size_t most_shapes = 64;
    sign(cell, level);
    const auto [it, fresh] = known_.try_emplace(signature_, result_->shapes.size());
    if (fresh) {
      if (result_->shapes.size() == most_shapes) throw NotKept{};
      result_->shapes.push_back(models_.make(cell, it->second));
      result_->shapes.back().level = level;
    }
    RepeatedModel::Shape& shape = result_->shapes[it->second];
    ++shape.cells;
    shape.variables.insert(shape.variables.end(), cell.variables.begin(), cell.variables.end());
    shape.discretes.insert(shape.discretes.end(), cell.discretes.begin(), cell.discretes.end());
    for (std::size_t k = 0; k < cell.numbers.size(); ++k)
      shape.number_values.push_back(models_.value_of_number(cell, k));
  }

  /// Which equations and events of which shapes, what they name in which order, and what counts at the start.
  void sign(JoinedCell& cell, int level) {
    signature_.assign(1, level);
    const auto shape_number = [&](const PassPlace& p) { return static_cast<int>(p.shape - blocks_.shapes().data()); };
    const auto rank = [](const std::vector<int>& list, int value) {
      return static_cast<int>(std::ranges::lower_bound(list, value) - list.begin());
    };
    const auto number = [&](const PassPlace& p, int k) {
      const auto known = std::ranges::find_if(cell.numbers, [&](const auto& entry) {
        return entry.first.pass_number() == p.pass_number() && entry.second == k;
      });
      const auto place = known - cell.numbers.begin();
      if (known == cell.numbers.end()) cell.numbers.emplace_back(p, k);
      return static_cast<int>(place);
    };
    const auto add_names = [&](const PassPlace& p, const PassNames& names) {
      for (const std::vector<int>* variables : {&names.variables, &names.derivatives})
        for (const int k : *variables) signature_.push_back(rank(cell.variables, p.variable(k)));
      for (const int k : names.discretes) signature_.push_back(rank(cell.discretes, p.discrete(k)));
      for (const int k : names.numbers) signature_.push_back(number(p, k));
    };
    for (const int e : cell.equations) {
      if (blocks_.is_sum(e)) {  // there is one of its kind
        signature_.insert(signature_.end(), {-2, e});
        continue;
      }
      const PassPlace p = blocks_.equation(e);
      signature_.insert(signature_.end(), {shape_number(p), p.equation});
      add_names(p, p.names());
    }
    signature_.push_back(-1);
    for (const int pass : cell.passes) {
      const PassPlace p = blocks_.pass(pass);
      signature_.push_back(shape_number(p));
      add_names(p, p.shape->events);
    }
    for (std::size_t k = 0; k < cell.variables.size(); ++k) {
      const VariableInfo& info = passes_.variables[at(cell.variables[k])];
      const bool guess = !blocks_.is_state(cell.variables[k]) && info.start != 0.0;
      signature_.push_back(cell.roles[k] + (info.fixed ? 4 : 0) + (guess ? 8 : 0));
    }
  }

  bool every_discrete_is_assigned() const {
    std::vector<char> assigned(passes_.discretes.size(), 0);
    for (int number = 0; number < blocks_.passes(); ++number) {
      const PassPlace p = blocks_.pass(number);
      for (const int k : p.shape->assigned) assigned[at(p.discrete(k))] = 1;
    }
    return std::ranges::find(assigned, 0) == assigned.end();
  }

  const RepeatedModel& passes_;
  PassBlocks blocks_;
  JoinedModels models_;
  Sets units_;
  std::vector<char> is_core_, is_needed_, owned_;
  std::vector<int> signature_;
  std::map<std::vector<int>, std::size_t> known_;
  std::shared_ptr<RepeatedModel> result_ = std::make_shared<RepeatedModel>();
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
