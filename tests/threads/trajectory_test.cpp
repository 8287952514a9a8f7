// One result, many readers.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "threads/models.hpp"

namespace saltus::testing {
namespace {

TEST(TrajectoryInThreads, IsReadByEightThreadsAtOnce) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.model().name());
    const Trajectory run = simulate(c.model(), c.options);
    const Trajectory copy = run;  // the events of either are made when they are first read
    std::vector<Fingerprint> found(8);
    in_threads(8, [&](int thread) {
      Fingerprint f = fingerprint(run);
      for (int k = 0; k <= 40; ++k) {
        const double t = run.t_start() + (run.t_end() - run.t_start()) * ((7 * k + thread) % 41) / 41.0;
        run.at(t);
        run.before(t);
      }
      found[static_cast<std::size_t>(thread)] = std::move(f);
    });
    const Fingerprint expected = fingerprint(copy);
    for (const Fingerprint& f : found) EXPECT_TRUE(f == expected);
  }
}

TEST(TrajectoryInThreads, IsCopiedWhileOthersRead) {
  const Trajectory run = simulate(ball_on_table(), {.stop = 5.0});
  std::vector<std::size_t> events(8);
  in_threads(8, [&](int thread) {
    const Trajectory copy = run;
    events[static_cast<std::size_t>(thread)] = thread % 2 == 0 ? copy.events().size() : run.events().size();
  });
  for (const std::size_t count : events) EXPECT_EQ(count, events.front());
}

TEST(TrajectoryInThreads, OutlivesModelAndSimulator) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.model().name());
    std::optional<Trajectory> run;
    {
      const Model model = c.model();
      CompiledModel compiled(model);
      // the simulator does not own the model
      Simulator simulator(std::shared_ptr<HybridSystem>(&compiled, [](HybridSystem*) {}), c.options);
      simulator.run();
      run = simulator.take();
    }
    EXPECT_TRUE(fingerprint(*run) == fingerprint(simulate(c.model(), c.options)));
  }
}

TEST(TrajectoryInThreads, ReadingChangesNothingInARunThatGoesOn) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.model().name());
    const CompiledModel compiled(c.model());
    Simulator read(std::make_shared<CompiledModel>(compiled), c.options);
    while (read.step()) {
      read.trajectory().at(read.trajectory().t_start());
      read.trajectory().events();
    }
    EXPECT_TRUE(fingerprint(read.take()) == fingerprint(simulate(compiled, c.options)));
  }
}

}  // namespace
}  // namespace saltus::testing
