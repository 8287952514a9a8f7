#include "executors/execute.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/model/compile.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/study/run_study.hpp>

#include <cmath>
#include <memory>

#include "study/device_text.hpp"
#ifdef SALTUS_FMU_LIBRARY
#include <saltus/fmi/export_fmu.hpp>
#include <saltus/fmi/imported_fmu.hpp>

#include "fmi/unpacked_fmu.hpp"
#endif

namespace saltus::executors {

namespace {

constexpr int lane_members = 64;  // fewer do not fly
constexpr int in_parts = 32;      // copies of a model in one
constexpr int in_cells = 200;     // loops over fewer are not kept

double value_of(const Task& task, int k, int count) {
  return task.low + (task.high - task.low) * k / (count - 1);
}

ModelicaModel load(const Task& task, double p, bool keep_loops = true) {
  return load_modelica("model M parameter Real p = 1; " + task.text + " end M;", "promise.mo",
                       {.model_name = "M", .parameters = {{"p", p}}, .keep_loops = keep_loops});
}

/// Many of them in one model.
ModelicaModel load_many(const Task& task, int copies) {
  std::string values;
  for (int k = 0; k < copies; ++k) values += fmt::format("{}{}", k == 0 ? "" : ", ", value_of(task, k, copies));
  return load_modelica("model M parameter Real p = 1; " + task.text + " end M; model Many M c[" +
                           std::to_string(copies) + "](p = {" + values + "}); end Many;",
                       "promise.mo", {.model_name = "Many"});
}

Outcome outcome_of(const Trajectory& run, double p) {
  Outcome result{.p = p,
                 .proved = run.statistics().unproved == 0,
                 .status = run.status().code,
                 .message = run.status().message,
                 .events = static_cast<std::int64_t>(run.events().size())};
  for (std::size_t k = 0; k < run.variables().size(); ++k) result.values[run.variables()[k].name] = run.final()[k];
  return result;
}

Outcome run_alone(const Task& task, double p, bool flies) {
  SimulateOptions options = task.options;
  options.flights_after = flies ? 0 : -1;
  if (flies)
    options.max_step = std::abs(task.options.stop) / 20000.0;  // code is tried after 128 steps, 256 more, and so on
  const Trajectory run = simulate(load(task, p).model, options);
  Outcome result = outcome_of(run, p);
  result.taken = !flies || run.statistics().flown > 0;
  return result;
}

std::vector<Outcome> run_in_lanes(const Task& task, bool by_device) try {
  const Model model = load(task, task.low).model;
  StudyPlan plan{
      .axes = {{"p", task.low, task.high, lane_members}}, .simulate = task.options, .path = MemberPath::lanes};
  const CompiledModel compiled(model);
  for (const VariableInfo& v : compiled.observed()) plan.collect.push_back({Collect::final_value, v.name});
  const Study study(model, plan);
  const StudyResult result = run_study(study);
  std::vector<char> landed(lane_members, 0);
  std::string refusal;
  for (const std::string& why : by_device ? obstacles_to_device(study) : obstacles_to_lanes(study))
    refusal += (refusal.empty() ? "" : "; ") + why;
  if (by_device) {
    const study_tests::DeviceRun device(study, 1000);
    for (const std::int64_t member : device.landed()) landed[static_cast<std::size_t>(member)] = 1;
    if (!device.refusal().empty()) refusal = device.refusal();
  } else {
    const std::vector<double> path = result.values("path");
    for (std::size_t k = 0; k < landed.size(); ++k) landed[k] = path[k] == 1.0;
  }
  std::vector<Outcome> all(lane_members);
  const std::vector<double> p = result.values("p"), status = result.values("status"), events = result.values("events");
  for (std::size_t k = 0; k < all.size(); ++k)
    all[k] = {.p = p[k],
              .taken = landed[k] != 0,
              .refusal = refusal,
              .status = static_cast<StatusCode>(status[k]),
              .events = static_cast<std::int64_t>(events[k])};
  for (const Collector& one : plan.collect) {
    const std::vector<double> values = result.values(result_name(one));
    for (std::size_t k = 0; k < all.size(); ++k) all[k].values[one.variable] = values[k];
  }
  return all;
} catch (const UsageError& error) {
  return {{.p = task.low, .taken = false, .refusal = error.what()}};
}

std::vector<Outcome> run_as_one(const Task& task, int copies, const std::shared_ptr<HybridSystem>& system,
                                SimulateOptions options) {
  options.flights_after = -1;
  options.keep_event_values = false;
  const Trajectory run = simulate(system, options);
  std::vector<Outcome> all;
  for (int k = 0; k < copies; ++k) {
    Outcome& one = all.emplace_back();
    one = {.p = value_of(task, k, copies), .status = run.status().code, .message = run.status().message};
    one.taken = options.local_events_from < 0 || run.statistics().local_events > 0 || run.statistics().events == 0;
    const std::string prefix = fmt::format("c[{}].", k + 1);
    for (std::size_t j = 0; j < run.variables().size(); ++j)
      if (run.variables()[j].name.starts_with(prefix))
        one.values[run.variables()[j].name.substr(prefix.size())] = run.final()[j];
  }
  return all;
}

std::vector<Outcome> run_in_parts(const Task& task) {
  SimulateOptions options = task.options;
  options.local_events_from = 0;
  const auto system = std::make_shared<CompiledModel>(load_many(task, in_parts).model);
  return run_as_one(task, in_parts, system, options);
}

std::vector<Outcome> run_in_cells(const Task& task) {
  SimulateOptions options = task.options;
  options.local_events_from = -1;
  const std::shared_ptr<HybridSystem> system = compile(load_many(task, in_cells).model);
  if (dynamic_cast<const CompiledModel*>(system.get()))
    return {{.p = task.low, .taken = false, .refusal = "the loops are written out"}};
  return run_as_one(task, in_cells, system, options);
}

#ifdef SALTUS_FMU_LIBRARY
Outcome run_exchanged(const Task& task, double p) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/model.fmu";
  ModelicaModel model = load(task, p);
  model.experiment.stop = task.options.stop;  // all modes of this run are analysed
  try {
    export_fmu(model, file, {.kind = FmuKind::model_exchange, .library = SALTUS_FMU_LIBRARY});
    const auto fmu = import_fmu(file, ImportOptions{.stop = task.options.stop, .tolerance = task.options.rtol});
    return outcome_of(simulate(fmu, task.options), p);
  } catch (const UsageError& error) {
    return {.p = p, .taken = false, .refusal = error.what()};
  }
}
#endif

}  // namespace

Outcome run_by_loop(const Task& task, double p) {
  return run_alone(task, p, false);
}

std::vector<Outcome> execute(Executor executor, const Task& task) {
  constexpr int alone = 3;  // runs of executors that run one model after the other
  std::vector<Outcome> all;
  switch (executor) {
    case Executor::loop:
    case Executor::flight:
      for (int k = 0; k < alone; ++k)
        all.push_back(run_alone(task, value_of(task, k, alone), executor == Executor::flight));
      return all;
    case Executor::lanes:
    case Executor::device:
      return run_in_lanes(task, executor == Executor::device);
    case Executor::parts:
      return run_in_parts(task);
    case Executor::cells:
      return run_in_cells(task);
    case Executor::exchange:
#ifdef SALTUS_FMU_LIBRARY
      for (int k = 0; k < alone; ++k) all.push_back(run_exchanged(task, value_of(task, k, alone)));
#endif
      return all;
  }
  return all;
}

}  // namespace saltus::executors
