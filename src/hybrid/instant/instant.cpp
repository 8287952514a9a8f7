#include "hybrid/instant/instant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "dae/round_failure.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {

/// A reset that the equations of the mode do not allow.
void note_lost_reset(const VariableInfo& info, double given, double found, std::vector<std::string>& notes) {
  if (!(std::abs(found - given) > Resolution::lost_reset * (info.nominal + std::abs(given)))) return;
  notes.push_back(
      fmt::format("the reset of {} to {:.6g} contradicts the equations, which give {:.6g}", info.name, given, found));
}

}  // namespace

Instant::Instant(HybridSystem& hybrid, int direction, int max_rounds, bool stop_if_non_unique)
    : family_guards(static_cast<int>(hybrid.guards().size())),
      hybrid_(hybrid),
      max_rounds_(max_rounds),
      trials_(hybrid, direction),
      decision_(trials_) {
  decision_.stop_if_non_unique = stop_if_non_unique;
}

bool Instant::fail(StatusCode code, std::string message, std::vector<std::string> culprits) {
  failure_ = {code, std::move(message), std::move(culprits)};
  return false;
}

void Instant::begin(const Mode& from) {
  begun_ = &from;
  fired_.clear();
  crossed_.clear();
  began_.clear();
  course_.guard = -1;
  approach_.left = nullptr;
  approach_.guard = -1;
  approach_.slide_ends = false;
  approach_.opened.clear();
  doubt().tangential = 0.0;
  decision_.begin();
  if (failure_) failure_ = {};
  view_current_ = false;
}

void Instant::place_dormant(double t) {
  const std::vector<int> dormant = hybrid_.dormant(now.mode);
  if (dormant.empty()) return;
  System& system = hybrid_.system(now.mode);
  watched_.clear();
  for (int k = 0; k < system.structure().guards; ++k)
    if (!std::binary_search(dormant.begin(), dormant.end(), k)) watched_.push_back(k);
  dormant_view_.ignore(watched_, {});
  // the function of one may contain the relation of another: it has its value once that is placed
  bool moved = true;
  for (std::size_t pass = 0; moved && pass <= dormant.size(); ++pass) {
    dormant_view_.look(hybrid_.system(now.mode), trials_.consistency(), t, now.x, now.xp, trials_.direction(),
                       doubt().time_scale, {.noise = doubt().noise});
    moved = false;
    for (const int k : dormant) {
      moved = hybrid_.follow(now.mode, k, dormant_view_.value(k), dormant_view_.side(k)) || moved;
      now.mode.sees[static_cast<std::size_t>(k)] = static_cast<signed char>(dormant_view_.side(k));
    }
  }
  copy(now.mode, refreshed_);
  begun_ = &refreshed_;
}

void Instant::forget_actions() {
  resize(transition.reset, now.x.size());
  for (char& reset : transition.reset)
    if (reset) reset = 0;  // few, as a rule: a call of memset would take longer
  reset_ = false;
  transition.terminate = transition.failed = transition.recorded = false;
  transition.message.clear();
  transition.fired.clear();
  if (!transition.contradictions.empty()) transition.contradictions.clear();
  if (!transition.notes.empty()) transition.notes.clear();
}

/// Whether it makes a difference that this guard alone has changed its side. It does not if nothing reads it on the
/// other side: `a and b` reads a while a is false, although nothing happens when it becomes true as long as b is not.
bool Instant::matters(int guard, int to_side) {
  if (hybrid_.side(now.mode, guard) != 0) return true;
  copy(*begun_, flipped_);
  hybrid_.set_side(flipped_, guard, to_side);
  return hybrid_.side(flipped_, guard) != 0;
}

void Instant::fire(int guard) {
  if (guard >= family_guards) return end_stay(guard);
  const int to_side = -hybrid_.side(*begun_, guard);
  if (to_side == 0) return;
  hybrid_.set_side(now.mode, guard, to_side);
  crossed_.push_back({trials_.named(guard), to_side});
  if (matters(trials_.named(guard), to_side)) fired_.add(trials_.named(guard), to_side);
}

