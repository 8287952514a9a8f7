#include "study/study_flight.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

#include "model/model_access.hpp"
#include "study/scouting.hpp"

namespace saltus {

namespace {

constexpr std::int64_t most_scouts = 33;
constexpr std::int64_t fewest_members = 64;  // below, scouts would be most of the work
constexpr double tightest = 1e-8;            // beyond, automatic runs take a method of higher order

}  // namespace

StudyFlight::StudyFlight(const Study& study, int lanes) : study_(study), layout_(StudyAccess::layout(study)) {
  if (!allowed()) return;
  find_places();
  if (!why_.empty()) return;
  possible_ = scout(lanes);
}

/// Whether the plan asks for nothing that needs a Simulator.
bool StudyFlight::allowed() {
  const StudyPlan& plan = study_.plan();
  const SimulateOptions& o = plan.simulate;
  const auto need = [&](bool holds, const char* what) {
    if (!holds) why_.emplace_back(what);
  };
  need(study_.members() >= fewest_members, "there are fewer than 64 members");
  need(plan.follow == Follow::none, "members follow each other");
  need(!(plan.member_seconds < std::numeric_limits<double>::infinity()), "members have a limit on the clock");
  need(o.method == Method::automatic || o.method == Method::dopri5, "the method is neither auto nor dopri5");
  need(o.mode_methods.empty(), "modes have methods of their own");
  need(o.rtol_each.empty(), "variables have relative tolerances of their own");
  need(o.rtol >= tightest, "the relative tolerance is below 1e-8");
  need(o.inputs.empty() && study_.model().inputs().empty(), "the model has inputs");
  need(!o.stop_if_chattering && !o.stop_if_non_unique && o.shortest_interval == 0.0,
       "runs are to stop where they chatter or are not unique");
  need(o.max_events == SimulateOptions{}.max_events, "the number of events has a limit");
  need(o.initial_step == 0.0, "the first step is given");
  return why_.empty();
}

/// Where the values that are kept come from.
void StudyFlight::find_places() {
  const StudyPlan& plan = study_.plan();
  const ObservedPlaces observed(study_.model());
  const auto place_of = [&](std::size_t variable) { return observed.find(variable, eliminated_); };
  const auto counter = [&](std::size_t variable) {
    const ObservedPlace place = place_of(variable);
    if (place.kind != ObservedPlace::Kind::discrete) why_.emplace_back("what is counted is no discrete variable");
    return static_cast<int>(place.place);
  };
  for (std::size_t k = 0; k < plan.collect.size(); ++k) {
    const Collect what = plan.collect[k].what;
    if (what == Collect::count || what == Collect::first) {
      value_of_.push_back(task_.counters.size());
      task_.counters.push_back(counter(layout_.variables[k]));
    } else {
      value_of_.push_back(task_.kept.size());
      task_.kept.push_back(place_of(layout_.variables[k]));
    }
  }
  for (const std::size_t variable : layout_.dense) task_.dense.push_back(place_of(variable));
  if (plan.sampling.at == SampleAt::section)
    task_.section = counter(static_cast<std::size_t>(layout_.sampling_variable));
  if (plan.sampling.at == SampleAt::none) return;
  task_.transient = plan.sampling.transient;
  task_.keep = plan.sampling.keep;
}

/// Members in equal distances run by Simulators; what they meet is compiled.
bool StudyFlight::scout(int lanes) {
  const StudyPlan& plan = study_.plan();
  atlas_ = std::make_unique<Atlas>(study_.model());
  if (!atlas_->possible()) {
    why_.emplace_back("the model has inputs, guards with nominal values, or events that its modes alone do not decide");
    return false;
  }
  const std::int64_t scouts = std::min(most_scouts, study_.members() / 8);
  for (std::int64_t k = 0; k < scouts; ++k) {
    const std::int64_t index = k * (study_.members() - 1) / std::max<std::int64_t>(1, scouts - 1);
    try {
      const CompiledModel member = StudyAccess::member(study_, index);
      double period = 0.0;
      if (ModelAccess::same_code(member, study_.model())) saltus::scout(*atlas_, member, options_of(member, period));
    } catch (const Error&) {
      continue;  // a member whose values the model does not take
    }
  }
  code_ = compile_flight(*atlas_, study_.model(), {{&dormand_prince_5()}, lanes, eliminated_}, why_);
  drop_wrong_edges(*atlas_, code_, why_);
  for (const AtlasMode& mode : atlas_->modes()) {
    const auto found = std::ranges::find_if(code_.modes, [&](const FlightMode& m) { return m.mode == mode.mode; });
    atlas_place_.push_back(found == code_.modes.end() ? -1 : static_cast<int>(found - code_.modes.begin()));
  }
  if (code_.modes.empty()) return false;
  task_.code = &code_;
  task_.parameters = ModelAccess::values(study_.model()).parameters.size();
  const bool automatic = plan.simulate.method == Method::automatic;
  task_.max_steps = plan.simulate.max_steps;
  task_.rules = {.rtol = plan.simulate.rtol,
                 .atol = plan.simulate.atol_each,
                 .max_step = plan.simulate.max_step,
                 .watches_stiffness = automatic,
                 .leaves_if_stiff = automatic};
  if (task_.rules.atol.empty())
    for (const VariableInfo& v : study_.model().variables())
      task_.rules.atol.push_back(plan.simulate.atol * std::abs(v.nominal));
  return true;
}

/// The options of a run, and the period of its samples (0: none come with time).
SimulateOptions StudyFlight::options_of(const CompiledModel& model, double& period) const {
  const StudyPlan& plan = study_.plan();
  SimulateOptions o = plan.simulate;
  period = 0.0;
  if (plan.sampling.at != SampleAt::period) return o;
  period = plan.sampling.period;
  if (layout_.sampling_variable >= 0) {
    SimulateOptions at_start = o;
    at_start.stop = at_start.start;
    const Simulator initial(std::make_shared<CompiledModel>(model), at_start);
    period = initial.trajectory().final().at(static_cast<std::size_t>(layout_.sampling_variable));
  }
  if (!(period > 0.0) || !std::isfinite(period)) throw UsageError("the period is not a positive number");
  o.stop = o.start + static_cast<double>(plan.sampling.transient + plan.sampling.keep) * period;
  return o;
}

bool StudyFlight::begin(std::int64_t index, FlightMember& member) const try {
  const StudyPlan& plan = study_.plan();
  const CompiledModel model = StudyAccess::member(study_, index);
  if (!ModelAccess::same_code(model, study_.model())) return false;
  SimulateOptions at_start = plan.simulate;
  at_start.stop = at_start.start;
  const Simulator initial(std::make_shared<CompiledModel>(model), at_start);
  if (initial.status().code != StatusCode::success) return false;
  const int place = atlas_->find(initial.mode());
  if (place < 0 || atlas_place_[static_cast<std::size_t>(place)] < 0) return false;
  member.index = index;
  HostCode::State& run = member.run;
  run.mode = atlas_place_[static_cast<std::size_t>(place)];
  run.numbers = {ModelAccess::values(model).parameters, initial.mode().discrete, initial.mode().locks};
  run.x_.assign(initial.x().begin(), initial.x().begin() + static_cast<std::ptrdiff_t>(model.variables().size()));
  run.t = member.start = plan.simulate.start;
  run.stop = plan.simulate.stop;
  run.events = initial.trajectory().statistics().events;
  if (plan.sampling.at == SampleAt::period) {
    member.period = plan.sampling.period;
    if (layout_.sampling_variable >= 0)
      member.period = initial.trajectory().final().at(static_cast<std::size_t>(layout_.sampling_variable));
    if (!(member.period > 0.0) || !std::isfinite(member.period)) return false;
    run.stop = member.start + static_cast<double>(task_.transient + task_.keep) * member.period;
  }
  const bool transient = plan.sampling.transient > 0;
  member.window = plan.sampling.at == SampleAt::none ? std::max(member.start, plan.collect_after)
                  : !transient                       ? member.start
                  : plan.sampling.at == SampleAt::period
                      ? member.start + static_cast<double>(plan.sampling.transient) * member.period
                      : std::numeric_limits<double>::infinity();
  return run.stop > member.start;
} catch (const Error&) {
  return false;  // the run says what is wrong
}

MemberOutcome StudyFlight::outcome(const FlightMember& member) const {
  const StudyPlan& plan = study_.plan();
  MemberOutcome outcome = StudyAccess::begin(study_, member.index);
  outcome.status = static_cast<int>(StatusCode::success);
  outcome.t = member.run.t;
  const auto set = [&](FixedArray array, double value) { outcome.columns[layout_.place(array)].front() = value; };
  const std::size_t width = task_.kept.size();
  const std::size_t kept = width == 0 ? 0 : member.samples.size() / width;
  set(FixedArray::status, outcome.status);
  set(FixedArray::path, 1.0);
  set(FixedArray::steps, static_cast<double>(member.run.steps));
  set(FixedArray::events, static_cast<double>(member.run.events));
  set(FixedArray::t_end, member.run.t);
  set(FixedArray::kept, static_cast<double>(std::max<std::int64_t>(0, member.seen - task_.transient)));
  const double length = member.run.t - member.window;
  for (std::size_t k = 0; k < plan.collect.size(); ++k) {
    std::vector<double>& place = outcome.columns[layout_.collected + k];
    const std::size_t value = value_of_[k];
    const auto dense = std::ranges::find(layout_.dense, layout_.variables[k]);
    const flight::WindowSums* window = dense == layout_.dense.end() || !(length > 0.0)
                                           ? nullptr
                                           : &member.windows[static_cast<std::size_t>(dense - layout_.dense.begin())];
    std::vector<std::vector<double>> samples;
    for (std::size_t i = 0; i < kept; ++i) samples.push_back({member.samples[i * width + value]});
    switch (plan.collect[k].what) {
      case Collect::final_value:
        place.front() = member.final_values[value];
        break;
      case Collect::sample:
        for (std::size_t i = 0; i < samples.size(); ++i) place[i] = samples[i].front();
        break;
      case Collect::count:
        place.front() = member.counts[value];
        break;
      case Collect::first:
        place.front() = member.firsts[value];
        break;
      case Collect::period:
        place.front() = period_of(samples, plan.period_tolerance);
        break;
      case Collect::minimum:
        place.front() = window ? window->low : member.final_values[value];
        break;
      case Collect::maximum:
        place.front() = window ? window->high : member.final_values[value];
        break;
      case Collect::mean:
        place.front() = window ? window->integral / length : member.final_values[value];
        break;
    }
  }
  return outcome;
}

}  // namespace saltus
