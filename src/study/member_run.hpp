// One member: a run that is looked at step by step, so that its length costs no memory.
#pragma once

#include <saltus/hybrid/simulator.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "study/layout.hpp"
#include "study/windows.hpp"

namespace saltus {

/// What is left of a member.
struct MemberOutcome {
  std::vector<std::vector<double>> columns;  ///< by array
  int status = member_not_run;
  double t = 0.0;
  std::string message;
  std::vector<double> end;  ///< all observed variables at its end; empty if it did not end well
  bool stopped = false;     ///< the study is to stop: nothing of this counts
};

/// Looks at the steps of a run as it makes them, and keeps what the plan asks for.
class MemberRun {
 public:
  MemberRun(const StudyPlan& plan, const StudyLayout& layout, std::shared_ptr<HybridSystem> model,
            const std::atomic<bool>& stop);

  /// Runs to the end. `columns` of the outcome has the varied values already.
  void run(MemberOutcome& outcome);
  /// The same with all steps and events.
  Trajectory run_and_keep();

 private:
  SimulateOptions options();
  void start();
  void run_to_end(MemberOutcome& outcome);
  /// Looks at what the last step has added. Returns false if nothing more is wanted.
  bool look();
  void see_event(const Event& event);
  /// A part of a step without events.
  void see_piece(const Trajectory::Step& step, double begin);
  void see_samples();
  void keep_sample(const std::vector<double>& values);
  bool enough() const {
    return plan_.sampling.at != SampleAt::none && seen_ >= plan_.sampling.transient + plan_.sampling.keep;
  }
  bool in_window(double t) const { return t > window_ || window_ == simulate_.start; }
  double sample_time(std::int64_t number) const { return simulate_.start + static_cast<double>(number) * period_; }
  void collect(MemberOutcome& outcome, const std::vector<double>& final) const;

  const StudyPlan& plan_;
  const StudyLayout& layout_;
  std::shared_ptr<HybridSystem> model_;
  const std::atomic<bool>& stop_;
  SimulateOptions simulate_;
  double period_ = 0.0;
  std::unique_ptr<Simulator> simulator_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool out_of_time_ = false;

  std::int64_t seen_ = 0, kept_ = 0;                              // samples
  double seen_whole_ = std::numeric_limits<double>::quiet_NaN();  // the time of events that were seen together
  double window_ = 0.0;                                           // where the part begins that is collected
  double before_ = 0.0;                                           // up to where steps have been seen
  std::size_t segment_ = 0, step_ = 0, event_ = 0;                // the next ones to be seen
  Windows windows_;                                               // by dense variable
  std::vector<double> counts_, firsts_;                           // by collector
  std::vector<std::vector<double>> samples_;                      // by collector
};

/// The smallest k up to 64 after which the samples, each of them a point, repeat; 0 if there is none. Samples must show
/// two periods.
int period_of(const std::vector<std::vector<double>>& samples, double tolerance);

}  // namespace saltus
