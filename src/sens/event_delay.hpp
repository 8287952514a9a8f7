// What happens if one event of a run comes a little later.
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compiled_model.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace saltus {

/// An event as it is found again in another run: the firing of a guard in a direction, by number.
struct EventKey {
  std::string guard;
  int direction = 0;
  std::size_t number = 1;
};

/// The key of an event among those of a run (from 0). `first`: where counting begins.
EventKey key_of(const std::vector<Event>& events, std::size_t event, std::size_t first = 0);
/// Its time in other events. Empty: it does not happen there.
std::optional<double> time_of(const std::vector<Event>& events, const EventKey& key, std::size_t first = 0);

/// The derivative of the time of event `later` by the time of event `earlier` (from 0) of a run. The mode before the
/// earlier event is kept a little longer, by its equations, and the run goes on from there. Empty: it cannot be found.
std::optional<double> delay_effect(const CompiledModel& model, const SimulateOptions& options, const Trajectory& run,
                                   std::size_t earlier, std::size_t later);

}  // namespace saltus
