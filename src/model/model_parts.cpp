#include "model/model_parts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_map>

namespace saltus {

ModelReads::ModelReads(const PartSource& source)
    : graph_(*source.graph),
      kinds_(graph_.size(), ReadKind::none),
      indices_(graph_.size(), -1),
      marks_(graph_.size(), 0) {
  const auto all = [&](std::span<const Expr> list, ReadKind kind) {
    for (std::size_t k = 0; k < list.size(); ++k) note(list[k], kind, k);
  };
  all(source.variables, ReadKind::variable);
  all(source.derivatives, ReadKind::derivative);
  all(source.parameters, ReadKind::parameter);
  all(source.logic.discretes, ReadKind::discrete);
  all(source.guards.locks(), ReadKind::lock);
  note(source.time, ReadKind::time, 0);
  for (const int flag : {source.logic.initial_flag, source.logic.terminal_flag})
    if (flag >= 0) note(source.logic.discretes[static_cast<std::size_t>(flag)], ReadKind::never, 0);
  const auto before = [&](const std::vector<std::pair<Expr, Expr>>& pairs, ReadKind kind) {
    for (const auto& [symbol, pre] : pairs) note(pre, kind, static_cast<std::size_t>(indices_[symbol.id()]));
  };
  before(source.logic.pre_variables, ReadKind::before_variable);
  before(source.logic.pre_discretes, ReadKind::before_discrete);
}

void ModelReads::note(const Expr& e, ReadKind kind, std::size_t index) {
  if (!e.graph()) return;
  kinds_[e.id()] = kind;
  indices_[e.id()] = static_cast<int>(index);
}

namespace {

using Read = ModelReads::Read;

/// Groups of things that belong together.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }

  std::size_t of(std::size_t k) {
    while (parent_[k] != k) k = parent_[k] = parent_[parent_[k]];
    return k;
  }
  /// Returns whether they were apart.
  bool join(std::size_t a, std::size_t b) {
    a = of(a), b = of(b);
    if (a == b) return false;
    parent_[std::max(a, b)] = std::min(a, b);
    return true;
  }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

class PartStructure::Finder {
 public:
  Finder(const PartSource& source, PartStructure& result)
      : source_(source),
        result_(result),
        reads_(source),
        variables_(source.variables.size()),
        discretes_(source.logic.discretes.size()),
        locks_(source.guards.locks().size()),
        clauses_(source.logic.clauses.size()),
        groups_(variables_ + discretes_ + locks_ + clauses_ + source.logic.definitions.size() +
                source.logic.assertions.size() + source.solutions.size()) {}

  void find() {
    join_all();
    join_what_jumps();
    join_what_resets();
    give_homes();
    if (!list_members() || find_shapes()) return;
    lifts_ = true;  // numbers that differ from part to part are data of a shape
    result_ = PartStructure();
    if (!find_shapes()) result_ = PartStructure();
  }

 private:
  struct Members {
    std::vector<int> variables, discretes, clauses;
    Further further;
  };

  // places in the groups
  std::size_t variable(int k) const { return static_cast<std::size_t>(k); }
  std::size_t discrete(int k) const { return variables_ + static_cast<std::size_t>(k); }
  std::size_t lock(int k) const { return variables_ + discretes_ + static_cast<std::size_t>(k); }
  std::size_t clause(std::size_t k) const { return variables_ + discretes_ + locks_ + k; }
  std::size_t definition(std::size_t k) const { return clause(clauses_) + k; }
  std::size_t assertion(std::size_t k) const { return definition(source_.logic.definitions.size()) + k; }
  std::size_t solution(std::size_t k) const { return assertion(source_.logic.assertions.size()) + k; }

