// What is true at an instant: small models with answers found by hand, one for each sentence of the semantics and its
// neighbours. Each of them runs with several methods and tolerances, because wrong answers of this kind do not depend
// on the tolerance.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "load_helpers.hpp"

namespace saltus {
namespace {

/// How a run ends.
enum class Ending {
  success,
  not_unique,     ///< success, and an event says that another motion exists
  cycle,          ///< a committed point came back
  loop,           ///< assignments that need each other
  contradiction,  ///< two clauses give a state different values
  refused,        ///< when the model is read
};

struct Case {
  const char* name;
  const char* declarations;
  const char* equations;
  double stop;
  std::map<std::string, double> expected;
  Ending ending = Ending::success;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"timer armed in a clause",
       "Real x(start = 0, fixed = true); discrete Real t0(start=0), td(start=0); discrete Boolean "
       "armed(start=false), done(start=false);",
       "der(x)=1; when x>2 then t0=time; armed=true; end when; when armed and time>t0+1 then done=true; "
       "td=time; end when;",
       5.0,
       {{"td", 3.0}, {"t0", 2.0}}},
      {"traffic light",
       "Real x(start = 0, fixed = true); discrete Integer phase(start=1), n(start=0); discrete Real "
       "t0(start=0);",
       "der(x)=if phase==1 then 1 elseif phase==2 then -1 else 0; when pre(phase)==1 and x>5 then "
       "phase=2; t0=time; n=pre(n)+1; elsewhen pre(phase)==2 and time>pre(t0)+4 then phase=3; t0=time; "
       "n=pre(n)+1; elsewhen pre(phase)==3 and time>pre(t0)+1 then phase=1; t0=time; n=pre(n)+1; end "
       "when;",
       24.0,
       {{"n", 7.0}, {"phase", 2.0}, {"x", 4.0}}},
      {"traffic light, lasting phases of equal length",
       "Real x(start = 0, fixed = true); discrete Integer phase(start=1), n(start=0); discrete Real "
       "t0(start=0);",
       "der(x)=if phase==1 then 1 elseif phase==2 then -1 else 0; when pre(phase)==1 and time>pre(t0)+2 "
       "then phase=2; t0=time; n=pre(n)+1; elsewhen pre(phase)==2 and time>pre(t0)+2 then phase=3; "
       "t0=time; n=pre(n)+1; elsewhen pre(phase)==3 and time>pre(t0)+2 then phase=1; t0=time; "
       "n=pre(n)+1; end when;",
       13.0,
       {{"n", 6.0}, {"phase", 1.0}, {"t0", 12.0}}},
      {"clauses at one time 0",
       "Real x; discrete Real y(start=0), z(start=0); Real s(start=0, fixed=true);",
       "when time>=0.5 then y=x; end when; when time>=0.5 then z=3; end when; x=2*z+1; der(s)=1;",
       1.0,
       {{"y", 7.0}, {"z", 3.0}}},
      {"clauses at one time 1",
       "Real x; discrete Real y(start=0), z(start=0); Real s(start=0, fixed=true);",
       "when time>=0.5 then z=3; end when; when time>=0.5 then y=x; end when; x=2*z+1; der(s)=1;",
       1.0,
       {{"y", 7.0}, {"z", 3.0}}},
      {"clause and equation form a loop",
       "Real x; discrete Real y(start=0); Real s(start=0, fixed=true);",
       "when sample(0,0.2) then y=7-2*x+time; end when; x+y=5; der(s)=1;",
       1.0,
       {{"y", 2.0}, {"x", 3.0}}},
      {"clause and explicit equation form a loop",
       "Real x, v; discrete Real y(start=0); Real s(start=0, fixed=true);",
       "when sample(0,0.2) then y=7-2*v+time; end when; x=5-y; v=x; der(s)=1;",
       1.0,
       {{"y", 2.0}, {"x", 3.0}}},
      {"thresholds that are one while a switch is on",
       "Real x(start=-2, fixed=true), a = if time >= 10 then 0 else 1; discrete Real up(start=-1), down(start=-1);",
       "der(x)=1; when x>a then up=time; end when; when x>-a then down=time; end when;",
       5.0,
       {{"up", 3.0}, {"down", 1.0}}},
      {"thresholds that differ while two switches are off",
       "Real x(start=-2, fixed=true); discrete Boolean p(start=false), q(start=false); "
       "discrete Real up(start=-1), down(start=-1); Real a = if not p and not q then 1 else 0;",
       "der(x)=1; when time>=4 then p=true; end when; when time>=4.5 then q=true; end when; "
       "when x>a then up=time; end when; when x>-a then down=time; end when;",
       5.0,
       {{"up", 3.0}, {"down", 1.0}}},
      {"relations of one surface in two spellings",
       "Real x(start=-2, fixed=true); discrete Integer k(start=0);",
       "der(x)=if 2*x-x<0 then 0 else -3; when x<0 then k=pre(k)+1; end when;",
       1.0,
       {{"x", -2.0}}},
      {"switch read in the round that changes it",
       "Real x; discrete Real y(start=0), z(start=0); Real s(start=0, fixed=true);",
       "when time>=0.5 then y=x; end when; when time>=0.5 then z=3; end when; x=if z>2 then 10 else z; "
       "der(s)=1;",
       1.0,
       {{"y", 10.0}}},
      {"c = initial()",
       "Real x(start = 0, fixed = true); discrete Boolean c; discrete Integer n(start=0);",
       "c=initial(); der(x)=1; when not initial() then n=pre(n)+1; end when;",
       5.0,
       {{"n", 1.0}}},
      {"when initial()",
       "Real x(start = 0, fixed = true); discrete Integer n(start=0);",
       "der(x)=1; when initial() then n=pre(n)+7; end when;",
       5.0,
       {{"n", 7.0}}},
      {"when terminal()",
       "Real x(start = 0, fixed = true); discrete Real y(start=0);",
       "der(x)=1; when terminal() then y=x; end when;",
       5.0,
       {{"y", 5.0}}},
      {"x > 0 from x = 0",
       "Real x(start = 0, fixed = true); discrete Integer n(start=0);",
       "der(x)=1; when x>0 then n=pre(n)+1; end when;",
       5.0,
       {{"n", 1.0}}},
      {"x >= 0 from x = 0",
       "Real x(start = 0, fixed = true); discrete Integer n(start=0);",
       "der(x)=1; when x>=0 then n=pre(n)+1; end when;",
       5.0,
       {{"n", 0.0}}},
      {"time > 0",
       "Real x(start = 0, fixed = true); discrete Integer n(start=0);",
       "der(x)=1; when time>0 then n=pre(n)+1; end when;",
       5.0,
       {{"n", 1.0}}},
      {"ball at rest on the floor",
       "Real h(start=0, fixed=true), v(start=0, fixed=true); discrete Integer n(start=0);",
       "der(h)=v; der(v)=-10; when h<0 then reinit(v,-0.5*pre(v)); n=pre(n)+1; end when;",
       2.0,
       {{"h", 0.0}, {"v", 0.0}}},
      {"ball comes to rest",
       "Real h(start=1, fixed=true), v(start=0, fixed=true); discrete Integer n(start=0);",
       "der(h)=v; der(v)=-10; when h<0 then reinit(v,-0.5*pre(v)); n=pre(n)+1; end when;",
       3.0,
       {{"h", 0.0}, {"v", 0.0}}},
      {"ball, h <= 0",
       "Real h(start=1, fixed=true), v(start=0, fixed=true); discrete Integer n(start=0);",
       "der(h)=v; der(v)=-10; when h<=0 then reinit(v,-0.5*pre(v)); n=pre(n)+1; end when;",
       1.0,
       {{"n", 2.0}}},
      {"ball lifted off again",
       "Real h(start=0, fixed=true), v(start=0, fixed=true); discrete Integer n(start=0);",
       "der(h)=v; der(v)=if time>1 then 2 else -10; when h<0 then reinit(v,-0.5*pre(v)); n=pre(n)+1; "
       "end when;",
       3.0,
       {{"h", 4.0}, {"v", 4.0}}},
      {"reset between modes acts once",
       "Real th(start=0, fixed=true), w(start=1, fixed=true); discrete Integer m(start=1), n(start=0);",
       "der(th)=w; der(w)=0; when pre(m)==1 and th>0.1 then m=2; reinit(w,0.5*pre(w)); n=pre(n)+1; "
       "elsewhen pre(m)==2 and th<0.1 and th>-0.1 then m=1; end when;",
       1.0,
       {{"w", 0.5}, {"m", 2.0}, {"n", 1.0}}},
      {"transitions that go round",
       "Real x(start = 0, fixed = true); discrete Integer m(start=1);",
       "der(x)=1; when pre(m)==1 and x>1 then m=2; elsewhen pre(m)==2 and x>0.5 then m=1; end when;",
       5.0,
       {},
       Ending::cycle},
      {"threshold that jumps",
       "Real x(start = 1, fixed = true);",
       "der(x)=if x>(if time>2 then 10 else 0) then -1 else 1;",
       3.0,
       {{"x", 1.0}}},
      {"threshold that jumps, set by a clause",
       "Real x(start = 1, fixed = true); discrete Real r(start=0);",
       "der(x)=if x>r then -1 else 1; when time>=2 then r=10; end when;",
       3.0,
       {{"x", 1.0}}},
      {"threshold that jumps a little and is reached again",
       "Real x(start = 1, fixed = true); discrete Real r(start=0);",
       "der(x)=if x>r then -1 else 1; when time>=2 then r=0.5; end when;",
       3.0,
       {{"x", 0.5}}},
      {"belt that changes its speed",
       "Real v(start=0, fixed=true);",
       "der(v)=if v>(if time>1 then 2 else 0) then -1 else 1;",
       2.0,
       {{"v", 1.0}}},
      {"buck converter: the diode takes over",
       "Real i(start=1, fixed=true), u, s, id, isw, ud;",
       "der(i)=u-1; i=isw+id; u=-ud; ud=if s>0 then 0 else s; id=if s>0 then s else 0; 0=if time>1 then "
       "isw else u-3;",
       1.5,
       {{"i", 2.5}}},
      {"buck converter: the current ends",
       "Real i(start=1, fixed=true), u, s, id, isw, ud;",
       "der(i)=u-1; i=isw+id; u=-ud; ud=if s>0 then 0 else s; id=if s>0 then s else 0; 0=if time>1 then "
       "isw else u-3;",
       5.0,
       {{"i", 0.0}}},
      {"freewheel at the start",
       "Real i(start=1, fixed=true), u, s, id, isw, ud;",
       "der(i)=u-1; i=isw+id; u=-ud; ud=if s>0 then 0 else s; id=if s>0 then s else 0; isw=0;",
       0.5,
       {{"i", 0.5}}},
      {"a clause opens the switch and reads the diode",
       "Real i(start=1, fixed=true), u, s, id, isw, ud; discrete Boolean closed(start=true); discrete "
       "Real y(start=9);",
       "der(i)=u-1; i=isw+id; u=-ud; ud=if s>0 then 0 else s; id=if s>0 then s else 0; 0=if closed then "
       "u-3 else isw; when time>=1 then closed=false; y=id; end when;",
       1.5,
       {{"i", 2.5}, {"y", 3.0}}},
      {"rope, no force after the impact",
       "Real p(start=0, fixed=true), v(start=1, fixed=true), F; discrete Boolean taut(start=false); "
       "discrete Integer n(start=0);",
       "der(p)=v; der(v)=-F; 0=if taut then p-1 else F; when p>=1 then taut=true; elsewhen F<0 then "
       "taut=false; n=pre(n)+1; end when;",
       3.0,
       {{"p", 1.0}, {"v", 0.0}, {"n", 0.0}}},
      {"rope, pulled back later",
       "Real p(start=0, fixed=true), v(start=1, fixed=true), F; discrete Boolean taut(start=false); "
       "discrete Integer n(start=0);",
       "der(p)=v; der(v)=(if time>2 then -1 else 1)-F; 0=if taut then p-1 else F; when p>=1 then "
       "taut=true; elsewhen F<0 then taut=false; n=pre(n)+1; end when;",
       3.0,
       {{"p", 0.5}, {"n", 1.0}}},
      {"one surface, x>0 and 3*x>0",
       "Real x(start = 1, fixed = true); Real y(start=0, fixed=true);",
       "der(x)=(if x>0 then -1 else 1)+(if 3*x>0 then -1 else 1)+0.5; der(y)=1;",
       3.0,
       {{"x", 0.0}}},
      {"one surface, x>0 and x+1>1",
       "Real x(start = 1, fixed = true); Real y(start=0, fixed=true);",
       "der(x)=(if x>0 then -1 else 1)+(if x+1>1 then -1 else 1)+0.5; der(y)=1;",
       3.0,
       {{"x", 0.0}}},
      {"one surface, x>0 and x^3>0",
       "Real x(start = 1, fixed = true); Real y(start=0, fixed=true);",
       "der(x)=(if x>0 then -1 else 1)+(if x^3>0 then -1 else 1)+0.5; der(y)=1;",
       3.0,
       {{"x", 0.0}}},
      {"one surface, x>0 and x*(y^2+1)>0",
       "Real x(start = 1, fixed = true); Real y(start=0, fixed=true);",
       "der(x)=(if x>0 then -1 else 1)+(if x*(y^2+1)>0 then -1 else 1)+0.5; der(y)=1;",
       3.0,
       {{"x", 0.0}}},
      {"one surface, x>0 and -x<0",
       "Real x(start = 1, fixed = true); Real y(start=0, fixed=true);",
       "der(x)=(if x>0 then -1 else 1)+(if -x<0 then -1 else 1)+0.5; der(y)=1;",
       3.0,
       {{"x", 0.0}}},
      {"one surface, x>0 and -2*x>=0",
       "Real x(start = 1, fixed = true); Real y(start=0, fixed=true);",
       "der(x)=(if x>0 then -1 else 1)+(if -2*x>=0 then 1 else -1)+0.5; der(y)=1;",
       3.0,
       {{"x", 0.0}}},
      {"a count in another spelling",
       "Real x(start = -1, fixed = true); discrete Integer n(start=0), k(start=0);",
       "der(x)=1; when x>0 and 2*x>0 then n=pre(n)+1; end when; when x>0 and x^3<0 then k=pre(k)+1; end "
       "when;",
       3.0,
       {{"n", 1.0}, {"k", 0.0}}},
      {"Newton's cradle",
       "Real v1(start=1, fixed=true), v2(start=0, fixed=true), v3(start=0, fixed=true), a(start=-1, "
       "fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(v1)=0; der(v2)=0; der(v3)=0; der(a)=1; when a>0 and v1>v2 then reinit(v1,pre(v2)); "
       "reinit(v2,pre(v1)); n=pre(n)+1; end when; when a>0 and v2>v3 then reinit(v2,pre(v3)); "
       "reinit(v3,pre(v2)); k=pre(k)+1; end when;",
       2.0,
       {{"v1", 0.0}, {"v2", 0.0}, {"v3", 1.0}, {"n", 1.0}, {"k", 1.0}}},
      {"slides with an algebraic variable",
       "Real s(start=1, fixed=true), y;",
       "y=der(s); y=if s>0 then -1 else 1;",
       3.0,
       {{"s", 0.0}, {"y", 0.0}}},
      {"steps of floor", "Real x(start = 0, fixed = true);", "der(x)=0.5-(if x>=1 then 1 else 0);", 4.0, {{"x", 1.0}}},
      {"clause behind a surface, from below",
       "Real y(start=-0.75, fixed=true); discrete Real d(start=0);",
       "der(y)=1.75+(if y>0 then -2 else 0)+2*d; when y>0 then d=0.5; end when;",
       2.0,
       {{"y", 0.0}, {"d", 0.0}}},
      {"clause behind a surface, started there",
       "Real y(start=0, fixed=true); discrete Real d(start=0);",
       "der(y)=1.75+(if y>0 then -2 else 0)+2*d; when y>0 then d=0.5; end when;",
       2.0,
       {{"y", 0.0}, {"d", 0.0}}},
      {"v <= 0 when friction stops a mass",
       "Real v(start=1, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(v)=if v>0 then -1 else 1; when v<=0 then n=pre(n)+1; end when; when v<0 then k=pre(k)+1; "
       "end when;",
       3.0,
       {{"v", 0.0}, {"n", 1.0}, {"k", 0.0}}},
      {"slips are counted",
       "Real v(start=0, fixed=true); discrete Integer n(start=0);",
       "der(v)=(if v>0 then -1 else 1)+(if time>1 and time<2 or time>4 and time<5 then 2 else 0); when "
       "v>0 then n=pre(n)+1; end when;",
       7.0,
       {{"v", 0.0}, {"n", 2.0}}},
      {"an isolated instant",
       "Real x(start = 0, fixed = true); discrete Integer n(start=0), k(start=0);",
       "der(x)=1; when x>=1 and x<=1 then n=pre(n)+1; end when; when time>=2 and time<=2 then "
       "k=pre(k)+1; end when;",
       3.0,
       {{"n", 1.0}, {"k", 1.0}}},
      {"x > 0 and x < 0 are not true together",
       "Real x(start = -1, fixed = true); discrete Integer n(start=0);",
       "der(x)=1; when x>0 and x<0 then n=pre(n)+1; end when;",
       3.0,
       {{"n", 0.0}}},
      {"hysteresis in a discrete equation",
       "Real x(start = 0, fixed = true); discrete Boolean high(start=false);",
       "high=x>1 or pre(high) and x>0; der(x)=if high then -1 else 1;",
       2.5,
       {{"x", 0.5}}},
      {"hysteresis in clauses",
       "Real x(start = 0, fixed = true); discrete Boolean on(start=true);",
       "der(x)=if on then 1 else -1; when x>1 then on=false; elsewhen x<0 then on=true; end when;",
       2.5,
       {{"x", 0.5}}},
      {"bang-bang in clauses",
       "Real x(start = -1, fixed = true); discrete Real u(start=1);",
       "der(x)=u; when x>0 then u=-1; elsewhen x<0 then u=1; end when;",
       3.0,
       {},
       Ending::cycle},
      {"stuck by a clause",
       "Real v(start=1, fixed=true); discrete Boolean stuck(start=false);",
       "der(v)=if stuck then 0 else -1; when v<=0 then stuck=true; end when;",
       3.0,
       {{"v", 0.0}}},
      {"stuck by a clause behind the surface",
       "Real v(start=1, fixed=true); discrete Boolean stuck(start=false);",
       "der(v)=if stuck then 0 else -1; when v<0 then stuck=true; end when;",
       3.0,
       {{"v", 0.0}}},
      {"friction automaton with memory",
       "Real v(start=1, fixed=true), sa, f; discrete Integer mode(start=1), n(start=0); discrete "
       "Boolean forth(start=false), back(start=false);",
       "forth=pre(mode)==0 and (sa>1 or pre(forth) and sa>1); back=pre(mode)==0 and (sa<-1 or pre(back) "
       "and sa<-1); mode=if (pre(mode)==1 or forth) and v>0 then 1 elseif (pre(mode)==-1 or back) and "
       "v<0 then -1 else 0; der(v)=if forth then sa-1 elseif back then sa+1 elseif pre(mode)==0 then 0 "
       "else sa; f=if forth then 1 elseif back then -1 elseif pre(mode)==1 then 1 elseif pre(mode)==-1 "
       "then -1 else sa; der(v)=(if time>3 then 2 elseif time>2 then 0.5 else 0)-f; when v<0 then "
       "n=pre(n)+1; end when;",
       4.0,
       {{"v", 1.0}, {"n", 0.0}}},
      {"reset and swap see the values before",
       "Real a(start=1, fixed=true), b(start=2, fixed=true); discrete Real s(start=0);",
       "der(a)=0; der(b)=0; when time>=1 then reinit(a,b); reinit(b,a); s=a; end when;",
       2.0,
       {{"a", 2.0}, {"b", 1.0}, {"s", 1.0}}},
      {"elsewhen after a later round",
       "Real x(start = 0, fixed = true); discrete Integer a(start=0), b(start=0);",
       "der(x)=1; when x>1 then a=1; elsewhen pre(a)>0 then b=pre(b)+1; end when;",
       2.0,
       {{"a", 1.0}, {"b", 1.0}}},
      {"both sides push away: reported",
       "Real x(start = 0, fixed = true);",
       "der(x)=if x>0 then 1 else -1;",
       1.0,
       {},
       Ending::not_unique},
      {"bang-bang, two clauses",
       "Real x(start = -1, fixed = true); discrete Real u(start=1);",
       "der(x)=u; when x>0 then u=-1; elsewhen x<=0 then u=1; end when;",
       3.0,
       {},
       Ending::cycle},
      {"bang-bang, counted",
       "Real x(start = -1, fixed = true); discrete Real u(start=1); discrete Integer n(start=0);",
       "der(x)=u; when x>0 then u=-1; n=pre(n)+1; elsewhen x<0 then u=1; end when;",
       3.0,
       {},
       Ending::cycle},
      {"bang-bang as an automaton",
       "Real x(start = -1, fixed = true); discrete Integer m(start=1);",
       "der(x)=if m==1 then 1 else -1; when pre(m)==1 and x>0 then m=2; elsewhen pre(m)==2 and x<0 then "
       "m=1; end when;",
       3.0,
       {},
       Ending::cycle},
      {"bang-bang as an if expression",
       "Real x(start = -1, fixed = true);",
       "der(x)=if x>0 then -1 else 1;",
       3.0,
       {{"x", 0.0}}},
      {"relay and a clause that toggles",
       "Real x(start = -1, fixed = true); discrete Real d(start=1.5);",
       "der(x)=(if x>0 then -1 else 1)+d; when x<=0 then d=1.5; elsewhen x>0 then d=0; end when;",
       3.0,
       {},
       Ending::cycle},
      {"friction automaton by clauses",
       "Real v(start=1, fixed=true), F; discrete Integer mode(start=1);",
       "F=if time>2 then 1.5 else 0.5; der(v)=if mode==0 then 0 else F-1; when v<=0 then mode=0; "
       "elsewhen F>1 and pre(mode)==0 then mode=1; end when;",
       4.0,
       {{"v", 1.0}}},
      {"strict before not strict in one clause",
       "Real x(start = 0, fixed = true); discrete Integer a(start=0), b(start=0);",
       "der(x)=1; when x>1 then a=1; elsewhen x>=1 then b=1; end when;",
       2.0,
       {{"a", 1.0}, {"b", 1.0}}},
      {"the first of two branches acts",
       "Real x(start = 0, fixed = true); discrete Integer a(start=0), b(start=0);",
       "der(x)=1; when x>1 then a=1; elsewhen time>1 then b=1; end when;",
       2.0,
       {{"a", 1.0}, {"b", 0.0}}},
      {"a touch is no event",
       "Real x(start=1, fixed=true), v(start=-2, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(x)=v; der(v)=2; when x<=0 then n=pre(n)+1; end when; when x<0 then k=pre(k)+1; end when;",
       2.0,
       {{"n", 0.0}, {"k", 0.0}, {"x", 1.0}}},
      {"a touch beside a time event",
       "Real x(start=1, fixed=true), v(start=-2, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(x)=v; der(v)=2; when x<=0 then n=pre(n)+1; end when; when time>=1 then k=pre(k)+1; end when;",
       2.0,
       {{"n", 0.0}, {"k", 1.0}, {"x", 1.0}}},
      {"a reset onto zero shows zero",
       "Real x(start = 1, fixed = true); discrete Integer n(start=0);",
       "der(x)=1; when time>=1 then reinit(x,0); end when; when x<=0 then n=pre(n)+1; end when;",
       2.0,
       {{"x", 1.0}, {"n", 1.0}}},
      {"a threshold that jumps onto the solution",
       "Real x(start = 1, fixed = true); discrete Integer n(start=0); discrete Real r(start=0);",
       "der(x)=1; when time>=1 then r=2; end when; when x<=r then n=pre(n)+1; end when;",
       2.0,
       {{"x", 3.0}, {"n", 1.0}}},
      {"a turning point is an instant of rest",
       "Real x(start=1, fixed=true), v(start=-2, fixed=true); discrete Integer n(start=0), k(start=0);",
       "der(x)=v; der(v)=2; when not (v>0) and not (v<0) then n=pre(n)+1; end when; when v>0 then "
       "k=pre(k)+1; end when;",
       2.0,
       {{"n", 1.0}, {"k", 1.0}}},
      {"an alarm behind a surface that is slid along",
       "Real x(start = 0, fixed = true); discrete Boolean alarm(start=false), reached(start=false);",
       "der(x)=if x>1 then -1 else 1; when x>1 then alarm=true; end when; when x>=1 then reached=true; "
       "end when;",
       2.0,
       {{"alarm", 0.0}, {"reached", 1.0}}},
      {"a loop of truths",
       "Real x(start = 0, fixed = true); discrete Boolean a(start=false), b(start=false);",
       "der(x)=1; when x>1 then a=b; end when; when x>1 then b=a; end when;",
       2.0,
       {},
       Ending::loop},
      {"a loop of assigned numbers",
       "Real x(start = 0, fixed = true); discrete Real a(start=0), b(start=0);",
       "der(x)=1; when x>1 then a=2*b+1; end when; when x>1 then b=3-a; end when;",
       2.0,
       {{"a", 2.3333333333333335}, {"b", 0.6666666666666666}}},
      {"two clauses, one counter",
       "Real x(start = 0, fixed = true); discrete Integer n(start=0);",
       "der(x)=1; when x>1 then n=pre(n)+1; end when; when time>1 then n=pre(n)+1; end when;",
       2.0,
       {},
       Ending::refused},
      {"two resets of one state",
       "Real x(start = 0, fixed = true);",
       "der(x)=1; when x>1 then reinit(x,0); end when; when time>1 then reinit(x,0.5); end when;",
       2.0,
       {},
       Ending::contradiction},
      {"surfaces that touch are two",
       "Real x(start = 1, fixed = true); Real y(start=-1, fixed=true);",
       "der(x)=(if x>0 then -1 else 1)+(if x>y^2 then -0.5 else 0.5); der(y)=1;",
       2.0,
       {{"x", 0.0}}},
      {"strict and not strict at one time",
       "Real a, s(start=0, fixed=true); discrete Real y(start=0), z(start=0);",
       "der(s)=1; a=2*z+1; when time>0.5 then z=3; end when; when time>=0.5 then y=a; end when;",
       1.0,
       {{"y", 1.0}, {"z", 3.0}}},
      {"friction at its limit",
       "Real v(start=-1, fixed=true);",
       "der(v)=(if time<3 then 0.5 else if time<4 then 1 else 0)-(if v>0 then 1 else -1);",
       5.0,
       {{"v", 0.0}}},
      {"beyond a surface the field is zero",
       "Real x(start = -1, fixed = true);",
       "der(x)=if x>0 then 0 else 1;",
       3.0,
       {{"x", 0.0}}},
      {"a pulse begins where the solution meets a surface",
       "Real x(start=-1.5, fixed=true); discrete Integer n(start=0);",
       "der(x)=1 + (if x>0 then 2 else -0.25) + (if time>2 and time<2.75 then -2.25 else 0); "
       "when x>0 then n=pre(n)+1; end when;",
       6.0,
       {},
       Ending::not_unique},
      {"a clause acts where three motions go on",
       "Real x(start=0, fixed=true); discrete Real d(start=0);",
       "der(x)=-0.25 + (if x<=0 then -0.5 else 2.25) + d; when x<0 then d=-2.5; end when;",
       3.0,
       {},
       Ending::not_unique},
      {"a pulse ends where a solution may rest or leave",
       "Real x(start=-0.75, fixed=true); discrete Integer n(start=0);",
       "der(x)=1 + (if x<=0 then -1 else 2) + (if time>2.75 and time<3 then 3 else 0); "
       "when x>=0 then n=pre(n)+1; end when;",
       6.0,
       {},
       Ending::not_unique},
      {"a clause acts where a solution may rest or leave",
       "Real x(start=0.75, fixed=true); discrete Real d(start=0);",
       "der(x)=-0.75 + (if x<0 then 0.25 else 0.75) + d + (if time>2.25 and time<3 then -1 else 0); "
       "when x<=0 and time>2.75 then d=-0.75; end when;",
       6.0,
       {},
       Ending::not_unique},
      {"a threshold jumps onto a value, up to rounding errors",
       "Real x(start=0.2500000000000002, fixed=true); discrete Integer k(start=0); discrete Real r(start=1.25); "
       "discrete Integer n(start=0);",
       "der(x)=0; when time>=1 then r=0.25; end when; when x<=r then k=pre(k)+1; end when; "
       "when x>=r then n=pre(n)+1; end when;",
       2.0,
       {{"k", 0.0}, {"n", 1.0}}},
  };
  return all;
}

