// Models with known answers: every method that takes them, three tolerances, every formulation.
#include <gtest/gtest.h>
#include <saltus/hybrid/methods.hpp>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/modelica/modelica.hpp>

#include <cmath>

#include "problems/known_answers.hpp"

namespace saltus {
namespace {

using problems::KnownAnswer;

Model model_of(const std::string& formulation) {
  return load_modelica("model M " + formulation + " end M;", "M.mo").model;
}

/// The largest error of a variable, at times that are in no relation to the steps, over what is allowed.
struct Worst {
  double ratio = 0.0, t = 0.0;
  std::string variable;
};

/// Each of at most some hundred steps, which are not longer than those of the tolerance that is asked for, may add a
/// local error of the tolerance; what follows from time alone has rounding errors and those of Newton's method.
Worst compare(const Trajectory& run, const KnownAnswer& answer, double tolerance) {
  constexpr double errors_of_steps = 30.0, rounding = 1e-9;
  Worst worst;
  std::vector<double> times;
  for (double t = 0.0; t < answer.stop; t += answer.stop / 337.77) times.push_back(t);
  times.push_back(answer.stop);
  for (const double t : times) {
    const std::vector<double> values = run.at(t);
    for (const auto& [name, exact] : answer.exact(t)) {
      const auto it = answer.gain.find(name);
      const double gain = it == answer.gain.end() ? 0.0 : it->second;
      const double allowed = (errors_of_steps * gain * tolerance + rounding) * (1.0 + std::abs(exact));
      const double ratio = std::abs(values[run.index(name)] - exact) / allowed;
      if (!(ratio <= worst.ratio)) worst = {ratio, t, name};
    }
  }
  return worst;
}

TEST(KnownAnswers, AlgebraicVariablesAndTheirDerivativesAreToTheToleranceWithEveryMethod) {
  for (const KnownAnswer& answer : problems::derivatives_of_algebraic_variables())
    for (std::size_t f = 0; f < answer.formulations.size(); ++f) {
      const Model model = model_of(answer.formulations[f]);
      for (const MethodInfo& method : method_table())
        for (const double tolerance : {1e-4, 1e-6, 1e-9}) {
          const Trajectory run =
              simulate(model, {.stop = answer.stop, .rtol = tolerance, .atol = tolerance, .method = method.method});
          // explicit methods refuse equations that are not explicit
          const bool may_refuse = method.family == MethodFamily::explicit_runge_kutta;
          if (may_refuse && run.status().code == StatusCode::singular_mode) continue;
          SCOPED_TRACE(answer.name + ", formulation " + std::to_string(f + 1) + ", " + std::string(method.name) +
                       " at " + std::to_string(tolerance) + ": " + run.statistics().method);
          EXPECT_EQ(run.status().code, StatusCode::success) << run.status().message;
          const Worst worst = compare(run, answer, tolerance);
          EXPECT_LE(worst.ratio, 1.0) << worst.variable << " at t = " << worst.t;
        }
    }
}

}  // namespace
}  // namespace saltus
