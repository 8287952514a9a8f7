#include "study/host_task.hpp"

#include <algorithm>
#include <limits>

namespace saltus {

namespace {

constexpr double time_scale_at_start = 1e-3;  // of the run: by it, guards at zero are told from others

}  // namespace

HostTask::HostTask(const FlightTask& task, HostCode& code)
    : task_(task), code_(code), rule_(saltus::window_rule(code.degree())) {
  x_.resize(static_cast<std::size_t>(code.variables()));
  values_.resize(task.kept.size());
  times_.resize(static_cast<std::size_t>(rule_.count));
  window_values_.resize(times_.size() * task.dense.size());
  at_.resize(task.dense.size());
}

bool HostTask::begin(FlightMember& m, ModeEntry& entry) const {
  HostCode::State& run = m.run;
  if (!begin_run(code_.code(), entry, run, time_scale_at_start * (run.stop - run.t))) return false;
  const ExecutorRules& rules = code_.rules();
  run.motion.h = flight::first_step(code_.variables(), run.x(), run.slope(), rules.atol.data(), rules.rtol,
                                    std::min(run.stop - run.t, rules.max_step));
  run.max_steps = task_.max_steps;
  m.counts.assign(task_.counters.size(), 0.0);
  m.firsts.assign(task_.counters.size(), std::numeric_limits<double>::quiet_NaN());
  m.windows.assign(task_.dense.size(), Windows::nothing);
  return true;
}

void HostTask::evaluate(std::span<const ObservedPlace> places, int mode, double t, const double* x, const double* data,
                        const double* discretes, double* out) {
  const double* eliminated = nullptr;
  for (const ObservedPlace& place : places) {
    if (place.kind == ObservedPlace::Kind::eliminated && !eliminated) eliminated = code_.observe(mode, t, x, data);
    const double* const from[] = {x, discretes, eliminated};  // in the order of ObservedPlace::Kind
    *out++ = from[static_cast<std::size_t>(place.kind)][place.place];
  }
}

}  // namespace saltus
