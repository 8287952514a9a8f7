// The relations and roundings of a compiled model: as locks, which the programs read, and as guards, which are watched.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/expr/rewrite.hpp>
#include <saltus/model/model.hpp>

#include <span>
#include <unordered_map>
#include <vector>

#include "model/coincident_guards.hpp"
#include "model/event_logic.hpp"
#include "model/guard_activity.hpp"

namespace saltus {

class ModelGuards {
 public:
  enum class Kind { relation, rounding_low, rounding_high };
  struct Guard {
    Kind kind;
    Expr function;
    /// Relations on this function, or the one rounding; the first one gives the side.
    std::vector<int> locks;
    std::vector<int> signs;  ///< by lock: the side on which the relation is true
    std::vector<char> weak;  ///< by lock: it is true at zero
    int same_as = -1;        ///< see GuardInfo

    /// The truth of its relation i on a side, or at zero.
    double truth(std::size_t i, int side) const {
      return side == 0 ? (weak[i] ? 1.0 : 0.0) : side * signs[i] > 0 ? 1.0 : 0.0;
    }
    /// The side that relation i gives.
    int side_of(std::size_t i, double truth) const { return truth != 0.0 ? signs[i] : -signs[i]; }
    /// Whether its relations at zero are those of neither side.
    bool distinct_at_zero() const;
    /// By how much a rounding changes beyond this end of its interval; 0: no rounding.
    int step() const { return kind == Kind::rounding_low ? -1 : kind == Kind::rounding_high ? +1 : 0; }
  };

  /// Locks as the model has them, by what they are after variables were eliminated.
  using Written = std::unordered_map<NodeId, Expr>;

  ModelGuards() = default;
  /// Finds the locks in the equations of each explicit mode, in what the logic asks for, and in what is computed for
  /// the user: a relation makes events even if nothing but an output depends on it.
  ModelGuards(const ModelData& model, const EventLogic::Setup& logic, const std::vector<std::vector<Expr>>& equations,
              const std::vector<Expr>& outputs, const Written& written);
  /// Rules of surfaces that the model gives; `continuous` makes its relations those of the equations.
  void set_rules(const ModelData& model, Rewrite& continuous);

  /// Guards that have become one because they have the same zeros.
  const CoincidentGuards& coincident() const { return coincident_; }
  const std::vector<Expr>& locks() const { return locks_; }
  /// By lock: as the model has it, for texts.
  const std::vector<Expr>& written() const { return written_; }
  /// The function whose zeros are those of a lock, as it is written.
  Expr written_function(int lock) const;
  /// "v1 - v2 = 0": the surface of a guard in the model's variables.
  std::string surface_text(int guard) const;
  /// The same in what is watched: eliminated variables are replaced by what they are.
  std::string watched_text(int guard) const;
  const std::vector<Guard>& guards() const { return guards_; }
  const std::vector<GuardInfo>& info() const { return info_; }
  /// The locks as conditions read them.
  std::vector<EventLogic::Lock> lock_info() const;
  void set_slides(int guard, bool slides) { info_[static_cast<std::size_t>(guard)].slides = slides; }
  void mark_paired(int guard) { info_[static_cast<std::size_t>(guard)].paired = true; }
  void mark_time_only(int guard) { info_[static_cast<std::size_t>(guard)].time_only = true; }
  void mark_of_input(int guard) { info_[static_cast<std::size_t>(guard)].of_input = true; }
  /// Whether a lock depends on discrete values alone: no guard stands behind it.
  bool is_discrete(int lock) const { return guard_of_lock_[static_cast<std::size_t>(lock)] < 0; }
  /// Whether a lock is the rounding of something that guards watch.
  bool is_rounding(int lock) const {
    return !is_discrete(lock) &&
           guards_[static_cast<std::size_t>(guard_of_lock_[static_cast<std::size_t>(lock)])].kind != Kind::relation;
  }
  /// Whether there are guards that matter in some modes only.
  bool some_dormant() const { return some_dormant_; }
  /// Marks the discrete variables and locks that decide in some explicit mode which guards matter.
  void mark_deciding(std::vector<char>& discretes, std::vector<char>& locks) const {
    for (const GuardActivity& activity : activity_) activity.mark_deciding(discretes, locks);
  }
  /// Whether the signs of parameters have decided which factors guards keep, and whether other values have the same.
  bool depend_on_signs() const { return !by_sign_.empty(); }
  bool same_signs(std::span<const double> before, std::span<const double> now) const;
  /// Whether a lock can play a part in whatever happens in the explicit mode.
  bool always_matters(int automaton, int lock) const;
  /// Whether two discrete states of one explicit mode agree in those of the locks that play a part in one of them.
  bool same_where_it_matters(std::span<const int> locks, const Mode& a, const Mode& b) const;

  // --- as HybridSystem has them
  int side(const Mode& mode, int guard) const {
    const int lock = side_lock_[static_cast<std::size_t>(mode.automaton)][static_cast<std::size_t>(guard)];
    if (lock == varies || mode.on_surfaces()) return varying_side(mode, guard);
    return lock == rounding
               ? +1
               : guards_[static_cast<std::size_t>(guard)].side_of(0, mode.locks[static_cast<std::size_t>(lock)]);
  }
  void positions(const Mode& mode, std::vector<Position>& positions) const;
  void set_side(Mode& mode, int guard, int side) const;
  bool follow(Mode& mode, int guard, double value, int side) const;
  void rest(Mode& mode, int guard) const;
  bool rests(const Mode& mode, int guard) const;
  /// Whether the relations of a guard are locked as they are at zero, and that is neither of its sides.
  bool between(const Mode& mode, int guard) const;
  std::vector<int> dormant(const Mode& mode) const { return some_dormant_ ? find_dormant(mode) : std::vector<int>{}; }

 private:
  /// The relation of which written() is this one, or the opposite.
  Expr written_lock(std::size_t lock) const;
  using GuardsOfLocks = std::vector<std::vector<int>>;
  GuardsOfLocks find_guards(const ModelData& model, const EventLogic::Setup& logic,
                            const std::vector<Expr>& of_equations, const Written& of_model,
                            std::vector<Expr>& with_cuts);
  void merge_coincident(const EventLogic::Setup& logic, GuardsOfLocks& guards_of_lock);
  void find_activity(const EventLogic::Setup& logic, const std::vector<std::vector<Expr>>& asked);
  void locate(const ModelData& model, const EventLogic::Setup& logic, const GuardsOfLocks& guards_of_lock);
  void add_second_guards();
  void note_signs(const Expr& function, const std::unordered_map<NodeId, std::size_t>& places);
  int varying_side(const Mode& mode, int guard) const;
  static int side_at_zero(const Guard& guard);
  std::vector<int> find_dormant(const Mode& mode) const;

  CoincidentGuards coincident_;
  std::vector<Expr> locks_, written_;
  std::vector<Guard> guards_;
  std::vector<GuardInfo> info_;
  std::vector<int> guard_of_lock_;       // one of them; -1: none
  std::vector<GuardActivity> activity_;  // by explicit mode
  bool some_dormant_ = false;            // there are guards that matter in some modes only
  // By explicit mode and guard: the relation that gives the side; or
  static constexpr int rounding = -1;  // inside its interval
  static constexpr int varies = -2;    // whether the guard matters depends on the mode
  std::vector<std::vector<int>> side_lock_;
  std::vector<std::size_t> by_sign_;       // parameters whose signs count
  std::vector<signed char> side_if_true_;  // by guard: where that relation is true
};

}  // namespace saltus
