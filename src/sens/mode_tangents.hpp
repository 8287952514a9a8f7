// The equations of a mode together with their derivatives: s' = f_x s + f_p, or F_x s + F_x' s' + F_p = 0, one set for
// each direction. They are a system like any other, of the same index, and are analysed, made consistent and integrated
// by the same means.
//
// Time is a direction, too, the first one: along it the solution is differentiated by x', which gives x' of algebraic
// variables and x''.
#pragma once

#include <saltus/dae/extra_conditions.hpp>
#include <saltus/model/recorded_system.hpp>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sens/gradient.hpp"

namespace saltus {

/// A direction other than time.
struct DirectionInfo {
  std::string name;
  double scale = 1.0;  ///< a typical size of what is differentiated by
};

class ModeTangents {
 public:
  /// `observed` are functions of what the system reads. All expressions are of one graph, which does not change.
  ModeTangents(const RecordedSystem& system, std::span<const Expr> observed, std::span<const DirectionInfo> directions);

  /// Variables of the mode; those of the tangents are (directions + 1) times as many more: x, x' (along time), then s
  /// of each direction.
  std::size_t variables() const { return x_.size(); }
  /// The equations with their derivatives, for values of data and locks, and changes of the data by direction. Time
  /// stands still along the directions, unless `time_changes` says how it moves.
  RecordedSystem with_values(std::span<const double> data, std::span<const double> locks,
                             std::span<const std::vector<double>> data_changes,
                             std::span<const double> time_changes = {}) const;
  /// Derivatives of what is observed: along time, then along each direction.
  void observe(const RecordedSystem& tangents, double t, std::span<const double> y, std::span<const double> yp,
               std::span<double> out) const;
  /// How many values observe() gives for each direction.
  std::size_t observed() const { return observed_; }

  /// The derivatives of conditions along each direction but time, as conditions for the tangents.
  std::unique_ptr<ExtraConditions> conditions(std::vector<Expr> residuals, const RecordedSystem& tangents) const;

  enum Group : std::size_t { by_time, by_state, by_slope, by_data };
  /// A guard of the mode and its derivatives; inputs in the order of Group, then locks.
  Gradient& guard(int number);

 private:
  Gradient gradient(const Expr& f) const;
  std::vector<Expr> along(std::size_t direction, const std::vector<Expr>& functions) const;

  std::vector<Expr> x_, xp_, data_, locks_, guards_, rhs_;
  Expr time_;
  std::vector<Expr> symbols_;               // time, x, x', data
  std::vector<std::vector<Expr>> changes_;  // of these, by direction
  std::unique_ptr<RecordedSystem> tangents_;
  Program observe_;
  mutable Workspace observe_work_;
  std::size_t observed_ = 0;
  std::map<int, Gradient> guard_gradients_;
};

}  // namespace saltus
