#include "sens/act_tangents.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>

#include "model/rehome.hpp"

namespace saltus {

ActTangents::ActTangents(const EventLogic::Setup& setup, std::vector<int> of_directions)
    : setup_(setup), parameters_(std::move(of_directions)) {
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

/// `discrete`: changes of discrete variables at the end of the round.
double ActTangents::change(const Given& given, std::size_t k, const InstantChanges& before,
                           const std::vector<double>& discrete) const {
  double sum = 0.0;
  for (const Gradient::Entry& entry : given.gradient.entries()) {
    const auto of = [&]() -> double {
      switch (entry.group) {
        case time:
          return before.time[k];
        case variables:
          return before.state[k][entry.place];
        case derivatives:
          return before.slope[k][entry.place];
        case parameters:
          return parameters_[k] == static_cast<int>(entry.place) ? 1.0 : 0.0;
        case discretes: {
          const bool own = given.builds_on && !given.reset && entry.place == given.target;
          return own ? before.discrete[k][entry.place] : discrete[entry.place];
        }
        case pre_variables:
          return before.state[k][pre_variable_places_[entry.place]];
        default:
          return before.discrete[k][pre_discrete_places_[entry.place]];
      }
    };
    if (entry.value != 0.0) sum += entry.value * of();
  }
  return sum;
}

bool ActTangents::apply(const Act& act, InstantChanges& changes, std::string& why) {
  const auto& seen = act.round.seen;
  const auto evaluate = [&](Given& given) {
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
    const bool reads_state = given.gradient.reads(variables) || given.gradient.reads(pre_variables);
    return changes.slope.empty() && (given.gradient.reads(derivatives) || (changes.implicit && reads_state));
  };
  std::vector<Given*> assigned, resets;
  bool unknown_slopes = false;
  for (const auto& value : act.round.given) {
    Given& given = of_action(value.giver, value.action);
    (given.reset ? resets : assigned).push_back(&given);
    unknown_slopes = evaluate(given) || unknown_slopes;
  }
  for (Given& given : definitions_) {
    assigned.push_back(&given);
    unknown_slopes = evaluate(given) || unknown_slopes;
  }
  // variables have the values of the mode with new discrete values; these are the same ones if none follows from them
  const auto decides = [&](const Given* g) {
    return g->gradient.reads(derivatives) || (g->target < changes.followed.size() && changes.followed[g->target]);
  };
  const auto same = [](double a, double b) { return std::abs(a - b) <= 1e-5 * (std::abs(a) + std::abs(b)) + 1e-9; };
  if (act.round.followed && (std::ranges::any_of(assigned, decides) ||
                             !std::ranges::equal(seen[EventLogic::variables], act.x_before, same))) {
    why = "clauses read values that the equations have with the new discrete values";
    return false;
  }
  if (unknown_slopes) {
    why = "a later round of the instant reads derivatives, or variables that follow from equations";
    return false;
  }
  changes.reset = changes.reset || !resets.empty();
  for (std::size_t k = 0; k < changes.state.size(); ++k) {
    std::vector<double> discrete = changes.discrete[k];
    // what one value needs of another takes a pass each
    bool settled = assigned.empty();
    for (std::size_t pass = 0; pass <= assigned.size() + 1 && !settled; ++pass) {
      settled = true;
      for (const Given* given : assigned) {
        const double value = change(*given, k, changes, discrete);
        settled = settled && discrete[given->target] == value;
        discrete[given->target] = value;
      }
    }
    if (!settled) {
      why = "numbers are assigned from each other";
      return false;
    }
    std::vector<double> state = changes.state[k];
    for (const Given* given : resets) state[given->target] = change(*given, k, changes, discrete);
    if (k + 1 == changes.state.size()) changes.slope.clear();
    changes.state[k] = std::move(state);
    changes.discrete[k] = std::move(discrete);
  }
  return true;
}

}  // namespace saltus
