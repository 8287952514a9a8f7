#include <saltus/hybrid/simulate.hpp>
#include <saltus/model/compile.hpp>

namespace saltus {

Trajectory simulate(std::shared_ptr<HybridSystem> system, const SimulateOptions& options) {
  Simulator simulator(std::move(system), options);
  simulator.run();
  return simulator.take();
}

Trajectory simulate(const Model& model, const SimulateOptions& options, const ProgramOptions& program) {
  return simulate(compile(model, program), options);
}

Trajectory simulate(const CompiledModel& model, const SimulateOptions& options) {
  return simulate(std::shared_ptr<HybridSystem>(model.instance()), options);
}

}  // namespace saltus