/// The force of a contact has vanished, or a weight has reached 0 or 1: the surface is left.
void Instant::end_stay(int exit) {
  std::vector<int> exits;
  hybrid_.exit_guards(*begun_, exits);
  const std::vector<int>&slides = begun_->sliding, &contacts = begun_->contacts;
  for (std::size_t k = 0; k < slides.size(); ++k) {
    if (exit != exits[k] && exit != exits[k] + 1) continue;
    const int side = exit == exits[k] ? -1 : +1;
    approach_.slide_ends = true;
    doubt().tangential = Resolution::negligible_part * doubt().time_scale;
    std::erase(now.mode.sliding, slides[k]);
    hybrid_.set_side(now.mode, slides[k], side);
    return fired_.add(slides[k], side);
  }
  for (std::size_t k = 0; k < contacts.size(); ++k) {
    if (exit != exits[slides.size() + k]) continue;
    hybrid_.end_contact(now.mode, contacts[k]);
    approach_.opened.push_back({contacts[k], hybrid_.side(now.mode, contacts[k])});
    return fired_.add(contacts[k], approach_.opened.back().side);
  }
}

bool Instant::pass_by(const Arrival& arrival) {
  forget_actions();
  view_current_ = false;
  for (const Crossed& one : crossed_)
    now.mode.sees[static_cast<std::size_t>(one.guard)] = static_cast<signed char>(one.side);
  const std::uint64_t before = trial_.system ? trial_.system->structure().id.number() : 0;
  trial_.system = &hybrid_.system(now.mode);
  if (trial_.system->structure().id.number() == before || find_values(arrival.t)) return true;
  copy(*arrival.mode, now.mode);
  return false;
}

bool Instant::find_values(double t) {
  view_current_ = false;
  trial_.point.mode = now.mode;
  if (!trials_.find_values(now, {.t = t}, trial_)) {
    failure_ = trial_.failure;
    return false;
  }
  now.x = trial_.point.x;
  now.xp = trial_.point.xp;
  return true;
}

void Instant::look(double t) {
  if (view_current_) return;
  view_current_ = true;
  copy(now.mode, trial_.point.mode);
  copy(now.x, trial_.point.x);
  copy(now.xp, trial_.point.xp);
  trial_.system = &hybrid_.system(now.mode);
  copy(doubt().alternative_state, trial_.alternative);
  trials_.look(t, trial_);
}

/// One guard has crossed, and nothing but conditions depends on it: the values are known already.
[[gnu::hot]] bool Instant::crosses_plainly(const Arrival& arrival) const {
  if (arrival.terminal && fired_.guards.empty()) return true;
  return approach_.left && !arrival.initial && fired_.guards.size() == 1 && approach_.slope != 0.0 &&
         !now.mode.on_surfaces() && !begun_->on_surfaces() && !trials_.takes_paired_sides() &&
         hybrid_.same_equations(*begun_, now.mode) && hybrid_.same_time_guards(*begun_, now.mode) &&
         hybrid_.dormant(*begun_).empty() && hybrid_.dormant(now.mode).empty();
}

