#include "study/lane_flight.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace saltus {

struct LaneFlight::Lane {
  std::unique_ptr<FlightMember> member;
  flight::End end;
  flight::Growth growth{};
  bool fresh = true;  // its data are not yet among the inputs
};

struct LaneFlight::Group {
  Group(const FlightTask& task, std::size_t number)
      : tape_number(number), tape(task.code->tapes[number]), memory(tape.step.memory()) {
    const Tape& code = tape.step.tape();
    for (const std::uint32_t size : code.input_sizes) inputs.emplace_back(size * width, 0.0);
    for (const auto& group : code.outputs) outputs.emplace_back(group.size() * width, 0.0);
    for (auto& list : inputs) in.push_back(list.data());
    for (auto& list : outputs) out.push_back(list.data());
    std::ranges::fill(inputs[StepInput::rtol], task.rules.rtol);
    for (std::size_t j = 0; j < tape.n; ++j)
      std::fill_n(inputs[StepInput::atol].data() + j * width, width, task.rules.atol[j]);
  }

  /// Puts numbers of a lane among the inputs.
  void put(int group, std::size_t lane, const double* numbers) {
    std::vector<double>& list = inputs[static_cast<std::size_t>(group)];
    for (std::size_t k = lane; k < list.size(); k += width) list[k] = *numbers++;
  }
  flight::StepView view(std::size_t lane) const { return step_view(out.data(), lane, width); }

  std::size_t tape_number;
  const FlightTape& tape;
  std::array<Lane, width> lanes;
  int members = 0;
  std::vector<std::vector<double>> inputs, outputs;
  std::vector<const double*> in;
  std::vector<double*> out;
  TapeRunner::Memory memory;
};

LaneFlight::LaneFlight(const FlightTask& task, std::function<bool(FlightMember&)> next,
                       std::function<void(FlightMember&)> land)
    : task_(task),
      next_(std::move(next)),
      land_(std::move(land)),
      code_(*task.code, task.rules),
      host_(task, code_),
      executor_(code_),
      entry_(*task.code) {
  groups_.resize(task.code->tapes.size());
}

LaneFlight::~LaneFlight() = default;

bool LaneFlight::run(const std::function<bool()>& stop) {
  while (!stop()) {
    while (!exhausted_ && in_flight_ < most_in_flight) exhausted_ = !take_off();
    if (in_flight_ == 0 && exhausted_) return true;
    for (std::size_t tape = 0; tape < groups_.size(); ++tape) {
      gather_groups(tape);
      for (std::size_t g = 0; g < groups_[tape].size(); ++g)
        if (groups_[tape][g]->members > 0) step(*groups_[tape][g]);
    }
  }
  return false;
}

LaneFlight::Lane& LaneFlight::free_lane(std::size_t tape, Group*& group) {
  group = nullptr;
  for (const auto& candidate : groups_[tape])
    if (candidate->members < static_cast<int>(width) && (!group || candidate->members > group->members))
      group = candidate.get();
  if (!group) group = groups_[tape].emplace_back(std::make_unique<Group>(task_, tape)).get();
  ++group->members;
  return *std::ranges::find_if(group->lanes, [](const Lane& lane) { return !lane.member; });
}

/// Lanes of groups that are hardly filled move to others.
void LaneFlight::gather_groups(std::size_t tape) {
  auto& groups = groups_[tape];
  int members = 0;
  for (const auto& group : groups) members += group->members;
  while (groups.size() > 1 && static_cast<int>((groups.size() - 1) * width) >= members) {
    const auto smallest = std::ranges::min_element(groups, {}, [](const auto& g) { return g->members; });
    const std::unique_ptr<Group> dissolved = std::move(*smallest);
    groups.erase(smallest);
    for (std::size_t lane = 0; lane < width; ++lane)
      if (dissolved->lanes[lane].member) move(*dissolved, lane, tape);
  }
}

/// To a group of another tape, or another one of the same.
void LaneFlight::move(Group& from, std::size_t lane, std::size_t tape) {
  Group* to = nullptr;
  Lane& target = free_lane(tape, to);
  target = std::move(from.lanes[lane]);
  target.fresh = true;
  from.lanes[lane] = Lane{};
  --from.members;
}

/// One more member; false: there is none.
bool LaneFlight::take_off() {
  auto member = std::make_unique<FlightMember>();
  if (!next_(*member)) return false;
  if (!host_.begin(*member, entry_)) {
    member->missed = flight::Miss::no_transition;
    land_(*member);
    return true;
  }
  Group* group = nullptr;
  Lane& lane = free_lane(static_cast<std::size_t>(code_.mode_tape(member->run.mode)), group);
  lane = Lane{};
  lane.member = std::move(member);
  ++in_flight_;
  return true;
}

void LaneFlight::step(Group& group) {
  for (std::size_t l = 0; l < width; ++l) {
    Lane& lane = group.lanes[l];
    if (!lane.member) continue;
    const HostCode::State& run = lane.member->run;
    lane.end = executor_.plan(run, run.stop);
    group.inputs[StepInput::t][l] = run.t;
    group.inputs[StepInput::h][l] = lane.end.h;
    group.inputs[StepInput::end][l] = lane.end.t;
    group.put(StepInput::x, l, run.x());
    group.put(StepInput::slope, l, run.slope());
    if (std::exchange(lane.fresh, false)) group.put(StepInput::data, l, run.data());
  }
  group.tape.step(group.in.data(), group.out.data(), group.memory);
  // each is a long chain of operations; side by side, a processor works on several of them at a time
  for (std::size_t l = 0; l < width; ++l)
    if (Lane& lane = group.lanes[l]; lane.member)
      lane.growth = executor_.growth(lane.member->run.motion, group.outputs[StepOutput::error][l]);
  for (std::size_t l = 0; l < width; ++l)
    if (group.lanes[l].member) digest(group, l);
}

void LaneFlight::digest(Group& group, std::size_t l) {
  using flight::Verdict;
  Lane& lane = group.lanes[l];
  FlightMember& m = *lane.member;
  HostSink sink(host_, m);
  const flight::Judgement j = executor_.advance(m.run, lane.end, group.view(l), lane.growth, sink);
  if (j.verdict == Verdict::missed) return land(group, l, j.miss);
  if (j.verdict == Verdict::rejected) return;
  if (m.run.t >= m.run.stop || sink.enough()) {
    sink.finish(m.run);
    return land(group, l, flight::Miss::none);
  }
  if (j.verdict != Verdict::settled) return;
  lane.fresh = true;
  const auto tape = static_cast<std::size_t>(code_.mode_tape(m.run.mode));
  if (tape != group.tape_number) move(group, l, tape);
}

void LaneFlight::land(Group& group, std::size_t l, flight::Miss missed) {
  group.lanes[l].member->missed = missed;
  land_(*group.lanes[l].member);
  group.lanes[l] = Lane{};
  --group.members;
  --in_flight_;
}

}  // namespace saltus
