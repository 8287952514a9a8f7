// The linearisation of a mode at a point: how all of its variables and their derivatives follow from a few of them.
//
// The unknowns z are the variables and those of their derivatives that the equations determine. The equations are those
// of the mode and as many of their time derivatives as its structural index asks for (J. D. Pryce, BIT 41 (2001)
// 364-394): E dz + D dd + T dt = 0 for changes of z, of the data d and of time. With the held variables h of a mode and
// G, the other columns of E, the changes of the unknowns that are not held follow:
//
//   dz = -G^{-1} (E_h dh + D dd + T dt)        push
//
// The transposed map takes a linear function of dz to one of (dh, dd, dt): pull. It is what adjoint equations consist
// of, and costs one solution with G transposed, however many data there are.
#pragma once

#include <saltus/linalg/lu.hpp>
#include <saltus/model/recorded_system.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sens/gradient.hpp"

namespace saltus {

/// A linear function of changes: of the held variables of a mode, of its data and of time.
struct Covector {
  std::vector<double> held, data;
  double time = 0.0;
};

/// The programs of a mode, for all values of its data.
class LinearMode {
 public:
  enum Group : std::size_t { by_time, by_unknown, by_data };

  /// The system must have a structure that the analysis finds regular: otherwise why() says so.
  explicit LinearMode(const RecordedSystem& system);

  const std::string& why() const { return why_; }
  bool is_explicit() const { return explicit_; }
  /// Whether constraints are hidden: then some of the differentiated variables are not free.
  bool hidden_constraints() const { return hidden_; }
  std::size_t variables() const { return x_.size(); }
  std::size_t unknowns() const { return z_.size(); }
  std::size_t equations() const { return rows_; }
  /// Where the derivative of some order of a variable stands among the unknowns; -1: it is none of them.
  int place(std::size_t variable, int order) const;
  /// Entries of E and D, in the order of their values.
  struct Entry {
    int row, column;
  };
  const std::vector<Entry>& equation_entries() const { return E_; }
  const std::vector<Entry>& data_entries() const { return D_; }
  /// The variable of which an unknown is a derivative.
  std::size_t variable_of(std::size_t unknown) const;
  /// A typical size of a variable.
  double nominal(std::size_t variable) const { return nominal_[static_cast<std::size_t>(first_[variable])]; }
  /// Whether the equations read one of the data.
  bool reads_data(std::size_t place) const;
  /// The unknowns that can be held: differentiated variables themselves.
  const std::vector<int>& candidates() const { return candidates_; }

  /// A function of what the system reads, with its derivatives by the groups. Takes expressions of the system's graph.
  Gradient gradient(Expr f) const;
  /// Its time derivative along solutions, likewise.
  Gradient speed(Expr f) const;
  /// Its graph can grow, and has the nodes of the system's.
  const std::shared_ptr<Graph>& graph() const { return graph_; }
  const std::vector<Expr>& data() const { return data_; }
  const Expr& time() const { return time_; }

 private:
  friend class LinearPoint;
  void find_unknowns(const RecordedSystem& system, const std::vector<int>& highest);

  std::string why_;
  bool explicit_ = false, hidden_ = false;
  std::shared_ptr<Graph> graph_;
  Expr time_;
  std::vector<Expr> x_, data_, locks_, z_;
  std::vector<int> first_, highest_;  // by variable: place of order 0, highest order
  std::vector<int> candidates_;
  std::vector<double> nominal_;
  std::size_t rows_ = 0;
  std::vector<Entry> E_, D_;
  std::vector<int> T_;                         // rows
  std::vector<Expr> symbols_, along_;          // time and unknowns, and what they become along a solution
  Program residuals_, by_unknowns_, by_data_;  // the equations; E; D and T
};

/// The numbers at a point. It can be moved along a solution.
class LinearPoint {
 public:
  LinearPoint() = default;
  LinearPoint(std::shared_ptr<const LinearMode> mode, std::vector<double> data, std::vector<double> locks);

  bool empty() const { return !mode_; }
  const LinearMode& mode() const { return *mode_; }
  std::span<const double> data() const { return data_; }
  std::span<const double> locks() const { return locks_; }