[[gnu::hot]] bool Instant::settle(const Arrival& arrival) {
  const auto refuse = [&] {
    copy(*arrival.mode, now.mode);
    copy(arrival.x, now.x);
    copy(arrival.xp, now.xp);
    return false;
  };
  forget_actions();
  trials_.share_doubts();
  t_ = arrival.t;
  visited_.forget();
  decided_anew_ = false;
  course_.acting_rounds = 0;
  resize(now.mode.sees, static_cast<std::size_t>(family_guards));
  passage_.begin(static_cast<std::size_t>(family_guards));
  copy(*begun_, committed_);
  resize(committed_.sees, static_cast<std::size_t>(family_guards));
  hybrid_.positions(committed_, positions_);
  circumstances_.t = arrival.t;
  circumstances_.cause = arrival.initial ? Cause::start : Cause::mode_change;
  circumstances_.set.clear();
  if (surface_edges_.follow(arrival)) return finish(arrival) == Ending::done || refuse();
  constexpr int repeated = 3;  // rounds with resets: a guard has fired, been turned round, and fired again
  bool acted = false;          // in the round before
  bool small_reset = false;    // there, a reset has changed the state by less than the tolerance
  int resets = 0;              // rounds with resets
  bool alone_known = true;     // whether other motions than the committed one exist has been looked for
  int mode_changes = 0;        // between explicit modes
  bool decided = crosses_plainly(arrival);
  if (decided && !arrival.terminal) {
    look(arrival.t);
    decided = trial_.view.multiplicity(approach_.guard) <= 1 && trials_.fits(trial_);
  }
  copy(arrival.x, before_round_.x);
  // a cascade in which each discrete variable waits for the one before takes two rounds each
  const int most = max_rounds_ + 2 * static_cast<int>(now.mode.discrete.size() + now.mode.conditions.size());
  ShrinkingRounds shrinking;
  for (int round = 0, counted = 0; counted < most; ++round, ++counted) {
    const bool first = round == 0;
    const bool as_before = decided && !acted && !first;  // neither positions nor values are new in this round
    if (!decided) {
      if (now.mode.on_surfaces()) leave_jumped_surfaces(arrival, now.mode);
      if (!decide(first)) return refuse();
      if (resets > 0 && place_turned_guards() && !decide(first)) return refuse();
      decided_anew_ = !first;
      alone_known = false;
      if (!decision_.stop_message.empty()) {
        transition.terminate = true;
        transition.message = std::exchange(decision_.stop_message, {});
        return true;
      }
    }
    if (acted && small_reset && resets >= repeated && view_current_ &&
        hold_returning(arrival, true) == Returning::held) {
      decided = false;
      copy(now.x, before_round_.x);
      continue;
    }
    bool noticed = false;
    if (!as_before) {
      commit();
      if (view_current_)
        noticed = see(arrival.initial && first);
      else
        passage_.hold();  // the last instant of a run: nothing has moved
    }
    const bool quiet = !(noticed || acted || (first && (arrival.initial || arrival.terminal)));
    if (!first || !arrival.initial) hold_followers();
    const bool arrived = passage_.pass(trials_, arrival.initial && first, quiet, now.mode.sees);
    copy(now.x, committed_x_);
    if (first && arrival.initial) copy(now.x, before_round_.x);
    acted = act(arrival, first, now);
    if (acted && course_.guard >= 0 && course_.guard < family_guards) {
      ++course_.acting_rounds;
      course_.see = now.mode.sees[static_cast<std::size_t>(trials_.named(course_.guard))];
      copy(now.mode, course_.acted);
    }
    if (transition.failed) {
      const std::string& why = transition.message;
      const StatusCode code = why.starts_with("assertion")       ? StatusCode::assertion_failed
                              : why.starts_with(no_finite_value) ? StatusCode::not_finite
                                                                 : StatusCode::too_many_mode_changes;
      fail(code, why, {transition.fired.begin(), transition.fired.end()});
    }
    if (failure_ || !allows_ambiguity(arrival.t)) return refuse();
    if (transition.terminate) return true;
    // what has acted may hide that other motions went on from the point on which it acted
    if (acted && !std::exchange(alone_known, true) &&
        !decision_.note_other_motions(arrival.t, arrived_plainly(arrival), trial_)) {
      failure_ = decision_.failure();
      return refuse();
    }
    if (!acted && arrived && !(arrival.initial && first)) {
      // what leans on a surface in which a contact begins goes elsewhere now
      const Returning returning =
          resets > 0 && view_current_ ? hold_returning(arrival, small_reset && resets >= repeated) : Returning::none;
      if (returning == Returning::denied) return refuse();
      if (returning != Returning::none) {
        decided = false;
        copy(now.x, before_round_.x);
        continue;
      }
      const Ending ending = finish(arrival);
      if (ending == Ending::failed) return refuse();
      if (ending == Ending::done) {
        surface_edges_.learn();
        return true;
      }
      acted = true;  // samples are over: others may see that
      visited_.forget();
    } else if (acted && visited_.comes_back(now, transition.fired.size(), hybrid_)) {
      failure_ = visited_.describe_cycle(arrival.t, now.mode, transition, hybrid_);
      return refuse();
    }
    if (now.mode.automaton != committed_.automaton && ++mode_changes > max_rounds_) {
      failure_ = VisitedPoints::describe_repetition(arrival.t, max_rounds_, "mode changes", transition);
      return refuse();
    }
    if (reset_ && !arrival.initial) circumstances_.cause = Cause::reset;
    if (reset_) {
      circumstances_.set.clear();
      for (std::size_t j = 0; j < transition.reset.size(); ++j)
        if (transition.reset[j]) circumstances_.set.push_back(static_cast<int>(j));
      doubt().slope_error.clear();  // the state is another one, and exact
      if (acted && round_resets_) doubt().alternative_state.clear();
      note_cancelled_resets();
    }
    if (acted && round_resets_) {
      const double moved = trials_.distance(now.x, committed_x_);
      small_reset = moved <= 1.0;
      ++resets;
      if (shrinking.note(moved)) counted = 0;
    }
    // what was decided still holds if neither the state nor the equations have changed, those of the start included
    decided = !(acted && ((arrival.initial && hybrid_.initial_conditions(now.mode)) || !same(now.x, committed_x_) ||
                          !hybrid_.same_equations(committed_, now.mode) ||
                          !hybrid_.same_time_guards(committed_, now.mode) || now.mode.on_surfaces()));
    copy(now.x, before_round_.x);
  }
  failure_ = VisitedPoints::describe_repetition(arrival.t, most, "rounds", transition);
  return refuse();
}

