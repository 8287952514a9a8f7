#include "flight/pilot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "event/step_enclosure.hpp"
#include "model/model_access.hpp"

namespace saltus {

Pilot::TapeRoom::TapeRoom(const FlightTape& tape, const PilotRules& rules)
    : atol(rules.atol), memory(tape.step.memory()) {
  for (const auto& group : tape.step.tape().outputs) outputs.emplace_back(group.size(), 0.0);
  for (auto& list : outputs) out.push_back(list.data());
}

/// Enclosures of the guards that have no bounds, by the system of the mode.
class Pilot::Enclosures final : public GuardEnclosures {
 public:
  explicit Enclosures(Pilot& pilot) : pilot_(pilot) {}

  /// The run is in another mode.
  void forget_mode() { system_ = nullptr; }
  /// A step was made.
  void begin(const State& run, const flight::End& end, const flight::StepView& step) {
    run_ = &run;
    end_ = &end;
    dense_coefficients_ = step.dense;
    ready_ = false;
  }
  bool find(std::size_t guard, const flight::StepPart& part, flight::GuardRange& range) override {
    if (!ready_) prepare();
    const FlightCode& code = *pilot_.code_;
    const int number = code.tapes[code.modes[static_cast<std::size_t>(run_->mode)].tape].guards[guard];
    if (!enclosure_.enclose(part.low, part.high, 1, std::span(&number, 1))) return false;
    const Interval value = enclosure_.coefficient(number, 0), slope = enclosure_.coefficient(number, 1);
    range = {value.lower, value.upper, slope.lower, slope.upper};
    return true;
  }
  const System* system() const { return system_; }

 private:
  void prepare() {
    if (!system_) {
      pilot_.write_mode(mode_);
      system_ = &pilot_.model_.system(mode_);
    }
    pilot_.write_dense(dense_, run_->t, end_->h, run_->x_, dense_coefficients_);
    enclosure_.start(*system_, dense_);
    ready_ = true;
  }

  Pilot& pilot_;
  const State* run_ = nullptr;
  const flight::End* end_ = nullptr;
  const double* dense_coefficients_ = nullptr;
  System* system_ = nullptr;
  Mode mode_;
  DensePolynomial dense_;
  StepEnclosure enclosure_;
  bool ready_ = false;
};

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
  host_ = std::make_unique<HostCode>(*code_, ExecutorRules{.rtol = rules_.rtol,
                                                           .atol = rules_.atol,
                                                           .max_step = rules_.max_step,
                                                           .leaves_if_stiff = rules_.lands_if_stiff});
  executor_ = std::make_unique<flight::Executor<HostCode>>(*host_);
  enclosures_ = std::make_unique<Enclosures>(*this);
  host_->use(enclosures_.get());
  entry_ = std::make_unique<ModeEntry>(*code_);
  rooms_.clear();
  for (const FlightTape& tape : code_->tapes) rooms_.push_back(std::make_unique<TapeRoom>(tape, rules_));
  ready_.clear();
  weights_.clear();
  code_place_.assign(atlas_.modes().size(), -1);
  for (std::size_t k = 0; k < code_->modes.size(); ++k) {
    const FlightMode& made = code_->modes[k];
    if (can_be_flown(made)) code_place_[static_cast<std::size_t>(made.number)] = static_cast<int>(k);
    std::vector<int> exits;
    model_.exit_guards(made.mode, exits);
    const std::vector<int>& guards = code_->tapes[made.tape].guards;
    std::vector<std::size_t>& places = weights_.emplace_back();
    for (std::size_t i = 0; i < made.mode.sliding.size(); ++i)
      places.push_back(static_cast<std::size_t>(std::ranges::find(guards, exits[i]) - guards.begin()));
    for (const FlightEdge& edge : made.edges) make_ready(made, edge);
  }
  last_step_.x.resize(model_.variables().size());
  for (auto* list : {&event_.before, &event_.after}) list->resize(places_.size());
}

