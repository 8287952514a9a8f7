// Surfaces that are not the zeros of smooth functions of states: sums under derivatives, impulses, steps of floor,
// poles and cuts of functions. Answers are found by hand; each model runs with several methods and tolerances, because
// wrong answers of this kind do not depend on the tolerance.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "load_helpers.hpp"

namespace saltus {
namespace {

struct Case {
  const char* name;
  const char* declarations;
  const char* equations;
  double stop;
  std::map<std::string, double> expected;
};

// A capacitor with the voltage vc is connected at t = 1 to a node that diodes keep between -1 and 1, with a current
// source.
constexpr const char* clamp =
    "Real w, i, i1, i2, s1, s2; equation der(vc)=-i; 0=if time>1 then vc-w else i; i+I=i1-i2; i1=if s1>0 then s1 else "
    "0; w-1=if s1>0 then 0 else s1; "
    "i2=if s2>0 then s2 else 0; -1-w=if s2>0 then 0 else s2;";

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      // only x + y is a state: y = d/dt (x + y) is -1 above the surface, 1 below it and 0 on it
      {"a sum under derivatives slides",
       "Real x(start=2, fixed=true), y;",
       "y=der(x)+der(y); der(x)+der(y)=if x+y>0 then -1 else 1;",
       3.0,
       {{"x", 0.0}, {"y", 0.0}}},
      {"a sum under derivatives, from below",
       "Real x(start=-2, fixed=true), y;",
       "y=der(x)+der(y); der(x)+der(y)=if x+y>0 then -1 else 1;",
       3.0,
       {{"x", 0.0}, {"y", 0.0}}},
      {"a sum under derivatives, before the surface",
       "Real x(start=2, fixed=true), y;",
       "y=der(x)+der(y); der(x)+der(y)=if x+y>0 then -1 else 1;",
       0.5,
       {{"x", 1.5}, {"y", -1.0}}},
      {"a sum under derivatives starts on its surface",
       "Real x(start=0, fixed=true), y(start=0);",
       "y=der(x)+der(y); der(x)+der(y)=if x+y>0 then -1 else 1;",
       1.0,
       {{"x", 0.0}, {"y", 0.0}}},
      {"a sum under derivatives starts by guesses",
       "Real x(start=1), y;",
       "y=der(x)+der(y); der(x)+der(y)=if x+y>0 then -1 else 1;",
       1.0,
       {{"x", 0.0}, {"y", 0.0}}},
      // weights 3/4 and 1/4: x + y = time stays, so y = 1 and x = time - 1
      {"a sum under derivatives on a surface that moves",
       "Real x(start=3, fixed=true), y;",
       "y=der(x)+der(y); der(x)+der(y)=if x+y>time then -1 else 3;",
       3.0,
       {{"x", 2.0}, {"y", 1.0}}},
      // --- steps of floor
      {"the step of floor is slid along", "Real x(start=0, fixed=true);", "der(x)=0.5-floor(x);", 4.0, {{"x", 1.0}}},
      {"the step of floor, from above", "Real x(start=3, fixed=true);", "der(x)=1.5-floor(x);", 4.0, {{"x", 2.0}}},
      {"the step of floor from the start",
       "Real x(start=2, fixed=true), y;",
       "der(x)=y; y=1.5-floor(x);",
       4.0,
       {{"x", 2.0}, {"y", 0.0}}},
      {"the step of ceil", "Real x(start=-0.5, fixed=true);", "der(x)=0.5-ceil(x);", 3.0, {{"x", 0.0}}},
      {"the step of integer", "Real x(start=0, fixed=true);", "der(x)=0.5-integer(x);", 4.0, {{"x", 1.0}}},
      // t < 2: x = t/2; slides until t = 3; x = 1 + 1.5 (t - 3) until 2, then slope 1/2; from t = 4 on -1.5, then -1/2
      {"a step of floor is left",
       "Real x(start=0, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(x)=0.5-floor(x)+(if time>3 and time<4 then 2 else 0); when floor(x)>=1 then n=pre(n)+1; end when; "
       "when x>1 then k=pre(k)+1; end when;",
       6.0,
       {{"x", 19.0 / 18.0}, {"n", 1.0}, {"k", 1.0}}},
      // floor(x) has the mean 1/2 on its step: y' = 0.2 there, and y arrives at 1 at t = 4.5
      {"two steps of floor",
       "Real x(start=0, fixed=true), y(start=0, fixed=true);",
       "der(x)=0.5-floor(x); der(y)=0.25-floor(y)-0.1*floor(x);",
       6.0,
       {{"x", 1.0}, {"y", 1.0}}},
      {"two steps of floor, before the second",
       "Real x(start=0, fixed=true), y(start=0, fixed=true);",
       "der(x)=0.5-floor(x); der(y)=0.25-floor(y)-0.1*floor(x);",
       4.0,
       {{"x", 1.0}, {"y", 0.9}}},
      // f = 1/2, the value for which x stays: f^3 + f = 5/8
      {"a step of floor in an implicit equation",
       "Real x(start=0.5, fixed=true), f;",
       "der(x)+f=0.5; f^3+f=2*floor(x);",
       3.0,
       {{"x", 1.0}, {"f", 0.5}}},
      // --- poles
      {"a pole changes the side", "Real x(start=-1, fixed=true);", "der(x)=if 1/x>0 then 2 else 1;", 3.0, {{"x", 4.0}}},
      {"a pole is slid along", "Real x(start=-1, fixed=true);", "der(x)=if 1/x>0 then -1 else 1;", 3.0, {{"x", 0.0}}},
      {"a pole and a zero are counted",
       "Real x(start=-1, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(x)=1; when 1/x>1 then n=pre(n)+1; end when; when 1/x<1 then k=pre(k)+1; end when;",
       3.0,
       {{"x", 2.0}, {"n", 1.0}, {"k", 1.0}}},
      {"a double pole changes no side",
       "Real x(start=-1, fixed=true); discrete Integer n(start=0);",
       "der(x)=1; when 1/x^2<4 then n=pre(n)+1; end when;",
       3.0,
       {{"n", 1.0}}},
      {"poles of tan",
       "Real x(start=0, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(x)=1; when tan(x)>1 then n=pre(n)+1; end when; when tan(x)<1 then k=pre(k)+1; end when;",
       10.0,
       {{"n", 3.0}, {"k", 3.0}}},
      {"a pole of a sum",
       "Real x(start=-1, fixed=true), y(start=3, fixed=true); discrete Integer n(start=0);",
       "der(x)=1; der(y)=0; when 1/x+x/y>0 then n=pre(n)+1; end when;",
       3.0,
       {{"n", 1.0}}},
      {"a pole of an algebraic variable",
       "Real x(start=-1, fixed=true), y; discrete Integer n(start=0);",
       "der(x)=1; y+0.1*y^3=x; when 1/y>0 then n=pre(n)+1; end when;",
       3.0,
       {{"n", 1.0}}},
      // --- powers, which have no slope where they vanish
      {"a third power is slid along",
       "Real x(start=1, fixed=true);",
       "der(x)=if x^3>0 then -1 else 0.5;",
       3.0,
       {{"x", 0.0}}},
      {"a third power from the start",
       "Real x(start=0, fixed=true), y(start=0.5, fixed=true);",
       "der(x)=-0.75+(if -x^3*(y^2+1)<=0 then -0.5 else 1); der(y)=0.25;",
       2.0,
       {{"x", 0.0}}},
      // --- cuts
      {"a cut changes the sides of both relations",
       "Real x(start=-1, fixed=true), v(start=1, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(x)=0; der(v)=-1; when atan2(v,x)<1 then n=pre(n)+1; end when; when atan2(v,x)>1 then k=pre(k)+1; end when;",
       3.0,
       {{"n", 1.0}, {"k", 0.0}}},
      // the angle of (x, 1), which turns by pi where x passes 0; t is the time at which that is seen
      {"a pole inside of an angle",
       "Real x(start=-0.6, fixed=true); discrete Real t(start=0, fixed=true), n(start=0, fixed=true);",
       "der(x)=1; when atan(1/x)>0 then t=time; n=pre(n)+1; end when;",
       2.0,
       {{"t", 0.6}, {"n", 1.0}}},
      {"a pole inside of an angle, and zeros beside it",
       "Real x(start=-2, fixed=true); discrete Real n(start=0, fixed=true), k(start=0, fixed=true), t(start=0, "
       "fixed=true);",
       "der(x)=1; when atan(1/x)>-1 then n=pre(n)+1; t=time; end when; when atan(1/x)<0.9 then k=pre(k)+1; end when;",
       4.0,
       {{"n", 1.0}, {"k", 1.0}, {"t", 2.0}}},
      {"a cut of two functions",
       "Real x(start=-1, fixed=true), v(start=1, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(x)=0; der(v)=-1; when atan2(v,x)<1 then n=pre(n)+1; end when; when atan2(v,x)<2 then k=pre(k)+1; end when;",
       3.0,
       {{"n", 1.0}, {"k", 1.0}}},
      {"a cut and a zero",
       "Real x(start=1, fixed=true), v(start=0.5, fixed=true); discrete Integer n(start=0);",
       "der(x)=-1; der(v)=0; when atan2(v,x)>1 then n=pre(n)+1; end when;",
       3.0,
       {{"n", 1.0}}},
      // --- one surface in two spellings, beyond which the field vanishes: the solution stays there, and x >= 0 as well
      {"beyond a surface in two spellings the field is zero",
       "Real x(start=1, fixed=true), y(start=1.25, fixed=true); discrete Integer n(start=0), k(start=0);",
       "when x*(y^2+1)>=0 then n=pre(n)+1; end when; when x<=0 then k=pre(k)+1; end when; der(y)=0.75; "
       "der(x)=-0.75+(if -x>0 then 1.5 else -1.5)+(if time>0.25 and time<0.75 then -0.75 else 0);",
       5.0,
       {{"x", 0.0}, {"y", 5.0}, {"n", 0.0}, {"k", 1.0}}},
      // v = 0 at t = 0.5, when both fields begin to lead upwards; its noise is larger where the slope is
      {"a speed that vanishes when the load changes",
       "Real v(start=1.25, fixed=true);",
       "der(v)=(if time<0.25 then -2.25 else if time<0.5 then -0.25 else if time<1.5 then 2 else 0.5)-(if v>0 then "
       "1.25 "
       "else -1.25);",
       2.5,
       {{"v", 0.0}}},
      {"a speed that vanishes when the load changes, a little later",
       "Real v(start=1.25, fixed=true);",
       "der(v)=(if time<0.25 then -2.25 else if time<0.5 then -0.25 else if time<1.5 then 2 else 0.5)-(if v>0 then "
       "1.25 "
       "else -1.25);",
       1.5,
       {{"v", 0.75}}},
      // a mass comes to rest when the load changes; the noise of v depends on the acceleration, and its side does not
      {"an automaton whose speed vanishes when the load changes",
       "Real v(start=0.75, fixed=true), sa, f; discrete Integer mode(start=1); discrete Boolean forth(start=false), "
       "back(start=false);",
       "forth=pre(mode)==0 and (sa>1.75 or pre(forth) and sa>1.75); back=pre(mode)==0 and (sa<-1.75 or pre(back) and "
       "sa<-1.75); mode=if (pre(mode)==1 or forth) and v>0 then 1 elseif (pre(mode)==-1 or back) and v<0 then -1 else "
       "0; "
       "der(v)=if forth then sa-1.75 elseif back then sa+1.75 elseif pre(mode)==0 then 0 else sa; f=if forth then 1.75 "
       "elseif back then -1.75 elseif pre(mode)==1 then 1.75 elseif pre(mode)==-1 then -1.75 else sa; der(v)=(if "
       "time<0.5 then 0.25 else if time<1.0 then 0.5 else if time<4.0 then -3.0 else 0.0)-f;",
       6.0,
       {{"v", -0.25}, {"mode", -1.0}}},
  };
  return all;
}