/// False, with a failure: two transitions were possible, and the run is to end where the solution is not unique.
bool Instant::allows_ambiguity(double t) {
  if (!decision_.stop_if_non_unique) return true;
  const auto ambiguous = std::ranges::find_if(
      transition.notes, [](const std::string& note) { return note.find(another_transition) != std::string::npos; });
  if (ambiguous == transition.notes.end()) return true;
  fail(StatusCode::non_unique, fmt::format("the transition at t = {:.12g} is ambiguous: {}", t, *ambiguous),
       {transition.fired.begin(), transition.fired.end()});
  return false;
}

/// A value that a reset has nearly cancelled is a rounding error of what it was computed from: the speed that is left
/// of two bodies after a plastic impact. A point beside it, by that error, is as good.
void Instant::note_cancelled_resets() {
  constexpr double eps = std::numeric_limits<double>::epsilon(), cancelled = 1e3 * eps;
  bool any = false;
  for (const int j : circumstances_.set) {
    const auto place = static_cast<std::size_t>(j);
    if (place >= committed_x_.size()) continue;
    const double before = std::abs(committed_x_[place]);
    if (now.x[place] == 0.0 || std::abs(now.x[place]) > cancelled * before) continue;
    if (!std::exchange(any, true)) copy(now.x, doubt().alternative_state);
    doubt().alternative_state[place] += cancelled * before;
  }
}

/// No candidate has values near those before the event, or near the start values: looks at other guesses.
bool Instant::decide_from_other_guesses(Approach& approach) {
  failure_ = decision_.failure();
  const StatusCode code = failure_.code;
  const bool no_values =
      code == StatusCode::initialisation_failed || code == StatusCode::singular_mode || code == StatusCode::not_finite;
  const bool at_start = circumstances_.cause == Cause::start;
  if (!no_values && !at_start) return false;
  decision_.forget();
  copy(now.mode, trial_.point.mode);
  trials_.consistency().search_elsewhere(true);
  const bool found = decision_.decide(now, circumstances_, approach, trial_);
  trials_.consistency().search_elsewhere(false);
  if (!found && at_start) failure_ = decision_.failure();  // which says more
  if (!found) return false;
  failure_ = {};
  if (const std::string& remark = trials_.consistency().remark(); !remark.empty() && !at_start)
    transition.notes.push_back(remark);
  return true;
}

/// The candidates of a start lead to each other: what is left of slopes that vanish may be errors of the iteration that
/// has found its values. Those that last for a tiny time only are left out.
bool Instant::decide_without_errors(Approach& approach) {
  if (circumstances_.cause != Cause::start || decision_.failure().code != StatusCode::no_forward_solution) return false;
  decision_.forget();
  copy(now.mode, trial_.point.mode);
  doubt().tangential = Resolution::negligible_part * doubt().time_scale;
  const bool found = decision_.decide(now, circumstances_, approach, trial_);
  if (!found) doubt().tangential = 0.0;
  return found;
}

