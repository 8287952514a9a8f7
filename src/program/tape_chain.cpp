#include "program/tape_chain.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <utility>

#include "program/native_code_calls.hpp"

namespace saltus {

std::size_t TapeChain::Hash::operator()(const Operation& o) const {
  auto hash = static_cast<std::uint64_t>(o.op);
  for (const Place& p : o.operand) {
    hash = hash * 0x9e3779b97f4a7c15u + (std::uint64_t{p.index} << 2) + static_cast<std::uint64_t>(p.kind);
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

TapeChain::Places TapeChain::input(std::size_t count) {
  input_sizes_.push_back(static_cast<std::uint32_t>(count));
  Places places;
  for (std::size_t k = 0; k < count; ++k) places.push_back({Place::Kind::input, inputs_++});
  return places;
}

TapeChain::Place TapeChain::constant(double value) {
  const auto [it, fresh] =
      constant_of_.try_emplace(std::bit_cast<std::uint64_t>(value), static_cast<std::uint32_t>(constants_.size()));
  if (fresh) constants_.push_back(value);
  return {Place::Kind::constant, it->second};
}

TapeChain::Places TapeChain::append(const Tape& tape, std::span<const Place> arguments) {
  const std::uint32_t first_input = tape.first_input(), first_temporary = tape.first_temporary();
  if (arguments.size() != first_temporary - first_input)
    throw UsageError("TapeChain: a tape with " + std::to_string(first_temporary - first_input) + " inputs was given " +
                     std::to_string(arguments.size()) + " arguments");
  Places place;  // of what a slot of the tape holds; slots are written more than once
  place.reserve(tape.slots());
  for (const double value : tape.constants) place.push_back(constant(value));
  place.insert(place.end(), arguments.begin(), arguments.end());
  place.resize(tape.slots());
  for (const Instruction& i : tape.code) {
    Step step{i.op, 0, {}, {}};
    if (i.op == Op::external) {
      Call call{tape.calls[i.a].function, {}, {}};
      for (const std::uint32_t slot : tape.calls[i.a].arguments) call.arguments.push_back(place[slot]);
      for (const std::uint32_t slot : tape.calls[i.a].results)
        call.results.push_back(place[slot] = {Place::Kind::temporary, temporaries_++});
      step.call = static_cast<std::uint32_t>(calls_.size());
      calls_.push_back(std::move(call));
      steps_.push_back(step);
      continue;
    }
    const std::uint32_t slots[] = {i.a, i.b, i.c};
    for (int k = 0; k < operand_count(i.op); ++k) step.operand[k] = place[slots[k]];
    const Operation operation{i.op, {step.operand[0], step.operand[1], step.operand[2]}};
    const auto [it, fresh] = known_.try_emplace(operation, Place{Place::Kind::temporary, temporaries_});
    place[i.result] = step.result = it->second;
    if (!fresh) continue;
    ++temporaries_;
    steps_.push_back(step);
  }
  Places results;
  for (const auto& group : tape.outputs)
    for (const std::uint32_t slot : group) results.push_back(place[slot]);
  return results;
}

template <class Visit>
void TapeChain::for_operands(const Step& step, Visit&& visit) const {
  const auto look = [&](const Place& p) {
    if (p.kind == Place::Kind::temporary) visit(p.index);
  };
  if (step.op == Op::external)
    for (const Place& p : calls_[step.call].arguments) look(p);
  else
    for (int k = 0; k < operand_count(step.op); ++k) look(step.operand[k]);
}

template <class Visit>
void TapeChain::for_results(const Step& step, Visit&& visit) const {
  if (step.op == Op::external)
    for (const Place& p : calls_[step.call].results) visit(p.index);
  else
    visit(step.result.index);
}

void TapeChain::drop_unneeded() {
  std::vector<char> wanted(temporaries_, 0);
  for (const Places& group : outputs_)
    for (const Place& p : group)
      if (p.kind == Place::Kind::temporary) wanted[p.index] = 1;
  std::vector<Step> kept;
  for (std::size_t k = steps_.size(); k-- > 0;) {
    const Step& step = steps_[k];
    if (step.op != Op::external && !wanted[step.result.index]) continue;
    for_operands(step, [&](std::uint32_t v) { wanted[v] = 1; });
    kept.push_back(step);
  }
  steps_.assign(kept.rbegin(), kept.rend());
}

/// Calls with the same number of calls before them, on the longest way, do not need each other.
std::vector<std::uint32_t> TapeChain::groups_of_calls() const {
  constexpr std::size_t most = 4, window = 512;  // of calls; of steps, as values must be kept in between
  struct Group {
    std::uint32_t number = alone;
    std::size_t size = most, first = 0;
  };
  std::vector<std::uint32_t> calls_before(temporaries_, 0), group(steps_.size(), alone);
  std::map<std::pair<Op, std::uint32_t>, Group> open;  // by function and calls before it
  std::uint32_t count = 0;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Step& step = steps_[k];
    std::uint32_t before = 0;
    for_operands(step, [&](std::uint32_t v) { before = std::max(before, calls_before[v]); });
    if (native::is_unary_call(step.op)) {
      Group& last = open[{step.op, before}];
      if (last.size == most || k - last.first > window) last = {count++, 0, k};
      ++last.size;
      group[k] = last.number;
      ++before;
    }
    for_results(step, [&](std::uint32_t v) { calls_before[v] = before; });
  }
  return group;
}

void TapeChain::gather_calls() {
  const std::vector<std::uint32_t> group = groups_of_calls();
  std::vector<std::vector<std::uint32_t>> members;  // steps of each group
  for (std::uint32_t k = 0; k < steps_.size(); ++k) {
    if (group[k] == alone) continue;
    if (members.size() <= group[k]) members.resize(group[k] + 1);
    members[group[k]].push_back(k);
  }
  std::vector<std::uint32_t> maker(temporaries_, 0);
  for (std::uint32_t k = 0; k < steps_.size(); ++k) for_results(steps_[k], [&](std::uint32_t v) { maker[v] = k; });
  std::vector<char> listed(steps_.size(), 0), opened(steps_.size(), 0);
  std::vector<Step> order;
  std::vector<std::uint32_t> waiting;
  // each step behind all that its group needs; a group is opened by the first of its steps that is reached
  for (std::uint32_t first = 0; first < steps_.size(); ++first) {
    waiting.push_back(first);
    while (!waiting.empty()) {
      const std::uint32_t k = waiting.back();
      const std::span<const std::uint32_t> together =
          group[k] == alone ? std::span(&k, 1) : std::span(members[group[k]]);
      if (!opened[together.front()]) {
        opened[together.front()] = 1;
        for (const std::uint32_t m : together)
          for_operands(steps_[m], [&](std::uint32_t v) {
            if (!listed[maker[v]]) waiting.push_back(maker[v]);
          });
        continue;
      }
      waiting.pop_back();
      if (listed[k]) continue;
      for (const std::uint32_t m : together) {
        listed[m] = 1;
        order.push_back(steps_[m]);
      }
    }
  }
  steps_ = std::move(order);
}

std::vector<std::uint32_t> TapeChain::slots(std::uint32_t& count) const {
  constexpr std::size_t always = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> last_use(temporaries_, 0);  // number of the step
  for (std::size_t k = 0; k < steps_.size(); ++k) for_operands(steps_[k], [&](std::uint32_t v) { last_use[v] = k; });
  for (const Places& group : outputs_)
    for (const Place& p : group)
      if (p.kind == Place::Kind::temporary) last_use[p.index] = always;
  std::vector<std::uint32_t> slot(temporaries_, 0), free;
  count = 0;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    // results of a call do not take the place of its arguments
    for_results(steps_[k], [&](std::uint32_t v) {
      slot[v] = free.empty() ? count++ : free.back();
      if (!free.empty()) free.pop_back();
    });
    for_operands(steps_[k], [&](std::uint32_t v) {
      if (last_use[v] != k) return;
      free.push_back(slot[v]);
      last_use[v] = always;  // it may be an operand twice
    });
  }
  return slot;
}

Tape TapeChain::finish() {
  drop_unneeded();
  gather_calls();
  Tape tape;
  const std::vector<std::uint32_t> of_temporary = slots(tape.temporaries);
  tape.constants = std::move(constants_);
  tape.input_sizes = std::move(input_sizes_);
  const std::uint32_t first_input = tape.first_input(), first_temporary = tape.first_temporary();
  const auto slot = [&](Place p) {
    if (p.kind == Place::Kind::constant) return p.index;
    return p.kind == Place::Kind::input ? first_input + p.index : first_temporary + of_temporary[p.index];
  };
  for (const Call& call : calls_) {
    CallSite site{call.function, {}, {}};
    for (const Place p : call.arguments) site.arguments.push_back(slot(p));
    for (const Place p : call.results) site.results.push_back(slot(p));
    tape.scratch = std::max(tape.scratch, static_cast<std::uint32_t>(site.arguments.size() + site.results.size()));
    tape.calls.push_back(std::move(site));
  }
  for (const Step& step : steps_) {
    Instruction i{step.op, 0, 0, 0, 0};
    if (step.op == Op::external) {
      i.a = step.call;
    } else {
      std::uint32_t* const slots[] = {&i.a, &i.b, &i.c};
      for (int k = 0; k < operand_count(step.op); ++k) *slots[k] = slot(step.operand[k]);
      i.result = slot(step.result);
    }
    tape.code.push_back(i);
  }
  for (const Places& group : outputs_) {
    auto& slots = tape.outputs.emplace_back();
    for (const Place p : group) slots.push_back(slot(p));
  }
  *this = {};
  return tape;
}

}  // namespace saltus
