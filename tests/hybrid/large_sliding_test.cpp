// Large differential-algebraic modes on a surface: every implicit method takes their hidden constraints by structure.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace saltus {
namespace {

/// A chain of masses with springs that harden and dampers; the first one sticks by dry friction, the last one is
/// pushed. Each mass has its position, its speed and the force of its spring: 3 n unknowns, and the weight of the
/// surface.
Model chain(int n, double friction) {
  Model m("chain");
  std::vector<Expr> x, v, f;
  for (int i = 0; i < n; ++i) {
    const std::string number = std::to_string(i + 1);
    x.push_back(m.variable("x" + number, 0.0));
    v.push_back(m.variable("v" + number, 0.0));
    f.push_back(m.variable("f" + number, 0.0));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool last = i + 1 == x.size();
    const Expr before = i == 0 ? friction * sign(v[0]) : f[i - 1];
    m.equation(der(x[i]) == v[i]);
    m.equation(der(v[i]) == f[i] - before);
    const Expr stretched = last ? sin(m.time()) - 0.1 * x[i] : 100.0 * (x[i + 1] - x[i]) + (v[i + 1] - v[i]);
    m.equation(f[i] + 0.01 * f[i] * f[i] * f[i] == stretched);
  }
  return m;
}

TEST(LargeSliding, RadauAndBdfTakeDummyDerivativesAndAgree) {
  const Model m = chain(69, 0.5);
  const Trajectory reference = simulate(m, {.stop = 3.0, .rtol = 1e-11, .atol = 1e-11, .method = Method::taylor});
  ASSERT_EQ(reference.status().code, StatusCode::success) << reference.status().message;
  for (const Method method : {Method::radau, Method::radau5, Method::bdf, Method::rodas5p}) {
    for (const double tol : {1e-4, 1e-6, 1e-8}) {
      const Trajectory run = simulate(m, {.stop = 3.0, .rtol = tol, .atol = tol, .method = method});
      ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ": " << run.status().message;
      EXPECT_NE(run.statistics().method.find("dummy derivatives"), std::string::npos) << run.statistics().method;
      EXPECT_EQ(run.final()[0], 0.0);  // it sticks
      EXPECT_EQ(run.final()[1], 0.0);
      for (std::size_t j = 0; j < run.final().size(); ++j)
        EXPECT_NEAR(run.final()[j], reference.final()[j], 100.0 * tol * (1.0 + std::abs(reference.final()[j])))
            << to_string(method) << " at " << tol << ", variable " << j;
    }
  }
}

// With so little friction that the first mass breaks loose: the end of the slide is the same event for all.
TEST(LargeSliding, TheEndOfTheSlideDoesNotDependOnTheMethod) {
  const Model m = chain(69, 0.001);
  const Trajectory reference = simulate(m, {.stop = 12.0, .rtol = 1e-10, .atol = 1e-10, .method = Method::automatic});
  ASSERT_EQ(reference.status().code, StatusCode::success) << reference.status().message;
  double released = 0.0;
  for (const Event& e : reference.events())
    if (e.kind == EventKind::slide_exit && released == 0.0) released = e.t;
  ASSERT_GT(released, 0.0);
  for (const Method method : {Method::radau, Method::bdf, Method::rodas5p}) {
    for (const double tol : {1e-6, 1e-8}) {
      const Trajectory run = simulate(m, {.stop = released + 0.1, .rtol = tol, .atol = tol, .method = method});
      ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ": " << run.status().message;
      double found = 0.0;
      for (const Event& e : run.events())
        if (e.kind == EventKind::slide_exit && found == 0.0) found = e.t;
      EXPECT_NEAR(found, released, 2e4 * tol) << to_string(method) << " at " << tol;
    }
  }
}

}  // namespace
}  // namespace saltus