bool Instant::decide(bool first) {
  Approach later;
  later.opened = approach_.opened;
  copy(now.mode, trial_.point.mode);
  Approach& approach = first ? approach_ : later;
  if (!decision_.decide(now, circumstances_, approach, trial_) && !decide_without_errors(approach) &&
      !decide_from_other_guesses(approach))
    return false;
  if (!first) approach_.opened = later.opened;
  if (!decision_.stop_message.empty()) return true;
  trial_.system = &hybrid_.system(trial_.point.mode);
  view_current_ = true;
  for (const int j : circumstances_.set)
    note_lost_reset(hybrid_.variables()[static_cast<std::size_t>(j)], now.x[static_cast<std::size_t>(j)],
                    trial_.point.x[static_cast<std::size_t>(j)], transition.notes);
  copy(trial_.point.mode, now.mode);
  copy(trial_.point.x, now.x);
  copy(trial_.point.xp, now.xp);
  copy(trial_.alternative, doubt().alternative_state);
  return true;
}

/// Notes the guards that have changed their sides.
void Instant::commit() {
  positions_.swap(positions_before_);
  hybrid_.positions(now.mode, positions_);
  for (int k = 0; k < family_guards; ++k) {
    const Position from = positions_before_[static_cast<std::size_t>(k)], to = positions_[static_cast<std::size_t>(k)];
    const int before = side_of(from), after = side_of(to);
    if (before != after && from != Position::unwatched && to != Position::unwatched)
      fired_.add(trials_.named(k), after != 0 ? after : -before);
    else if (before != 0 && before == after && trials_.has_second(k) && hybrid_.rests(committed_, k) &&
             !hybrid_.rests(now.mode, k))
      fired_.add(trials_.named(k), after);  // from rest
  }
  copy(now.mode, committed_);
}

/// Conditions see the committed guards. Returns whether one that is not zero is seen elsewhere than before.
///
/// A guard on its way is seen at zero in this round. What its position makes of others is not seen before the position
/// is: they are where they would be with that guard at zero.
[[gnu::hot]] bool Instant::see(bool initial) {
  std::vector<signed char>& sees = now.mode.sees;
  passage_.see(trial_.view, positions_, sees);
  if (passage_.unseen().empty()) return false;
  bool behind = false;
  passage_.for_each_on_its_way(initial, sees, [&](int guard) {
    if (hybrid_.side(now.mode, guard) == 0 || hybrid_.rests(now.mode, guard)) return;
    if (!std::exchange(behind, true)) copy(now.mode, flipped_);
    hybrid_.rest(flipped_, guard);
  });
  if (!behind || hybrid_.same_equations(flipped_, now.mode)) {
    passage_.show(sees);
    return true;
  }
  Question& asked = question();
  copy(flipped_, asked.trial.point.mode);
  const bool found = asked.trials.test({flipped_, initial ? now.x : before_round_.x, now.xp}, {.t = t_}, asked.trial);
  trial_.system = &hybrid_.system(now.mode);
  bool noticed = false;
  for (const GuardPassage::Unseen& guard : passage_.unseen()) {
    const bool clear = found && asked.trial.view.multiplicity(guard.guard) == 0;
    const int side = clear ? asked.trial.view.side(guard.guard) : guard.side;
    signed char& see = sees[static_cast<std::size_t>(guard.guard)];
    noticed = noticed || see != side;
    see = static_cast<signed char>(side);
  }
  return noticed;
}