  /// What is read belongs to the reader, except variables of which only the value counts.
  void join_reader(std::size_t reader, const Read& read) {
    switch (read.kind) {
      case ReadKind::discrete:
      case ReadKind::before_discrete:
        groups_.join(reader, discrete(read.index));
        break;
      case ReadKind::lock:
        groups_.join(reader, lock(read.index));
        break;
      case ReadKind::derivative:
        groups_.join(reader, variable(read.index));
        break;
      case ReadKind::variable:
      case ReadKind::before_variable:
        note_variable(reader, read.index);
        break;
      default:
        break;
    }
  }
  /// For things without variables of their own: one that they read.
  void note_variable(std::size_t reader, int index) {
    if (reader >= variables_) reads_first_.try_emplace(reader, index);
  }

  void join_all() {
    const EventLogic::Setup& logic = source_.logic;
    for (std::size_t i = 0; i < variables_; ++i)
      reads_.for_each(source_.right_hand_sides[i], [&](const Read& read) { join_reader(i, read); });
    for (std::size_t l = 0; l < locks_; ++l)
      reads_.inside(source_.guards.locks()[l], [&](const Read& read) { join_reader(lock(static_cast<int>(l)), read); });
    for (const ModelGuards::Guard& guard : source_.guards.guards())
      for (const int l : guard.locks) groups_.join(lock(guard.locks.front()), lock(l));
    for (std::size_t k = 0; k < clauses_; ++k) {
      const ModelData::Clause& c = logic.clauses[k];
      const auto read_by_clause = [&](const Expr& e) {
        reads_.for_each(e, [&](const Read& read) { join_reader(clause(k), read); });
      };
      read_by_clause(c.condition.expr());
      if (c.after >= 0) groups_.join(clause(k), clause(static_cast<std::size_t>(c.after)));
      for (const ModelData::Action& action : c.actions) {
        read_by_clause(action.value);
        read_by_clause(action.only_if.expr());
        if (action.kind == ModelData::Action::Kind::assign || action.kind == ModelData::Action::Kind::reset)
          join_target(clause(k), action);
      }
    }
    for (std::size_t k = 0; k < logic.definitions.size(); ++k) {
      groups_.join(definition(k), discrete(reads_[logic.definitions[k].discrete.id()].index));
      reads_.for_each(logic.definitions[k].value, [&](const Read& read) { join_reader(definition(k), read); });
    }
    for (std::size_t k = 0; k < logic.assertions.size(); ++k)
      reads_.for_each(logic.assertions[k].condition.expr(), [&](const Read& read) { join_reader(assertion(k), read); });
    observed_.assign(source_.solutions.size(), 0);
    for (std::size_t k = 0; k < source_.solutions.size(); ++k) {
      reads_.for_each(source_.solutions[k],
                      [&](const Read& read) { observed_[k] |= static_cast<char>(read.kind == ReadKind::lock); });
      if (observed_[k])
        reads_.for_each(source_.solutions[k], [&](const Read& read) { join_reader(solution(k), read); });
    }
  }

  void join_target(std::size_t giver, const ModelData::Action& action) {
    const Read target = reads_[action.target.id()];
    if (target.kind == ReadKind::discrete) groups_.join(giver, discrete(target.index));
    if (target.kind != ReadKind::variable && target.kind != ReadKind::derivative) return;
    groups_.join(giver, variable(target.index));
    jumping_.resize(variables_, 0);
    jumping_[static_cast<std::size_t>(target.index)] = 1;
  }

  /// A part that resets variables owns what its relations read. The slopes of these may jump with the reset; then a
  /// relation that has been crossed is not crossed any more when the part is run again with what it has done to others.
  void join_what_resets() {
    bool again = !jumping_.empty();
    while (again) {
      again = false;
      std::vector<char> resets(solution(source_.solutions.size()), 0);
      for (std::size_t k = 0; k < clauses_; ++k)
        if (std::ranges::any_of(source_.logic.clauses[k].actions, [](const ModelData::Action& action) {
              return action.kind == ModelData::Action::Kind::reset;
            }))
          resets[groups_.of(clause(k))] = 1;
      for (std::size_t l = 0; l < locks_; ++l) {
        const std::size_t reader = lock(static_cast<int>(l));
        if (!resets[groups_.of(reader)]) continue;
        reads_.inside(source_.guards.locks()[l], [&](const Read& read) {
          if (read.kind == ReadKind::variable && groups_.join(reader, variable(read.index))) again = true;
        });
      }
    }
  }

