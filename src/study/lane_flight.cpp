#include "study/lane_flight.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/finite.hpp"

namespace saltus {

struct LaneFlight::Lane {
  std::unique_ptr<FlightMember> member;
  flight::Motion motion;
  flight::End end;
  double factor = 1.0, error = 0.0;  // of the step, should it be accepted: see control_steps
  std::vector<int> due;              // clocks that fire at motion.next_clock, as departures
};

struct LaneFlight::Group {
  Group(const FlightTask& task, std::size_t number)
      : tape_number(number), tape(task.code->tapes[number]), memory(tape.step.memory()) {
    const Tape& code = tape.step.tape();
    for (const std::uint32_t size : code.input_sizes) inputs.emplace_back(size * width, 0.0);
    for (const auto& group : code.outputs) outputs.emplace_back(group.size() * width, 0.0);
    for (auto& list : inputs) in.push_back(list.data());
    for (auto& list : outputs) out.push_back(list.data());
    std::ranges::fill(inputs[StepInput::rtol], task.rtol);
    for (std::size_t j = 0; j < tape.n; ++j)
      std::fill_n(inputs[StepInput::atol].data() + j * width, width, task.atol[j]);
  }

  double* input(int group, std::size_t lane) { return inputs[static_cast<std::size_t>(group)].data() + lane; }
  const double* output(int group, std::size_t lane) const {
    return outputs[static_cast<std::size_t>(group)].data() + lane;
  }
  double t(std::size_t lane) const { return inputs[StepInput::t][lane]; }

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
    : task_(task), code_(*task.code), next_(std::move(next)), land_(std::move(land)), entry_(code_) {
  groups_.resize(code_.tapes.size());
  for (const FlightTape& tape : code_.tapes) {
    guard_work_.push_back(tape.guard.workspace());
    observe_work_.push_back(tape.observe.workspace());
    bounds_.emplace_back(tape, code_.method.dense_degree());
  }
  for (const FlightMode& mode : code_.modes) {
    needs_proof_.push_back(code_.needs_proof(mode));
    auto& list = act_work_.emplace_back();
    for (const FlightEdge& edge : mode.edges) list.push_back(edge.act.workspace());
  }
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

LaneFlight::Lane& LaneFlight::free_lane(std::size_t tape, Group*& group, std::size_t& place) {
  group = nullptr;
  for (const auto& candidate : groups_[tape])
    if (candidate->members < static_cast<int>(width) && (!group || candidate->members > group->members))
      group = candidate.get();
  if (!group) group = groups_[tape].emplace_back(std::make_unique<Group>(task_, tape)).get();
  place = 0;
  while (group->lanes[place].member) ++place;
  ++group->members;
  return group->lanes[place];
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

/// To another group; values of the step come along if the equations are the same.
void LaneFlight::move(Group& from, std::size_t lane, std::size_t tape) {
  Group* to = nullptr;
  std::size_t place = 0;
  Lane& target = free_lane(tape, to, place);
  target = std::move(from.lanes[lane]);
  --from.members;
  if (from.tape_number != tape) return;
  for (const int group : {StepInput::t, StepInput::x, StepInput::slope, StepInput::data}) {
    auto& source = from.inputs[static_cast<std::size_t>(group)];
    for (std::size_t k = 0; k * width < source.size(); ++k)
      to->inputs[static_cast<std::size_t>(group)][k * width + place] = source[k * width + lane];
  }
}

/// One more member; false: there is none.
bool LaneFlight::take_off() {
  auto member = std::make_unique<FlightMember>();
  if (!next_(*member)) return false;
  FlightMember& m = *member;
  const FlightMode& mode = code_.modes[m.mode];
  const FlightTape& tape = code_.tapes[mode.tape];
  m.counts.assign(task_.counters.size(), 0.0);
  m.firsts.assign(task_.counters.size(), std::numeric_limits<double>::quiet_NaN());
  m.windows = Windows(task_.dense.size());
  Group* group = nullptr;
  std::size_t place = 0;
  Lane& lane = free_lane(mode.tape, group, place);
  lane = Lane{};
  lane.member = std::move(member);
  ++in_flight_;
  group->inputs[StepInput::t][place] = m.t;
  if (!enter(lane, mode, m.numbers, m.x.data(), all_guards(tape))) {
    park(*group, place, Parking::no_edge);
    return true;
  }
  lane.motion.h = flight::first_step(static_cast<int>(tape.n), 1, m.x.data(), entry_.slopes().data(), task_.atol.data(),
                                     task_.rtol, std::min(m.stop - m.t, task_.max_step));
  for (std::size_t j = 0; j < tape.n; ++j) {
    group->input(StepInput::x, place)[j * width] = m.x[j];
    group->input(StepInput::slope, place)[j * width] = entry_.slopes()[j];
  }
  code_.gather(mode, m.numbers, group->input(StepInput::data, place), width);
  return true;
}

void LaneFlight::step(Group& group) {
  for (std::size_t l = 0; l < width; ++l) {
    Lane& lane = group.lanes[l];
    if (!lane.member) continue;
    lane.end = flight::end_of_step(group.t(l), std::min(lane.motion.h, task_.max_step),
                                   std::min(lane.member->stop, lane.motion.next_clock));
    group.inputs[StepInput::h][l] = lane.end.h;
    group.inputs[StepInput::end][l] = lane.end.t;
  }
  group.tape.step(group.in.data(), group.out.data(), group.memory);
  control_steps(group);
  for (std::size_t l = 0; l < width; ++l)
    if (group.lanes[l].member) digest(group, l);
}

/// Sizes of the next steps of all lanes, should theirs be accepted. Each is a long chain of operations; side by side, a
/// processor works on several of them at a time.
void LaneFlight::control_steps(Group& group) const {
  const double* const errors = group.output(StepOutput::error, 0);
  for (std::size_t l = 0; l < width; ++l) {
    Lane& lane = group.lanes[l];
    lane.error = lane.motion.last_error;
    lane.factor = flight::factor_after_success(code_.control, errors[l] <= 1.0 ? errors[l] : 1.0,
                                               lane.motion.rejections > 0, lane.error);
  }
}

void LaneFlight::digest(Group& group, std::size_t l) {
  Lane& lane = group.lanes[l];
  flight::Motion& motion = lane.motion;
  const flight::Control& control = code_.control;
  const double error = *group.output(StepOutput::error, l), size = lane.end.h;
  if (!(error <= 1.0) || *group.output(StepOutput::finite, l) != 0.0)
    return reject(group, l,
                  error < flight::infinity && error > 1.0 ? flight::factor_after_rejection(control, error)
                                                          : flight::after_not_finite);
  const flight::Crossing crossing = find_crossing(group, l);
  if (crossing.coarse || crossing.denied) return reject(group, l, 0.5);
  if (crossing.together) return park(group, l, Parking::simultaneous);
  if (needs_proof_[lane.member->mode] && !proved(group, l, crossing)) return park(group, l, Parking::unproved);
  motion.last_error = lane.error;
  motion.h = lane.end.cut ? std::max(motion.h, size * lane.factor) : size * lane.factor;
  motion.rejections = 0;
  FlightMember& m = *lane.member;
  if (++m.steps > task_.max_steps) return park(group, l, Parking::too_many_steps);
  if (task_.park_if_stiff && stiff(group, l, crossing.guard >= 0)) return park(group, l, Parking::stiff);
  if (crossing.guard >= 0) {
    const double t = std::min(group.t(l) + crossing.u * size, lane.end.t);
    see_piece(group, l, t);
    see_samples(group, l, t, false);
    x_.resize(group.tape.n);
    dense_at(group, l, crossing.u, x_.data());
    for (std::size_t j = 0; j < group.tape.n; ++j) group.input(StepInput::x, l)[j * width] = x_[j];
    group.inputs[StepInput::t][l] = t;
    const auto guard = static_cast<std::size_t>(crossing.guard);
    const int fired = departure(group.tape.guards[guard], code_.modes[m.mode].sides[guard]);
    if (!follow(group, l, std::span(&fired, 1))) park(group, l, Parking::no_edge);
    return;
  }
  const bool clock = lane.end.t == motion.next_clock;
  see_piece(group, l, lane.end.t);
  see_samples(group, l, lane.end.t, !clock);
  if (motion.left >= 0) {
    const auto k = static_cast<std::size_t>(motion.left);
    const double noise = flight::rounding_of_guards * group.output(StepOutput::scale, l)[k * width];
    if (code_.modes[m.mode].sides[k] * group.output(StepOutput::guards, l)[k * width] > noise) motion.left = -1;
  }
  const std::size_t n = group.tape.n, last = static_cast<std::size_t>(code_.method.stages() - 2) * n;
  const double* const x = group.output(StepOutput::x, l);
  const double* const slope = group.output(StepOutput::slopes, l) + last * width;
  for (std::size_t j = 0; j < n * width; j += width) {
    group.input(StepInput::x, l)[j] = x[j];
    group.input(StepInput::slope, l)[j] = slope[j];
  }
  group.inputs[StepInput::t][l] = lane.end.t;
  if (clock) {
    const std::vector<int> due = lane.due;
    if (!follow(group, l, due)) park(group, l, Parking::no_edge);
  } else if (lane.end.t == m.stop) {
    end(group, l);
  }
}

void LaneFlight::reject(Group& group, std::size_t l, double factor) {
  Lane& lane = group.lanes[l];
  if (!flight::shorten(lane.motion, group.t(l), lane.member->stop, lane.end.h, factor))
    park(group, l, Parking::step_size);
}

flight::Crossing LaneFlight::find_crossing(Group& group, std::size_t l) {
  const Lane& lane = group.lanes[l];
  const std::vector<signed char>& sides = code_.modes[lane.member->mode].sides;
  const flight::Guards guards{static_cast<int>(sides.size()), sides.data(), group.tape.first.data(),
                              group.tape.affine.data()};
  const flight::Course course{group.output(StepOutput::lower, l),     group.output(StepOutput::upper, l),
                              group.output(StepOutput::bernstein, l), group.output(StepOutput::scale, l),
                              group.output(StepOutput::rough, l),     flight_lanes};
  return flight::find_crossing(guards, course, lane.motion.left, group.t(l), lane.end.h,
                               [&](int guard, double u) { return polish(group, l, guard, u); });
}

/// The zero of the guard itself, from that of its interpolation.
double LaneFlight::polish(Group& group, std::size_t l, int guard, double u) {
  const auto k = static_cast<std::size_t>(guard);
  const int first = group.tape.first[k], degree = group.tape.first[k + 1] - first - 1;
  double b[highest_crossing_degree + 1];
  for (int i = 0; i <= degree; ++i)
    b[i] = group.output(StepOutput::bernstein, l)[static_cast<std::size_t>(first + i) * width];
  x_.resize(group.tape.n);
  guards_.resize(group.tape.guards.size());
  data_.resize(group.tape.data.size());
  for (std::size_t d = 0; d < data_.size(); ++d) data_[d] = group.input(StepInput::data, l)[d * width];
  for (int round = 0; round < 3; ++round) {
    dense_at(group, l, u, x_.data());
    const double t = group.t(l) + u * group.lanes[l].end.h;
    const double* const in[] = {&t, x_.data(), data_.data()};
    double* const out[] = {guards_.data()};
    group.tape.guard(in, out, guard_work_[group.tape_number]);
    const double next = u - guards_[k] / evaluate_bernstein(b, degree, u).slope;
    if (!(next > 0.0 && next <= 1.0)) break;
    u = next;
  }
  return u;
}

/// Whether no guard that is not affine has left its side before the crossing, or in the whole step.
bool LaneFlight::proved(Group& group, std::size_t l, const flight::Crossing& crossing) {
  const Lane& lane = group.lanes[l];
  StepBounds& bounds = bounds_[group.tape_number];
  bounds.start({.t = group.t(l),
                .h = lane.end.h,
                .x = group.input(StepInput::x, l),
                .dense = group.output(StepOutput::dense, l),
                .data = group.input(StepInput::data, l),
                .stride = width});
  return bounds.all_stay(code_.modes[lane.member->mode].sides, crossing, lane.motion.left,
                         [](std::size_t, const flight::StepPart&) { return false; });
}

/// x(t + u h) from the dense output.
void LaneFlight::dense_at(const Group& group, std::size_t l, double u, double* x) const {
  const int n = static_cast<int>(group.tape.n);
  for (int j = 0; j < n; ++j)
    x[j] = flight::dense_value(group.output(StepOutput::dense, l), n, code_.method.dense_degree(), flight_lanes, j,
                               group.inputs[StepInput::x][static_cast<std::size_t>(j) * width + l], u);
}

/// Samples before `t_end`, or up to it, in the step that has just been made.
void LaneFlight::see_samples(Group& group, std::size_t l, double t_end, bool inclusive) {
  FlightMember& m = *group.lanes[l].member;
  if (m.period == 0.0) return;
  while (m.seen + 1 < task_.transient + task_.keep) {
    const double t = m.start + static_cast<double>(m.seen + 1) * m.period;
    if (!(t < t_end || (inclusive && t == t_end))) return;
    ++m.seen;
    if (m.seen <= task_.transient) continue;
    x_.resize(group.tape.n);
    dense_at(group, l, (t - group.t(l)) / group.lanes[l].end.h, x_.data());
    keep_values(m, t, x_.data(), m.samples);
  }
}

/// Extrema and means up to `t_end`, in the step that has just been made.
void LaneFlight::see_piece(Group& group, std::size_t l, double t_end) {
  FlightMember& m = *group.lanes[l].member;
  const double t = group.t(l), begin = std::max(t, m.window), h = group.lanes[l].end.h;
  if (task_.dense.empty() || !(t_end > begin)) return;
  piece_.resize(group.tape.n);
  m.windows.see(begin, t_end, code_.method.dense_degree(), [&](double when, bool, std::span<double> values) {
    dense_at(group, l, (when - t) / h, piece_.data());
    evaluate(m, task_.dense, when, piece_.data(), values.data());
  });
}

/// Values at a point of the member's mode.
void LaneFlight::evaluate(const FlightMember& m, std::span<const ObservedPlace> places, double t, const double* x,
                          double* out) {
  const FlightMode& mode = code_.modes[m.mode];
  bool observed = false;
  for (const ObservedPlace& place : places) {
    if (place.kind == ObservedPlace::Kind::eliminated && !observed) {
      const FlightTape& tape = code_.tapes[mode.tape];
      data_.resize(tape.data.size());
      code_.gather(mode, m.numbers, data_.data(), 1);
      observed_.resize(tape.observe.tape().outputs.front().size());
      const double* const in[] = {&t, x, data_.data()};
      double* const outs[] = {observed_.data()};
      tape.observe(in, outs, observe_work_[mode.tape]);
      observed = true;
    }
    switch (place.kind) {
      case ObservedPlace::Kind::state:
        *out++ = x[place.place];
        break;
      case ObservedPlace::Kind::discrete:
        *out++ = m.numbers.discretes[place.place];
        break;
      case ObservedPlace::Kind::eliminated:
        *out++ = observed_[place.place];
        break;
    }
  }
}

/// What is kept of a point, appended to `out`.
void LaneFlight::keep_values(const FlightMember& m, double t, const double* x, std::vector<double>& out) {
  out.resize(out.size() + task_.kept.size());
  evaluate(m, task_.kept, t, x, out.data() + out.size() - task_.kept.size());
}

/// An event at the present time and state. False: no edge holds, and the member has not moved.
bool LaneFlight::follow(Group& group, std::size_t l, std::span<const int> departures) {
  const FlightMode& mode = code_.modes[group.lanes[l].member->mode];
  for (const FlightEdge& edge : mode.edges)
    if (std::ranges::equal(edge.departures, departures) && try_edge(group, l, edge)) return true;
  return false;
}

bool LaneFlight::try_edge(Group& group, std::size_t l, const FlightEdge& edge) {
  Lane& lane = group.lanes[l];
  FlightMember& m = *lane.member;
  const FlightMode &from = code_.modes[m.mode], &to = code_.modes[edge.target];
  const double t = group.t(l);
  std::vector<double>& x = x_;
  x.resize(group.tape.n);
  for (std::size_t j = 0; j < group.tape.n; ++j) x[j] = group.input(StepInput::x, l)[j * width];
  numbers_ = m.numbers;
  set_.resize(edge.variables.size() + edge.discretes.size());
  if (!set_.empty()) {
    const double* const in[] = {&t, x.data(), m.numbers.parameters.data(), m.numbers.discretes.data()};
    double* const out[] = {set_.data()};
    edge.act(in, out, act_work_[m.mode][static_cast<std::size_t>(&edge - from.edges.data())]);
    if (!all_finite(set_)) return false;
    for (std::size_t k = 0; k < edge.variables.size(); ++k) x[static_cast<std::size_t>(edge.variables[k])] = set_[k];
    for (std::size_t k = 0; k < edge.discretes.size(); ++k)
      numbers_.discretes[static_cast<std::size_t>(edge.discretes[k])] = set_[edge.variables.size() + k];
  }
  for (const int k : code_.deciding_discretes) {
    const double wanted = to.mode.discrete[static_cast<std::size_t>(k)];
    double& value = numbers_.discretes[static_cast<std::size_t>(k)];
    if (value != wanted && std::ranges::find(edge.discretes, k) != edge.discretes.end()) return false;
    value = wanted;
  }
  for (const int k : code_.deciding_locks)
    numbers_.locks[static_cast<std::size_t>(k)] = to.mode.locks[static_cast<std::size_t>(k)];
  for (const auto& [lock, change] : edge.roundings) numbers_.locks[static_cast<std::size_t>(lock)] += change;
  m.t = t;
  if (!enter(lane, to, numbers_, x.data(), edge.at_zero)) return false;

  ++m.events;
  const bool accumulates = flight::note_event(lane.motion, t);
  for (std::size_t k = 0; k < task_.counters.size(); ++k) {
    const auto counter = static_cast<std::size_t>(task_.counters[k]);
    const double more = numbers_.discretes[counter] - m.numbers.discretes[counter];
    if (more == 0.0 || !(t > m.window || m.window == m.start)) continue;
    m.counts[k] += more;
    if (std::isnan(m.firsts[k])) m.firsts[k] = t;
  }
  const bool section = task_.section >= 0 && numbers_.discretes[static_cast<std::size_t>(task_.section)] !=
                                                 m.numbers.discretes[static_cast<std::size_t>(task_.section)];
  std::swap(m.numbers, numbers_);
  m.mode = edge.target;
  Group* now = &group;
  std::size_t place = l;
  if (to.tape != group.tape_number) {
    Lane& target = free_lane(to.tape, now, place);
    target = std::move(lane);
    lane = Lane{};
    --group.members;
  }
  now->inputs[StepInput::t][place] = t;
  for (std::size_t j = 0; j < now->tape.n; ++j) {
    now->input(StepInput::x, place)[j * width] = x[j];
    now->input(StepInput::slope, place)[j * width] = entry_.slopes()[j];
  }
  code_.gather(to, m.numbers, now->input(StepInput::data, place), width);
  if (section) {
    ++m.seen;
    if (m.seen > task_.transient) keep_values(m, t, x.data(), m.samples);
    if (m.seen == task_.transient) m.window = t;
  }
  if (accumulates)
    park(*now, place, Parking::accumulation);
  else if (t >= m.stop || (section && m.seen >= task_.transient + task_.keep))
    end(*now, place);
  return true;
}

/// Looks whether a point is one of the mode. The lane then knows its next clocks and the guard that is zero.
bool LaneFlight::enter(Lane& lane, const FlightMode& mode, const FlightNumbers& numbers, const double* x,
                       const std::vector<int>& at_zero) {
  const double t = lane.member->t, h = lane.motion.h > 0.0 ? lane.motion.h : 1e-3 * (lane.member->stop - t);
  if (!entry_.look(mode, numbers, t, h, x, at_zero)) return false;
  const FlightTape& tape = code_.tapes[mode.tape];
  lane.motion.left = entry_.left();
  lane.motion.next_clock = entry_.next_clock();
  lane.due.clear();
  for (std::size_t k = 0; k < tape.clocks.size(); ++k)
    if (entry_.due()[k]) lane.due.push_back(departure(tape.clocks[k], mode.clock_sides[k]));
  std::ranges::sort(lane.due);
  return true;
}

bool LaneFlight::stiff(Group& group, std::size_t l, bool crosses) {
  if (code_.stiffness.row < 0) return false;
  Lane& lane = group.lanes[l];
  return flight::note_stiffness(lane.motion, crosses, [&] {
    return flight::looks_stiff(code_.stiffness, static_cast<int>(group.tape.n), flight_lanes, lane.end.h,
                               group.input(StepInput::x, l), group.input(StepInput::slope, l),
                               group.output(StepOutput::x, l), group.output(StepOutput::slopes, l),
                               crosses ? flight::noticeable_instability : 0.0, task_.atol.data(), task_.rtol);
  });
}

void LaneFlight::park(Group& group, std::size_t l, Parking why) {
  group.lanes[l].member->parked = why;
  land_(*group.lanes[l].member);
  group.lanes[l] = Lane{};
  --group.members;
  --in_flight_;
}

/// The member has reached its end.
void LaneFlight::end(Group& group, std::size_t l) {
  FlightMember& m = *group.lanes[l].member;
  m.t = group.t(l);
  x_.resize(group.tape.n);
  for (std::size_t j = 0; j < group.tape.n; ++j) x_[j] = group.input(StepInput::x, l)[j * width];
  keep_values(m, m.t, x_.data(), m.final_values);
  if (m.period != 0.0 && m.t >= m.stop)
    for (; m.seen < task_.transient + task_.keep; ++m.seen)
      if (m.seen >= task_.transient) m.samples.insert(m.samples.end(), m.final_values.begin(), m.final_values.end());
  land_(m);
  group.lanes[l] = Lane{};
  --group.members;
  --in_flight_;
}

}  // namespace saltus