class UnusualSurfaces : public testing::TestWithParam<std::size_t> {};

std::string text_of(const Case& c) {
  return std::string("model M\n  ") + c.declarations + "\nequation\n  " + c.equations + "\nend M;\n";
}

TEST_P(UnusualSurfaces, HaveExactAnswers) {
  const Case& c = cases()[GetParam()];
  SCOPED_TRACE(c.name);
  const ModelicaModel loaded = load_text(text_of(c));
  for (const Method method : {Method::automatic, Method::dopri5, Method::rodas5p, Method::radau, Method::taylor})
    for (const double tolerance : {1e-6, 1e-9}) {
      const Trajectory run =
          simulate(loaded.model, {.stop = c.stop, .rtol = tolerance, .atol = tolerance, .method = method});
      SCOPED_TRACE(std::string(to_string(method)) + ", " + run.statistics().method);
      if (run.status().code == StatusCode::singular_mode && method != Method::automatic)
        continue;  // the method does not take the mode
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      // piecewise polynomials of low degree: what is left are errors of event times, some tolerances
      for (const auto& [name, value] : c.expected)
        EXPECT_NEAR(run.final()[run.index(name)], value, 100.0 * tolerance * (1.0 + std::abs(value))) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, UnusualSurfaces, testing::Range(std::size_t{0}, cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& which) {
                           std::string name = cases()[which.param].name;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

// The impulse takes the way that the diodes allow, whatever the currents do afterwards: vc goes to 1 through the first
// diode. With I = -1 that diode blocks right after the impulse and vc falls; with I = 1 it carries the current.
TEST(Impulses, HaveTheSignThatDiodesAllow) {
  for (const double current : {1.0, -1.0})
    for (const double start : {5.0, -5.0}) {
      SCOPED_TRACE(std::to_string(current) + ", " + std::to_string(start));
      const ModelicaModel loaded =
          load_text("model M parameter Real I = " + std::to_string(current) +
                    "; Real vc(start = " + std::to_string(start) + ", fixed = true); " + clamp + " end M;");
      const Trajectory run = simulate(loaded.model, {.stop = 2.0});
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      const double clamped = start > 0.0 ? 1.0 : -1.0;
      const bool holds = current * start > 0.0;  // the source keeps the diode closed
      EXPECT_NEAR(run.at(1.5)[run.index("vc")], holds ? clamped : clamped + 0.5 * current, 1e-5);
      EXPECT_NEAR(run.final()[run.index("vc")], holds ? clamped : clamped + current, 1e-5);
    }
}

}  // namespace
}  // namespace saltus
