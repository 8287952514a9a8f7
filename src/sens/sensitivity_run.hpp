// What a run with sensitivities keeps.
#pragma once

#include <saltus/sens/sensitivities.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sens/tangent_flow.hpp"

namespace saltus {

struct SensitivityRun::Impl {
  /// Derivatives between two events: along time, then along each direction, of all observed variables.
  struct Piece {
    double from, to;
    std::unique_ptr<TangentFlow> flow;   ///< in explicit modes
    std::unique_ptr<Trajectory> solved;  ///< in others: the solution of the equations together with their derivatives
  };

  explicit Impl(Trajectory run) : trajectory(std::move(run)), end(trajectory.t_start()) {}

  Trajectory trajectory;
  std::vector<std::string> parameters;
  double end;
  std::string why;
  std::vector<Piece> pieces;
  std::vector<std::vector<double>> final;   ///< by direction; empty: there are none
  std::vector<std::vector<double>> at_end;  ///< the same at a fixed time
  std::vector<EventSensitivity> events;
  /// By direction: what holds of its derivatives.
  struct Sides {
    std::optional<double> one_sided_from;  ///< from this time on they are those of one side
    std::string remark;                    ///< why, or what is wrong at the end
    std::vector<Smoothness> final;         ///< of the final values, by variable
  };
  std::vector<Sides> sides;

  Smoothness smoothness(double t, std::size_t direction) const;
  std::size_t direction(const std::string& parameter) const;
  std::vector<double> read(double t, const std::string& parameter, bool right) const;
  /// The tangents at a time: along time, and by direction.
  std::vector<double> slopes(double t, bool right) const;
  std::vector<std::vector<double>> tangents(double t, bool right) const;

 private:
  /// The piece to which a limit belongs, and the time within it.
  std::pair<const Piece*, double> find(double t, bool right) const;
};

}  // namespace saltus