  /// A variable that jumps may change relations and clauses that read it at that very instant.
  void join_what_jumps() {
    if (jumping_.empty()) return;
    const auto look = [&](std::size_t reader, const Read& read) {
      const bool value = read.kind == ReadKind::variable || read.kind == ReadKind::before_variable;
      if (value && jumping_[static_cast<std::size_t>(read.index)]) groups_.join(reader, variable(read.index));
    };
    for (std::size_t l = 0; l < locks_; ++l)
      reads_.inside(source_.guards.locks()[l], [&](const Read& read) { look(lock(static_cast<int>(l)), read); });
    for (std::size_t k = 0; k < clauses_; ++k) {
      const ModelData::Clause& c = source_.logic.clauses[k];
      reads_.for_each(c.condition.expr(), [&](const Read& read) { look(clause(k), read); });
      for (const ModelData::Action& action : c.actions)
        for (const Expr* e : {&action.value, &action.only_if.expr()})
          reads_.for_each(*e, [&](const Read& read) { look(clause(k), read); });
    }
    for (std::size_t k = 0; k < source_.logic.definitions.size(); ++k)
      reads_.for_each(source_.logic.definitions[k].value, [&](const Read& read) { look(definition(k), read); });
  }

  /// Groups without variables go to a variable that they read.
  void give_homes() {
    std::vector<char> has_variable(solution(source_.solutions.size()), 0);
    for (std::size_t i = 0; i < variables_; ++i) has_variable[groups_.of(i)] = 1;
    std::vector<std::pair<std::size_t, int>> homes(reads_first_.begin(), reads_first_.end());
    std::ranges::sort(homes);
    for (const auto& [reader, index] : homes) {
      const std::size_t group = groups_.of(reader);
      if (has_variable[group]) continue;
      groups_.join(group, variable(index));
      has_variable[groups_.of(group)] = 1;
    }
    for (std::size_t k = variables_; k < solution(0); ++k)
      if (!has_variable[groups_.of(k)]) groups_.join(k, 0);
  }

  /// Lists variables, discrete variables and clauses by part. False: there are too few parts, or one is too large.
  bool list_members() {
    constexpr std::size_t fewest = 16;
    std::unordered_map<std::size_t, std::size_t> number_of;
    for (std::size_t i = 0; i < variables_; ++i)
      if (const auto [it, fresh] = number_of.try_emplace(groups_.of(i), members_.size()); fresh)
        members_.emplace_back();
    if (members_.size() < fewest) return false;
    part_of_.resize(variables_);
    const auto home = [&](std::size_t place) { return number_of.at(groups_.of(place)); };
    for (std::size_t i = 0; i < variables_; ++i) {
      part_of_[i] = static_cast<int>(home(i));
      members_[home(i)].variables.push_back(static_cast<int>(i));
    }
    if (std::ranges::any_of(members_, [&](const Members& m) { return m.variables.size() > variables_ / 4; }))
      return false;
    const EventLogic::Setup& logic = source_.logic;
    for (std::size_t k = 0; k < discretes_; ++k) {
      const auto number = static_cast<int>(k);
      if (number == logic.initial_flag || number == logic.terminal_flag) continue;
      members_[home(discrete(number))].discretes.push_back(number);
    }
    for (std::size_t k = 0; k < clauses_; ++k) members_[home(clause(k))].clauses.push_back(static_cast<int>(k));
    for (std::size_t k = 0; k < logic.definitions.size(); ++k)
      members_[home(definition(k))].further.definitions.push_back(static_cast<int>(k));
    for (std::size_t k = 0; k < logic.assertions.size(); ++k)
      members_[home(assertion(k))].further.assertions.push_back(static_cast<int>(k));
    for (std::size_t k = 0; k < source_.solutions.size(); ++k)
      if (observed_[k]) members_[home(solution(k))].further.solutions.push_back(static_cast<int>(k));
    return true;
  }

