// What a programme may say, and how wrong ones are refused.
#include <gtest/gtest.h>
#include <saltus/optimise/optimise.hpp>

using namespace saltus;

namespace {

Model cart() {
  Model m("cart");
  const Expr u = m.input("u"), x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == u);
  return m;
}

TEST(Programme, RefusesWhatIsNoInput) {
  Programme p;
  p.controls = {{.input = "w"}};
  p.minimise = final_value("x");
  EXPECT_THROW(optimise(cart(), p), UsageError);
}

}  // namespace
