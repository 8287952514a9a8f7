#include "sens/start_choice.hpp"

#include <fmt/format.h>
#include <saltus/dae/initialisation.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "flight/kept_analyses.hpp"
#include "model/model_access.hpp"
#include "model/rehome.hpp"

namespace saltus {

namespace {

bool contains(const std::vector<int>& list, std::size_t j) {
  return std::ranges::find(list, static_cast<int>(j)) != list.end();
}

bool is_start_value(const VariableInfo& variable, double x) {
  return std::abs(x - variable.start) <= 1e-6 * std::max(std::abs(variable.start), variable.nominal);
}

/// Uses analyses of earlier runs. The run itself has made most of them.
Initialisation initialise_start(const CompiledModel& model, RecordedSystem& system, double t, std::span<const double> x,
                                const InitialisationOptions& options = {}) {
  if (system.structure().explicit_ode) return initialise(system, t, x, options);
  return initialise(system, t, x, KeptAnalyses::of(model)->find(system, t, x, {}), options);
}

/// Makes the start values consistent as the run does, and holds what it holds there. `held` is empty where the run has
/// begun elsewhere: it has searched for a start.
Initialisation repeat_start(const CompiledModel& model, RecordedSystem& system, double t, std::span<const double> x) {
  const std::vector<VariableInfo>& variables = model.variables();
  InitialisationOptions options;
  std::vector<double> start(x.begin(), x.end());
  for (std::size_t j = 0; j < variables.size(); ++j) {
    start[j] = variables[j].start;
    if (variables[j].fixed) options.fixed.push_back(static_cast<int>(j));
  }
  Initialisation found = initialise_start(model, system, t, start, options);
  bool same = found.ok();
  for (std::size_t j = 0; j < variables.size() && same; ++j)
    same = std::abs(found.x[j] - x[j]) <= 1e-6 * (std::abs(x[j]) + system.nominal(static_cast<int>(j)));
  if (!same) found.held.clear();
  return found;
}

/// What rounds at the start read must be start values. Returns "", or what is not.
std::string reads_more_than_start_values(CompiledModel& model, const Act& first, std::span<const RoundMap> rounds) {
  auto& system = dynamic_cast<RecordedSystem&>(model.system(first.mode_before));
  if (system.structure().explicit_ode || std::ranges::none_of(rounds, &RoundMap::reads_state)) return "";
  const std::vector<VariableInfo>& variables = model.variables();
  std::vector<double> x = first.x_before;
  x.resize(static_cast<std::size_t>(system.structure().variables), 0.0);
  const std::vector<int> held = repeat_start(model, system, first.t, x).held;
  for (const RoundMap& round : rounds)
    for (const RoundMap::Row& row : round.rows)
      for (const RoundMap::Entry& e : row.entries)
        if (e.from == RoundMap::From::state && !contains(held, e.place))
          return fmt::format(
              "a clause of the start reads '{}', which follows from the equations there: that is not "
              "differentiated yet",
              variables[e.place].name);
  return "";
}

}  // namespace

StartChoice choose_start(CompiledModel& model, const RunRecord& record, RecordedSystem& system,
                         std::span<const double> x, std::span<const Direction> directions,
                         std::span<const RoundMap> rounds) {
  const double t = record.start.t;
  const std::vector<VariableInfo>& variables = model.variables();
  std::vector<int> reset;
  for (const RoundMap& round : rounds)
    for (const RoundMap::Row& row : round.rows)
      if (row.reset) reset.push_back(static_cast<int>(row.target));
  if (!rounds.empty())
    if (std::string why = reads_more_than_start_values(model, record.acts[record.start.first_act], rounds);
        !why.empty())
      return {.why = std::move(why)};
  Initialisation found;
  if (rounds.empty()) found = repeat_start(model, system, t, x);
  const bool repeated = !found.held.empty();
  if (!repeated) {
    InitialisationOptions options{.preferred = reset};
    for (std::size_t j = 0; j < variables.size() && reset.empty(); ++j)
      if (variables[j].fixed) options.fixed.push_back(static_cast<int>(j));
    found = initialise_start(model, system, t, x, options);
  }
  if (!found.ok()) return {.why = "the values of the mode cannot be made consistent again: " + found.message};
  const std::size_t freedom = initialise_start(model, system, t, found.x).held.size();
  if (found.held.size() < freedom)
    return {.why = fmt::format("the start has {} degrees of freedom, and only {} start values are fixed", freedom,
                               found.held.size())};
  for (std::size_t j = 0; j < variables.size() && !repeated; ++j)
    if (contains(found.held, j) && !contains(reset, j) && !is_start_value(variables[j], x[j]))
      return {.why = fmt::format("the start value of '{}' was changed to find a start: it is no longer known which "
                                 "start values it depends on; fix as many as there are degrees of freedom, {}",
                                 variables[j].name, freedom)};
  for (const Direction& d : directions)
    if (d.variable >= 0 && !contains(found.held, static_cast<std::size_t>(d.variable)))
      throw UsageError(fmt::format("'{}' is a guess: the equations determine '{}', and the run does not depend on it",
                                   d.info.name, variables[static_cast<std::size_t>(d.variable)].name));
  return {.x = found.x, .xp = found.xp, .held = found.held};
}

std::string samples_of_start_move(const CompiledModel& model, const RunRecord& record,
                                  std::span<const Direction> directions) {
  const ModelValues& values = ModelAccess::values(model);
  for (const StartValues::Samples& sample : ModelAccess::start_values(model).samples()) {
    const auto taken = [&](const Act& act) { return act.mode_after.discrete[sample.pulse] != 0.0; };
    const std::span<const Act> acts =
        std::span(record.acts).subspan(record.start.first_act, record.start.last_act - record.start.first_act);
    if (std::ranges::none_of(acts, taken)) continue;
    const GraphHandle graph = (sample.start.is_constant() ? sample.interval : sample.start).graph()->clone();
    std::vector<Expr> parameters = ModelAccess::logic(model).parameters, times{sample.start, sample.interval};
    rehome(parameters, graph);
    rehome(times, graph);
    const double* const in[] = {values.parameters.data(), nullptr};
    struct Part {
      double value;
      std::vector<Gradient::Entry> entries;
    };
    const auto evaluate = [&](const Expr& part) -> Part {
      if (part.is_constant()) return {part.constant_value(), {}};
      Gradient gradient(part, {parameters}, {});
      gradient.evaluate(in);
      return {gradient.value(), gradient.entries()};
    };
    const Part start = evaluate(times[0]), interval = evaluate(times[1]);
    const double number = std::round((record.trajectory.t_start() - start.value) / interval.value);
    std::map<std::size_t, double> moves;  // the time of the sample, by parameter
    for (const Gradient::Entry& e : start.entries) moves[e.place] += e.value;
    for (const Gradient::Entry& e : interval.entries) moves[e.place] += number * e.value;
    for (const Direction& d : directions)
      if (d.parameter >= 0 && moves[static_cast<std::size_t>(d.parameter)] != 0.0)
        return fmt::format(
            "'{}' moves the sample with which the run starts: it is taken there or not at all, and there is "
            "no derivative",
            d.info.name);
  }
  return "";
}

}  // namespace saltus