class InstantModels : public testing::TestWithParam<int> {
 protected:
  const Case& model() const { return cases()[static_cast<std::size_t>(GetParam())]; }
  std::string text() const {
    return std::string("model M\n  ") + model().declarations + "\nequation\n  " + model().equations + "\nend M;\n";
  }
};

TEST_P(InstantModels, HaveTheAnswersThatTheSemanticsGive) {
  const Case& c = model();
  SCOPED_TRACE(c.name);
  if (c.ending == Ending::refused) {
    EXPECT_NE(load_errors(text()).find("two clauses"), std::string::npos);
    return;
  }
  const ModelicaModel loaded = load_text(text());
  for (const Method method : {Method::automatic, Method::dopri5, Method::rodas5p, Method::taylor})
    for (const double tolerance : {1e-6, 1e-9}) {
      const Trajectory run =
          simulate(loaded.model, {.stop = c.stop, .rtol = tolerance, .atol = tolerance, .method = method});
      const Status& status = run.status();
      SCOPED_TRACE(run.statistics().method);
      // rounding errors of a dense output may lead through zero and back within 1e-7 (known issue); a Taylor series has
      // none of them here
      if (std::string(c.name).starts_with("a touch") && method != Method::taylor) continue;
      if (status.code == StatusCode::singular_mode && method != Method::automatic)
        continue;  // the method does not take the mode
      switch (c.ending) {
        case Ending::cycle:
          EXPECT_EQ(status.code, StatusCode::too_many_mode_changes);
          EXPECT_NE(status.message.find("cycle"), std::string::npos) << status.message;
          continue;
        case Ending::loop:
          EXPECT_FALSE(status.ok());
          EXPECT_NE(status.message.find("each other"), std::string::npos) << status.message;
          continue;
        case Ending::contradiction:
          EXPECT_EQ(status.code, StatusCode::contradiction);
          continue;
        case Ending::not_unique: {
          bool said = false;
          for (const Event& e : run.events()) said = said || e.message.find("not unique") != std::string::npos;
          EXPECT_TRUE(said);
          break;
        }
        default:
          break;
      }
      EXPECT_EQ(status.code, StatusCode::success) << status.message;
      if (!status.ok()) continue;
      // models are piecewise polynomials of low degree: what is left are errors of event times, some tolerances
      for (const auto& [name, value] : c.expected)
        EXPECT_NEAR(run.final()[run.index(name)], value, 100.0 * tolerance * (1.0 + std::abs(value))) << name;
    }
}