/// Guards that leave zero only because others do so in the same round wait for the next one. They are zero still, and
/// what the others change in this round may keep them there: a mass at rest whose brake takes hold, `fn > 0`, would
/// begin to move if the brake were not locked by then.
void Instant::hold_followers() {
  leaving_.clear();
  passage_.for_each_leaving_zero(now.mode.sees, [&](GuardPassage::Passing& guard) { leaving_.push_back(&guard); });
  if (leaving_.size() < 2) return;
  copy(now.mode, flipped_);
  for (const GuardPassage::Passing* guard : leaving_)
    if (hybrid_.side(now.mode, guard->guard) != 0 && !hybrid_.rests(now.mode, guard->guard))
      hybrid_.rest(flipped_, guard->guard);
  if (hybrid_.same_equations(flipped_, now.mode)) return;
  Question& asked = question();
  copy(flipped_, asked.trial.point.mode);
  const bool found = asked.trials.test({flipped_, now.x, now.xp}, {.t = t_}, asked.trial);
  trial_.system = &hybrid_.system(now.mode);
  if (!found) return;
  const auto follows = [&](const GuardPassage::Passing* guard) {
    return asked.trial.view.side(guard->guard) != guard->target;
  };
  if (std::ranges::all_of(leaving_, follows)) return;
  for (GuardPassage::Passing* guard : leaving_) guard->waits = follows(guard);
}

/// What a variable of the systems may be wrong by; 0 for others.
double Instant::tolerance_of(std::string_view variable) const {
  const auto& all = hybrid_.variables();
  const auto found = std::ranges::find(all, variable, &VariableInfo::name);
  if (found == all.end()) return 0.0;
  const auto j = static_cast<std::size_t>(found - all.begin());
  const std::vector<double>& sizes = trials_.doubt.sizes;
  return trials_.doubt.relative * ((sizes.empty() ? 1.0 : sizes[std::min(j, sizes.size() - 1)]) + std::abs(now.x[j]));
}

/// One round. Returns whether anything changed.
[[gnu::hot]] bool Instant::act(const Arrival& arrival, bool first, Point& point) {
  exchange(point.mode, transition.mode);
  point.x.swap(transition.x);
  const EventInput input{.t = arrival.t,
                         .x_before = before_round_.x,
                         .xp_before = point.xp,
                         .initial = arrival.initial && first,
                         .terminal = arrival.terminal,
                         .values = this};
  reset_before_.swap(transition.reset);
  transition.reset.assign(reset_before_.size(), 0);
  const bool acted = hybrid_.transition(input, transition);
  exchange(point.mode, transition.mode);
  point.x.swap(transition.x);
  round_resets_ = transition.any_reset();
  for (std::size_t j = 0; j < reset_before_.size(); ++j)
    if (reset_before_[j]) transition.reset[j] = 1;
  reset_ = transition.any_reset();
  for (const Contradiction& c : transition.contradictions) {
    const double size = std::max({std::abs(c.first_value), std::abs(c.second_value), std::abs(c.value_before)});
    const double error = c.discrete ? 0.0 : Resolution::same_point * doubt().tolerance * size;
    if (std::abs(c.first_value - c.second_value) <= std::max(error, c.discrete ? 0.0 : tolerance_of(c.variable)))
      continue;
    const auto& all = hybrid_.observed();
    const auto info = std::ranges::find(all, c.variable, &VariableInfo::name);
    const VariableDetails details = info == all.end() ? VariableDetails{} : *info->details;
    fail(StatusCode::contradiction,
         fmt::format("at t = {:.12g} {} sets '{}' to {} and {} sets it to {}; write one clause for both conditions",
                     arrival.t, c.first, c.variable, value_text(details, c.first_value, 9), c.second,
                     value_text(details, c.second_value, 9)),
         {c.variable});
    break;
  }
  return acted;
}

Instant::Question& Instant::question() {
  if (!question_) question_ = std::make_unique<Question>(trials_);
  question_->trials.doubt = doubt();
  question_->decision.begin();
  return *question_;
}

/// The values that the equations would have with other discrete values, for the round that makes them. Positions of
/// ideal switches may change.
bool Instant::find(const Mode& mode, std::vector<double>& x, std::vector<double>& xp) {
  Question& asked = question();
  asked.trial.point.mode = mode;
  Approach unknown;
  const bool found = asked.decision.decide({committed_, transition.x, now.xp}, {.t = t_}, unknown, asked.trial) &&
                     asked.decision.stop_message.empty() && !asked.trial.jumps;
  if (trial_.system) trial_.system = &hybrid_.system(transition.mode);
  if (!found) return false;
  const auto take = [](const std::vector<double>& from, std::vector<double>& to) {
    to.assign(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(std::min(to.size(), from.size())));
  };
  take(asked.trial.point.x, x);
  take(asked.trial.point.xp, xp);
  zero_where_unclear(asked.trial, x, xp);
  return true;
}