  /// Goes to a time and values x of the variables there; x' is a guess where the mode has constraints. Held variables
  /// keep their values, all others are solved for. False: there is no solution nearby, or the mode is singular there.
  bool move(double t, std::span<const double> x, std::span<const double> xp);
  /// The same without what solutions with G need: push, pull, condition and rates must not be asked for behind it.
  bool pass(double t, std::span<const double> x, std::span<const double> xp);
  /// The same mode with other values.
  void set_values(std::vector<double> data, std::vector<double> locks);
  /// Chooses the held variables anew, where hidden constraints leave a choice, at the present point.
  bool choose_held();
  /// Chooses these; what follows from that is found when the point moves.
  void set_held(std::vector<int> variables);
  /// Holds these variables, here. False: the others do not follow from them.
  bool hold(const std::vector<int>& variables);
  /// Places of the held variables among the variables.
  const std::vector<int>& held() const { return held_; }
  /// How far from singular the equations for the others are, with hidden constraints; 1 without.
  double condition() const;
  /// The sign of the determinant of these equations, with hidden constraints; 1 without. Where it differs at two points
  /// of a solution, the others do not follow from the held ones at a point between them.
  int orientation() const;

  double t() const { return t_; }
  std::span<const double> unknowns() const { return z(); }
  /// The derivative of some order of a variable; zero where it is no unknown.
  double value(std::size_t variable, int order) const;
  /// The time derivatives of all unknowns along the solution.
  std::vector<double> rates() const;

  /// Changes of all unknowns from those of the held ones, of the data and of time.
  std::vector<double> push(std::span<const double> held, std::span<const double> data, double time) const;
  /// A linear function of changes of the unknowns, as one of the changes from which they follow: adds it to `out`.
  void pull(std::span<const double> function, Covector& out) const;
  /// The part of pull() on the held variables alone.
  void pull_held(std::span<const double> function, std::span<double> held) const;
  /// Its part on the data alone.
  void pull_data(std::span<const double> function, std::span<double> data) const;
  /// An empty function.
  Covector covector() const;
  /// Adds E to the first rows of a dense matrix by columns, which are as long as `stride`.
  void add_equations(std::span<double> matrix, std::size_t stride) const;
  /// Adds -D^T w.
  void add_data_of_equations(std::span<const double> w, std::span<double> data) const;

  /// Evaluates a gradient of the mode here.
  void evaluate(Gradient& gradient) const;
  /// The derivative of f by x in an explicit mode, at the places (row, column) that follow.
  std::span<const double> E() const { return e_; }
  std::span<const double> D() const { return data_values().first(mode_->D_.size()); }
  std::span<const std::pair<int, int>> explicit_entries() const { return explicit_entries_; }
  std::span<const int> explicit_values() const { return explicit_values_; }

 private:
  void evaluate(const Program& program, std::span<double> values, Workspace& work) const;
  bool evaluate_equations();
  bool evaluate_residual();
  void guess(double t, std::span<const double> x, std::span<const double> xp);
  bool solve_for_free();
  const std::vector<double>& z() const;
  bool factorise();
  void set_free();
  /// D, then T; evaluated when first asked for at a point.
  std::span<const double> data_values() const;
  std::span<const double> T() const { return data_values().last(mode_->T_.size()); }
  void solve(std::span<double> b) const;
  void solve_transposed(std::span<double> b) const;
  std::vector<double> multipliers(std::span<const double> function) const;
  void add_held(std::span<const double> function, std::span<const double> w, std::span<double> held) const;

  std::shared_ptr<const LinearMode> mode_;
  std::vector<double> data_, locks_;
  double t_ = 0.0;
  mutable std::vector<double> z_, residual_;
  std::vector<double> e_;
  mutable std::vector<double> data_values_;
  mutable bool slopes_current_ = true, data_current_ = false;
  mutable Workspace residual_work_;
  Workspace e_work_;
  mutable Workspace data_work_;
  std::vector<int> held_, held_place_;  // variables; by unknown: place among the held ones, or -1
  std::vector<int> free_, free_place_;  // unknowns; by unknown: place among the free ones, or -1
  std::vector<int> sources_;            // of the entries of G: places in E
  std::vector<std::pair<int, int>> explicit_entries_;
  std::vector<int> explicit_values_;
  SparsePattern pattern_;
  bool sparse_ = false;
  bool factors_ = false;  // there are some, of this point or one nearby
  mutable std::vector<double> matrix_;
  DenseLu dense_;
  SparseLu klu_;
};

}  // namespace saltus
