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

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      // --- one surface in two spellings, beyond which the field vanishes: the solution stays there, and x >= 0 as well
      {"beyond a surface in two spellings the field is zero",
       "Real x(start=1, fixed=true), y(start=1.25, fixed=true); discrete Integer n(start=0), k(start=0);",
       "when x*(y^2+1)>=0 then n=pre(n)+1; end when; when x<=0 then k=pre(k)+1; end when; der(y)=0.75; "
       "der(x)=-0.75+(if -x>0 then 1.5 else -1.5)+(if time>0.25 and time<0.75 then -0.75 else 0);",
       5.0, {{"x", 0.0}, {"y", 5.0}, {"n", 0.0}, {"k", 1.0}}},
      // a mass comes to rest when the load changes; the noise of v depends on the acceleration, and its side does not
      {"an automaton whose speed vanishes when the load changes",
       "Real v(start=0.75, fixed=true), sa, f; discrete Integer mode(start=1); discrete Boolean forth(start=false), "
       "back(start=false);",
       "forth=pre(mode)==0 and (sa>1.75 or pre(forth) and sa>1.75); back=pre(mode)==0 and (sa<-1.75 or pre(back) and "
       "sa<-1.75); mode=if (pre(mode)==1 or forth) and v>0 then 1 elseif (pre(mode)==-1 or back) and v<0 then -1 else 0; "
       "der(v)=if forth then sa-1.75 elseif back then sa+1.75 elseif pre(mode)==0 then 0 else sa; f=if forth then 1.75 "
       "elseif back then -1.75 elseif pre(mode)==1 then 1.75 elseif pre(mode)==-1 then -1.75 else sa; der(v)=(if "
       "time<0.5 then 0.25 else if time<1.0 then 0.5 else if time<4.0 then -3.0 else 0.0)-f;",
       6.0, {{"v", -0.25}, {"mode", -1.0}}},
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

}  // namespace
}  // namespace saltus
