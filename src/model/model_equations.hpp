// The equations of a recorded model as they were written.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/dae/written_equations.hpp>
#include <saltus/model/model.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dae/written_relations.hpp"
#include "model/model_guards.hpp"
#include "model/runnable_program.hpp"

namespace saltus {

/// Its name or text, and its place in the source.
std::string describe_equation(const ModelData::NamedEquation& equation);

/// Those of one explicit mode, in which pre(v) is v, and the relations of the model. A copy shares the code and has
/// memory of its own.
class ModelEquations final : public WrittenEquations, public WrittenRelations {
 public:
  /// A relation or rounding that guards watch.
  struct Relation {
    Expr function;         ///< as it is written
    int lock = -1;         ///< its place in Mode::locks
    bool negated = false;  ///< the lock is the opposite of function > 0 or function >= 0
    bool rounding = false;
    std::string text = {};
    std::vector<int> guards = {};   ///< that watch it
    std::vector<int> nested = {};   ///< locks in the function, by their numbers in Source::locks
    std::vector<int> readers = {};  ///< equations that read the lock
    int own = -1;                   ///< its number in Source::locks; -1: no equation reads it
  };
  struct Source {
    Expr time;
    std::vector<Expr> variables;    ///< all of them, as they are observed
    std::vector<Expr> derivatives;  ///< of those that the systems carry
    std::vector<Expr> parameters, discretes;
    std::vector<ModelData::NamedEquation> equations;
    std::vector<Expr> locks;  ///< relations and roundings in the equations
    std::vector<int>
        lock_places;  ///< of each in Mode::locks; -1: it is none there, and its equations cannot be compared
    std::vector<std::vector<int>>
        surface_locks;  ///< by guard: places of the locks that are means while the solution slides on its surface
    std::vector<Relation> relations = {};
    std::size_t common = 0;  ///< equations of all explicit modes; those of this one alone follow
    /// By guard: variables that clauses on its surface reset. In contact forces act on their derivatives.
    std::vector<std::vector<int>> reset_targets = {};
    std::vector<Expr> all_derivatives = {};  ///< of all variables, where there are reset targets
    const ModelGuards* guards = nullptr;     ///< outlives this object
  };
  explicit ModelEquations(Source source);

  /// Values of the parameters, which are not copied.
  void set_parameters(std::span<const double> values) { parameters_ = values.data(); }
  int count() const override { return static_cast<int>(shared_->equations.size()); }
  std::string name(int i) const override { return describe_equation(shared_->equations[static_cast<std::size_t>(i)]); }
  void residuals(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp,
                 std::span<WrittenResidual> residuals) override;
  int relation_count() const override { return static_cast<int>(shared_->relations.size()); }
  std::string relation_name(int i, const Mode& mode) const override;
  void wrong_relations(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp,
                       std::span<WrittenResidual> wrong) override;

 private:
  /// Residuals are sums of terms with signs.
  struct Shared {
    std::vector<ModelData::NamedEquation> equations;
    std::vector<int> lock_places;
    std::vector<int> first_term;  // by equation, and the end
    std::vector<signed char> sign;
    std::vector<std::vector<int>> locks;  // by equation: which of lock_places; empty if there are no locks at all
    std::vector<std::vector<int>> surface_locks;
    std::vector<Relation> relations;
    const ModelGuards* guards = nullptr;
    std::size_t common = 0;
    // By guard and equation: whether the equation reads what a force on the surface of the guard may change.
    std::vector<std::vector<char>> pushed;
  };
  static std::vector<std::vector<char>> find_pushed(const Source& source);
  void read_locks(const Mode& mode);
  void evaluate(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp);
  WrittenResidual sum(std::size_t output) const;
  bool changes_an_equation(const Relation& relation, const Mode& mode, double t, std::span<const double> values,
                           std::span<const double> xp, double truth);

  std::shared_ptr<const Shared> shared_;
  RunnableProgram terms_program_;
  const double* parameters_ = nullptr;
  // workspace
  std::vector<double> terms_, lock_values_;
  std::vector<char> comparable_;  // by equation; empty: all
  std::vector<int> relaxed_;      // places of locks that are means
  std::vector<Position> positions_;
};

}  // namespace saltus