void Pilot::make_ready(const FlightMode& from, const FlightEdge& edge) {
  const FlightMode& to = code_->modes[edge.target];
  const auto number = static_cast<std::size_t>(from.number), place = static_cast<std::size_t>(edge.edge);
  const bool described = number < fired_.size() && place < fired_[number].size() && !fired_[number][place].empty();
  if (!described || !can_be_flown(to) || !as_in_example(*code_, edge, atlas_.modes()[number].edges[place]))
    host_->forbid(static_cast<int>(ready_.size()));
  ReadyEdge& made = ready_.emplace_back();
  made.place = {from.number, edge.edge};
  made.leaves_surface = to.mode.sliding.size() < from.mode.sliding.size();
  if (!described) return;
  for (const int guard : fired_[number][place])
    made.named.push_back({place_of(*code_, from, guard), place_of(*code_, to, guard)});
}

/// Along a surface a guard stays zero: its slope has no place.
Pilot::NamedGuard::Place Pilot::place_of(const FlightCode& code, const FlightMode& mode, int guard) {
  using Source = NamedGuard::Source;
  const FlightTape& tape = code.tapes[mode.tape];
  const auto clock = std::ranges::find(tape.clocks, guard), place = std::ranges::find(tape.guards, guard);
  if (clock != tape.clocks.end()) return {Source::clock, static_cast<std::size_t>(clock - tape.clocks.begin())};
  const bool slides = std::ranges::find(mode.mode.sliding, guard) != mode.mode.sliding.end();
  if (slides || place == tape.guards.end()) return {};
  return {Source::guard, static_cast<std::size_t>(place - tape.guards.begin())};
}

bool Pilot::take_off(FlightMethod method, double t, const Mode& mode, std::span<const double> x, double step) {
  if (described_ == 0) return false;
  if (!code_ || code_->method != method || compiled_ != described_) compile(method);
  const int place = atlas_.find(mode);
  if (place < 0 || static_cast<std::size_t>(place) >= code_place_.size() || !(step > 0.0)) return false;
  const int number = code_place_[static_cast<std::size_t>(place)];
  if (number < 0) return false;
  run_.mode = number;
  run_.t = t;
  run_.stop = rules_.stop;
  run_.max_steps = std::numeric_limits<long long>::max();
  run_.x_.assign(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(model_.variables().size()));
  run_.numbers = {ModelAccess::values(model_).parameters, mode.discrete, mode.locks};
  run_.motion = {};
  if (!begin_run(*code_, *entry_, run_, step)) return false;
  run_.motion.h = step;
  first_ = mode;
  base_ = &first_;
  leaves_surface_ = false;
  enclosures_->forget_mode();
  return true;
}

// --- in flight

void Pilot::write_mode(Mode& mode, bool numbers_alone) const {
  if (!numbers_alone) mode = *base_;
  for (std::size_t k = 0; k < mode.discrete.size(); ++k) mode.discrete[k] = run_.numbers.discretes[k];
  for (std::size_t k = 0; k < mode.locks.size(); ++k) mode.locks[k] = run_.numbers.locks[k];
}

void Pilot::write_dense(DensePolynomial& dense) const {
  write_dense(dense, last_step_.t, last_step_.h, last_step_.x, last_step_.dense);
}

void Pilot::write_dense(DensePolynomial& dense, double t, double h, std::span<const double> x,
                        const double* coefficients) const {
  dense.t0 = t;
  dense.h = h;
  dense.degree = code_->method.dense_degree();
  dense.variables = static_cast<int>(x.size());
  const std::size_t count = x.size() * static_cast<std::size_t>(dense.degree);
  dense.c.resize(x.size() + count);
  std::ranges::copy(x, dense.c.begin());
  std::copy_n(coefficients, count, dense.c.begin() + static_cast<std::ptrdiff_t>(x.size()));
}

const System* Pilot::system() const {
  return enclosures_ ? enclosures_->system() : nullptr;
}

