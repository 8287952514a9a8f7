#include "program/tape_chain.hpp"

#include <algorithm>
#include <utility>

namespace saltus {

TapeChain::Places TapeChain::input(std::size_t count) {
  input_sizes_.push_back(static_cast<std::uint32_t>(count));
  Places places;
  for (std::size_t k = 0; k < count; ++k) places.push_back({Place::Kind::input, inputs_++});
  return places;
}

TapeChain::Places TapeChain::append(const Tape& tape, std::span<const Place> arguments) {
  const std::uint32_t first_input = tape.first_input(), first_temporary = tape.first_temporary();
  if (arguments.size() != first_temporary - first_input)
    throw UsageError("TapeChain: a tape with " + std::to_string(first_temporary - first_input) + " inputs was given " +
                     std::to_string(arguments.size()) + " arguments");
  const auto constants_before = static_cast<std::uint32_t>(constants_.size());
  constants_.insert(constants_.end(), tape.constants.begin(), tape.constants.end());
  const std::uint32_t temporaries_before = temporaries_;
  temporaries_ += tape.temporaries;
  const auto place = [&](std::uint32_t slot) -> Place {
    if (slot < first_input) return {Place::Kind::constant, constants_before + slot};
    if (slot < first_temporary) return arguments[slot - first_input];
    return {Place::Kind::temporary, temporaries_before + slot - first_temporary};
  };
  for (const Instruction& i : tape.code) {
    Step step{i.op, 0, {}, {}};
    if (i.op == Op::external) {
      Call call{tape.calls[i.a].function, {}, {}};
      for (const std::uint32_t slot : tape.calls[i.a].arguments) call.arguments.push_back(place(slot));
      for (const std::uint32_t slot : tape.calls[i.a].results) call.results.push_back(place(slot));
      step.call = static_cast<std::uint32_t>(calls_.size());
      calls_.push_back(std::move(call));
    } else {
      const std::uint32_t slots[] = {i.a, i.b, i.c};
      for (int k = 0; k < operand_count(i.op); ++k) step.operand[k] = place(slots[k]);
      step.result = place(i.result);
    }
    steps_.push_back(step);
  }
  Places results;
  for (const auto& group : tape.outputs)
    for (const std::uint32_t slot : group) results.push_back(place(slot));
  return results;
}

Tape TapeChain::finish() {
  Tape tape;
  tape.constants = std::move(constants_);
  tape.input_sizes = std::move(input_sizes_);
  tape.temporaries = temporaries_;
  const std::uint32_t starts[] = {0, tape.first_input(), tape.first_temporary()};
  const auto slot = [&](Place p) { return starts[static_cast<std::size_t>(p.kind)] + p.index; };
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
