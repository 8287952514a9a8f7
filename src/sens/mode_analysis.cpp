#include <saltus/dae/structural_analysis.hpp>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/sens/mode_analysis.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace saltus {

namespace {

ModeAnalysis analyse(CompiledModel& model, const Mode& mode, double t, const std::vector<double>& x) {
  ModeAnalysis a{.mode = model.describe(mode), .t = t};
  System& system = model.system(mode);
  const Structure& s = system.structure();
  a.stands_still = model.stands_still();
  a.explicit_ode = s.explicit_ode;
  a.linear = s.linear;
  a.variables = s.variables;
  if (a.stands_still || a.explicit_ode) return a;
  const CharacteristicValues values = characteristic_values(system, t, x);
  const StructuralAnalysis& structure = values.structure;
  a.index = structure.index;
  a.degrees_of_freedom = structure.degrees_of_freedom;
  a.blocks = structure.blocks.blocks();
  if (structure.singular()) a.singularity = describe_singularity(structure, system);
  a.certified = values.certificate.valid;
  a.reciprocal_condition = values.certificate.reciprocal_condition;
  a.numbers = values.numbers;
  a.decision = std::string(to_string(values.status));
  a.kept = values.kept;
  a.dropped = values.dropped;
  if (a.numbers.u > 0)
    for (const int j : undetermined_variables(system, t, values)) a.undetermined.push_back(system.variable_name(j));
  return a;
}

void add_segment(ModeAnalysis& a, const Trajectory::Segment& segment) {
  ++a.entered;
  for (const Trajectory::Step& step : segment.steps) {
    const double size = std::abs(step.t_end - step.polynomial.t0);
    a.shortest_step = a.steps == 0 ? size : std::min(a.shortest_step, size);
    a.longest_step = std::max(a.longest_step, size);
    a.time += size;
    ++a.steps;
  }
}

}  // namespace

ModeAnalyses analyse_modes(const CompiledModel& model, const SimulateOptions& options, std::size_t most) {
  CompiledModel own(model);
  ModeAnalyses result;
  if (options.start == options.stop) {
    Simulator start(std::make_shared<CompiledModel>(model), options);
    result.status = start.status();
    if (result.status.ok())
      result.modes.push_back(analyse(own, start.mode(), start.t(), {start.x().begin(), start.x().end()}));
    return result;
  }
  const Trajectory run = simulate(std::make_shared<CompiledModel>(model), options);
  result.status = run.status();
  std::vector<std::pair<Mode, const Structure*>> seen;  // a discrete variable alone makes no other mode
  for (const Trajectory::Segment& segment : run.segments()) {
    if (segment.steps.empty()) continue;
    const Mode mode = run.mode(segment);
    std::pair<Mode, const Structure*> key(mode, &own.system(mode).structure());
    key.first.discrete.clear();
    for (const int guard : own.dormant(mode)) own.set_side(key.first, guard, -1);
    const auto place = static_cast<std::size_t>(std::ranges::find(seen, key) - seen.begin());
    if (place == seen.size()) {
      if (seen.size() >= most) continue;
      seen.push_back(std::move(key));
      const DensePolynomial& p = segment.steps.front().polynomial;
      std::vector<double> x(static_cast<std::size_t>(p.variables));
      p.evaluate(p.t0, x);
      result.modes.push_back(analyse(own, mode, p.t0, x));
    }
    add_segment(result.modes[place], segment);
  }
  return result;
}

}  // namespace saltus