/// Makes a step.
flight::StepView Pilot::evaluate(const State& run, const flight::End& end) {
  const FlightTape& tape = code_->tapes[code_->modes[static_cast<std::size_t>(run.mode)].tape];
  TapeRoom& room = *rooms_[static_cast<std::size_t>(&tape - code_->tapes.data())];
  const double* in[StepInput::count];
  in[StepInput::t] = &run.t;
  in[StepInput::h] = &end.h;
  in[StepInput::end] = &end.t;
  in[StepInput::x] = run.x();
  in[StepInput::slope] = run.slope();
  in[StepInput::data] = run.data();
  in[StepInput::rtol] = &rules_.rtol;
  in[StepInput::atol] = room.atol.data();
  tape.step(in, room.out.data(), room.memory);
  statistics_.evaluations += code_->method.evaluations();
  const flight::StepView step = step_view(room.out.data(), 0, 1);
  enclosures_->begin(run, end, step);
  return step;
}

/// Keeps what is told of the last step.
void Pilot::keep_step(const flight::End& end, const flight::StepView& step) {
  last_step_.t = run_.t;
  last_step_.h = end.h;
  last_step_.dense = step.dense;
  std::ranges::copy(run_.x_, last_step_.x.begin());
}

Pilot::Outcome Pilot::advance(double limit) {
  using flight::Verdict;
  const flight::Motion before = run_.motion;
  const auto land = [&] {
    run_.motion = before;
    return Outcome::land;
  };
  const Recorder recorder{*this};
  for (;;) {
    const flight::End end = executor_->plan(run_, limit);
    const flight::StepView step = evaluate(run_, end);
    flight::Judgement j = executor_->judge(run_, end, step, executor_->growth(run_.motion, step.error));
    if (j.verdict == Verdict::moves || j.verdict == Verdict::crosses || j.verdict == Verdict::falls_due) {
      if (j.t >= rules_.stop) return land();
      keep_step(end, step);
      if (j.verdict == Verdict::moves) {
        executor_->move(run_, end, step, j, recorder);
        leaves_surface_ = false;
        ++statistics_.steps;
        return Outcome::step;
      }
      j = executor_->settle(run_, end, step, j, recorder);
    }
    if (j.verdict == Verdict::missed) return land();
    if (j.verdict == Verdict::rejected) {
      ++statistics_.rejected;
      continue;
    }
    if (leaves_surface_ && !leads_away()) {
      std::swap(run_, before_event_);
      base_ = base_before_event_;
      enclosures_->forget_mode();
      leaves_surface_ = false;
      return land();
    }
    ++statistics_.steps;
    return Outcome::event;
  }
}

/// Whether the next step leads away from the point, without an event: at the end of a slide a guard and its slope are
/// zero, and the loop could not begin there. The question changes nothing but the length of that step, which becomes
/// one that is known to be good: a longer one might reach an event, or the end of the run.
bool Pilot::leads_away() {
  using flight::Verdict;
  const std::size_t count = last_step_.x.size() * static_cast<std::size_t>(code_->method.dense_degree());
  dense_copy_.assign(last_step_.dense, last_step_.dense + count);
  last_step_.dense = dense_copy_.data();
  trial_ = run_;
  for (;;) {
    const flight::End end = executor_->plan(trial_, trial_.stop);
    const flight::StepView step = evaluate(trial_, end);
    const flight::Judgement j = executor_->judge(trial_, end, step, executor_->growth(trial_.motion, step.error));
    if (j.verdict == Verdict::rejected) continue;
    if (j.verdict != Verdict::moves || end.t >= rules_.stop) return false;
    if (trial_.motion.left >= 0 && !executor_->has_left_zero(trial_, step)) return false;
    run_.motion.h = std::min(run_.motion.h, end.h);
    return true;
  }
}