  /// The expressions of a part as a list of numbers, which is the same for parts of the same shape, and on the way what
  /// the part reads, in the order of the first time.
  bool describe(const Members& part) {
    tokens_.clear();
    reads_foreign_.clear();
    reads_parameters_.clear();
    reads_locks_.clear();
    reads_constants_.clear();
    ++epoch_;
    next_ = 0;
    const EventLogic::Setup& logic = source_.logic;
    const auto rank = [](const std::vector<int>& list, int value) {
      return static_cast<std::uint64_t>(std::ranges::lower_bound(list, value) - list.begin());
    };
    token(part.variables.size(), part.discretes.size());
    for (const int k : part.discretes) {
      const ModelData::Discrete& q = source_.discretes[static_cast<std::size_t>(k)];
      token(5, (q.pulse ? 1u : 0u) | (q.boolean ? 2u : 0u));
    }
    bool known = true;
    for (const int i : part.variables) {
      token(6, std::bit_cast<std::uint64_t>(source_.info[static_cast<std::size_t>(i)].nominal));
      known = known && expression(part, source_.right_hand_sides[static_cast<std::size_t>(i)]);
    }
    for (const int k : part.clauses) {
      const ModelData::Clause& c = logic.clauses[static_cast<std::size_t>(k)];
      token(7, (c.at_start ? 1u : 0u) | (c.touches ? 2u : 0u) | (c.samples ? 4u : 0u));
      token(8, c.after < 0 ? ~std::uint64_t{0} : rank(part.clauses, c.after));
      known = known && expression(part, c.condition.expr());
      for (const ModelData::Action& action : c.actions) {
        token(9, static_cast<std::uint64_t>(action.kind));
        if (action.kind == ModelData::Action::Kind::assign || action.kind == ModelData::Action::Kind::reset)
          known = known && expression(part, action.target);
        known = known && expression(part, action.value) && expression(part, action.only_if.expr());
      }
    }
    for (const int k : part.further.definitions) {
      const ModelData::Definition& d = logic.definitions[static_cast<std::size_t>(k)];
      token(10, 0);
      known = known && expression(part, d.discrete) && expression(part, d.value);
    }
    for (const int k : part.further.assertions) {
      token(11, 0);
      known = known && expression(part, logic.assertions[static_cast<std::size_t>(k)].condition.expr());
    }
    for (const int k : part.further.solutions) {
      token(12, 0);
      known = known && expression(part, source_.solutions[static_cast<std::size_t>(k)]);
    }
    return known;
  }

  void token(std::uint64_t kind, std::uint64_t value) {
    tokens_.push_back(kind);
    tokens_.push_back(value);
  }

  /// Small integers and halves stay what they are: exponents, signs.
  static bool is_common(double value) { return std::abs(value) <= 10.0 && 2.0 * value == std::floor(2.0 * value); }

  template <class Value>
  static std::uint64_t place_in(std::vector<Value>& list, Value value) {
    const auto found = std::ranges::find(list, value);
    if (found == list.end()) {
      list.push_back(value);
      return list.size() - 1;
    }
    return static_cast<std::uint64_t>(found - list.begin());
  }

  /// False: something is not understood.
  bool expression(const Members& part, const Expr& e) {
    if (!e.graph()) {
      token(20, std::bit_cast<std::uint64_t>(e.constant_value()));
      return true;
    }
    const Graph& graph = *source_.graph;
    numbers_.resize(graph.size());
    seen_.resize(graph.size(), 0);
    struct Visit {
      NodeId id;
      bool leaves;
    };
    std::vector<Visit> stack{{e.id(), false}};
    while (!stack.empty()) {
      const Visit visit = stack.back();
      stack.pop_back();
      const NodeId id = visit.id;
      if (seen_[id] == epoch_) continue;
      const Node& node = graph.node(id);
      if (node.op == Op::external) return false;
      const Read read = reads_[id];
      const bool leaf = node.op == Op::constant || (read.kind != ReadKind::none && read.kind != ReadKind::lock);
      if (node.op == Op::symbol && !leaf) return false;
      if (!leaf && !visit.leaves) {
        stack.push_back({id, true});
        graph.for_each_operand(id, [&](NodeId operand) { stack.push_back({operand, false}); });
        continue;
      }
      seen_[id] = epoch_;
      numbers_[id] = next_++;
      if (leaf) {
        if (!describe_leaf(part, id, read)) return false;
        continue;
      }
      if (read.kind == ReadKind::lock) reads_locks_.push_back(read.index);
      tokens_.push_back(100 + static_cast<std::uint64_t>(node.op));
      graph.for_each_operand(id, [&](NodeId operand) { tokens_.push_back(numbers_[operand]); });
    }
    token(21, numbers_[e.id()]);
    return true;
  }