// Relations that only assigned values read are no guards. Where they are zero, up to the rounding errors of the steps
// that led there, they have their truth at zero.
TEST(Instants, RelationsInAssignedValuesAreNotDecidedByRoundingErrors) {
  for (const char* speed : {"0.7", "0.1", "0.3", "1.1", "1.3", "0.9"})
    for (const Method method : {Method::automatic, Method::dopri5, Method::taylor}) {
      SCOPED_TRACE(speed);
      const std::string v = speed;
      const ModelicaModel loaded =
          load_text("model M Real x(start=-" + v + ", fixed=true); Real a; " +
                    "discrete Real y(start=-1), z(start=-1), u(start=-1), w(start=-1), n(start=-1); " +
                    "equation der(x)=" + v + "; a=3*x+1; when time>=1 then " +
                    "y=if x>0 then 1 else 0; z=if x>=0 then 1 else 0; u=if a<1 then 1 else 0; " +
                    "w=if (if x>0 then 2 else 1)*a>1 then 1 else 0; end when; " +
                    "when sample(0.3,10) then n=floor(time/0.1); end when; end M;");
      const Trajectory run = simulate(loaded.model, {.stop = 2.0, .rtol = 1e-9, .atol = 1e-9, .method = method});
      EXPECT_TRUE(run.status().ok()) << run.status().message;
      const std::map<std::string, double> expected{{"y", 0.0}, {"z", 1.0}, {"u", 0.0}, {"w", 0.0}, {"n", 3.0}};
      for (const auto& [name, value] : expected) EXPECT_EQ(run.final()[run.index(name)], value) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, InstantModels, testing::Range(0, 81), [](const testing::TestParamInfo<int>& which) {
  std::string name = cases()[static_cast<std::size_t>(which.param)].name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return std::to_string(which.param) + "_" + name;
});

}  // namespace
}  // namespace saltus