/// A guard that is zero within its errors is zero for those who read the values: the sign that is left means nothing,
/// and what has been committed about the guard counts. What it does from there is seen in the next round.
void Instant::zero_where_unclear(const Trial& found, std::vector<double>& x, std::vector<double>& xp) const {
  std::vector<double> all = found.point.x, g(static_cast<std::size_t>(found.system->structure().guards));
  bool moved = false;
  zero_slopes_where_unclear(found, xp);
  for (const LinearGuard& guard : found.system->linear_guards()) {
    if (guard.guard >= family_guards || found.view.multiplicity(guard.guard) == 0) continue;
    double square = 0.0;
    for (const double c : guard.coefficients) square += c * c;
    if (!(square > 0.0)) continue;
    // another guard may have moved the same variables, or have the same function
    found.system->guards(t_, all, found.point.xp, g);
    const double value = g[static_cast<std::size_t>(guard.guard)];
    for (std::size_t i = 0; i < guard.variables.size(); ++i)
      all[static_cast<std::size_t>(guard.variables[i])] -= value * guard.coefficients[i] / square;
    moved = true;
  }
  if (moved) std::copy_n(all.begin(), std::min(all.size(), x.size()), x.begin());
}

/// The same for guards that are made of derivatives, as the force of a rope that an equation gives as m der(v).
void Instant::zero_slopes_where_unclear(const Trial& found, std::vector<double>& xp) const {
  constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
  System& system = *found.system;
  if (!system.structure().guards_read_xp) return;
  std::vector<double> slopes = found.point.xp, moved(static_cast<std::size_t>(system.structure().guards)), g = moved;
  for (const int k : found.view.zeros()) {
    if (k >= family_guards || found.view.multiplicity(k) == 0) continue;
    system.guards(t_, found.point.x, slopes, g);
    const double value = g[static_cast<std::size_t>(k)];
    if (value == 0.0) continue;
    std::vector<double> gradient(slopes.size(), 0.0);
    double square = 0.0;
    for (std::size_t j = 0; j < slopes.size(); ++j) {
      const double slope = slopes[j];
      slopes[j] += 1.0;
      system.guards(t_, found.point.x, slopes, moved);
      slopes[j] = slope;
      gradient[j] = moved[static_cast<std::size_t>(k)] - value;
      square += gradient[j] * gradient[j];
    }
    if (!(square > 0.0) || !std::isfinite(square)) continue;
    const std::vector<double> before = slopes;
    for (std::size_t j = 0; j < slopes.size(); ++j) {
      slopes[j] -= value * gradient[j] / square;
      if (std::abs(slopes[j]) <= rounding * std::abs(before[j])) slopes[j] = 0.0;  // rounding errors of the difference
    }
    system.guards(t_, found.point.x, slopes, moved);
    if (!(std::abs(moved[static_cast<std::size_t>(k)]) < std::abs(value))) slopes = before;  // it is not linear in them
  }
  std::copy_n(slopes.begin(), std::min(slopes.size(), xp.size()), xp.begin());
}

/// The last round has changed nothing.
Instant::Ending Instant::finish(const Arrival& arrival) {
  copy(now.mode.discrete, discrete_before_end_);
  exchange(now.mode, transition.mode);
  now.x.swap(transition.x);
  hybrid_.end_instant({.t = arrival.t,
                       .x_before = before_round_.x,
                       .xp_before = now.xp,
                       .initial = arrival.initial,
                       .terminal = arrival.terminal},
                      transition);
  exchange(now.mode, transition.mode);
  now.x.swap(transition.x);
  if (transition.failed) {
    fail(StatusCode::assertion_failed, transition.message, {transition.fired.begin(), transition.fired.end()});
    return Ending::failed;
  }
  const auto same_value = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  if (!std::ranges::equal(now.mode.discrete, discrete_before_end_, same_value)) return Ending::goes_on;
  if (!view_current_) {
    trial_.system = &hybrid_.system(now.mode);
    return Ending::done;
  }
  copy(now.mode, trial_.point.mode);
  if (!approach_.slide_ends && !arrival.terminal) {
    if (!decision_.check_uniqueness(now, arrival.t, arrived_plainly(arrival) && !reset_, trial_)) {
      failure_ = decision_.failure();
      return Ending::failed;
    }
    if (!same_but_conditions(now.mode, trial_.point.mode)) {
      now.mode = trial_.point.mode;
      now.x = trial_.point.x;
      now.xp = trial_.point.xp;
    }
  }
  trial_.system = &hybrid_.system(now.mode);
  if (!decision_.note.empty()) transition.notes.push_back(decision_.note);
  return Ending::done;
}

