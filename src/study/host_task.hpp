// What a study wants of its members (member_sink.hpp), on a processor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flight/host_code.hpp"
#include "flight/observed_places.hpp"
#include "study/member_sink.hpp"
#include "study/windows.hpp"

namespace saltus {

/// What all members of a flight have in common.
struct FlightTask {
  const FlightCode* code = nullptr;
  ExecutorRules rules;
  std::int64_t max_steps = 0;
  std::size_t parameters = 0;        ///< of the model
  std::vector<ObservedPlace> kept;   ///< values of a sample
  std::vector<ObservedPlace> dense;  ///< values whose extrema and means are wanted
  std::vector<int> counters;         ///< discrete variables whose growth is counted
  int section = -1;                  ///< discrete variable whose growth makes a sample; -1: samples come with time
  std::int64_t transient = 0, keep = 0;
};

/// A member of a study in flight.
struct FlightMember {
  std::int64_t index = 0;
  HostCode::State run;
  double period = 0.0;  ///< of samples; 0: none come with time
  double start = 0.0;   ///< of the run
  double window = 0.0;  ///< counters, extrema and means are for what comes after this time

  long long seen = 0;                       ///< samples
  std::vector<double> samples;              ///< sample by sample, in the order of FlightTask::kept
  std::vector<double> counts, firsts;       ///< by counter
  std::vector<double> final_values;         ///< in the order of FlightTask::kept
  std::vector<flight::WindowSums> windows;  ///< by value in FlightTask::dense
  flight::Miss missed = flight::Miss::none;

  flight::WindowSums* window_sums() { return windows.data(); }
  void put_sample(long long, const double* values, int count) { samples.insert(samples.end(), values, values + count); }
  void put_final(const double* values, int count) { final_values.assign(values, values + count); }
};

class HostTask {
 public:
  struct Room {
    explicit Room(HostTask& task)
        : x(task.x_.data()),
          values(task.values_.data()),
          times(task.times_.data()),
          window_values(task.window_values_.data()),
          at(task.at_.data()) {}
    double *x, *values, *times, *window_values, *at;
  };

  HostTask(const FlightTask& task, HostCode& code);

  /// Brings a member to its start. False: it is not one that the code can run.
  bool begin(FlightMember& member, ModeEntry& entry) const;

  int variables() const { return code_.variables(); }
  int degree() const { return code_.degree(); }
  int counters() const { return static_cast<int>(task_.counters.size()); }
  int counter(int k) const { return task_.counters[static_cast<std::size_t>(k)]; }
  int section() const { return task_.section; }
  int kept() const { return static_cast<int>(task_.kept.size()); }
  int dense() const { return static_cast<int>(task_.dense.size()); }
  long long transient() const { return task_.transient; }
  long long keep() const { return task_.keep; }
  const flight::WindowRule& window_rule() const { return rule_; }
  void observe(int mode, double t, const double* x, const double* data, const double* discretes, double* out) {
    evaluate(task_.kept, mode, t, x, data, discretes, out);
  }
  void observe_dense(int mode, double t, const double* x, const double* data, const double* discretes, double* out) {
    evaluate(task_.dense, mode, t, x, data, discretes, out);
  }

 private:
  void evaluate(std::span<const ObservedPlace> places, int mode, double t, const double* x, const double* data,
                const double* discretes, double* out);

  const FlightTask& task_;
  HostCode& code_;
  flight::WindowRule rule_;
  std::vector<double> x_, values_, times_, window_values_, at_;
};

using HostSink = flight::MemberSink<HostTask, FlightMember>;

}  // namespace saltus
