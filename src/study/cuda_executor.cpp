#include <saltus/base/error.hpp>
#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <atomic>

#include "study/cuda_device.hpp"
#include "study/device_source.hpp"
#include "study/lane_crew.hpp"
#include "study/work_in_threads.hpp"

namespace saltus {

namespace {

/// Members run on the device, and those that it has missed in lanes, which have the same bits. Where there is no
/// device, or no text for it, all of them fly in lanes.
class CudaExecutor final : public StudyExecutor {
 public:
  explicit CudaExecutor(int threads) : threads_(number_of_threads(threads)), lanes_(make_lane_executor(threads)) {}

  bool run(const Study& study, const StudyBlock& block, BlockResult& result, StudyMonitor& monitor) override {
    if (flown_ != &study) prepare(study);
    if (!device_) return lanes_->run(study, block, result, monitor);
    const BlockTask task{study, *flight_, block, result, monitor};
    DeviceFlight members(flight_->task(), block.count);
    std::atomic<std::int64_t> next = 0;
    work_in_threads(threads_, result, monitor, [&](std::vector<MemberFailure>&) {
      const FlightTask& wanted = flight_->task();
      HostCode code(*wanted.code, wanted.rules);
      const HostTask host(wanted, code);
      ModeEntry entry(*wanted.code);
      for (std::int64_t k = next++; k < block.count && !monitor.stop(); k = next++)
        if (FlightMember m; flight_->begin(block.first + k, m) && host.begin(m, entry)) members.put(k, m);
    });
    const auto stop = [&] {
      monitor.report();
      return monitor.stop().load();
    };
    if (stop() || !device_->fly(members, flight_->task().max_steps, stop)) return false;
    next = 0;
    work_in_threads(threads_, result, monitor, [&](std::vector<MemberFailure>& failures) {
      for (std::int64_t k = next++; k < block.count; k = next++) {
        if (members.state(k) != flight::landed) continue;
        FlightMember m;
        m.index = block.first + k;
        members.take(k, m);
        task.keep(m.index, flight_->outcome(m), failures);
      }
    });
    std::vector<std::int64_t> others;
    for (std::int64_t k = 0; k < block.count; ++k)
      if (members.state(k) != flight::landed) others.push_back(block.first + k);
    next = 0;
    return others.empty() || run_in_lanes(task, threads_, [&] {
             const std::int64_t k = next++;
             return k < static_cast<std::int64_t>(others.size()) ? others[static_cast<std::size_t>(k)] : -1;
           });
  }

 private:
  void prepare(const Study& study) {
    flown_ = &study;
    device_ = nullptr;
    flight_ = std::make_unique<StudyFlight>(study);
    std::string why;
    if (!flight_->possible()) return;
    try {
      const std::string source = device_source(flight_->task());
      device_ = CudaDevice::open(why);
      if (device_) device_->compile(source, device_headers());
    } catch (const UsageError&) {
      device_ = nullptr;
    }
  }

  int threads_;
  std::unique_ptr<StudyExecutor> lanes_;
  const Study* flown_ = nullptr;
  std::unique_ptr<StudyFlight> flight_;
  std::unique_ptr<CudaDevice> device_;
};

}  // namespace

std::vector<std::string> obstacles_to_device(const Study& study) {
  const StudyFlight flight(study);
  if (!flight.possible()) return flight.why();
  std::string why;
  try {
    const std::string source = device_source(flight.task());
    const auto device = CudaDevice::open(why);
    if (!device) return {why};
    device->compile(source, device_headers());
  } catch (const UsageError& problem) {
    return {problem.what()};
  }
  return flight.why();
}

std::unique_ptr<StudyExecutor> make_cuda_executor(int threads) {
  return std::make_unique<CudaExecutor>(threads);
}

}  // namespace saltus