  bool describe_leaf(const Members& part, NodeId id, const Read& read) {
    const auto own = [](const std::vector<int>& list, int value) {
      const auto found = std::ranges::lower_bound(list, value);
      return found != list.end() && *found == value ? static_cast<std::int64_t>(found - list.begin()) : -1;
    };
    switch (read.kind) {
      case ReadKind::none: {
        const double value = source_.graph->constant_value(id);
        if (lifts_ && !is_common(value))
          token(30, place_in(reads_constants_, id));
        else
          token(20, std::bit_cast<std::uint64_t>(value));
        return true;
      }
      case ReadKind::never:
        token(20, 0);
        return true;
      case ReadKind::time:
        token(22, 0);
        return true;
      case ReadKind::parameter:
        token(23, place_in(reads_parameters_, read.index));
        return true;
      case ReadKind::discrete:
      case ReadKind::before_discrete: {
        const std::int64_t place = own(part.discretes, read.index);
        token(read.kind == ReadKind::discrete ? 24 : 25, static_cast<std::uint64_t>(place));
        return place >= 0;
      }
      case ReadKind::derivative: {
        const std::int64_t place = own(part.variables, read.index);
        token(26, static_cast<std::uint64_t>(place));
        return place >= 0;
      }
      default: {
        const std::int64_t place = own(part.variables, read.index);
        if (place >= 0)
          token(read.kind == ReadKind::variable ? 27 : 28, static_cast<std::uint64_t>(place));
        else
          token(29, place_in(reads_foreign_, read.index));
        return true;
      }
    }
  }

  /// Which relations share a guard depends on the values of parameters and numbers: x > p and x > 0.5 do if p is 0.5.
  void describe_guards(const std::vector<int>& guards) {
    for (const int g : guards) {
      const ModelGuards::Guard& guard = source_.guards.guards()[static_cast<std::size_t>(g)];
      token(13, static_cast<std::uint64_t>(guard.kind) + (guard.same_as < 0 ? 0u : 8u));
      for (std::size_t i = 0; i < guard.locks.size(); ++i) {
        const std::uint64_t truth =
            guard.kind == ModelGuards::Kind::relation ? (guard.signs[i] > 0 ? 1u : 0u) | (guard.weak[i] ? 2u : 0u) : 4u;
        token(14, place_in(reads_locks_, guard.locks[i]));
        token(15, truth);
      }
    }
  }

