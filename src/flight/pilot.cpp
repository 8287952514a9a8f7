#include "flight/pilot.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "model/model_access.hpp"

namespace saltus {

Pilot::Seat::Seat(const FlightTape& tape, FlightMethod method, const PilotRules& rules)
    : memory(tape.step.memory()),
      observe(tape.observe.workspace()),
      guard(tape.guard.workspace()),
      bounds(tape, method.dense_degree()) {
  const Tape& code = tape.step.tape();
  for (const std::uint32_t size : code.input_sizes) inputs.emplace_back(size, 0.0);
  for (const auto& group : code.outputs) outputs.emplace_back(group.size(), 0.0);
  for (auto& list : inputs) in.push_back(list.data());
  for (auto& list : outputs) out.push_back(list.data());
  inputs[StepInput::rtol].front() = rules.rtol;
  std::ranges::copy(rules.atol, inputs[StepInput::atol].begin());
  t = inputs[StepInput::t].data();
  h = inputs[StepInput::h].data();
  end = inputs[StepInput::end].data();
  x = inputs[StepInput::x].data();
  slope = inputs[StepInput::slope].data();
  data = inputs[StepInput::data].data();
  x_end = out[StepOutput::x];
  slopes = out[StepOutput::slopes];
  last_slope = slopes + static_cast<std::size_t>(method.stages() - 2) * tape.n;
  error = out[StepOutput::error];
  finite = out[StepOutput::finite];
  dense = out[StepOutput::dense];
  guards = out[StepOutput::guards];
  course = {out[StepOutput::lower], out[StepOutput::upper], out[StepOutput::bernstein],
            out[StepOutput::scale], out[StepOutput::rough], 1};
}

std::unique_ptr<Pilot> Pilot::make(HybridSystem& system, PilotRules rules) {
  auto* const model = dynamic_cast<CompiledModel*>(&system);
  if (!model) return nullptr;
  std::unique_ptr<Pilot> pilot(new Pilot(*model, std::move(rules)));
  return pilot->atlas_.possible() ? std::move(pilot) : nullptr;
}

Pilot::Pilot(CompiledModel& model, PilotRules rules) : model_(model), rules_(std::move(rules)), atlas_(model) {
  const ObservedPlaces observed(model);
  for (std::size_t k = 0; k < observed.size(); ++k) places_.push_back(observed.find(k, eliminated_));
}

Pilot::~Pilot() {
  ModelAccess::note_acts(model_, nullptr);
}

// --- on the ground

void Pilot::begin_learning(const Mode& mode) {
  learning_ = true;
  ModelAccess::note_acts(model_, &acts_);
  atlas_.enter(mode);
}

AtlasPlace Pilot::learn(double t, const Mode& before, const Mode& after, std::vector<int> departures,
                        std::span<const double> x_before, std::span<const double> x_after) {
  constexpr std::size_t most_modes = 64;
  const std::size_t n = model_.variables().size();
  if (atlas_.modes().size() > most_modes) {
    learning_ = false;
    return {};
  }
  atlas_.enter(before);
  const AtlasPlace place = atlas_.learn(model_, {.t = t,
                                                 .before = before,
                                                 .after = after,
                                                 .departures = std::move(departures),
                                                 .x_before = x_before.first(n),
                                                 .x_after = x_after.first(n),
                                                 .acts = acts_});
  atlas_.enter(after);
  return place;
}

void Pilot::describe(AtlasPlace edge, const std::vector<int>& fired) {
  const auto mode = static_cast<std::size_t>(edge.mode), place = static_cast<std::size_t>(edge.edge);
  if (fired_.size() <= mode) fired_.resize(mode + 1);
  if (fired_[mode].size() <= place) fired_[mode].resize(place + 1);
  if (fired_[mode][place].empty()) ++described_;
  fired_[mode][place] = fired;
}

void Pilot::compile(FlightMethod method) {
  constexpr int most = 8;
  compiled_ = described_;
  if (++compilations_ == most) learning_ = false;
  std::vector<double> key;
  method.identify(key);
  atlas_.identify(key);
  const auto make = [&]() -> ModelAccess::Attached {
    std::vector<std::string> missing;
    return std::make_shared<FlightCode>(compile_flight(atlas_, model_, {method, 1, eliminated_}, missing));
  };
  code_ = std::static_pointer_cast<const FlightCode>(ModelAccess::attached(model_, key, make));
  seats_.clear();
  for (const FlightTape& tape : code_->tapes) seats_.push_back(std::make_unique<Seat>(tape, method, rules_));
  ready_.clear();
  limits_.resize(atlas_.modes().size());
  code_place_.assign(atlas_.modes().size(), -1);
  for (const FlightMode& made : code_->modes) {
    if (can_be_flown(made)) code_place_[static_cast<std::size_t>(made.number)] = static_cast<int>(ready_.size());
    make_ready(made);
  }
  entry_ = std::make_unique<ModeEntry>(*code_);
  for (auto* list : {&x_event_, &x_next_, &last_step_.x}) list->resize(model_.variables().size());
  for (auto* list : {&event_.before, &event_.after}) list->resize(places_.size());
  observed_.resize(eliminated_.size());
  std::size_t set = 0, clocks = 0, most_changes = 0;
  for (const FlightTape& tape : code_->tapes) clocks = std::max(clocks, tape.clocks.size());
  for (const FlightMode& made : code_->modes)
    for (const FlightEdge& edge : made.edges) {
      const std::size_t given = edge.variables.size() + edge.discretes.size();
      set = std::max(set, given);
      most_changes = std::max(most_changes, given + made.mode.discrete.size() + 2 * made.mode.locks.size());
    }
  set_.resize(set);
  clock_slopes_.resize(clocks);
  changes_.resize(most_changes);
}

void Pilot::make_ready(const FlightMode& mode) {
  const FlightTape& of = code_->tapes[mode.tape];
  ReadyMode& made = ready_.emplace_back();
  made.seat = seats_[mode.tape].get();
  made.guards = {static_cast<int>(mode.sides.size()), mode.sides.data(), of.first.data(), of.affine.data()};
  for (std::size_t k = 0; k < mode.sides.size(); ++k)
    if (mode.sides[k] != 0 && !of.affine[k]) made.interpolated.push_back(of.guards[k]);
  std::vector<int> exits;
  model_.exit_guards(mode.mode, exits);
  for (std::size_t k = 0; k < mode.mode.sliding.size(); ++k)
    made.weights.push_back(static_cast<std::size_t>(std::ranges::find(of.guards, exits[k]) - of.guards.begin()));
  for (const FlightEdge& edge : mode.edges) made.edges.push_back(make_ready(mode, edge));
}

Pilot::ReadyEdge Pilot::make_ready(const FlightMode& from, const FlightEdge& edge) const {
  const FlightMode& to = code_->modes[edge.target];
  const auto number = static_cast<std::size_t>(from.number), place = static_cast<std::size_t>(edge.edge);
  const bool described = number < fired_.size() && place < fired_[number].size() && !fired_[number][place].empty();
  // values behind the end of a slide are kept beside those before it, see follow
  const bool apart = to.tape != from.tape || to.mode.sliding.size() >= from.mode.sliding.size();
  ReadyEdge made;
  made.usable =
      described && apart && can_be_flown(to) && as_in_example(*code_, edge, atlas_.modes()[number].edges[place]);
  made.work = edge.act.workspace();
  made.leaves_surface = to.mode.sliding.size() < from.mode.sliding.size();
  if (!made.usable) return made;
  for (const int k : code_->deciding_discretes) {
    const auto given = static_cast<std::size_t>(std::ranges::find(edge.discretes, k) - edge.discretes.begin());
    const double before = from.mode.discrete[static_cast<std::size_t>(k)],
                 behind = to.mode.discrete[static_cast<std::size_t>(k)];
    if (given < edge.discretes.size())
      made.wanted.emplace_back(edge.variables.size() + given, behind);
    else if (before != behind)
      made.discretes.emplace_back(k, behind);
  }
  for (const int k : code_->deciding_locks)
    if (const double behind = to.mode.locks[static_cast<std::size_t>(k)];
        from.mode.locks[static_cast<std::size_t>(k)] != behind)
      made.locks.emplace_back(k, behind);
  for (const int guard : fired_[number][place]) made.named.push_back(name(from, edge, guard));
  return made;
}

/// Slopes of guards that cross are found with the crossing; those of guards that jump because others have fired are
/// evaluated. Along a surface a guard stays zero.
Pilot::NamedGuard Pilot::name(const FlightMode& from, const FlightEdge& edge, int guard) const {
  using Source = NamedGuard::Source;
  const FlightTape &before = code_->tapes[from.tape], &after = code_->tapes[code_->modes[edge.target].tape];
  const auto find = [](const std::vector<int>& list, int k) {
    return static_cast<std::size_t>(std::ranges::find(list, k) - list.begin());
  };
  NamedGuard named{Source::crossing, Source::none, 0, 0};
  if (const std::size_t clock = find(before.clocks, guard); clock < before.clocks.size())
    std::tie(named.before, named.place_before) = std::pair(Source::clock, clock);
  else if (find(from.mode.sliding, guard) < from.mode.sliding.size())
    named.before = Source::none;
  else if (const std::size_t place = find(before.guards, guard);
           place < before.guards.size() && std::ranges::none_of(edge.departures, [&](int d) { return d / 2 == guard; }))
    std::tie(named.before, named.place_before) = std::pair(Source::guard, place);
  if (const std::size_t clock = find(after.clocks, guard); clock < after.clocks.size())
    std::tie(named.after, named.place_after) = std::pair(Source::clock, clock);
  else if (const std::size_t place = find(after.guards, guard); place < after.guards.size())
    std::tie(named.after, named.place_after) = std::pair(Source::guard, place);
  return named;
}

bool Pilot::can_be_flown(const FlightMode& mode) const {
  return mode.mode.contacts.empty();
}

bool Pilot::take_off(FlightMethod method, double t, const Mode& mode, std::span<const double> x, double step) {
  if (described_ == 0) return false;
  if (!code_ || code_->method != method || compiled_ != described_) compile(method);
  const int place = atlas_.find(mode);
  if (place < 0 || static_cast<std::size_t>(place) >= code_place_.size() || !(step > 0.0)) return false;
  const int number = code_place_[static_cast<std::size_t>(place)];
  if (number < 0) return false;
  const FlightMode& flown = code_->modes[static_cast<std::size_t>(number)];
  numbers_ = {ModelAccess::values(model_).parameters, mode.discrete, mode.locks};
  if (!entry_->look(flown, numbers_, t, step, x.data(), all_guards(code_->tapes[flown.tape]))) return false;
  mode_ = number;
  first_ = mode;
  base_ = &first_;
  t_ = t;
  motion_ = {};
  motion_.h = step;
  stiff_ = leaves_surface_ = behind_event_ = false;
  enter(flown, x.data());
  return true;
}

// --- in flight

std::span<const double> Pilot::x() const {
  return seat().inputs[StepInput::x];
}

std::span<const double> Pilot::slopes() const {
  return seat().inputs[StepInput::slope];
}

void Pilot::write_mode(Mode& mode, bool numbers_alone) const {
  if (!numbers_alone) mode = *base_;
  for (std::size_t k = 0; k < mode.discrete.size(); ++k) mode.discrete[k] = numbers_.discretes[k];
  for (std::size_t k = 0; k < mode.locks.size(); ++k) mode.locks[k] = numbers_.locks[k];
}

void Pilot::write_dense(DensePolynomial& dense) const {
  const std::vector<double>& c = last_step_.seat->outputs[StepOutput::dense];
  const std::vector<double>& x = last_step_.x;
  dense.t0 = last_step_.t;
  dense.h = last_step_.h;
  dense.degree = code_->method.dense_degree();
  dense.variables = static_cast<int>(x.size());
  dense.c.resize(x.size() + c.size());
  std::ranges::copy(x, dense.c.begin());
  std::ranges::copy(c, dense.c.begin() + static_cast<std::ptrdiff_t>(x.size()));
}

/// Begins at the point that entry_ has looked at.
void Pilot::enter(const FlightMode& mode, const double* x) {
  const FlightTape& of = code_->tapes[mode.tape];
  Seat& to = *seats_[mode.tape];
  for (std::size_t j = 0; j < of.n; ++j) {
    to.x[j] = x[j];
    to.slope[j] = entry_->slopes()[j];
  }
  for (std::size_t k = 0; k < of.data.size(); ++k) to.data[k] = entry_->data()[k];
  motion_.left = entry_->left();
  motion_.next_clock = entry_->next_clock();
  system_ = nullptr;
  due_.clear();
  for (std::size_t k = 0; k < of.clocks.size(); ++k) {
    clock_slopes_[k] = entry_->clock_slopes()[k];
    if (entry_->due()[k]) due_.push_back(departure(of.clocks[k], mode.clock_sides[k]));
  }
  if (due_.size() > 1) std::ranges::sort(due_);
}

Pilot::Outcome Pilot::advance(double limit) {
  const flight::Motion before = motion_;
  flight::Crossing crossing;
  if (!make_step(limit, crossing)) return Outcome::land;
  if (crossing.guard >= 0 || end_.t == motion_.next_clock) {
    if (!make_event(crossing)) {
      motion_ = before;
      return Outcome::land;
    }
    ++statistics_.steps;
    return Outcome::event;
  }
  ++statistics_.steps;
  Seat& s = seat();
  if (motion_.left >= 0 && left_behind()) motion_.left = -1;
  leaves_surface_ = false;
  const std::size_t n = last_step_.x.size();
  for (std::size_t j = 0; j < n; ++j) {
    s.x[j] = s.x_end[j];
    s.slope[j] = s.last_slope[j];
  }
  t_ = end_.t;
  return Outcome::step;
}

/// Makes a step within the tolerance, and finds the first crossing in it. False: something is not known.
bool Pilot::make_step(double limit, flight::Crossing& crossing) {
  const ReadyMode& now = ready();
  Seat& s = *now.seat;
  const TapeRunner& attempt = tape().step;
  const flight::Control& control = code_->control;
  const int evaluations = code_->method.evaluations();
  bool rejected = motion_.rejections > 0;
  const StepLimits& limits = limits_[static_cast<std::size_t>(mode().number)];
  const double longest =
      std::min(rules_.max_step, behind_event_ ? std::min(limits.first, limits.guards) : limits.guards);
  double error = 0.0;
  bool coarse = false;
  *s.t = t_;
  for (;;) {
    end_ = flight::end_of_step(t_, std::min(motion_.h, longest), std::min(limit, motion_.next_clock));
    *s.h = end_.h;
    *s.end = end_.t;
    attempt(s.in.data(), s.out.data(), s.memory);
    statistics_.evaluations += evaluations;
    error = *s.error;
    double factor = 1.0;
    if (!(error <= 1.0) || *s.finite != 0.0) {
      factor = error < flight::infinity && error > 1.0 ? flight::factor_after_rejection(control, error)
                                                       : flight::after_not_finite;
    } else {
      crossing = flight::find_crossing(now.guards, s.course, motion_.left, t_, end_.h,
                                       [&](int guard, double u) { return polish(guard, u); });
      if (crossing.together) return false;
      if (!crossing.coarse && !crossing.denied) break;
      coarse = true;
      factor = 0.5;
    }
    ++statistics_.rejected;
    rejected = true;
    if (!flight::shorten(motion_, t_, rules_.stop, end_.h, factor)) return false;
  }
  if (crossing.guard < 0 && end_.t >= rules_.stop) return false;
  last_step_.t = t_;
  last_step_.h = end_.h;
  last_step_.seat = &s;
  for (std::size_t j = 0; j < last_step_.x.size(); ++j) last_step_.x[j] = s.x[j];
  if (!now.interpolated.empty() && !proved(crossing)) return false;
  const double factor = flight::factor_after_success(control, error, rejected, motion_.last_error);
  motion_.h = end_.cut ? std::max(motion_.h, end_.h * factor) : end_.h * factor;
  motion_.rejections = 0;
  learn_from_step(error, rejected, coarse);
  const bool crosses = rules_.lands_if_stiff && crossing.guard >= 0;
  stiff_ = code_->stiffness.row >= 0 && flight::note_stiffness(motion_, crosses, [&] {
             return flight::looks_stiff(code_->stiffness, static_cast<int>(last_step_.x.size()), 1, end_.h, s.x,
                                        s.slope, s.x_end, s.slopes, crosses ? flight::noticeable_instability : 0.0,
                                        rules_.atol.data(), rules_.rtol);
           });
  return !(stiff_ && crosses);
}

/// Lengths of steps that had to be shortened are not tried again and again.
void Pilot::learn_from_step(double error, bool rejected, bool coarse) {
  StepLimits& limits = limits_[static_cast<std::size_t>(mode().number)];
  if (coarse)
    limits.guards = end_.h;
  else if (end_.h >= 0.9 * limits.guards)
    limits.guards *= 1.1;
  if (!behind_event_) return;
  behind_event_ = false;
  if (rejected)
    limits.first = end_.h;
  else if (error < 0.1)
    limits.first *= 1.5;
}

/// Whether the guard that began the step at zero is away from it at the end.
bool Pilot::left_behind() const {
  const Seat& s = seat();
  const auto k = static_cast<std::size_t>(motion_.left);
  const double noise = flight::rounding_of_guards * s.course.scale[k];
  return mode().sides[k] * s.guards[k] > noise;
}

/// Whether the next step leads away from the point, without an event. The question changes nothing but the length of
/// that step, which becomes one that is known to be good: a longer one might reach an event, or the end of the run.
bool Pilot::leads_away() {
  const flight::Motion motion = motion_;
  const StepLimits limits = limits_[static_cast<std::size_t>(mode().number)];
  const bool stiff = stiff_;
  step_before_ = last_step_;
  flight::Crossing crossing;
  const bool away = make_step(rules_.stop, crossing) && crossing.guard < 0 && end_.t < motion_.next_clock &&
                    (motion_.left < 0 || left_behind());
  motion_ = motion;
  motion_.h = std::min(motion_.h, end_.h);
  limits_[static_cast<std::size_t>(mode().number)] = limits;
  std::swap(last_step_, step_before_);
  stiff_ = stiff;
  behind_event_ = true;
  return away;
}

/// The zero of the guard itself, from that of its interpolation.
double Pilot::polish(int guard, double u) {
  Seat& s = seat();
  const FlightTape& of = tape();
  const auto k = static_cast<std::size_t>(guard);
  const int first = of.first[k], degree = of.first[k + 1] - first - 1;
  guards_.resize(of.guards.size());
  for (int round = 0; round < 3; ++round) {
    dense_at(u, x_event_);
    const double t = t_ + u * end_.h;
    const double* const in[] = {&t, x_event_.data(), s.data};
    double* const out[] = {guards_.data()};
    of.guard(in, out, s.guard);
    const double slope = evaluate_bernstein(s.course.bernstein + first, degree, u).slope;
    const double next = u - guards_[k] / slope;
    if (!(next > 0.0 && next <= 1.0)) break;
    u = next;
  }
  return u;
}

/// x(t + u h) from the dense output.
void Pilot::dense_at(double u, std::vector<double>& x) const {
  const Seat& s = seat();
  const int n = static_cast<int>(x.size()), degree = code_->method.dense_degree();
  for (int j = 0; j < n; ++j) x[static_cast<std::size_t>(j)] = flight::dense_value(s.dense, n, degree, 1, j, s.x[j], u);
}

void Pilot::persist(StateArchive& archive, bool& flying, FlightMethod method, double t, const Mode& mode,
                    std::span<const double> x) {
  archive(learning_, flying, statistics_, compiled_, compilations_, fired_, limits_);
  atlas_.persist(archive);
  if (!archive.writes()) {
    ModelAccess::note_acts(model_, &acts_);
    described_ = 0;
    for (const auto& edges : fired_)
      for (const auto& guards : edges) described_ += guards.empty() ? 0 : 1;
  }
  if (!flying) return;
  double step = motion_.h;
  archive(step);
  if (!archive.writes()) {
    const auto saved = std::pair(learning_, compilations_);
    if (!take_off(method, t, mode, x, step)) throw UsageError("the saved state is damaged: it was not saved in flight");
    std::tie(learning_, compilations_) = saved;
  }
  std::vector<double>& slope = seat().inputs[StepInput::slope];
  const std::size_t n = slope.size();
  archive(slope, motion_.last_error, motion_.last_event, motion_.last_interval, motion_.rejections, motion_.left,
          motion_.stiff_hits, motion_.stiff_misses, motion_.steps, motion_.shrinking, leaves_surface_, behind_event_);
  if (slope.size() != n || motion_.left >= static_cast<int>(tape().guards.size()))
    throw UsageError("the saved state is damaged: its numbers do not fit the model");
}

}  // namespace saltus
