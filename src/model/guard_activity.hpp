// Which guards matter in a mode.
//
// An expression that is evaluated lazily asks for some of its relations only: for those of the branch that is taken, and for none behind
// an operand of `and` or `or` that decides by itself. While the relations that were asked for stay as they are, no other can change
// the outcome: only they need be watched. The others may lie on any side.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/expr/expr.hpp>

#include <compare>
#include <span>
#include <utility>
#include <vector>

namespace saltus {

class GuardActivity {
 public:
  struct Setup {
    std::span<const Expr> roots;  ///< all that is evaluated in an explicit mode: equations, conditions, outputs
    std::span<const Expr> locks, discretes;
    std::span<const std::pair<Expr, Expr>> pre_discretes;  ///< (symbol, pre symbol): between events they are the same
    std::vector<std::vector<int>> guard_locks;             ///< by guard
  };
  explicit GuardActivity(const Setup& setup);

  /// Whether the guard can influence anything in the mode.
  bool active(int guard, const Mode& mode) const { return asked(region_of_guard_[static_cast<std::size_t>(guard)], mode); }
  /// Whether it can in every mode.
  bool always(int guard) const {
    const int region = region_of_guard_[static_cast<std::size_t>(guard)];
    return region == everywhere || region == too_deep;
  }
  /// Marks the discrete variables and locks that decide which guards matter.
  void mark_deciding(std::vector<char>& discretes, std::vector<char>& locks) const;
  /// Guards that matter for some values of locks and discrete variables only, increasing.
  const std::vector<int>& changing() const { return changing_; }

 private:
  /// A Boolean expression as far as it is made of locks and discrete variables.
  struct Truth {
    enum class Kind : char { lock, discrete, negation, conjunction, disjunction, unknown } kind = Kind::unknown;
    int a = -1, b = -1;  // the lock or discrete variable; or the operands
    auto operator<=>(const Truth&) const = default;
  };
  /// The nodes of an expression that are asked for together: in a branch of a choice, behind a part of a condition.
  struct Entry {
    /// When one is asked for, given that the region around it is: always; if a is true, or false; if a decides by being false, or b does
    /// not; if a decides by being true, or b does not.
    enum class Kind : char { plain, if_true, if_false, first_of_and, first_of_or } kind = Kind::plain;
    int around = 0;
    int a = -1, b = -1;  // Boolean expressions
    auto operator<=>(const Entry&) const = default;
  };
  using Region = std::vector<Entry>;  // any of them is enough
  static constexpr int everywhere = 0, too_deep = 1, nowhere = -1;  // too deep inside others to find out: counts as asked for
  class Search;

  bool asked(int region, const Mode& mode) const { return region <= too_deep ? region != nowhere : asked_inside(region, mode); }
  bool asked_inside(int region, const Mode& mode) const;
  bool holds(const Entry& entry, const Mode& mode) const;
  bool may_be(int truth, bool value, const Mode& mode) const {
    const Truth& t = truths_[static_cast<std::size_t>(truth)];
    if (t.kind == Truth::Kind::lock && mode.sliding.empty()) return (mode.locks[static_cast<std::size_t>(t.a)] != 0.0) == value;
    return may_be(t, value, mode);
  }
  bool may_be(const Truth& t, bool value, const Mode& mode) const;

  std::vector<Truth> truths_;
  std::vector<Region> regions_;      // the first two stand for everywhere and too_deep
  std::vector<int> region_of_guard_;
  std::vector<int> guard_of_lock_;   // -1: none
  std::vector<int> changing_;
};

}  // namespace saltus
