// Consistent values of a mode: x and x' that satisfy its equations and hidden constraints.
#pragma once

#include <saltus/dae/characteristic_values.hpp>
#include <saltus/dae/extra_conditions.hpp>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>
#include <saltus/dae/staged_series.hpp>
#include <saltus/dae/system.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flight/kept_analyses.hpp"
#include "hybrid/failure.hpp"

namespace saltus {

/// Why values are looked for; decides what is kept.
enum class Cause {
  start,        ///< the fixed start values are kept, others are guesses
  mode_change,  ///< no reset: the state moves along the impulsive directions of the new mode, if it must
  reset,        ///< differentiated variables keep the values that the reset gave them
};

/// Explicit modes need an evaluation; others are analysed when their structure is first seen, and what was found is kept.
class Consistency {
 public:
  /// Changes x to consistent values and fills xp. `fixed`: at the start what must be kept, behind a reset what was set, and is held before others;
  /// otherwise it does not count, and the conditions (null: none) count at the start only.
  Failure find(System& system, double t, Cause cause, std::span<const int> fixed, ExtraConditions* conditions,
               std::vector<double>& x, std::vector<double>& xp);
  /// The same for explicit modes, where values stay as they are, without conditions. False: the mode is not explicit, or a derivative is not
  /// finite; find() says more.
  bool evaluate(System& system, double t, std::span<const double> x, std::vector<double>& xp);
  /// Whether the structure of the mode allows its equations to determine its variables; cheap, without values.
  bool possible(const System& system);
  /// Whether the structure also promises that there are no hidden constraints.
  bool plain(const System& system);
  /// Moves values of a mode that is being integrated onto its constraints, hidden ones included, and finds all derivatives. The differential
  /// components stay. Explicit modes have nothing to move. False: no values were found, and x and xp mean nothing.
  bool polish(System& system, double t, std::span<double> x, std::span<double> xp);
  /// What the solution is inside a step, where x and xp hold its dense output: the same as polish() for a mode of which
  /// nothing need be known yet. Where no values are found, x and xp stay as they are.
  void refine(System& system, double t, std::span<double> x, std::span<double> xp);
  /// Whether find() looks at other guesses, too, where it finds no values; see search_start. Behind an event modes with
  /// hidden constraints are left out: their state would move.
  void search_elsewhere(bool wanted) { searches_ = wanted; }
  /// Forgets what is known about modes: the next start is looked for at another point.
  void forget() {
    analyses_.clear();
    undecided_.clear();
  }
  /// Analyses are those of earlier runs of this system, where there are any. It must outlive this object.
  void keep_with(const HybridSystem& family) { family_ = &family; }
  /// Signed length of the run. Where the start is singular, regular points are looked for in a tiny part of it.
  /// 0: they are not looked for.
  void look_behind_start(double span) { span_ = span; }
  /// The first regular time of a mode that is singular at the start t of the run; t itself for all others.
  double regular_time(const System& system, double t) const;
  /// What the user should know about the values that find() found last; "" if nothing.
  const std::string& remark() const { return remark_; }

  /// Whether an integrator that does not take hidden constraints needs the reduced form of this system. After find().
  bool needs_reduction(const System& system) const;
  /// Whether the reduced form can be made: it has dense decompositions.
  static bool can_be_reduced(const System& system);
  /// Makes the reduced form, if the system needs it. False: its ranks cannot be decided.
  bool reduce(System& system);
  /// What such an integrator solves for this system: the system itself, or its reduced form. After reduce().
  System& integrable(System& system);
  /// Makes the reduced form, if there is one, begin at a point that another method has reached.
  void restart_reduced(System& system, double t, std::span<const double> x);
  /// Of a mode whose equations leave variables open: keeps others of them constant from here on, where the present ones
  /// no longer determine the rest. True: its integrator must be restarted.
  bool choose_constant_anew(System& system, double t, std::span<const double> x);
  /// The reduced form alone; null if the system is integrated as it is.
  const ReducedSystem* reduced(const System& system) const;
  /// Taylor coefficients x_[0] … x_[order+1] of the solution through a consistent point. False if they cannot be had.
  bool series(System& system, double t, std::span<const double> x, int order, std::vector<double>& X);
  /// The characteristic values of the mode, if it needed any.
  const CharacteristicValues* values(const System& system) const;

