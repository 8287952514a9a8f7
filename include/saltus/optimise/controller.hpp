// Model predictive control: a programme that is solved again from the present state, sample by sample.
//
//   Controller controller(model, programme, {.simulate = {.stop = 3.0}});
//   for (…) plant.set_input("u", controller.step({{"x", x}, {"v", v}}).controls[0]);
#pragma once

#include <saltus/optimise/optimise.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

/// What a sample gives.
struct ControlSample {
  std::vector<double> controls;  ///< of the first interval, in the order of the programme
  double objective = 0.0;        ///< predicted, before the last step
  double violation = 0.0;        ///< likewise
  int iterations = 0;            ///< steps that were made; 0: the last controls, moved on
  std::string why;               ///< why no step was made; "" if one was
};

/// Keeps controls from one sample to the next, moved on by an interval. A sample costs a run with derivatives and a
/// quadratic programme for each iteration, and nothing is compiled. Serves one thread.
class Controller {
 public:
  /// `iterations`: of Gauss and Newton's method at a sample; they end earlier where nothing changes. Throws UsageError
  /// as optimise() does, and unless the objective is a sum of squares, the end of the run and all intervals are fixed.
  Controller(const Model& model, const Programme& programme, const OptimiseOptions& options = {}, int iterations = 1);
  ~Controller();
  Controller(Controller&&) noexcept;
  Controller& operator=(Controller&&) noexcept;

  /// The controls for a state: start values of variables and discrete variables by name; others have those of the
  /// model. In each prediction the time begins anew. Throws ModelError for unknown names.
  ControlSample step(const std::vector<std::pair<std::string, double>>& state);
  /// All values of a prediction's controls, as they are now: what the next sample begins with.
  std::vector<FoundControl> plan() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace saltus
