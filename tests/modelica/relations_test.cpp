// Relations and roundings have the truth of their expressions at every time of a run, not only at its end: however they
// are nested, whatever stands beside them, and in modes of every kind.
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "load_helpers.hpp"

namespace saltus {
namespace {

using std::numbers::pi;

struct Sample {
  double t;
  const char* name;
  double value;
};
struct Case {
  const char* name;
  const char* declarations;
  const char* equations;
  double stop;
  std::vector<Sample> expected;
};

const double half_day = pi / 7.27e-5;

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      // --- functions that vanish together at one place of many
      {"a slow sine beside a clock",
       "Real a(start=0, fixed=true), b(start=0, fixed=true);",
       "der(a)=if sin(7.27e-5*time)>0 then 1 else 0; der(b)=if time>0 then 1 else 0;",
       60000.0,
       {{40000.0, "a", 40000.0}, {50000.0, "a", half_day}, {60000.0, "a", half_day}, {60000.0, "b", 60000.0}}},
      {"a daily schedule",
       "Real y, I(start=0, fixed=true);",
       "y=if mod(time,86400)>=21600 then (if mod(time,86400)>=64800 then 2 else 1) else 0; der(I)=1e-5*y;",
       180000.0,
       {{10000.0, "y", 0.0},
        {50000.0, "y", 1.0},
        {70000.0, "y", 2.0},
        {90000.0, "y", 0.0},
        {130000.0, "y", 1.0},
        {160000.0, "y", 2.0},
        {175000.0, "y", 0.0},
        {86400.0, "I", 0.864}}},
      {"a daily schedule in hours",
       "parameter Real h=3600; Real y, d;",
       "d=mod(time,24*h); y=(if d>6*h then 1 else 0)+(if d/h>18 then 1 else 0)+(if 2*d<12*h then 10 else 0);",
       180000.0,
       {{10000.0, "y", 10.0}, {50000.0, "y", 1.0}, {70000.0, "y", 2.0}, {90000.0, "y", 10.0}, {130000.0, "y", 1.0}}},
      {"thresholds close together beside large numbers",
       "Real a(start=0, fixed=true), b(start=0, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(a)=if 1e10*(time-1)>0 then 1 else 0; der(b)=if 1e10*(time-1.000003)>0 then 1 else 0; "
       "when 1e10*(time-1)>0 and 1e10*(time-1.000003)<0 then n=pre(n)+1; end when; "
       "when 1e10*(time-1.000003)>0 then k=pre(k)+pre(n); end when;",
       2.0,
       {{2.0, "a", 1.0}, {2.0, "b", 0.999997}, {2.0, "n", 1.0}, {2.0, "k", 1.0}}},
      {"thresholds of a state close together beside large numbers",
       "Real x(start=0, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(x)=1; when x+1e10>1e10+1 then n=pre(n)+1; end when; when x>1.00001 then k=pre(k)+pre(n); end when;",
       2.0,
       {{2.0, "n", 1.0}, {2.0, "k", 1.0}}},
      {"a jump and the zero of its cause",
       "Real I(start=0, fixed=true);",
       "der(I)=if sqrt(if sin(time-1)>0 then 4 else 1)>1.5 then 1 else -1;",
       6.0,
       {{0.5, "I", -0.5}, {1.0, "I", -1.0}, {2.0, "I", 0.0}, {4.0, "I", 2.0}, {5.0, "I", 2.0 * pi - 5.0}}},
      {"a jump and the zero of its cause, in a Boolean variable",
       "Real I(start=0, fixed=true), r; Boolean high;",
       "r=if sin(time-1)>0 then 4 else 1; high=sqrt(r)>1.5; der(I)=if high then 1 else -1;",
       6.0,
       {{0.5, "I", -0.5}, {1.0, "I", -1.0}, {2.0, "I", 0.0}, {4.0, "I", 2.0}, {5.0, "I", 2.0 * pi - 5.0}}},
      // --- operands that are not asked for
      {"an operand on a chosen number",
       "Real a(start=0, fixed=true);",
       "der(a)=if sin(time-2)>0 and (if sin(time-1)>0 then 1 else 0)^2>0.5 then 1 else 0;",
       9.0,
       {{2.0, "a", 0.0}, {3.0, "a", 1.0}, {5.0, "a", pi - 1.0}, {9.0, "a", 6.0 - pi}}},
      {"an operand on a chosen number comes first",
       "Real a(start=0, fixed=true);",
       "der(a)=if (if sin(time-1)>0 then 1 else 0)^2>0.5 and sin(time-2)>0 then 1 else 0;",
       9.0,
       {{2.0, "a", 0.0}, {3.0, "a", 1.0}, {5.0, "a", pi - 1.0}, {9.0, "a", 6.0 - pi}}},
      {"an operand of or on a chosen number",
       "Real a(start=0, fixed=true);",
       "der(a)=if sin(time-2)<0 or (if sin(time-1)>0 then 1 else 0)^2<0.5 then 0 else 1;",
       9.0,
       {{2.0, "a", 0.0}, {3.0, "a", 1.0}, {5.0, "a", pi - 1.0}, {9.0, "a", 6.0 - pi}}},
      {"a branch of chosen numbers",
       "Real a(start=0, fixed=true);",
       "der(a)=if sin(time-2)>0 then (if (if sin(time-1)>0 then 2 else -1)*(if time>4 then 1 else 1.5)>0 then 1 else "
       "0) "
       "else 0;",
       9.0,
       {{2.0, "a", 0.0}, {3.0, "a", 1.0}, {5.0, "a", pi - 1.0}, {9.0, "a", 6.0 - pi}}},
      {"a chosen number that only a result reads",
       "Real y, z, x(start=0, fixed=true);",
       "der(x)=1; y=if (if sin(time+1)>0 then 1 else 2)^2<1.5 then 1 else 0; "
       "z=if time<3 and (if time>1 then 1 else 2)^2<1.5 and (if time>2 then time else -time)>0 then 1 else 0;",
       4.0,
       {{0.0, "y", 1.0},
        {2.0, "y", 1.0},
        {3.0, "y", 0.0},
        {0.5, "z", 0.0},
        {1.5, "z", 0.0},
        {2.5, "z", 1.0},
        {3.5, "z", 0.0}}},
      {"a clause whose operand contains a relation",
       "discrete Integer n(start=0), k(start=0); Real x(start=0, fixed=true);",
       "der(x)=1; when sin(time-2)>0 and (if sin(time-1)>0 then x else -x)<0.5 then n=pre(n)+1; end when; "
       "when sin(time-2)>0 and (if sin(time-1)>0 then x else -x)>0.5 then k=pre(k)+1; end when;",
       4.0,
       {{3.0, "n", 0.0}, {3.0, "k", 1.0}, {4.0, "n", 0.0}, {4.0, "k", 1.0}}},
      // --- roundings on their surfaces
      {"the integer of an algebraic variable",
       "Real u=4.3-5*time; Integer y=integer(u);",
       "",
       1.0,
       {{0.05, "y", 4.0},
        {0.1, "y", 3.0},
        {0.2, "y", 3.0},
        {0.3, "y", 2.0},
        {0.5, "y", 1.0},
        {0.7, "y", 0.0},
        {0.9, "y", -1.0},
        {1.0, "y", -1.0}}},
      {"the integer of an algebraic variable of a state",
       "Real x(start=4.3, fixed=true), u, v; Integer y=integer(u); discrete Integer k(start=0);",
       "der(x)=-5; u+v^3=x; v+0.1*v^3=0; when y<3 then k=pre(k)+1; end when;",
       1.0,
       {{0.05, "y", 4.0},
        {0.1, "y", 3.0},
        {0.2, "k", 0.0},
        {0.3, "y", 2.0},
        {0.3, "k", 1.0},
        {0.5, "y", 1.0},
        {0.7, "y", 0.0},
        {0.9, "y", -1.0},
        {1.0, "y", -1.0}}},
      {"the integer of a variable that rises",
       "Real x(start=-1.7, fixed=true), u, v; Integer y=integer(u), c; Real z;",
       "der(x)=5; u+v^3=x; v+0.1*v^3=0; c=-integer(-u); z=floor(u)+ceil(u);",
       1.0,
       {{0.1, "y", -2.0},
        {0.1, "c", -1.0},
        {0.2, "y", -1.0},
        {0.3, "y", -1.0},
        {0.4, "y", 0.0},
        {0.4, "c", 1.0},
        {0.4, "z", 1.0},
        {0.6, "y", 1.0},
        {0.6, "z", 3.0},
        {1.0, "y", 3.0}}},
      {"a rounding decides about another variable",
       "Real x(start=4.3, fixed=true), u, v, w; Integer y=integer(u);",
       "der(x)=-5; u+v^3=x; v+0.1*v^3=0; w+0.1*w^3=y*1.1;",
       1.0,
       {{0.05, "y", 4.0}, {0.1, "y", 3.0}, {0.5, "y", 1.0}, {0.5, "w", 1.0}, {0.7, "w", 0.0}, {1.0, "w", -1.0}}},
      // --- what is discrete changes at events
      {"an Integer function of a variable and a Boolean under noEvent",
       "function f input Real x; output Integer n; algorithm n:=integer(x); end f; "
       "Real x(start=0.25, fixed=true), a(start=0, fixed=true); Integer n=f(x); Boolean b=noEvent(x>1);",
       "der(x)=1; der(a)=if b then n else 0;",
       3.0,
       {{0.5, "n", 0.0},
        {0.5, "b", 0.0},
        {1.0, "n", 1.0},
        {1.0, "b", 1.0},
        {2.0, "n", 2.0},
        {1.75, "a", 1.0},
        {2.75, "a", 3.0},
        {3.0, "a", 3.75}}},
  };
  return all;
}

class Relations : public testing::TestWithParam<std::size_t> {};

TEST_P(Relations, HaveTheTruthOfTheirExpressions) {
  const Case& c = cases()[GetParam()];
  SCOPED_TRACE(c.name);
  const ModelicaModel loaded =
      load_text(std::string("model M ") + c.declarations + " equation " + c.equations + " end M;");
  for (const Method method :
       {Method::automatic, Method::dopri5, Method::rodas5p, Method::radau, Method::bdf, Method::taylor})
    for (const double tolerance : {1e-6, 1e-9}) {
      const Trajectory run =
          simulate(loaded.model, {.stop = c.stop, .rtol = tolerance, .atol = tolerance, .method = method});
      SCOPED_TRACE(std::string(to_string(method)) + ", " + run.statistics().method);
      if (run.status().code == StatusCode::singular_mode && method != Method::automatic)
        continue;  // the method does not take the mode
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      for (const auto& [t, name, value] : c.expected)
        EXPECT_NEAR(run.at(t)[run.index(name)], value, 100.0 * tolerance * (1.0 + std::abs(value)))
            << name << " at " << t;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Relations, testing::Range(std::size_t{0}, cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& which) {
                           std::string name = cases()[which.param].name;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace saltus
