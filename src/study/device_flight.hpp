// Members as arrays for a device: from take-off to the numbers that are left of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/device_driver.hpp"
#include "study/host_task.hpp"

namespace saltus {

/// Arrays of some members that fly together, in memory of the host.
class DeviceFlight {
 public:
  DeviceFlight(const FlightTask& task, std::int64_t members);

  /// Puts a member that is at its start into place. Threads may do so at the same time.
  void put(std::int64_t place, const FlightMember& member);
  /// Where members are after a flight.
  flight::DeviceState state(std::int64_t place) const;
  /// What is left of a member that has landed.
  void take(std::int64_t place, FlightMember& member) const;

  std::int64_t members() const { return count_; }
  std::span<double> numbers() { return numbers_; }
  std::span<long long> integers() { return integers_; }
  std::span<double> samples() { return samples_; }
  std::span<double> finals() { return finals_; }

 private:
  double& number(std::size_t k, std::int64_t place) { return numbers_[k * count() + static_cast<std::size_t>(place)]; }
  double number(std::size_t k, std::int64_t place) const {
    return numbers_[k * count() + static_cast<std::size_t>(place)];
  }
  std::size_t count() const { return static_cast<std::size_t>(count_); }

  const FlightTask& task_;
  std::int64_t count_;
  std::size_t n_, parameters_, discretes_, locks_, counters_;
  std::vector<double> numbers_, samples_, finals_;
  std::vector<long long> integers_;
};

}  // namespace saltus
