#include "program/native_code_flow.hpp"

#include <algorithm>
#include <numeric>

#include "program/native_code_calls.hpp"

namespace saltus::native {

namespace {

bool gives_truth(Op op) { return info(op).kind == OpKind::relation || info(op).kind == OpKind::logic; }

}  // namespace

bool reads_truth(Op op, std::size_t k) {
  return info(op).kind == OpKind::logic || (info(op).kind == OpKind::choice && k == 0);
}

Flow::Flow(const Tape& tape, bool together) : leaves(tape.first_temporary()) {
  std::vector<Value> value_in_slot(tape.slots());
  make_steps(tape, together, value_in_slot);
  list_uses();
  list_outputs(tape, value_in_slot);
  find_masks();
}

/// Whether a call can be made at once with the last step: that are calls of the same function, of other values that do
/// not need each other.
bool Flow::joins_last(Op op, Value operand) const {
  constexpr std::uint32_t most = 4;
  if (steps.empty() || steps.back().op != op || steps.back().result_count == most) return false;
  const Step& last = steps.back();
  return operand < last.result && std::ranges::find(operands_of(last), operand) == operands_of(last).end();
}

void Flow::make_steps(const Tape& tape, bool together, std::vector<Value>& value_in_slot) {
  std::iota(value_in_slot.begin(), value_in_slot.begin() + leaves, 0u);
  values = leaves;
  steps.reserve(tape.code.size());
  operands.reserve(2 * tape.code.size());
  for (const Instruction& i : tape.code) {
    if (together && is_unary_call(i.op) && joins_last(i.op, value_in_slot[i.a])) {
      operands.push_back(value_in_slot[i.a]);
      value_in_slot[i.result] = values++;
      ++steps.back().operand_count;
      ++steps.back().result_count;
      continue;
    }
    Step step{i.op, i.a, static_cast<std::uint32_t>(operands.size()), 0, values, 1};
    if (i.op == Op::external) {
      const CallSite& call = tape.calls[i.a];
      for (const std::uint32_t slot : call.arguments) operands.push_back(value_in_slot[slot]);
      for (const std::uint32_t slot : call.results) value_in_slot[slot] = values++;
      step.result_count = static_cast<std::uint32_t>(call.results.size());
    } else {
      const std::uint32_t slots[] = {i.a, i.b, i.c};
      for (int k = 0; k < saltus::operand_count(i.op); ++k) operands.push_back(value_in_slot[slots[k]]);
      value_in_slot[i.result] = values++;
    }
    step.operand_count = static_cast<std::uint32_t>(operands.size()) - step.first_operand;
    steps.push_back(step);
  }
}

void Flow::list_uses() {
  uses.begin.assign(values + 1, 0);
  for (const Value v : operands) ++uses.begin[v + 1];
  std::partial_sum(uses.begin.begin(), uses.begin.end(), uses.begin.begin());
  uses.items.resize(operands.size());
  std::vector<std::uint32_t> next(uses.begin.begin(), uses.begin.end() - 1);
  for (std::uint32_t k = 0; k < steps.size(); ++k)
    for (const Value v : operands_of(steps[k])) uses.items[next[v]++] = k;
}

void Flow::list_outputs(const Tape& tape, const std::vector<Value>& value_in_slot) {
  outputs.begin.assign(values + 1, 0);
  std::size_t count = 0;
  for (const auto& group : tape.outputs)
    for (const std::uint32_t slot : group) ++outputs.begin[value_in_slot[slot] + 1], ++count;
  std::partial_sum(outputs.begin.begin(), outputs.begin.end(), outputs.begin.begin());
  outputs.items.resize(count);
  std::vector<std::uint32_t> next(outputs.begin.begin(), outputs.begin.end() - 1);
  for (std::uint32_t g = 0; g < tape.outputs.size(); ++g)
    for (std::uint32_t k = 0; k < tape.outputs[g].size(); ++k)
      outputs.items[next[value_in_slot[tape.outputs[g][k]]]++] = {g, k};
}

void Flow::find_masks() {
  is_mask.assign(values, 0);
  for (const Step& step : steps)
    if (gives_truth(step.op)) is_mask[step.result] = outputs[step.result].empty();
  for (const Step& step : steps) {
    const auto list = operands_of(step);
    for (std::size_t k = 0; k < list.size(); ++k)
      if (!reads_truth(step.op, k)) is_mask[list[k]] = 0;
  }
}

}  // namespace saltus::native
