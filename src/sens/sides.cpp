// Derivatives of one side only: a parameter moves the start across a surface, or an event in or out of the run.
#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/model_access.hpp"
#include "model/rehome.hpp"
#include "sens/forward_run.hpp"
#include "sens/observed.hpp"

namespace saltus {

namespace {

constexpr double rounding = 64.0 * std::numeric_limits<double>::epsilon();

}  // namespace

void ForwardRun::mark_one_sided(std::size_t direction, double t, const std::string& why) {
  SensitivityRun::Impl::Sides& sides = result_->sides[direction];
  if (!sides.one_sided_from) sides.one_sided_from = t;
  if (sides.remark.empty()) sides.remark = why;
}

double ForwardRun::run_direction() const {
  return result_->trajectory.t_end() < result_->trajectory.t_start() ? -1.0 : 1.0;
}

/// Guards of the present mode that cross zero within a time `near` of the present point, and directions that move them.
std::vector<ForwardRun::MovedZero> ForwardRun::moved_zeros(double near) {
  const std::size_t n = now_.n();
  const double t = now_.t;
  std::vector<double> g(static_cast<std::size_t>(now_.system->structure().guards));
  now_.system->guards(t, std::span(now_.y).first(n), std::span(now_.y).subspan(n, n), g);
  double size = 1.0 + std::abs(t);
  for (std::size_t j = 0; j < n; ++j) size = std::max(size, std::abs(now_.x(j)));
  std::vector<Position> positions;
  model_.positions(now_.mode, positions);
  std::vector<MovedZero> found;
  for (int k = 0; k < static_cast<int>(model_.guards().size()); ++k) {
    constexpr double far = 1e-3;  // no program is made for a guard that is clearly not zero
    const GuardInfo& info = model_.guards()[static_cast<std::size_t>(k)];
    const int side = side_of(positions[static_cast<std::size_t>(k)]);
    if (side == 0 || info.time_only || info.same_as >= 0 || std::abs(g[static_cast<std::size_t>(k)]) > far * size ||
        !crossing_acts(model_, now_.mode, k))
      continue;
    const GuardRate at = rate(guard(k), t);
    if (std::abs(at.value) > rounding * at.size && !(at.distance() <= near)) continue;
    for (std::size_t d = 0; d < directions_.size(); ++d)
      if (std::abs(at.along[d]) * directions_[d].info.scale > rounding * at.size)
        found.push_back({info.name, k, d, side, at.slope, at.along[d]});
  }
  return found;
}

/// A start with a guard at zero: a parameter puts it on the side to which it goes anyway, or on the other one.
void ForwardRun::mark_start() {
  for (const MovedZero& zero : moved_zeros(0.0)) {
    const bool grows = zero.side * zero.along > 0.0;  // a growing parameter leads to the side of the run
    mark_one_sided(zero.direction, now_.t,
                   fmt::format("'{}' is zero at the start, and '{}' moves it: derivatives are those for a {} parameter",
                               zero.guard, directions_[zero.direction].info.name, grows ? "growing" : "falling"));
  }
}

namespace {

/// Relations in expressions that read neither variables nor time, each once.
std::vector<Expr> relations_of_data(std::span<const Expr> expressions) {
  std::vector<Expr> found;
  for (const Expr& e : expressions) {
    if (!e.graph()) continue;
    const NodeId root = e.id();
    for (const NodeId id : e.graph()->reachable(std::span(&root, 1))) {
      const Op op = e.graph()->node(id).op;
      if (op != Op::positive && op != Op::nonnegative && op != Op::live_positive && op != Op::live_nonnegative)
        continue;
      const Expr relation(e.graph(), id);
      const auto reads = [&](SymbolKind kind) { return !symbols_of(std::span(&relation, 1), kind).empty(); };
      if (reads(SymbolKind::variable) || reads(SymbolKind::derivative) || reads(SymbolKind::time) ||
          std::ranges::any_of(found, [&](const Expr& known) { return known.same(relation); }))
        continue;
      found.push_back(relation);
    }
  }
  return found;
}

}  // namespace

/// Relations that read neither variables nor time are no guards: their branch is that of the parameters. Where both of
/// their sides are equal, a parameter decides which branch it is.
void ForwardRun::mark_equal_data() {
  const RecordedEquations& equations = now_.system->equations();
  const auto [known, fresh] = data_relations_.try_emplace(&equations);
  if (fresh) {
    std::vector<Expr> all = equations.equations;
    for (const Expr& e : observed_variables(model_, now_.mode, *now_.system)) all.push_back(e);
    for (const Expr& relation : relations_of_data(all)) {
      const GraphHandle graph = relation.graph()->clone();
      std::vector<Expr> data = equations.data;
      std::vector<Expr> function{Expr(relation.graph(), relation.graph()->node(relation.id()).a)};
      rehome(data, graph);
      rehome(function, graph);
      known->second.push_back({to_string(relation), Gradient(function.front(), {data}, {})});
    }
  }
  const std::vector<double> data = now_.system->data();
  for (DataRelation& relation : known->second) {
    const double* const in[] = {data.data(), nullptr};
    relation.function.evaluate(in);
    double size = 0.0;
    for (const Gradient::Entry& e : relation.function.entries()) size += std::abs(e.value * data[e.place]);
    if (std::abs(relation.function.value()) > rounding * size) continue;
    for (std::size_t d = 0; d < directions_.size(); ++d) {
      const std::vector<double> change = data_change(d, data.size());
      double along = 0.0;
      for (const Gradient::Entry& e : relation.function.entries()) along += e.value * change[e.place];
      if (along == 0.0) continue;
      mark_one_sided(
          d, now_.t,
          fmt::format("both sides of '{}' are equal, and '{}' moves them: derivatives are those of the branch "
                      "that was taken",
                      relation.text, directions_[d].info.name));
    }
  }
}

/// How derivatives and values of a variable differ on the two sides of an event near the stop time.
void ForwardRun::take_sides(std::size_t direction, std::size_t variable, bool jumps, double other,
                            bool growing_is_other) {
  Smoothness& smoothness = result_->sides[direction].final[variable];
  double& value = result_->final[direction][variable];
  if (jumps) {
    smoothness = Smoothness::undefined;
    value = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  smoothness = std::max(smoothness, Smoothness::one_sided);
  if (growing_is_other) value = other;
}

/// The run stops where a guard is zero, before its event.
void ForwardRun::mark_events_after_stop() {
  const double scale = record_.legs.back().end.time_scale;
  const std::size_t shared = model_.variables().size();
  const std::vector<int>& places = ModelAccess::places(model_);
  for (const MovedZero& zero : moved_zeros(options_.rtol * scale)) {
    if (!(zero.side * zero.slope * run_direction() < 0.0)) continue;
    const std::string text = fmt::format(
        "'{}' is zero at the stop time, as far as the tolerance can tell, and '{}' moves its event in or out "
        "of the run",
        zero.guard, directions_[zero.direction].info.name);
    SensitivityRun::Impl::Sides& sides = result_->sides[zero.direction];
    if (!sides.one_sided_from) sides.one_sided_from = now_.t;
    if (sides.remark.empty()) sides.remark = text;
    // states of explicit modes are known after the event, too; other variables are not
    std::vector<char> differs(sides.final.size(), 1);
    if (now_.work && !now_.mode.on_surfaces()) {
      const std::vector<double> x(now_.y.begin(), now_.y.begin() + static_cast<std::ptrdiff_t>(shared));
      InstantChange before{0.0, {}, changes_[zero.direction].discrete, directions_[zero.direction].parameter};
      for (std::size_t j = 0; j < shared; ++j) before.state.push_back(now_.s(zero.direction, j));
      GuardOrders orders(model_, linear_modes_, act_tangents_, now_.t, now_.mode, x);
      const GuardOrders::End end = orders.pass(std::span(&zero.number, 1), before);
      double size = 1.0 / directions_[zero.direction].info.scale;
      for (const double s : end.change.state) size = std::max(size, std::abs(s));
      for (std::size_t k = 0; k < places.size() && end.why.empty(); ++k) {
        if (places[k] < 0) continue;
        const auto j = static_cast<std::size_t>(places[k]);
        const bool jumps = !same_value(end.x[j], x[j], now_.system->nominal(places[k]));
        if (jumps || std::abs(end.change.state[j] - before.state[j]) > 1e-5 * size)
          take_sides(zero.direction, k, jumps, end.change.state[j], -zero.along / zero.slope * run_direction() < 0.0);
        differs[k] = 0;
      }
    }
    for (std::size_t k = 0; k < differs.size(); ++k)
      if (differs[k]) take_sides(zero.direction, k, false, 0.0, false);
  }
}

bool ForwardRun::same_value(double a, double b, double nominal) const {
  return std::abs(a - b) <= (1e-6 + 1e3 * options_.rtol) * (std::abs(a) + nominal);
}

/// The run stops with an event that directions move: on one side of them it ends before the event, on the other after.
void ForwardRun::mark_event_at_stop() {
  const Trajectory& run = result_->trajectory;
  const double t = last_instant_.t, length = record_.legs.back().end.time_scale;
  if (std::abs(run.t_end() - t) > std::max(options_.rtol * length, rounding * std::abs(t))) return;
  const std::vector<double> before = run.before(t), &after = run.final();
  std::vector<std::vector<double>> all_before;
  for (std::size_t k = 0; k < directions_.size(); ++k) {
    const double moves = last_instant_.moves[k];
    if (std::abs(moves) * directions_[k].info.scale <= 1e-9 * length) continue;
    const std::string& name = directions_[k].info.name;
    if (all_before.empty()) all_before = result_->tangents(t, false);
    const std::vector<double>& of_before = all_before[k];
    const std::vector<double>& final = result_->final[k];
    SensitivityRun::Impl::Sides& sides = result_->sides[k];
    double largest = 1.0 / directions_[k].info.scale;
    for (const double s : final) largest = std::max(largest, std::abs(s));
    for (std::size_t j = 0; j < final.size(); ++j) {
      const bool jumps = !same_value(after[j], before[j], run.variables()[j].nominal);
      if (!jumps && std::abs(final[j] - of_before[j]) <= 1e-5 * largest) continue;
      // guards whose times separate: which side belongs to a growing parameter is not known
      take_sides(k, j, jumps || std::isinf(moves), of_before[j], moves * run_direction() > 0.0);
    }
    if (!sides.one_sided_from) sides.one_sided_from = t;
    if (sides.remark.empty())
      sides.remark = fmt::format(
          "the event at t = {:.9g} happens at the stop time, and '{}' moves it in or out of the run", t, name);
  }
}

/// What is known at the end about the sides of final values.
void ForwardRun::note_sides() {
  for (SensitivityRun::Impl::Sides& sides : result_->sides)
    sides.final.assign(result_->trajectory.variables().size(),
                       sides.one_sided_from ? Smoothness::one_sided : Smoothness::smooth);
  if (result_->trajectory.status().code != StatusCode::success) return;
  if (record_.legs.back().end.empty()) mark_events_after_stop();
  if (!last_instant_.moves.empty()) mark_event_at_stop();
}

/// Which derivatives of the time of an event, and of what follows, are one-sided.
void ForwardRun::note_smoothness(EventSensitivity& event) const {
  for (std::size_t k = 0; k < directions_.size(); ++k) {
    const Smoothness one = result_->smoothness(event.t, k);
    if (!event.dt.empty()) event.dt_smoothness.push_back(one);
    if (one > event.smoothness) {
      event.smoothness = one;
      if (event.text.empty()) event.text = result_->sides[k].remark;
    }
  }
}

}  // namespace saltus
