#include "sens/act_tangents.hpp"

#include <fmt/format.h>

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

#include "model/rehome.hpp"

namespace saltus {

namespace {

using From = RoundMap::From;
using Row = RoundMap::Row;

/// Puts the assignments into an order in which each reads only those before it, and the resets behind them. False:
/// there is none.
bool sort_rows(std::vector<Row>& rows) {
  std::vector<Row> sorted;
  std::vector<char> done(rows.size(), 0);
  const auto waits = [&](const Row& row) {
    return std::ranges::any_of(row.entries, [&](const RoundMap::Entry& e) {
      if (e.from != From::discrete_after) return false;
      for (std::size_t k = 0; k < rows.size(); ++k)
        if (!done[k] && !rows[k].reset && rows[k].target == e.place) return true;
      return false;
    });
  };
  while (sorted.size() < rows.size()) {
    const std::size_t before = sorted.size();
    for (const bool reset : {false, true})
      for (std::size_t k = 0; k < rows.size(); ++k) {
        if (done[k] || rows[k].reset != reset || waits(rows[k])) continue;
        if (reset && std::ranges::any_of(rows, [&](const Row& r) {
              return !r.reset && !done[static_cast<std::size_t>(&r - rows.data())];
            }))
          continue;
        done[k] = 1;
        sorted.push_back(rows[k]);
      }
    if (sorted.size() == before) return false;
  }
  rows = std::move(sorted);
  return true;
}

}  // namespace

bool RoundMap::reads_state() const {
  return std::ranges::any_of(rows, [](const Row& row) {
    return std::ranges::any_of(row.entries, [](const Entry& e) { return e.from == From::state; });
  });
}

void InstantChange::apply(const RoundMap& round) {
  const std::vector<double> state_before = state, discrete_before = discrete;
  for (const Row& row : round.rows) {
    double sum = 0.0;
    for (const RoundMap::Entry& e : row.entries)
      sum += e.value * (e.from == From::time              ? time
                        : e.from == From::state           ? state_before[e.place]
                        : e.from == From::parameter       ? (parameter == static_cast<int>(e.place) ? 1.0 : 0.0)
                        : e.from == From::discrete_before ? discrete_before[e.place]
                                                          : discrete[e.place]);
    (row.reset ? state : discrete)[row.target] = sum;
  }
}

void InstantFunction::pull(const RoundMap& round) {
  // what is not set stays as it was; what is set is replaced by its row
  std::vector<double> of_state = state, of_discrete(discrete.size(), 0.0);
  std::vector<char> assigned(discrete.size(), 0);
  for (const Row& row : round.rows)
    if (row.reset)
      of_state[row.target] = 0.0;
    else
      assigned[row.target] = 1;
  for (auto row = round.rows.rbegin(); row != round.rows.rend(); ++row) {
    const double weight = (row->reset ? state : discrete)[row->target];
    if (weight == 0.0) continue;
    for (const RoundMap::Entry& e : row->entries) switch (e.from) {
        case From::time:
          time += weight * e.value;
          break;
        case From::state:
          of_state[e.place] += weight * e.value;
          break;
        case From::parameter:
          parameters[e.place] += weight * e.value;
          break;
        case From::discrete_before:
          of_discrete[e.place] += weight * e.value;
          break;
        case From::discrete_after:
          discrete[e.place] += weight * e.value;
          break;
      }
  }
  for (std::size_t k = 0; k < discrete.size(); ++k)
    if (!assigned[k]) of_discrete[k] += discrete[k];
  state = std::move(of_state);
  discrete = std::move(of_discrete);
}

ActTangents::ActTangents(const EventLogic::Setup& setup) : setup_(setup) {
  if (setup_.time.graph()) rehome(setup_, setup_.time.graph()->clone());
  std::vector<Expr> pre_x, pre_q;
  for (std::size_t k = 0; k < setup_.variables.size(); ++k) variable_places_[setup_.variables[k].id()] = k;
  for (std::size_t k = 0; k < setup_.discretes.size(); ++k) discrete_places_[setup_.discretes[k].id()] = k;
  for (const auto& [symbol, pre] : setup_.pre_variables) {
    pre_x.push_back(pre);
    pre_variable_places_.push_back(variable_places_.at(symbol.id()));
  }
  for (const auto& [symbol, pre] : setup_.pre_discretes) {
    pre_q.push_back(pre);
    pre_discrete_places_.push_back(discrete_places_.at(symbol.id()));
  }
  inputs_ = {{setup_.time}, setup_.variables, setup_.derivatives, setup_.parameters, setup_.discretes, pre_x, pre_q};
  for (const auto& d : setup_.definitions) definitions_.push_back(make(false, d.discrete, d.value));
}

ActTangents::Given ActTangents::make(bool reset, const Expr& target, const Expr& value) const {
  const std::vector<Expr> read = symbols_of(std::span(&value, 1), SymbolKind::discrete);
  return {reset, (reset ? variable_places_ : discrete_places_).at(target.id()),
          std::any_of(read.begin(), read.end(), [&](const Expr& e) { return e.same(target); }),
          Gradient(value, inputs_, setup_.locks)};
}

ActTangents::Given& ActTangents::of_action(int giver, std::size_t action) {
  const auto it = actions_.find({giver, action});
  if (it != actions_.end()) return it->second;
  const std::size_t k = static_cast<std::size_t>(giver), clauses = setup_.clauses.size();
  const ModelData::Action& source =
      (k < clauses ? setup_.clauses[k].actions : setup_.transitions[k - clauses].actions)[action];
  return actions_
      .emplace(std::pair(giver, action),
               make(source.kind == ModelData::Action::Kind::reset, source.target, source.value))
      .first->second;
}

void ActTangents::evaluate(Given& given, const Act& act) const {
  const auto& seen = act.round.seen;
  std::vector<double> discrete = seen[EventLogic::discretes];
  if (given.builds_on && !given.reset) discrete[given.target] = act.round.before[given.target];
  const double* const in[] = {seen[EventLogic::time].data(),
                              seen[EventLogic::variables].data(),
                              seen[EventLogic::derivatives].data(),
                              seen[EventLogic::parameters].data(),
                              discrete.data(),
                              seen[EventLogic::pre_variables].data(),
                              seen[EventLogic::pre_discretes].data(),
                              seen[EventLogic::locks].data()};
  given.gradient.evaluate(in);
}

/// `point`: the mode whose values the round sees, where it reads what follows from equations.
std::string ActTangents::add_row(const Given& given, const Act& act, bool first, const LinearPoint* point,
                                 RoundMap& map) const {
  Row row{given.reset, given.target, {}};
  std::vector<double> of_unknowns;  // what the value reads of the mode, as a function of its unknowns
  if (point) of_unknowns.assign(point->mode().unknowns(), 0.0);
  for (const Gradient::Entry& entry : given.gradient.entries()) {
    if (entry.value == 0.0) continue;
    switch (entry.group) {
      case time:
        row.entries.push_back({From::time, 0, entry.value});
        break;
      case parameters:
        row.entries.push_back({From::parameter, entry.place, entry.value});
        break;
      case discretes: {
        const bool own = given.builds_on && !given.reset && entry.place == given.target;
        row.entries.push_back({own ? From::discrete_before : From::discrete_after, entry.place, entry.value});
        break;
      }
      case pre_variables: {
        const std::size_t j = pre_variable_places_[entry.place];
        if (!first && point && !point->mode().is_explicit() && point->mode().place(j, 1) < 0)
          return "a later round of the instant reads the value before it of a variable that follows from equations";
        row.entries.push_back({From::state, j, entry.value});
        break;
      }
      case pre_discretes:
        row.entries.push_back({From::discrete_before, pre_discrete_places_[entry.place], entry.value});
        break;
      default: {  // variables, derivatives
        if (!point) {
          row.entries.push_back({From::state, entry.place, entry.value});
          break;
        }
        const int place = point->mode().place(entry.place, entry.group == derivatives ? 1 : 0);
        if (place < 0) return "a clause reads the derivative of a variable whose derivative the mode does not have";
        of_unknowns[static_cast<std::size_t>(place)] += entry.value;
      }
    }
  }
  if (point) {
    Covector function = point->covector();
    point->pull(of_unknowns, function);
    // what remains of zeros after a solution of linear equations would look like a dependence
    double largest = 0.0;
    for (const std::vector<double>* part : {&function.held, &function.data})
      for (const double v : *part) largest = std::max(largest, std::abs(v));
    const double nothing = 1e-13 * largest;
    for (std::size_t k = 0; k < function.held.size(); ++k)
      if (std::abs(function.held[k]) > nothing)
        row.entries.push_back({From::state, static_cast<std::size_t>(point->held()[k]), function.held[k]});
    const std::size_t parameter_count = setup_.parameters.size();
    const From discrete = act.round.followed ? From::discrete_after : From::discrete_before;
    for (std::size_t k = 0; k < parameter_count + setup_.discretes.size(); ++k) {
      if (std::abs(function.data[k]) <= nothing) continue;
      const bool of_parameter = k < parameter_count;
      row.entries.push_back(
          {of_parameter ? From::parameter : discrete, of_parameter ? k : k - parameter_count, function.data[k]});
    }
    if (function.time != 0.0) row.entries.push_back({From::time, 0, function.time});
  }
  // of two that give one value the last counts
  std::erase_if(map.rows, [&](const Row& r) { return r.reset == row.reset && r.target == row.target; });
  map.rows.push_back(std::move(row));
  return "";
}

std::string moved_between(const Act& last, const Act& act, const Mode* left, CompiledModel& model, double rtol) {
  if (!left) return "";
  const System& system = model.system(*left);
  const std::size_t count = std::min(last.x_after.size(), act.x_before.size());
  for (std::size_t j = 0; j < count; ++j) {
    const int variable = static_cast<int>(j);
    const double size = std::abs(last.x_after[j]) + system.nominal(variable);
    if (system.structure().differentiated(variable) &&
        !(std::abs(act.x_before[j] - last.x_after[j]) <= (1e-9 + 10.0 * rtol) * size))
      return fmt::format("between two rounds of the instant '{}' follows from constraints",
                         system.variable_name(variable));
  }
  return "";
}

std::string ActTangents::find(const Act& act, bool first, const Mode* left, LinearModes& modes, RoundMap& map) {
  map.rows.clear();
  std::vector<Given*> all;
  for (const auto& value : act.round.given) all.push_back(&of_action(value.giver, value.action));
  for (Given& given : definitions_) all.push_back(&given);
  bool reads_variables = false, reads_derivatives = false;
  for (Given* given : all) {
    evaluate(*given, act);
    reads_variables = reads_variables || given->gradient.reads(variables) || given->gradient.reads(pre_variables);
    reads_derivatives = reads_derivatives || given->gradient.reads(derivatives);
  }
  std::optional<LinearPoint> point;
  if (reads_variables || reads_derivatives) {
    const Mode& mode = act.round.followed ? act.mode_after : act.mode_before;
    if (reads_derivatives || !modes.is_explicit(mode)) {
      point = modes.at(mode);
      const auto& x = act.round.seen[EventLogic::variables];
      if (!point->mode().why().empty()) return point->mode().why();
      if (!point->move(act.t, x, act.round.seen[EventLogic::derivatives]))
        return "the values that clauses read do not satisfy the equations of a mode that is known";
      const auto same = [](double a, double b) { return std::abs(a - b) <= 1e-5 * (std::abs(a) + std::abs(b)) + 1e-9; };
      for (std::size_t j = 0; j < x.size(); ++j)
        if (!same(x[j], point->value(j, 0)))
          return "clauses read values of another mode than those before and behind their round";
    }
  }
  for (const Given* given : all)
    if (std::string why = add_row(*given, act, first, point ? &*point : nullptr, map); !why.empty()) return why;
  if (!sort_rows(map.rows)) return "numbers are assigned from each other";
  if (left && map.reads_state() && !modes.is_explicit(act.mode_before) && !modes.same(*left, act.mode_before) &&
      modes.at(act.mode_before).mode().hidden_constraints())
    return "a constraint appears before clauses read variables";
  return "";
}

}  // namespace saltus
