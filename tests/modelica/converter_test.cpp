// Rectifiers with small resistances: their starts.
#include <cmath>
#include <string>

#include "load_helpers.hpp"

namespace saltus {
namespace {

// Six diodes behind three inductors that meet in a floating point. i[1] + i[2] + i[3] = 0 is a hidden constraint, and
// the initial equations determine what is left.
const std::string bridge = R"(
model Diode
  Real v, i, s;
  Boolean off = s < 0;
equation
  v = s*(if off then 1 else 1e-3) + 2;
  i = s*(if off then 1e-3 else 1) + 2e-3;
end Diode;
model Bridge
  constant Real pi = 3.141592653589793;
  Diode up[3], down[3];
  Real i[3], u[3], leg[3], star, v1, v2;
initial equation
  i[2] = 0;
  i[3] = 0;
  v1 = 200*sqrt(2);
  v2 = v1 + i[2];
equation
  for k in 1:3 loop
    u[k] = 400*sqrt(2/3)*sin(100*pi*time - (k - 1)*2*pi/3);
    60e-6*der(i[k]) = u[k] + star - leg[k];
    up[k].v = leg[k] - v1;
    down[k].v = -v2 - leg[k];
    i[k] = up[k].i - down[k].i;
  end for;
  sum(i) = 0;
  0.03*der(v1) = sum(up.i) - 500;
  0.03*der(v2) = sum(down.i) - 500;
end Bridge;
)";

TEST(Converters, InitialEquationsAreSolvedBesideHiddenConstraints) {
  const Trajectory begun = simulate(load_text(bridge).model, {.stop = 1e-6, .rtol = 1e-8, .atol = 1e-8});
  ASSERT_TRUE(begun.status().ok()) << begun.status().message;
  // all diodes block: no currents, and each leg is in the middle
  for (const std::string k : {"[1]", "[2]", "[3]"}) {
    EXPECT_NEAR(begun.at(0.0, "i" + k), 0.0, 1e-9);
    EXPECT_NEAR(begun.at(0.0, "leg" + k), 0.0, 1e-9);
    EXPECT_NEAR(begun.at(0.0, "up" + k + ".s"), -200.0 * std::sqrt(2.0) - 2.0, 1e-9);
  }
  EXPECT_NEAR(begun.at(0.0, "v2"), 200.0 * std::sqrt(2.0), 1e-9);
  // the sources add up to zero, and so do the slopes of the currents
  EXPECT_NEAR(begun.at(0.0, "star"), 0.0, 1e-9);
}

TEST(Converters, InitialEquationsOfLargeModesWithHiddenConstraints) {
  // di_k/dt = sin(k) - s and sum i = 0: s is the mean of sin(k)
  constexpr int n = 1100;
  const Trajectory result = run_text(
      "model Star parameter Integer n = 1100; Real i[n], s; equation for k in 1:n loop der(i[k]) = sin(k) - s; end "
      "for; "
      "sum(i) = 0; initial equation for k in 1:n-1 loop i[k] - i[k+1] = cos(k); end for; end Star;",
      1.0);
  double mean = 0.0, first = 0.0, fallen = 0.0;
  for (int k = 1; k <= n; ++k) {
    mean += std::sin(k) / n;
    first += fallen / n;  // i[1] is the mean of i[1] - i[k]
    fallen += std::cos(k);
  }
  EXPECT_NEAR(result.at(1.0, "s"), mean, 1e-9);
  EXPECT_NEAR(result.at(0.0, "i[1]"), first, 1e-9);
  EXPECT_NEAR(result.at(1.0, "i[1]"), first + std::sin(1.0) - mean, 1e-9);
}

}  // namespace
}  // namespace saltus
