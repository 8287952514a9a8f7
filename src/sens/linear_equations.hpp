// The linear equations that changes follow along a recorded solution,
//
//   M y' = A(t) y + B(t) dd        for changes dd of the data,
//
// as an implicit method needs them. Each row of M has a single 1, or nothing.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sens/lane_lu.hpp"
#include "sens/tangent_code.hpp"
#include "sens/tangent_stepper.hpp"

namespace saltus {

class LinearEquations {
 public:
  struct Entry {
    int row, column;
  };
  /// At a time: the entries of A by rows, and those of B.
  struct Values {
    std::vector<double> a, b;
  };

  virtual ~LinearEquations() = default;
  std::size_t size() const { return pattern_.start.size() - 1; }
  /// Where A has entries.
  const LaneRows& pattern() const { return pattern_; }
  /// Where B has entries, by columns.
  const std::vector<Entry>& by_data() const { return by_data_; }
  /// Whether M is the identity. If not:
  bool identity() const { return identity_; }
  /// Rows of M that are not empty, with the columns of their ones. There are none where all variables follow.
  const std::vector<Entry>& mass() const { return mass_; }

  /// Along the solution at a time. False: a number is not finite, or there is no solution there.
  virtual bool evaluate(double t, SolutionPath& path, const TangentValues& values, Values& out) = 0;
  /// Factors of shift M - A; false: it is singular.
  virtual bool factorise(double shift, const Values& at) = 0;
  /// r := (shift M - A)^{-1} r, in lanes.
  virtual void solve(double* r, int width) = 0;
  /// r := (shift M - A)^{-T} r for two right-hand sides: value i of them at 2i and 2i + 1.
  virtual void solve_transposed(std::span<double> r) = 0;

  /// out += factor B dd for the directions from `first` on that are the `width` lanes of `out`. Most directions change
  /// a single number.
  void add_data(const Values& at, double factor, std::size_t first, std::size_t width, const TangentValues& values,
                double* out) const;
  /// Changes with the pattern.
  int version() const { return version_; }

 protected:
  /// From entries in any order; `place` receives where each of them stands in the pattern by rows.
  void set_pattern(std::size_t rows, std::span<const Entry> entries, std::vector<int>& place);
  /// Entries that are sorted by columns.
  void set_data(std::size_t data, std::vector<Entry> entries);

  LaneRows pattern_;
  bool identity_ = true;
  std::vector<Entry> by_data_, mass_;
  std::vector<int> data_start_;  // column p of B stands between [p] and [p + 1]
  int version_ = 0;
};

/// Those of an explicit mode: y are the variables, A and B the derivatives of x' = f(t, x, d).
class ExplicitEquations final : public LinearEquations {
 public:
  explicit ExplicitEquations(const TangentCode& code);

  bool evaluate(double t, SolutionPath& path, const TangentValues& values, Values& out) override;
  bool factorise(double shift, const Values& at) override;
  void solve(double* r, int width) override { lu_.solve(r, width); }
  void solve_transposed(std::span<double> r) override { lu_.solve_transposed(r); }

 private:
  const TangentCode::Jacobian& jacobian_;
  Workspace work_;
  std::vector<int> place_;  // of the entries of the Jacobian, by rows
  std::vector<double> x_, by_x_, shifted_;
  LaneLu lu_;
};

bool all_are_finite(std::span<const double> values);

}  // namespace saltus
