// The equations of a recorded model as they were written.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/dae/written_equations.hpp>
#include <saltus/model/model.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/runnable_program.hpp"

namespace saltus {

/// Its name or text, and its place in the source.
std::string describe_equation(const ModelData::NamedEquation& equation);

/// Those of one explicit mode, in which pre(v) is v. A copy shares the code and has memory of its own.
class ModelEquations final : public WrittenEquations {
 public:
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
  };
  explicit ModelEquations(Source source);

  /// Values of the parameters, which are not copied.
  void set_parameters(std::span<const double> values) { parameters_ = values.data(); }
  int count() const override { return static_cast<int>(shared_->equations.size()); }
  std::string name(int i) const override { return describe_equation(shared_->equations[static_cast<std::size_t>(i)]); }
  void residuals(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp,
                 std::span<WrittenResidual> residuals) override;

 private:
  /// Residuals are sums of terms with signs.
  struct Shared {
    std::vector<ModelData::NamedEquation> equations;
    std::vector<int> lock_places;
    std::vector<int> first_term;  // by equation, and the end
    std::vector<signed char> sign;
    std::vector<std::vector<int>> locks;  // by equation: which of lock_places; empty if there are no locks at all
    std::vector<std::vector<int>> surface_locks;
  };
  void read_locks(const Mode& mode);

  std::shared_ptr<const Shared> shared_;
  RunnableProgram terms_program_;
  const double* parameters_ = nullptr;
  // workspace
  std::vector<double> terms_, lock_values_;
  std::vector<char> comparable_;  // by equation; empty: all
  std::vector<int> relaxed_;      // places of locks that are means
};

}  // namespace saltus
