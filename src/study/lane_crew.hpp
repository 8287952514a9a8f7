// Threads that fly members of a block in lanes.
#pragma once

#include <saltus/study/run_study.hpp>

#include <cstdint>
#include <functional>

#include "study/study_flight.hpp"

namespace saltus {

/// A block that is being run.
struct BlockTask {
  const Study& study;
  const StudyFlight& flight;
  const StudyBlock& block;
  BlockResult& result;
  StudyMonitor& monitor;

  /// Puts the results of a member into its place, and reports it. Threads may do so at the same time.
  void keep(std::int64_t index, const MemberOutcome& outcome, std::vector<MemberFailure>& failures) const;
};

/// Flies members in lanes: those whose index `next` gives, which any thread calls, until it gives -1. Members that
/// cannot fly are run by Simulators. Returns false if the study is to stop.
bool run_in_lanes(const BlockTask& task, int threads, const std::function<std::int64_t()>& next);

}  // namespace saltus