/// One guard has brought the solution here, and nothing but this has changed since: where it crosses its surface
/// transversally no other motion goes on.
bool Instant::arrived_plainly(const Arrival& arrival) const {
  return !arrival.initial && !decided_anew_ && fired_.guards.size() <= 1;
}

/// A surface whose function has jumped, or from which a reset has taken the state, leaves the solution where it is: its
/// guard is placed by its value.
void Instant::leave_jumped_surfaces(const Arrival& arrival, Mode& mode) {
  if (mode.automaton != begun_->automaton || !hybrid_.can_stay_on_surfaces(mode)) {
    mode.sliding.clear();
    while (!mode.contacts.empty()) hybrid_.end_contact(mode, mode.contacts.back());
    return;
  }
  const std::size_t family = hybrid_.variables().size();
  if (arrival.x.size() < family) return;
  const auto guards_at = [&](const Mode& of, std::span<const double> x, std::span<const double> xp) {
    System& system = hybrid_.system(of);
    std::vector<double> g(static_cast<std::size_t>(system.structure().guards));
    system.guards(arrival.t, x.first(family), xp.first(family), g);
    return g;
  };
  constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
  std::vector<double> smallest = doubt().sizes;  // rounding errors of projections have the size of other variables
  if (smallest.empty()) smallest.push_back(1.0);
  for (double& size : smallest) size *= rounding;
  const Mode there = without_surfaces(mode);
  const std::vector<double> before = guards_at(without_surfaces(*begun_), arrival.x, arrival.xp),
                            after = guards_at(there, now.x, now.xp);
  System& system = hybrid_.system(there);
  const std::vector<double> noise =
      GuardSides::uncertainty(system, arrival.t, std::span<const double>(now.x).first(family),
                              std::span<const double>(now.xp).first(family), std::span(&rounding, 1), smallest);
  const auto moved = [&](int k) {
    const auto place = static_cast<std::size_t>(k);
    return std::abs(after[place]) > 4.0 * (std::abs(before[place]) + noise[place]);
  };
  for (const int k : std::vector<int>(mode.sliding)) {
    if (!moved(k)) continue;
    std::erase(mode.sliding, k);
    hybrid_.set_side(mode, k, after[static_cast<std::size_t>(k)] > 0.0 ? +1 : -1);
  }
  // A contact holds a speed of zero. Where the surface or the state has got another speed the solution leaves, or the
  // resets act again: a contact carries no impulse that its clauses do not make.
  System& left = hybrid_.system(without_surfaces(*begun_));
  const auto here = std::span<const double>(now.x).first(family);
  std::vector<double> scaled(here.begin(), here.end());
  for (double& value : scaled) value *= 1.0 + Resolution::iteration;
  for (const int k : std::vector<int>(mode.contacts)) {
    const auto speed = [&](System& of, std::span<const double> x) {
      return GuardSides::speed(of, trials_.consistency(), arrival.t, x, k);
    };
    const auto began = std::ranges::find(began_, k, &BegunContact::guard);
    const double before_it = std::abs(began != began_.end() ? began->speed : speed(left, arrival.x.first(family)));
    const double after_it = speed(system, here), error = std::abs(speed(system, scaled) - after_it);
    if (moved(k) || std::abs(after_it) > 4.0 * (before_it + error)) hybrid_.end_contact(mode, k);
  }
  now.x.resize(family);
}

}  // namespace saltus