 private:
  /// Modes with more variables whose structure has a certificate get no dense rank decisions: networks with ideal
  /// switches have a new mode at every event. Smaller ones get them where it is asked which components can be held.
  static constexpr int certified_dense_limit = 40;
  struct Analysis {
    CharacteristicValues values;
    std::unique_ptr<ReducedSystem> reduced;  // null: not needed so far
    std::unique_ptr<StagedSeries> staged;    // null: not used so far, or there is no certificate
    double singular_at = 0.0, regular_from = 0.0;  // equal: there is no singular start
    bool starts_behind() const { return singular_at != regular_from; }
    double t_found = 0.0;                    // where find() was last, and the Taylor coefficients there
    std::vector<double> found;
    CharacteristicValues here;               // at the last point that was asked for
    double t_here = 0.0;
    std::vector<double> x_here;
  };
  /// find() from the given guess alone.
  Failure find_near(System& system, double t, Cause cause, std::span<const int> fixed, ExtraConditions* conditions,
                    std::vector<double>& x, std::vector<double>& xp);
  /// find() behind an event, from other guesses. False: there are no values.
  bool find_elsewhere(System& system, double t, std::vector<double>& x, std::vector<double>& xp);
  /// find() where the mode is not regular at the start, or has no solution near the guess: looks at other guesses, if
  /// that is wanted, which change x, then at points right behind the start. Nothing: find() goes on from x.
  std::optional<Failure> start_elsewhere(Analysis& analysis, System& system, double t, const InitialisationOptions& options,
                                         std::vector<double>& x, std::vector<double>& xp);
  /// True if the equations determine the variables at the point of the analysis as their structure promises. False may mean that the
  /// point is special. Of other than square modes: true if anything was decided.
  static bool regular(const Analysis& analysis, const System& system);
  /// Adds to the remark.
  void note(const std::string& text);
  /// The start values lead to no solution, others do: a model may have several.
  void note_other_start(const System& system, std::span<const double> guess, std::span<const double> found,
                        bool at_start);
  int structural_index(const System& system);
  Analysis& analyse(System& system, double t, std::span<const double> x,
                    const CharacteristicOptions& options = {.certified_dense_limit = certified_dense_limit});
  /// Moves x onto all constraints stage by stage and finds the Taylor coefficients there up to `order` at least; x' is a guess. The
  /// corrections have the directions of impulses; where they do not become smaller, those below the tolerance are
  /// rounding errors. False: the structure is not certified, or it failed.
  bool project_by_stages(Analysis& analysis, System& system, double t, std::span<const double> x, std::span<const double> xp, int order,
                         double tolerance);
  /// The same for find(), where the state satisfies the constraints already, up to a small error, unless corrections of any size are
  /// wanted, and where what a reset has set need not move.
  bool find_by_stages(Analysis& analysis, System& system, double t, bool any_size, std::span<const int> set,
                      std::vector<double>& x, std::vector<double>& xp);
  /// polish(). `inside`: of a step, where the differentiated variables are right.
  bool polish(System& system, double t, std::span<double> x, std::span<double> xp, bool inside);
  /// Whether a differentiated variable is changed by more than a small correction. After project_by_stages().
  bool moves_state(const System& system, std::span<const double> x, std::span<const double> found) const;
  void find_projectors(Analysis& analysis, System& system, double t, std::span<const double> x);
  const CharacteristicValues& values_at(Analysis& analysis, System& system, double t, std::span<const double> x);
  /// values_at() after a reset, where project_by_stages() was tried from x: finds the directions of T2 alone where the
  /// structure is certified.
  const CharacteristicValues& values_after_reset(Analysis& analysis, System& system, double t,
                                                 std::span<const double> x);
  void find_missing_slopes(Analysis& analysis, System& system, double t, std::span<const double> x, std::span<double> xp);
  static void satisfy_equations(System& system, double t, std::span<const double> x, std::span<double> xp);

  double span_ = 0.0;
  const HybridSystem* family_ = nullptr;         // see keep_with
  std::shared_ptr<KeptAnalyses> kept_analyses_;  // of it, once they are needed
  bool searches_ = false;  // see search_elsewhere
  std::string remark_;
  std::vector<double> X_, sizes_;  // of project_by_stages
  bool stages_found_ = false;      // whether they are those of the last call
  std::vector<double> kept_;       // of refine
  std::map<std::uint64_t, int> structural_index_;  // by Structure::id; -1: structurally singular
  std::map<std::uint64_t, int> undecided_;  // how often the analysis has failed
  std::map<std::uint64_t, Analysis> analyses_;
};

}  // namespace saltus
