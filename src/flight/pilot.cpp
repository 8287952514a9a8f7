#include "flight/pilot.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "model/model_access.hpp"

namespace saltus {

Pilot::Seat::Seat(const FlightTape& tape, const PilotRules& rules)
    : memory(tape.step.memory()), observe(tape.observe.workspace()), guard(tape.guard.workspace()) {
  const Tape& code = tape.step.tape();
  for (const std::uint32_t size : code.input_sizes) inputs.emplace_back(size, 0.0);
  for (const auto& group : code.outputs) outputs.emplace_back(group.size(), 0.0);
  for (auto& list : inputs) in.push_back(list.data());
  for (auto& list : outputs) out.push_back(list.data());
  inputs[StepInput::rtol].front() = rules.rtol;
  std::ranges::copy(rules.atol, inputs[StepInput::atol].begin());
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

void Pilot::compile(const Tableau& tableau) {
  constexpr int most = 8;
  compiled_ = described_;
  if (++compilations_ == most) learning_ = false;
  std::vector<double> key{static_cast<double>(tableau.order), static_cast<double>(tableau.stages)};
  atlas_.identify(key);
  const auto make = [&]() -> ModelAccess::Attached {
    std::vector<std::string> missing;
    return std::make_shared<FlightCode>(compile_flight(atlas_, model_, {tableau, 1, eliminated_}, missing));
  };
  code_ = std::static_pointer_cast<const FlightCode>(ModelAccess::attached(model_, key, make));
  usable_.clear();
  act_work_.clear();
  code_place_.assign(atlas_.modes().size(), -1);
  for (std::size_t k = 0; k < code_->modes.size(); ++k) {
    const FlightMode& made = code_->modes[k];
    const auto number = static_cast<std::size_t>(made.number);
    if (can_be_flown(made)) code_place_[number] = static_cast<int>(k);
    auto& usable = usable_.emplace_back();
    auto& work = act_work_.emplace_back();
    for (const FlightEdge& edge : made.edges) {
      const auto e = static_cast<std::size_t>(edge.edge);
      const bool described = number < fired_.size() && e < fired_[number].size() && !fired_[number][e].empty();
      const FlightMode& target = code_->modes[edge.target];
      // values behind the end of a slide are kept beside those before it, see follow
      const bool apart = target.tape != made.tape || target.mode.sliding.size() >= made.mode.sliding.size();
      usable.push_back(described && apart && can_be_flown(target) &&
                       as_in_example(*code_, edge, atlas_.modes()[number].edges[e]));
      work.push_back(edge.act.workspace());
    }
  }
  seats_.clear();
  for (const FlightTape& tape : code_->tapes) seats_.push_back(std::make_unique<Seat>(tape, rules_));
  entry_ = std::make_unique<ModeEntry>(*code_);
}

bool Pilot::can_be_flown(const FlightMode& mode) const {
  return mode.mode.contacts.empty();
}

bool Pilot::take_off(const Tableau& tableau, double t, const Mode& mode, std::span<const double> x, double step) {
  if (described_ == 0) return false;
  if (!code_ || code_->tableau != &tableau || compiled_ != described_) compile(tableau);
  const int place = atlas_.find(mode);
  if (place < 0 || static_cast<std::size_t>(place) >= code_place_.size() || !(step > 0.0)) return false;
  const int number = code_place_[static_cast<std::size_t>(place)];
  if (number < 0) return false;
  const FlightMode& flown = code_->modes[static_cast<std::size_t>(number)];
  numbers_ = {ModelAccess::values(model_).parameters, mode.discrete, mode.locks};
  next_numbers_ = numbers_;
  if (!entry_->look(flown, numbers_, t, step, x.data(), all_guards(code_->tapes[flown.tape]))) return false;
  mode_ = number;
  first_ = mode;
  base_ = &first_;
  t_ = t;
  motion_ = {};
  motion_.h = step;
  stiff_ = leaves_surface_ = false;
  sit_down(flown, x.data());
  enter(flown);
  return true;
}

// --- in flight

std::span<const double> Pilot::x() const {
  return seat().inputs[StepInput::x];
}

std::span<const double> Pilot::slopes() const {
  return seat().inputs[StepInput::slope];
}

void Pilot::write_mode(Mode& mode) const {
  mode = *base_;
  mode.discrete = numbers_.discretes;
  mode.locks = numbers_.locks;
}

void Pilot::write_dense(DensePolynomial& dense) const {
  const std::vector<double>& c = seats_[last_step_.tape]->outputs[StepOutput::dense];
  const std::vector<double>& x = last_step_.x;
  dense.t0 = last_step_.t;
  dense.h = last_step_.h;
  dense.degree = code_->tableau->dense_degree;
  dense.variables = static_cast<int>(x.size());
  dense.c.resize(x.size() + c.size());
  std::ranges::copy(x, dense.c.begin());
  std::ranges::copy(c, dense.c.begin() + static_cast<std::ptrdiff_t>(x.size()));
}

/// Values and slopes at the point that entry_ has looked at.
void Pilot::sit_down(const FlightMode& mode, const double* x) {
  Seat& to = *seats_[mode.tape];
  std::copy_n(x, code_->tapes[mode.tape].n, to.inputs[StepInput::x].data());
  std::ranges::copy(entry_->slopes(), to.inputs[StepInput::slope].begin());
}

/// The rest of what entry_ has found.
void Pilot::enter(const FlightMode& mode) {
  const FlightTape& of = code_->tapes[mode.tape];
  code_->gather(mode, numbers_, seats_[mode.tape]->inputs[StepInput::data].data(), 1);
  motion_.left = entry_->left();
  motion_.next_clock = entry_->next_clock();
  clock_slopes_ = entry_->clock_slopes();
  interpolated_.clear();
  for (std::size_t k = 0; k < mode.sides.size(); ++k)
    if (mode.sides[k] != 0 && !of.affine[k]) interpolated_.push_back(of.guards[k]);
  if (!interpolated_.empty()) {
    write_mode(mode_now_);
    system_ = &model_.system(mode_now_);
  }
  due_.clear();
  for (std::size_t k = 0; k < of.clocks.size(); ++k)
    if (entry_->due()[k]) due_.push_back(departure(of.clocks[k], mode.clock_sides[k]));
  std::ranges::sort(due_);
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
  const std::size_t n = tape().n, last = static_cast<std::size_t>(code_->tableau->stages - 2) * n;
  std::copy_n(s.outputs[StepOutput::x].data(), n, s.inputs[StepInput::x].data());
  std::copy_n(s.outputs[StepOutput::slopes].data() + last, n, s.inputs[StepInput::slope].data());
  t_ = end_.t;
  return Outcome::step;
}

/// Makes a step within the tolerance, and finds the first crossing in it. False: something is not known.
bool Pilot::make_step(double limit, flight::Crossing& crossing) {
  Seat& s = seat();
  const flight::Control& control = code_->control;
  bool rejected = motion_.rejections > 0;
  double error = 0.0;
  for (;;) {
    end_ = flight::end_of_step(t_, std::min(motion_.h, rules_.max_step), std::min(limit, motion_.next_clock));
    s.inputs[StepInput::t].front() = t_;
    s.inputs[StepInput::h].front() = end_.h;
    s.inputs[StepInput::end].front() = end_.t;
    tape().step(s.in.data(), s.out.data(), s.memory);
    statistics_.evaluations += code_->tableau->all_stages() - (code_->tableau->extra_stages > 0 ? 0 : 1);
    error = s.outputs[StepOutput::error].front();
    double factor = 1.0;
    if (!(error <= 1.0) || s.outputs[StepOutput::finite].front() != 0.0) {
      factor = error < flight::infinity && error > 1.0 ? flight::factor_after_rejection(control, error)
                                                       : flight::after_not_finite;
    } else {
      crossing = find_crossing();
      if (crossing.together) return false;
      if (!crossing.coarse && !crossing.denied) break;
      factor = 0.5;
    }
    ++statistics_.rejected;
    rejected = true;
    if (!flight::shorten(motion_, t_, rules_.stop, end_.h, factor)) return false;
  }
  if (crossing.guard < 0 && end_.t >= rules_.stop) return false;
  last_step_.t = t_;
  last_step_.h = end_.h;
  last_step_.tape = mode().tape;
  last_step_.x = s.inputs[StepInput::x];
  if (!interpolated_.empty() && !proved(crossing)) return false;
  const double factor = flight::factor_after_success(control, error, rejected, motion_.last_error);
  motion_.h = end_.cut ? std::max(motion_.h, end_.h * factor) : end_.h * factor;
  motion_.rejections = 0;
  stiff_ = code_->stiffness.row >= 0 && flight::note_stiffness(motion_, [&] { return looks_stiff(); });
  return true;
}

/// The event in the step that was made: a crossing, or a time event at its end. False: it is not known.
bool Pilot::make_event(const flight::Crossing& crossing) {
  const Seat& s = seat();
  if (crossing.guard < 0) {
    x_event_ = s.outputs[StepOutput::x];
    fires_ = due_;
    return follow(end_.t, fires_, 0.0);
  }
  const auto guard = static_cast<std::size_t>(crossing.guard);
  const int fired = departure(tape().guards[guard], mode().sides[guard]);
  const int first = tape().first[guard], degree = tape().first[guard + 1] - first - 1;
  const double t = std::min(t_ + crossing.u * end_.h, end_.t);
  double slope = evaluate_bernstein(s.outputs[StepOutput::bernstein].data() + first, degree, crossing.u).slope / end_.h;
  dense_at(crossing.u, x_event_);
  if (!tape().affine[guard]) {
    entry_->evaluate(mode(), numbers_, t, x_event_.data());
    slope = entry_->guard_slopes()[guard];
  }
  return follow(t, std::span(&fired, 1), slope);
}

/// Whether the guard that began the step at zero is away from it at the end.
bool Pilot::left_behind() const {
  const Seat& s = seat();
  const auto k = static_cast<std::size_t>(motion_.left);
  const double noise = flight::rounding_of_guards * s.outputs[StepOutput::scale][k];
  return mode().sides[k] * s.outputs[StepOutput::guards][k] > noise;
}

/// Whether the next step leads away from the point, without an event. Nothing is changed by the question.
bool Pilot::leads_away() {
  const flight::Motion motion = motion_;
  const LastStep last = last_step_;
  const bool stiff = stiff_;
  flight::Crossing crossing;
  const bool away = make_step(rules_.stop, crossing) && crossing.guard < 0 && end_.t < motion_.next_clock &&
                    (motion_.left < 0 || left_behind());
  motion_ = motion;
  last_step_ = last;
  stiff_ = stiff;
  return away;
}

flight::Crossing Pilot::find_crossing() {
  const Seat& s = seat();
  const std::vector<signed char>& sides = mode().sides;
  const flight::Guards guards{static_cast<int>(sides.size()), sides.data(), tape().first.data(), tape().affine.data()};
  const flight::Course course{s.outputs[StepOutput::lower].data(),     s.outputs[StepOutput::upper].data(),
                              s.outputs[StepOutput::bernstein].data(), s.outputs[StepOutput::scale].data(),
                              s.outputs[StepOutput::rough].data(),     1};
  return flight::find_crossing(guards, course, motion_.left, t_, end_.h,
                               [&](int guard, double u) { return polish(guard, u); });
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
    const double* const in[] = {&t, x_event_.data(), s.inputs[StepInput::data].data()};
    double* const out[] = {guards_.data()};
    of.guard(in, out, s.guard);
    const double slope = evaluate_bernstein(s.outputs[StepOutput::bernstein].data() + first, degree, u).slope;
    const double next = u - guards_[k] / slope;
    if (!(next > 0.0 && next <= 1.0)) break;
    u = next;
  }
  return u;
}

/// Interpolation does not see what happens between its points: enclosures prove that no guard has left its side before
/// the crossing, or in the whole step.
bool Pilot::proved(const flight::Crossing& crossing) {
  write_dense(dense_);
  enclosure_.start(*system_, dense_);
  const FlightTape& of = tape();
  const double end = crossing.guard < 0 ? 1.0 : crossing.u;
  for (std::size_t k = 0; k < of.guards.size(); ++k)
    if (mode().sides[k] != 0 && !of.affine[k] &&
        !stays(of.guards[k], mode().sides[k], 0.0, end, static_cast<int>(k) == crossing.guard, 0))
      return false;
  return true;
}

/// Whether a guard is on its side in a part of the step. `reaches_zero`: not before the end of this part, where it is
/// zero.
bool Pilot::stays(int guard, int side, double low, double high, bool reaches_zero, int depth) {
  constexpr int deepest = 6;
  if (!enclosure_.enclose(low, high, reaches_zero ? 1 : 0, std::span(&guard, 1))) return false;
  const Interval value = enclosure_.coefficient(guard, 0);
  if (side > 0 ? value.lower > 0.0 : value.upper < 0.0) return true;
  if (reaches_zero) {
    const Interval slope = enclosure_.coefficient(guard, 1);
    if (side > 0 ? slope.upper < 0.0 : slope.lower > 0.0) return true;
  }
  if (depth == deepest) return false;
  const double middle = 0.5 * (low + high);
  return stays(guard, side, low, middle, false, depth + 1) && stays(guard, side, middle, high, reaches_zero, depth + 1);
}

/// x(t + u h) from the dense output.
void Pilot::dense_at(double u, std::vector<double>& x) const {
  const Seat& s = seat();
  const int n = static_cast<int>(tape().n);
  x.resize(tape().n);
  for (int j = 0; j < n; ++j)
    x[static_cast<std::size_t>(j)] =
        flight::dense_value(s.outputs[StepOutput::dense].data(), n, code_->tableau->dense_degree, 1, j,
                            s.inputs[StepInput::x][static_cast<std::size_t>(j)], u);
}

bool Pilot::looks_stiff() const {
  const Seat& s = seat();
  return flight::looks_stiff(code_->stiffness, static_cast<int>(tape().n), 1, end_.h, s.inputs[StepInput::x].data(),
                             s.inputs[StepInput::slope].data(), s.outputs[StepOutput::x].data(),
                             s.outputs[StepOutput::slopes].data());
}

/// An event at x_event_. `slope`: of the guard that crosses. False: no edge holds, the run is where it was and lands.
bool Pilot::follow(double t, std::span<const int> departures, double slope) {
  if (t >= rules_.stop) return false;
  const auto before = std::tuple(t_, mode_, base_, motion_);
  const std::vector<FlightEdge>& edges = mode().edges;
  const auto leads_on = [&](const FlightEdge& edge) {
    return usable_[static_cast<std::size_t>(mode_)][static_cast<std::size_t>(&edge - edges.data())] &&
           std::ranges::equal(edge.departures, departures) && try_edge(t, edge, slope);
  };
  if (std::ranges::none_of(edges, leads_on)) return false;
  // At the end of a slide a guard and its slope are zero. The loop could not begin there, so the step behind it has to
  // be one that can be flown.
  leaves_surface_ = base_->sliding.size() < std::get<const Mode*>(before)->sliding.size();
  if (!leaves_surface_ || leads_away()) return true;
  std::tie(t_, mode_, base_, motion_) = before;
  std::swap(numbers_.discretes, next_numbers_.discretes);
  std::swap(numbers_.locks, next_numbers_.locks);
  return false;
}

bool Pilot::try_edge(double t, const FlightEdge& edge, double slope) {
  constexpr double most_lost = 0.3;       // of the speed, in a reset: less is left of flights that end in rest
  constexpr double most_intervals = 2.0;  // from one event to the next, in one step: its zero would be hard to find
  const FlightMode &from = mode(), &to = code_->modes[edge.target];
  const auto place = static_cast<std::size_t>(edge.edge);
  x_next_ = x_event_;
  next_numbers_.discretes = numbers_.discretes;
  next_numbers_.locks = numbers_.locks;
  set_.resize(edge.variables.size() + edge.discretes.size());
  if (!set_.empty()) {
    const double* const in[] = {&t, x_event_.data(), numbers_.parameters.data(), numbers_.discretes.data()};
    double* const out[] = {set_.data()};
    edge.act(in, out, act_work_[static_cast<std::size_t>(mode_)][static_cast<std::size_t>(&edge - from.edges.data())]);
    for (std::size_t k = 0; k < edge.variables.size(); ++k)
      x_next_[static_cast<std::size_t>(edge.variables[k])] = set_[k];
    for (std::size_t k = 0; k < edge.discretes.size(); ++k)
      next_numbers_.discretes[static_cast<std::size_t>(edge.discretes[k])] = set_[edge.variables.size() + k];
  }
  for (const int k : code_->deciding_discretes) {
    const double wanted = to.mode.discrete[static_cast<std::size_t>(k)];
    double& value = next_numbers_.discretes[static_cast<std::size_t>(k)];
    if (value != wanted && std::ranges::find(edge.discretes, k) != edge.discretes.end()) return false;
    value = wanted;
  }
  for (const int k : code_->deciding_locks)
    next_numbers_.locks[static_cast<std::size_t>(k)] = to.mode.locks[static_cast<std::size_t>(k)];
  for (const auto& [lock, change] : edge.roundings) next_numbers_.locks[static_cast<std::size_t>(lock)] += change;
  const std::vector<int>& fired = fired_[static_cast<std::size_t>(from.number)][place];
  find_slopes_before(t, edge, fired, slope);
  const bool enters = entry_->look(to, next_numbers_, t, motion_.h, x_next_.data(), edge.at_zero);
  if (!enters) return false;
  event_.reset = !edge.variables.empty();
  if (!event_.reset && goes_on(to)) return false;
  find_slopes_after(to, fired);
  if (event_.reset && !event_.slopes_before.empty() &&
      std::abs(event_.slopes_after.front()) <= most_lost * std::abs(event_.slopes_before.front()))
    return false;

  event_.edge = {from.number, edge.edge};
  event_.t = t;
  event_.numbers_kept = edge.discretes.empty() && edge.roundings.empty();
  observe(from, numbers_, t, x_event_.data(), event_.before);
  event_.weights.clear();
  std::swap(numbers_.discretes, next_numbers_.discretes);
  std::swap(numbers_.locks, next_numbers_.locks);
  observe(to, numbers_, t, x_next_.data(), event_.after);
  mode_ = static_cast<int>(edge.target);
  base_ = &atlas_.modes()[static_cast<std::size_t>(from.number)].edges[place].example.after;
  t_ = t;
  motion_.last_error = flight::smallest_error;  // as a stepper that is started anew
  motion_.h = std::min(motion_.h, most_intervals * (t - motion_.last_event));
  motion_.last_event = t;
  sit_down(to, x_next_.data());
  enter(to);
  if (!base_->sliding.empty()) {
    model_.exit_guards(*base_, exits_);
    const std::vector<int>& guards = code_->tapes[to.tape].guards;
    for (std::size_t k = 0; k < base_->sliding.size(); ++k)
      event_.weights.push_back(
          entry_->guards()[static_cast<std::size_t>(std::ranges::find(guards, exits_[k]) - guards.begin())]);
  }
  return true;
}

/// Whether the equations behind an event are those before it. The step would then go on as if nothing had happened,
/// which flights do not do.
bool Pilot::goes_on(const FlightMode& to) {
  if (to.tape != mode().tape) return false;
  data_.resize(tape().data.size());
  code_->gather(to, next_numbers_, data_.data(), 1);
  return data_ == seat().inputs[StepInput::data];
}

/// `slope`: of the guard that crosses. Those of guards that jump because others have fired are evaluated.
void Pilot::find_slopes_before(double t, const FlightEdge& edge, const std::vector<int>& fired, double slope) {
  const FlightTape& of = tape();
  const auto find = [](const std::vector<int>& list, int k) {
    return static_cast<std::size_t>(std::ranges::find(list, k) - list.begin());
  };
  event_.slopes_before.assign(fired.size(), slope);
  bool evaluated = false;
  for (std::size_t i = 0; i < fired.size(); ++i) {
    const auto leaves = [&](int d) { return d / 2 == fired[i]; };
    if (const std::size_t clock = find(of.clocks, fired[i]); clock < of.clocks.size()) {
      event_.slopes_before[i] = clock_slopes_[clock];
    } else if (find(base_->sliding, fired[i]) < base_->sliding.size()) {
      event_.slopes_before[i] = 0.0;  // it stays zero along the surface
    } else if (const std::size_t guard = find(of.guards, fired[i]);
               guard < of.guards.size() && std::ranges::none_of(edge.departures, leaves)) {
      if (!std::exchange(evaluated, true)) entry_->evaluate(mode(), numbers_, t, x_event_.data());
      event_.slopes_before[i] = entry_->guard_slopes()[guard];
    }
  }
}

void Pilot::find_slopes_after(const FlightMode& to, const std::vector<int>& fired) {
  const FlightTape& of = code_->tapes[to.tape];
  event_.slopes_after.assign(fired.size(), 0.0);
  for (std::size_t i = 0; i < fired.size(); ++i)
    if (const auto clock = std::ranges::find(of.clocks, fired[i]); clock != of.clocks.end())
      event_.slopes_after[i] = entry_->clock_slopes()[static_cast<std::size_t>(clock - of.clocks.begin())];
    else if (const auto guard = std::ranges::find(of.guards, fired[i]); guard != of.guards.end())
      event_.slopes_after[i] = entry_->guard_slopes()[static_cast<std::size_t>(guard - of.guards.begin())];
}

void Pilot::observe(const FlightMode& mode, const FlightNumbers& numbers, double t, const double* x,
                    std::vector<double>& values) {
  values.resize(places_.size());
  if (!eliminated_.empty()) {
    const FlightTape& of = code_->tapes[mode.tape];
    data_.resize(of.data.size());
    code_->gather(mode, numbers, data_.data(), 1);
    observed_.resize(eliminated_.size());
    const double* const in[] = {&t, x, data_.data()};
    double* const out[] = {observed_.data()};
    of.observe(in, out, seats_[mode.tape]->observe);
  }
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const std::size_t place = places_[k].place;
    switch (places_[k].kind) {
      case ObservedPlace::Kind::state:
        values[k] = x[place];
        break;
      case ObservedPlace::Kind::discrete:
        values[k] = numbers.discretes[place];
        break;
      case ObservedPlace::Kind::eliminated:
        values[k] = observed_[place];
        break;
    }
  }
}

void Pilot::persist(StateArchive& archive, bool& flying, const Tableau& tableau, double t, const Mode& mode,
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
  double step = motion_.h;
  archive(step);
  if (!archive.writes()) {
    const auto saved = std::pair(learning_, compilations_);
    if (!take_off(tableau, t, mode, x, step))
      throw UsageError("the saved state is damaged: it was not saved in flight");
    std::tie(learning_, compilations_) = saved;
  }
  std::vector<double>& slope = seat().inputs[StepInput::slope];
  const std::size_t n = slope.size();
  archive(slope, motion_.last_error, motion_.last_event, motion_.last_interval, motion_.rejections, motion_.left,
          motion_.stiff_hits, motion_.stiff_misses, motion_.steps, motion_.shrinking, leaves_surface_);
  if (slope.size() != n || motion_.left >= static_cast<int>(tape().guards.size()))
    throw UsageError("the saved state is damaged: its numbers do not fit the model");
}

}  // namespace saltus
