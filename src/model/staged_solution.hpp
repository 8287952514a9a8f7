// The stages of a recorded system (System::start_stages): coefficient by coefficient, or, for small systems, all at once as native code.
#pragma once

#include <saltus/program/program.hpp>
#include <saltus/program/staged_taylor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "model/runnable_program.hpp"

namespace saltus {

/// Native code for the stages, by offsets, branches and last stage. Shared by all systems with the same equations, in
/// any thread.
class StagedPrograms {
 public:
  struct Pair {
    Program correction, extension;  // empty: there is no native code
  };

  /// Stays in place; `make` is called for a key that is new.
  const Pair& get(std::vector<int> key, const std::function<Pair()>& make);

 private:
  std::mutex making_;
  std::map<std::vector<int>, Pair> programs_;
};

class StagedSolution {
 public:
  /// `residual` has the inputs t, x, x', data and locks, so many of each.
  StagedSolution(TaylorProgram residual, std::size_t variables, std::size_t data, std::size_t locks,
                 ProgramOptions options, std::shared_ptr<StagedPrograms> programs);

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
    RunnableProgram correction, extension;
  };
  void choose_native(int last);
  StagedPrograms::Pair compile(int order) const;
  void run(RunnableProgram& program, std::span<const double> inverse, double* out, std::span<const double> X,
           std::span<const double> data, std::span<const double> locks);

  StagedTaylor stages_;
  std::size_t n_, data_, locks_;
  ProgramOptions options_;
  std::vector<int> c_, d_;
  bool prepared_ = false, possible_ = false;
  double t_ = 0.0;
  int last_ = -1;            // for which native_ was chosen
  Native* native_ = nullptr;  // null: none
  std::shared_ptr<StagedPrograms> shared_programs_;
  std::map<std::vector<int>, Native> programs_;  // of those, the ones that were used here
  std::vector<double> X_;
};

}  // namespace saltus
