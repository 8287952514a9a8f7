#include "sens/guard_orders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace saltus {

GuardOrders::GuardOrders(CompiledModel& model, LinearModes& modes, ActTangents& acts, double t, const Mode& mode,
                         std::vector<double> x)
    : model_(model), modes_(modes), acts_(acts), t_(t), mode_(mode), x_(std::move(x)) {
  mode_.sees.assign(model.guards().size(), 0);
  for (std::size_t k = 0; k < mode_.sees.size(); ++k)
    mode_.sees[k] = static_cast<signed char>(model.side(mode_, static_cast<int>(k)));
  Transition transition{.mode = mode_, .x = x_, .reset = std::vector<char>(x_.size(), 0)};
  const std::vector<double> slopes(x_.size(), 0.0);
  model_.transition({.t = t, .x_before = x_, .xp_before = slopes, .quiet = true}, transition);
  mode_.conditions = transition.mode.conditions;
}

bool GuardOrders::same_surface(int a, int b) const {
  const std::vector<GuardInfo>& infos = model_.guards();
  return a == b || infos[static_cast<std::size_t>(a)].same_as == b || infos[static_cast<std::size_t>(b)].same_as == a;
}

/// Locks a guard, and those with the same function, on a side.
void GuardOrders::set_side(Mode& mode, int guard, int side) const {
  for (int k = 0; k < static_cast<int>(model_.guards().size()); ++k) {
    if (!same_surface(k, guard) || model_.side(mode, k) == 0) continue;
    model_.set_side(mode, k, side);
    mode.sees[static_cast<std::size_t>(k)] = static_cast<signed char>(side);
  }
}

GuardOrders::Rate GuardOrders::rate(const LinearPoint& point, const Mode& mode, int guard) {
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
  Rate result{.gradient = point.mode().gradient(system.equations().guards[static_cast<std::size_t>(guard)])};
  point.evaluate(result.gradient);
  const std::vector<double> rates = point.rates();
  for (const Gradient::Entry& e : result.gradient.entries()) {
    const double moves = e.group == LinearMode::by_time      ? 1.0
                         : e.group == LinearMode::by_unknown ? rates[e.place]
                                                             : 0.0;
    result.slope += e.value * moves;
    result.size += std::abs(e.value * moves);
  }
  return result;
}

/// One guard changes its side, and the rounds that follow act.
GuardOrders::Passage GuardOrders::let_pass(const Mode& mode, const std::vector<double>& x, std::span<const double> xp,
                                           int guard) {
  constexpr int most_rounds = 100;
  auto noted = std::make_shared<std::vector<Act>>();
  WatchedModel watched(model_, noted);
  Transition transition{.mode = mode, .x = x, .reset = std::vector<char>(x.size(), 0)};
  set_side(transition.mode, guard, -model_.side(mode, guard));
  Passage result;
  std::vector<double> before = x;
  int round = 0;
  while (watched.transition({.t = t_, .x_before = before, .xp_before = xp}, transition)) {
    if (transition.failed || transition.terminate || ++round > most_rounds)
      return {.why = "what happens between them cannot be repeated"};
    before = transition.x;
  }
  // behind a reset the guard may go back to where it came from
  LinearPoint behind = modes_.at(transition.mode);
  if (!behind.mode().is_explicit() || !behind.move(t_, transition.x, {}))
    return {.why = "the equations between them have no finite values"};
  const double slope = rate(behind, transition.mode, guard).slope;
  if (slope * model_.side(transition.mode, guard) < 0.0) {
    if (!transition.any_reset()) return {.why = "one of them leads to a slide"};
    set_side(transition.mode, guard, slope > 0.0 ? +1 : -1);
    if (watched.transition({.t = t_, .x_before = before, .xp_before = xp}, transition))
      return {.why = "what happens between them cannot be repeated"};
  }
  for (std::size_t k = 0; k < noted->size() && result.why.empty(); ++k) {
    result.rounds.emplace_back();
    result.why = acts_.find((*noted)[k], k == 0, &mode, modes_, result.rounds.back());
  }
  result.mode = std::move(transition.mode);
  result.x = std::move(transition.x);
  return result;
}

GuardOrders::End GuardOrders::pass(std::span<const int> guards, const InstantChange& before) {
  End end{.change = before, .mode = mode_, .x = x_};
  const std::size_t parameters = ModelAccess::values(model_).parameters.size();
  for (const int guard : guards) {
    LinearPoint point = modes_.at(end.mode);
    if (!point.mode().is_explicit()) return {.why = "modes that are not explicit are not differentiated there yet"};
    if (!point.move(t_, end.x, {})) return {.why = "the equations between them have no finite values"};
    std::vector<double> data(point.data().size(), 0.0);
    if (before.parameter >= 0) data[static_cast<std::size_t>(before.parameter)] = 1.0;
    std::ranges::copy(end.change.discrete, data.begin() + static_cast<std::ptrdiff_t>(parameters));
    const std::vector<double> change = point.push(end.change.state, data, 0.0);
    const Rate g = rate(point, end.mode, guard);
    double along = 0.0;
    for (const Gradient::Entry& e : g.gradient.entries())
      along += e.value * (e.group == LinearMode::by_unknown ? change[e.place]
                          : e.group == LinearMode::by_data  ? data[e.place]
                                                            : 0.0);
    constexpr double least_slope = 1e-6;
    if (!(std::abs(g.slope) > least_slope * g.size)) return {.why = "one of them is only touched behind another"};
    const double time = -along / g.slope;
    std::vector<double> xp;
    for (std::size_t j = 0; j < end.x.size(); ++j) xp.push_back(point.value(j, 1));
    Passage passage = let_pass(end.mode, end.x, xp, guard);
    if (!passage.why.empty()) return {.why = std::move(passage.why)};
    end.change.time = time;
    for (std::size_t j = 0; j < xp.size(); ++j) end.change.state[j] += xp[j] * time;
    for (const RoundMap& round : passage.rounds) end.change.apply(round);
    LinearPoint behind = modes_.at(passage.mode);
    if (!behind.mode().is_explicit() || !behind.move(t_, passage.x, {}))
      return {.why = "the equations between them have no finite values"};
    for (std::size_t j = 0; j < xp.size(); ++j) end.change.state[j] -= behind.value(j, 1) * time;
    end.times.push_back(time);
    end.mode = std::move(passage.mode);
    end.x = std::move(passage.x);
  }
  return end;
}

}  // namespace saltus
