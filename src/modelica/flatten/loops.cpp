// Loops of algorithms, and how they and functions are left. Loops are unrolled. Where a condition is not known before
// the run, `break` and `return` are exits: what the variables are worth there is kept, the statements behind are
// followed for the other case, and at the end of the loop or function the exits choose between both.
#include <algorithm>
#include <utility>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

// Passes of a `while` whose condition stays unknown; then an assertion takes over.
constexpr std::int64_t most_unknown_passes = 100;

}  // namespace

// True where the statement that is being followed is executed.
BoolExpr Flattener::reached() const {
  BoolExpr result = true;
  for (const BoolExpr& outer : path_conditions_) result = result && outer;
  for (const Exit& exit : exits_) result = result && !exit.condition;
  return result;
}

// Demands a condition wherever the current statement is executed.
void Flattener::demand(const BoolExpr& condition, std::string text, const Location& where) {
  const BoolExpr holds = condition || !reached();
  if (holds.expr().is_constant() && holds.expr().constant_value() != 0.0) return;
  if (when_checks_)
    when_checks_->push_back({ModelData::Action::Kind::check, {}, holds.expr(), std::move(text), where});
  else if (holds.expr().is_constant())
    throw Fault{where, "assertion violated: " + text};
  else
    assertions_.push_back({holds, std::move(text), where});
}

// The current path leaves the loop or the function: keeps what the variables are worth.
void Flattener::leave(Flow flow, const Context& context, BoolExpr condition) {
  const std::size_t first = flow == Flow::leave_loop ? loop_path_ : function_path_;
  for (std::size_t k = path_conditions_.size(); k-- > first;) condition = path_conditions_[k] && condition;
  exits_.push_back({flow, condition, snapshot(context)});
}

// The end of a loop or function: from the last exit to the first one, which is the one that counts.
void Flattener::merge_exits(std::size_t first, Flow flow, const Location& where, const Context& context) {
  const auto concerns = [&](const Exit& exit) { return exit.flow == flow; };
  const auto begin = exits_.begin() + static_cast<std::ptrdiff_t>(first);
  if (std::none_of(begin, exits_.end(), concerns)) return;
  Snapshot state = snapshot(context);
  for (std::size_t k = exits_.size(); k-- > first;) {
    if (!concerns(exits_[k])) continue;
    for (std::size_t later = k + 1; later < exits_.size(); ++later)
      exits_[later].condition = exits_[later].condition && !exits_[k].condition;
    state =
        blend({TypeKind::boolean, Variability::continuous, exits_[k].condition.expr()}, exits_[k].state, state, where);
  }
  exits_.erase(std::remove_if(begin, exits_.end(), concerns), exits_.end());
  restore(state, context);
}

// Follows a loop; `passes` follows all of its passes and says how the last one ended.
template <class Passes>
Flattener::Flow Flattener::follow_loop(const Location& where, const Context& context, Passes passes) {
  const std::size_t first = exits_.size();
  const std::size_t outer = std::exchange(loop_path_, path_conditions_.size());
  struct Back {
    std::size_t& place;
    std::size_t value;
    ~Back() { place = value; }
  } back{loop_path_, outer};
  Flow flow = passes();
  const bool left = std::any_of(exits_.begin() + static_cast<std::ptrdiff_t>(first), exits_.end(),
                                [](const Exit& exit) { return exit.flow == Flow::leave_loop; });
  if (flow == Flow::leave_function && left) {
    // behind the loop the function goes on for those that have left the loop before
    BoolExpr others = true;
    for (std::size_t k = first; k < exits_.size(); ++k) others = others && !exits_[k].condition;
    leave(flow, context, others);
    const auto last =
        std::find_if(exits_.rbegin(), exits_.rend(), [](const Exit& exit) { return exit.flow == Flow::leave_loop; });
    restore(last->state, context);
    flow = Flow::next;
  }
  merge_exits(first, Flow::leave_loop, where, context);
  return flow == Flow::leave_function ? flow : Flow::next;
}

Flattener::Flow Flattener::follow_for(const ForStatement& node, const Context& context) {
  return follow_loop(node.indices.front().name.where, context, [&] { return follow_passes(node, 0, context); });
}

Flattener::Flow Flattener::follow_passes(const ForStatement& node, std::size_t level, const Context& context) {
  if (level == node.indices.size()) return follow(node.body, context);
  const ForIndex& index = node.indices[level];
  const Value range = range_of(index, {.statements = &node.body}, context);
  Context inner = context;
  Locals local{index.name.text, {}, context.locals};
  inner.locals = &local;
  for (std::size_t k = 0; k < range.elements.size(); ++k) {
    charge(1, index.name.where);
    local.value = range.at(k);
    if (const Flow flow = follow_passes(node, level + 1, inner); flow != Flow::next) return flow;
  }
  return Flow::next;
}

Flattener::Flow Flattener::follow_while(const WhileStatement& node, const Context& context) {
  const Location& where = node.condition->where;
  return follow_loop(where, context, [&] {
    std::int64_t unknown = 0;
    const auto demand_end = [&](const BoolExpr& ended) {
      demand(ended, "a 'while' loop makes more than " + std::to_string(most_unknown_passes) + " passes", where);
    };
    for (std::int64_t passes = 0;; ++passes) {
      charge(1, where);
      if (passes >= limits_.passes)
        throw Fault{where, "this 'while' loop has made " + std::to_string(passes) + " passes",
                    "check that its condition becomes false"};
      const Value condition = eval_scalar(node.condition, context, "the condition");
      if (condition.type != TypeKind::boolean)
        throw Fault{where, "a condition must be a Boolean, not a value of type " + describe(condition)};
      const bool known = condition.scalar().is_constant() || condition.variability >= Variability::parameter;
      if (known) {
        if (number(condition, where, "the condition of a 'while' loop") == 0.0) return Flow::next;
      } else {
        // the number of passes of an iteration is no surface of the model
        const BoolExpr goes_on = no_event(condition.truth());
        if (++unknown > most_unknown_passes) {
          demand_end(!goes_on);
          return Flow::next;
        }
        leave(Flow::leave_loop, context, !goes_on);
      }
      const std::size_t exits = exits_.size();
      if (const Flow flow = follow(node.body, context); flow != Flow::next) return flow;
      // `while true` that is left inside, when is not known
      if (known && exits_.size() > exits && ++unknown > most_unknown_passes) {
        demand_end(false);
        return Flow::next;
      }
    }
  });
}

}  // namespace saltus::modelica
