// A run in pieces, of which each can be made again: so that its record need not be kept as a whole.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "sens/run_record.hpp"

namespace saltus {

/// A run, and what its clauses do.
class WatchedRun {
 public:
  WatchedRun(const CompiledModel& model, const SimulateOptions& options, const RunPiece& piece);

  Simulator& simulator() { return simulator_; }
  const std::vector<Act>& acts() const { return *acts_; }
  std::vector<Act> take_acts() { return committed(std::move(*acts_)); }

 private:
  std::shared_ptr<std::vector<Act>> acts_;
  Simulator simulator_;
};

/// Makes a run whose record is kept in pieces of at most this size (bytes, roughly). Where a piece ends, the run goes
/// on from a saved state. So a piece that is made again from the same state has the same bits, with every method; with
/// explicit Runge-Kutta methods in explicit modes the whole run has those of one that is not divided.
class RunInPieces {
 public:
  /// `ended`: called with the trajectory of each piece, in their order.
  RunInPieces(const CompiledModel& model, const SimulateOptions& options, std::size_t size,
              const std::function<void(const Trajectory&)>& ended);

  const std::vector<RunPiece>& pieces() const { return pieces_; }
  /// The record of the last piece, once.
  std::unique_ptr<RunRecord> take_last() { return std::move(last_); }
  /// That of another one, which is made again. Its `problem` says so if it came to another end.
  std::unique_ptr<RunRecord> make_again(std::size_t piece) const;

 private:
  CompiledModel model_;
  SimulateOptions options_;
  std::vector<RunPiece> pieces_;
  std::unique_ptr<RunRecord> last_;
};

}  // namespace saltus
