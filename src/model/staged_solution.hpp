// The stages of a recorded system (System::start_stages): coefficient by coefficient, or, for small systems, all at once as native code.
#pragma once

#include <saltus/program/program.hpp>
#include <saltus/program/staged_taylor.hpp>

#include <map>
#include <span>
#include <vector>

namespace saltus {

class StagedSolution {
 public:
  /// `residual` has the inputs t, x, x', data and locks, so many of each.
  StagedSolution(TaylorProgram residual, std::size_t variables, std::size_t data, std::size_t locks, ProgramOptions options);

  /// Data or locks have changed.
  void forget() { prepared_ = false; }
  /// False if the form in stages cannot be used (see StagedTaylor::prepare).
  bool start(double t, std::span<const int> c, std::span<const int> d, int last, std::span<const double> data,
             std::span<const double> locks);
  bool possible() const { return possible_; }
  StagedTaylor& stages() { return stages_; }

  // --- after start(); false: no native code for this system
  bool correct(std::span<const double> inverse, std::span<double> X, std::span<const double> data, std::span<const double> locks);
  bool extend(std::span<const double> inverse, int order, std::span<double> X, std::span<const double> data,
              std::span<const double> locks);

 private:
  struct Native {
    Program correction, extension;
    Workspace correction_work, extension_work;
  };
  void choose_native(int last);
  void compile(Native& native, int order) const;
  void run(const Program& program, Workspace& work, std::span<const double> inverse, double* out, std::span<const double> X,
           std::span<const double> data, std::span<const double> locks);

  StagedTaylor stages_;
  std::size_t n_, data_, locks_;
  ProgramOptions options_;
  std::vector<int> c_, d_;
  bool prepared_ = false, possible_ = false;
  double t_ = 0.0;
  int last_ = -1;            // for which native_ was chosen
  Native* native_ = nullptr;  // null: none
  std::map<std::vector<int>, Native> programs_;  // by offsets, branches and last stage
  std::vector<double> X_;
};

}  // namespace saltus
