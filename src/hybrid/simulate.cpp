#include <saltus/hybrid/simulate.hpp>

namespace saltus {

Trajectory simulate(std::shared_ptr<HybridSystem> system, const SimulateOptions& options) {
  Simulator simulator(std::move(system), options);
  simulator.run();
  return simulator.take();
}

Trajectory simulate(const Model& model, const SimulateOptions& options, const ProgramOptions& program) {
  return simulate(std::make_shared<CompiledModel>(model, program), options);
}

}  // namespace saltus