/// An event: what the run records of it. The run has not changed yet.
void Pilot::note(const State& run, const flight::EventRecord<HostCode>& record) {
  const ReadyEdge& edge = ready_[static_cast<std::size_t>(record.transition)];
  const FlightEdge& made = host_->edge(record.transition);
  observe(run.mode, record.t, record.before.x, run.data(), run.discretes(), event_.before);
  observe(record.mode_after, record.t, record.after.x, record.after.data, record.after.discretes, event_.after);
  event_.edge = edge.place;
  event_.t = record.t;
  event_.reset = !made.variables.empty();
  event_.numbers_kept = made.discretes.empty() && made.roundings.empty();
  event_.jump = 0.0;
  for (std::size_t k = 0; k < event_.after.size(); ++k)
    event_.jump = std::max(event_.jump, std::abs(event_.after[k] - event_.before[k]));
  event_.slopes_before.resize(edge.named.size());
  event_.slopes_after.resize(edge.named.size());
  for (std::size_t i = 0; i < edge.named.size(); ++i) {
    event_.slopes_before[i] = slope_of(edge.named[i].before, record.before);
    event_.slopes_after[i] = slope_of(edge.named[i].after, record.after);
  }
  event_.weights.clear();
  for (const std::size_t guard : weights_[static_cast<std::size_t>(record.mode_after)])
    event_.weights.push_back(record.after.guards[guard]);
  const auto mode = static_cast<std::size_t>(edge.place.mode), place = static_cast<std::size_t>(edge.place.edge);
  leaves_surface_ = edge.leaves_surface;
  if (leaves_surface_) before_event_ = run;
  enclosures_->forget_mode();
  base_before_event_ = base_;
  base_ = &atlas_.modes()[mode].edges[place].example.after;
}

double Pilot::slope_of(const NamedGuard::Place& place, const HostCode::Point& point) {
  using Source = NamedGuard::Source;
  return place.source == Source::none    ? 0.0
         : place.source == Source::clock ? point.clock_slopes[place.number]
                                         : point.guard_slopes[place.number];
}

void Pilot::write_values(std::vector<double>& values) {
  values.resize(places_.size());
  observe(run_.mode, run_.t, run_.x(), run_.data(), run_.discretes(), values);
}

/// Observed variables at a point of a mode.
void Pilot::observe(int mode, double t, const double* x, const double* data, const double* discretes,
                    std::vector<double>& values) {
  const double* const eliminated = eliminated_.empty() ? nullptr : host_->observe(mode, t, x, data);
  const double* const from[] = {x, discretes, eliminated};  // in the order of ObservedPlace::Kind
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = from[static_cast<std::size_t>(places_[k].kind)][places_[k].place];
}

void Pilot::persist(StateArchive& archive, bool& flying, FlightMethod method, double t, const Mode& mode,
                    std::span<const double> x) {
  archive(learning_, flying, statistics_, compiled_, compilations_, fired_);
  atlas_.persist(archive);
  if (!archive.writes()) {
    ModelAccess::note_acts(model_, &acts_);
    described_ = 0;
    for (const auto& edges : fired_)
      for (const auto& guards : edges) described_ += guards.empty() ? 0 : 1;
  }
  if (!flying) return;
  flight::Motion& motion = run_.motion;
  double step = motion.h;
  archive(step);
  if (!archive.writes()) {
    const auto saved = std::pair(learning_, compilations_);
    if (!take_off(method, t, mode, x, step)) throw UsageError("the saved state is damaged: it was not saved in flight");
    std::tie(learning_, compilations_) = saved;
  }
  const std::size_t n = run_.slope_.size();
  archive(run_.slope_, run_.arrivals_, motion.last_error, motion.rejections, motion.left, motion.stiff_hits,
          motion.stiff_misses, motion.steps, motion.cause, motion.arrivals, motion.others, leaves_surface_);
  if (run_.slope_.size() != n || run_.arrivals_.size() != n + 1 ||
      motion.left >= static_cast<int>(code_->tapes[this->mode().tape].guards.size()))
    throw UsageError("the saved state is damaged: its numbers do not fit the model");
}

}  // namespace saltus
