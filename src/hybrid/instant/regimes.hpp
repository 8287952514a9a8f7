// Regimes: a solution stands on surfaces and no side was consistent by itself. A regime leaves each of them to one of
// its sides, or slides on it. It is feasible if the guards then really move to their sides and the weights of the
// sliding surfaces stay between 0 and 1.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hybrid/instant/trials.hpp"

namespace saltus {

/// A way to go on from a point on surfaces.
struct Regime {
  Point point;
  bool rests = false;       ///< on a surface that it does not slide on
  bool at_the_end = false;  ///< a weight is 0 or 1: only one side has a part in the slide
};

class Regimes {
 public:
  explicit Regimes(Trials& trials) : trials_(trials), hybrid_(trials.hybrid()) {}

  /// Regimes with which the solution goes on from a point on these surfaces; the mode says where other guards are.
  std::vector<Regime> feasible(const Point& from, double t, const Mode& mode, std::span<const int> surfaces);
  /// All of them, also where there are many combinations.
  std::vector<Regime> all(const Point& from, double t, const Mode& mode, std::span<const int> surfaces);
  /// One, by surface: its sides, 0: a slide, 2: rest. `view`: where the guards go in the last trial of it.
  std::optional<Regime> one(const Point& from, double t, const Mode& mode, std::span<const int> surfaces,
                            std::span<const int> wanted, GuardSides* view = nullptr);
  /// Whether the weight of a slide is 0 or 1.
  bool weight_at_the_end(const Trial& trial, std::size_t slide) const;

 private:
  enum class Next { again, done, failed };
  std::optional<Regime> pivot(const Point& from, double t, const Mode& mode, std::span<const int> surfaces);
  Next try_once(const Point& from, double t, std::span<const int> surfaces, std::span<const int> wanted, Trial& trial,
                Regime& regime);
  bool on_its_surfaces(const Trial& trial, double t) const;
  bool others_follow(const Trial& trial, std::span<const int> surfaces, Mode& mode) const;
  bool sides_fit(const Trial& trial, std::span<const int> surfaces, std::span<const int> wanted) const;

  Trials& trials_;
  HybridSystem& hybrid_;
  Trial attempt_;  // workspace
};

}  // namespace saltus
