// The programs with which derivatives follow the solution in an explicit mode x' = f(t, x, d). They are for one
// direction; several directions are evaluated together, as lanes:
//
//   s' = f_x s + f_t dt + f_d dd        for a change dt of time and changes dd of the data
//
// Made once for a mode and shared by all runs of a compiled model.
#pragma once

#include <saltus/linalg/sparse.hpp>
#include <saltus/model/recorded_system.hpp>
#include <saltus/program/program.hpp>
#include <saltus/step/tableau.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "model/rehome.hpp"
#include "program/tape_runner.hpp"
#include "sens/gradient.hpp"

namespace saltus {

/// The groups of inputs of programs for derivatives.
struct TangentInput {
  enum : std::size_t { t, x, xp, s, sp, dt, data, dd, locks, count };
};

/// From several threads: what is made when it is first asked for never changes afterwards.
class TangentCode {
 public:
  /// `observed` are functions of what the system reads, which must be an explicit mode.
  TangentCode(const RecordedSystem& system, std::span<const Expr> observed);

  std::size_t variables() const { return x_.size(); }
  std::size_t data() const { return data_.size(); }
  std::size_t locks() const { return locks_.size(); }
  std::size_t observed() const { return observed_.size(); }
  std::size_t invariants() const { return invariants_.size(); }
  double nominal(std::size_t j) const { return nominal_[j]; }

  // --- programs with the inputs of TangentInput
  /// f and s'.
  const Program& slopes() const;
  /// The derivatives of what is observed.
  const Program& observation() const;
  /// The derivatives of the invariants, and their Jacobian by x, row by row.
  const Program& invariant_tangents() const;

  /// The derivatives of f by x and by the data. Inputs: t, x, data, locks; outputs: by x at the places of `by_x`, and
  /// by the data at `by_data`, which is sorted by columns.
  struct Jacobian {
    Program program;
    SparsePattern by_x;  ///< with all of the diagonal
    struct Entry {
      int row, column;
    };
    std::vector<Entry> by_data;
  };
  const Jacobian& jacobian() const;

  /// One step with s, as one tape. Inputs: t, h, x, s, data, dd, locks; outputs: x and s at the end, and one or two
  /// estimates of the error of s. Null where the tape would be too long.
  const TapeRunner* step(const Tableau& tableau, int lanes) const;

  enum Group : std::size_t { by_time, by_state, by_slope, by_data };
  /// A guard of the mode and its derivatives; inputs in the order of Group, then locks.
  Gradient guard(int number) const;
  /// Its time derivative along solutions, likewise.
  Gradient guard_speed(int number) const;

 private:
  Program make(const std::vector<Expr>& outputs) const;
  std::vector<Expr> along(const std::vector<Expr>& functions) const;
  const Program& known(Program& program, auto outputs) const;
  std::unique_ptr<TapeRunner> make_step(const Tableau& tableau, int lanes) const;
  Gradient gradient(std::map<int, Gradient>& known, int number, auto function) const;

  GraphHandle graph_;
  Expr time_, dt_;
  std::vector<Expr> x_, xp_, s_, sp_, data_, dd_, locks_, f_, guards_, invariants_, observed_;
  std::vector<double> nominal_;

  mutable std::recursive_mutex making_;  // guards the graph and what follows
  mutable Program slopes_, observation_, invariant_tangents_;
  mutable std::unique_ptr<Jacobian> jacobian_;
  mutable std::map<std::pair<std::string, int>, std::unique_ptr<TapeRunner>> steps_;
  mutable std::map<int, Gradient> guard_gradients_, speed_gradients_;
};

}  // namespace saltus