  /// False: a part is not understood, or there are too many shapes.
  bool find_shapes() {
    constexpr std::size_t most = 200;
    std::vector<std::vector<int>> guards_of_lock(locks_);
    for (std::size_t g = 0; g < source_.guards.guards().size(); ++g)
      for (const int l : source_.guards.guards()[g].locks)
        guards_of_lock[static_cast<std::size_t>(l)].push_back(static_cast<int>(g));
    std::vector<std::vector<std::uint64_t>> shapes;  // tokens
    std::unordered_multimap<std::uint64_t, int> by_hash;
    for (std::size_t number = 0; number < members_.size(); ++number) {
      Members& part = members_[number];
      if (!describe(part)) return false;
      std::vector<int> part_guards;
      for (const int l : reads_locks_)
        for (const int g : guards_of_lock[static_cast<std::size_t>(l)])
          if (std::ranges::find(part_guards, g) == part_guards.end()) part_guards.push_back(g);
      describe_guards(part_guards);
      std::uint64_t hash = tokens_.size();
      for (const std::uint64_t token : tokens_) hash = (hash ^ token) * 0x9e3779b97f4a7c15u + (hash >> 29);
      int shape = -1;
      const auto [first, last] = by_hash.equal_range(hash);
      for (auto it = first; it != last && shape < 0; ++it)
        if (shapes[static_cast<std::size_t>(it->second)] == tokens_) shape = it->second;
      if (shape < 0) {
        if (shapes.size() == most) return false;
        shape = static_cast<int>(shapes.size());
        by_hash.emplace(hash, shape);
        shapes.push_back(tokens_);
        result_.representatives_.push_back(number);
        result_.further_.push_back(part.further);
        result_.further_.back().constants = reads_constants_;
      }
      result_.shape_of_.push_back(shape);
      auto& begins = result_.begins_.emplace_back();
      const auto add = [&](List list, const std::vector<int>& places) {
        begins[list] = result_.numbers_.size();
        result_.numbers_.insert(result_.numbers_.end(), places.begin(), places.end());
      };
      add(List::variables, part.variables);
      add(List::foreign, reads_foreign_);
      add(List::discretes, part.discretes);
      add(List::locks, reads_locks_);
      add(List::guards, part_guards);
      add(List::conditions, part.clauses);
      add(List::parameters, reads_parameters_);
      result_.first_constant_.push_back(result_.constants_.size());
      for (const NodeId id : reads_constants_) result_.constants_.push_back(source_.graph->constant_value(id));
    }
    result_.first_constant_.push_back(result_.constants_.size());
    result_.begins_.emplace_back().fill(result_.numbers_.size());
    result_.numbers_.shrink_to_fit();
    return every_guard_has_a_home();
  }

  bool every_guard_has_a_home() const {
    std::size_t guards = 0, locks = 0;
    for (std::size_t k = 0; k < result_.size(); ++k) {
      guards += result_.part(k).guards.size();
      locks += result_.part(k).locks.size();
    }
    return guards == source_.guards.guards().size() && locks == locks_;
  }

  const PartSource& source_;
  PartStructure& result_;
  ModelReads reads_;
  std::size_t variables_, discretes_, locks_, clauses_;
  Groups groups_;
  std::unordered_map<std::size_t, int> reads_first_;
  std::vector<char> jumping_;   // by variable: a clause resets it; empty: none is reset
  std::vector<char> observed_;  // by solution: it has relations
  std::vector<int> part_of_;
  std::vector<Members> members_;
  // the description of one part
  std::vector<std::uint64_t> tokens_;
  std::vector<int> reads_foreign_, reads_parameters_, reads_locks_;
  std::vector<NodeId> reads_constants_;
  bool lifts_ = false;
  std::vector<std::uint64_t> numbers_;  // of nodes
  std::vector<std::uint32_t> seen_;
  std::uint32_t epoch_ = 0;
  std::uint64_t next_ = 0;
};

PartStructure::PartStructure() = default;
PartStructure::PartStructure(const PartSource& source) {
  Finder(source, *this).find();
}

FamilyPart PartStructure::part(std::size_t number) const {
  const auto& begin = begins_[number];
  const auto list = [&](List which) {
    const std::size_t end = which + 1 < lists ? begin[static_cast<std::size_t>(which) + 1] : begins_[number + 1][0];
    return std::span(numbers_).subspan(begin[which], end - begin[which]);
  };
  return {
      shape_of_[number],
      list(List::variables),
      list(List::foreign),
      list(List::discretes),
      list(List::locks),
      list(List::guards),
      list(List::conditions),
      list(List::parameters),
      std::span(constants_).subspan(first_constant_[number], first_constant_[number + 1] - first_constant_[number])};
}

const PartShape* ModelParts::shape(int number) const {
  const std::lock_guard lock(shared_->making);
  Shared::Made& made = shared_->shapes[static_cast<std::size_t>(number)];
  if (!made.tried) {
    made.tried = true;
    made.shape = make_part_shape(shared_->source, shared_->structure, number);
  }
  return made.shape.get();
}

}  // namespace saltus
