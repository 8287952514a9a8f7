// Derivatives in a mode along the recorded steps of a run, and what can be read of them.
//
// Explicit methods take the steps of the run. Their errors are estimated: where these steps are too long for
// derivatives (they grow while the solution stands still), they take shorter ones. Implicit methods take steps of their
// own.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sens/linear_rosenbrock.hpp"
#include "sens/tangent_stepper.hpp"

namespace saltus {

/// What a flow of derivatives needs of its mode. One for each thread.
class TangentMode {
 public:
  virtual ~TangentMode() = default;
  /// Of what flows: derivatives of the variables, or of more than these.
  virtual const Lanes& flowing() const = 0;
  /// By number that flows: one over its typical size; 0: its error is not tested.
  virtual std::span<const double> weights() const = 0;
  /// The stepper of an explicit method; null: an implicit one is needed.
  virtual TangentStepper* explicit_stepper(const Tableau& tableau) = 0;
  virtual TangentStepper& implicit_stepper() = 0;
  /// Behind a step. Returns the number of the choice with which the next one begins (see choose). `anew`: a choice that
  /// still serves is made again, too. False in `good`: the equations cannot be linearised there.
  virtual int passed(double, SolutionPath&, const TangentValues&, std::span<double>, bool /*anew*/, bool& good) {
    good = true;
    return 0;
  }
  /// Whether the present choice serves for all of a step with this end.
  virtual bool serves(double, SolutionPath&, const TangentValues&) { return true; }
  /// Makes a choice of passed() the present one.
  virtual void choose(int) {}
  /// Derivatives of what is observed: along time, and by direction.
  virtual std::vector<double> observed_slopes(double t, SolutionPath& path, const TangentValues& values,
                                              std::span<const double> s) = 0;
  virtual std::vector<std::vector<double>> observed(double t, SolutionPath& path, const TangentValues& values,
                                                    std::span<const double> s) = 0;

  bool stiff = false;  ///< the equations turned out to be stiff
};

/// An explicit mode: programs with their memory, and steppers.
class TangentWork final : public TangentMode {
 public:
  TangentWork(std::shared_ptr<const TangentCode> code, std::size_t directions);

  const TangentCode& code() const { return *code_; }
  const Lanes& lanes() const { return lanes_; }
  const Lanes& flowing() const override { return lanes_; }
  std::span<const double> weights() const override { return weights_; }
  TangentStepper* explicit_stepper(const Tableau& tableau) override;
  TangentStepper& implicit_stepper() override;
  std::vector<double> observed_slopes(double t, SolutionPath& path, const TangentValues& values,
                                      std::span<const double> s) override;
  std::vector<std::vector<double>> observed(double t, SolutionPath& path, const TangentValues& values,
                                            std::span<const double> s) override;

  /// f, and s' of all directions; s and s' in lanes.
  void slopes(double t, std::span<const double> x, const TangentValues& values, std::span<const double> s,
              std::span<double> f, std::span<double> sp);
  /// x'' = f_x f + f_t.
  std::vector<double> bend(double t, std::span<const double> x, std::span<const double> xp,
                           const TangentValues& values);
  /// The derivatives of what is observed: along time (one list), or along all directions (by direction).
  std::vector<double> observe_time(double t, std::span<const double> x, std::span<const double> xp,
                                   std::span<const double> xpp, const TangentValues& values);
  std::vector<std::vector<double>> observe(double t, std::span<const double> x, std::span<const double> xp,
                                           const TangentValues& values, std::span<const double> s,
                                           std::span<const double> sp);
  /// Moves s onto the derivatives of the invariants by the smallest change, in units of the nominal values. False:
  /// there are no invariants, or it is there already.
  bool project(double t, std::span<const double> x, const TangentValues& values, std::span<double> s);

  /// See TangentCode.
  Gradient& guard(int number);
  Gradient& guard_speed(int number);

 private:
  struct Runner {
    Workspace work;
    int lanes = 0;
  };
  void run(const Program& program, Runner& runner, int width, double t, std::span<const double> x,
           std::span<const double> xp, const double* s, const double* sp, double dt, const double* data,
           const double* changes, const double* locks, double* out);

  std::shared_ptr<const TangentCode> code_;
  Lanes lanes_;
  Runner slopes_, slopes_of_one_, observe_, observe_one_, invariants_;
  std::vector<double> t_, x_, xp_, zeros_, dt_, out_, weights_;
  const Tableau* tableau_ = nullptr;
  std::unique_ptr<TangentStepper> explicit_;
  std::unique_ptr<ExplicitEquations> equations_;
  std::unique_ptr<LinearRosenbrock> implicit_;
  std::map<int, Gradient> guards_, guard_speeds_;
};

/// How accurate derivatives are to be.
struct TangentTolerance {
  double rtol = 1e-6;
  std::vector<double> least;  ///< by direction: values below do not count, in units of the nominal values
  bool control = true;        ///< false: errors are not tested, and the steps are those of the run
};

/// Tangents from the beginning of a mode on.
class TangentFlow {
 public:
  /// `s`: in lanes, at `from`. Keeps a reference to the steps.
  TangentFlow(std::shared_ptr<TangentMode> mode, std::shared_ptr<const TangentValues> values,
              const std::vector<Trajectory::Step>& steps, double from, std::vector<double> s);

  /// Takes all steps up to a time. Returns "", or why that was not possible; then t() says how far it went. `tableau`:
  /// of the explicit method of the run; null: it has an implicit one.
  std::string advance(double to, const Tableau* tableau, const TangentTolerance& tolerance, std::int64_t most_steps);
  double t() const { return t_; }
  std::span<const double> s() const { return s_; }
  std::int64_t steps() const { return static_cast<std::int64_t>(nodes_.size()); }

  /// Tangents at a time up to t(), in lanes.
  std::vector<double> at(double t) const;
  /// Derivatives of what is observed there: along time, and by direction.
  std::vector<double> observed_slopes(double t) const;
  std::vector<std::vector<double>> observed(double t) const;

 private:
  struct Node {
    double t;
    bool implicit;
    int choice;
  };
  double error_ratio(const TangentTolerance& tolerance);
  double end_of_step(double to);
  enum class Attempt { made, not_finite, other_choice, not_linear };
  Attempt attempt(TangentStepper& stepper, double h, double end);
  std::string accept(double end, bool implicit, std::int64_t most_steps);
  std::string follow(double to, TangentStepper& stepper, const TangentTolerance& tolerance, std::int64_t most_steps);
  std::string step_freely(double to, const TangentTolerance& tolerance, std::int64_t most_steps);

  std::shared_ptr<TangentMode> mode_;
  std::shared_ptr<const TangentValues> values_;
  mutable SolutionPath path_;
  const Tableau* tableau_ = nullptr;
  double t_;
  std::vector<double> s_, s1_, error_;
  int choice_ = 0;                         // of the mode, at t_
  std::vector<Node> nodes_;                // where steps begin
  std::vector<std::vector<double>> kept_;  // s there
};

}  // namespace saltus
