#include "sens/run_pieces.hpp"

#include <saltus/hybrid/kept_size.hpp>

#include <algorithm>

#include "hybrid/saved_memory.hpp"

namespace saltus {

namespace {

SimulateOptions of_piece(SimulateOptions options, const RunPiece& piece) {
  if (!options.keep_steps) throw UsageError("derivatives follow the steps of the run: keep_steps = false leaves none");
  options.max_steps -= piece.made;
  return options;
}

Simulator make_simulator(const CompiledModel& model, const std::shared_ptr<std::vector<Act>>& acts,
                         const SimulateOptions& options, const RunPiece& piece) {
  auto watched = std::make_shared<WatchedModel>(model, acts);
  return piece.from ? Simulator(watched, of_piece(options, piece), *piece.from)
                    : Simulator(watched, of_piece(options, piece));
}

/// How much a run and its record keep, as far as it has been counted.
class RecordSize {
 public:
  std::size_t add_new(const Trajectory& run, const std::vector<Act>& acts) {
    bytes_ += steps_.new_steps(run);
    const auto numbers = [&](const auto&... lists) { bytes_ += sizeof(double) * (lists.size() + ...); };
    for (; act_ < acts.size(); ++act_) {
      const Act& act = acts[act_];
      bytes_ += sizeof(Act);
      numbers(act.x_before, act.x_after, act.round.before, act.mode_before.discrete, act.mode_after.discrete,
              act.mode_before.locks, act.mode_after.locks);
      for (const std::vector<double>& seen : act.round.seen) numbers(seen);
    }
    // an event keeps the values on its two sides
    const auto events = static_cast<std::size_t>(run.statistics().events);
    bytes_ += (events - event_) * (sizeof(Event) + 2 * sizeof(double) * run.variables().size());
    event_ = events;
    return bytes_;
  }

 private:
  KeptSize steps_;
  std::size_t act_ = 0, event_ = 0, bytes_ = 0;
};

}  // namespace

WatchedRun::WatchedRun(const CompiledModel& model, const SimulateOptions& options, const RunPiece& piece)
    : acts_(std::make_shared<std::vector<Act>>()), simulator_(make_simulator(model, acts_, options, piece)) {}

RunInPieces::RunInPieces(const CompiledModel& model, const SimulateOptions& options, std::size_t size,
                         const std::function<void(const Trajectory&)>& ended)
    : model_(model), options_(options) {
  RunPiece piece;
  auto run = std::make_unique<WatchedRun>(model_, options_, piece);
  RecordSize kept;
  while (!run->simulator().finished()) {
    run->simulator().step();
    ++piece.steps;
    const Trajectory& so_far = run->simulator().trajectory();
    if (run->simulator().finished() || kept.add_new(so_far, run->acts()) <= size) continue;
    ended(so_far);
    RunPiece next{.from = run->simulator().state(), .made = piece.made + so_far.statistics().steps};
    forget_history(*next.from);  // each piece begins anew, and its record has no events of earlier ones
    pieces_.push_back(std::exchange(piece, std::move(next)));
    run = std::make_unique<WatchedRun>(model_, options_, piece);
    kept = {};
  }
  pieces_.push_back(std::move(piece));
  last_ = std::make_unique<RunRecord>(model_, std::move(*run));
  ended(last_->trajectory);
}

std::unique_ptr<RunRecord> RunInPieces::make_again(std::size_t piece) const {
  auto record = std::make_unique<RunRecord>(model_, options_, pieces_[piece]);
  const SimulatorState& next = *pieces_[piece + 1].from;
  if (record->problem.empty() && (record->trajectory.t_end() != next.t || record->final_x != next.x)) {
    record->problem = "a piece of the run that was made again came to another end";
    record->problem_time = record->trajectory.t_end();
  }
  return record;
}

}  // namespace saltus
