// Random models whose answers a reference finds with a pencil: fields are constant between events, and the reference
// goes from event to event. Numbers are multiples of 1/4, so that several things often happen at one instant.
// Declarations and equations come in random order. SALTUS_RANDOM_CASES and SALTUS_RANDOM_SEED draw more and others.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "load_helpers.hpp"
#include "random_cases.hpp"

namespace saltus {
namespace {

constexpr double same = 1e-9;  // times and values that differ by less are equal: rounding errors of the reference

class Dice {
 public:
  explicit Dice(int seed) : engine_(static_cast<std::uint64_t>(seed) * 7919u + 13u) {}
  int below(int count) { return static_cast<int>(engine_() % static_cast<unsigned>(count)); }
  bool chance(double p) { return below(1000) < 1000.0 * p; }
  /// A multiple of 1/4.
  double quarter(int low, int high) { return 0.25 * (4 * low + below(4 * (high - low) + 1)); }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }
  template <class T>
  void shuffle(std::vector<T>& list) {
    std::shuffle(list.begin(), list.end(), engine_);
  }

 private:
  std::mt19937_64 engine_;
};

/// A model as text, in random order of declaration, and what it must end with. Nothing expected: it must not succeed.
struct Random {
  std::vector<std::string> declarations, equations;
  double stop = 1.0;
  std::map<std::string, double> expected;
  bool skipped = false;  // its solution is not unique

  std::string text(Dice& dice) {
    dice.shuffle(declarations);
    dice.shuffle(equations);
    return fmt::format("model M\n  {}\nequation\n  {}\nend M;\n", fmt::join(declarations, "\n  "),
                       fmt::join(equations, "\n  "));
  }
};

std::string n(double value) {
  return value < 0.0 ? fmt::format("({})", value) : fmt::format("{}", value);
}

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

/// The variables of declarations "Real x(start=0, fixed=true), y;".
std::vector<std::string> real_variables(const std::vector<std::string>& declarations) {
  std::vector<std::string> names;
  for (const std::string& text : declarations) {
    if (!text.starts_with("Real ")) continue;
    int depth = 0;
    bool fresh = true;
    for (std::size_t i = 5; i < text.size(); ++i) {
      depth += (text[i] == '(') - (text[i] == ')');
      if (depth == 0 && text[i] == ',') fresh = true;
      if (!fresh || depth > 0 || !is_part_of_name(text[i])) continue;
      std::size_t end = i;
      while (is_part_of_name(text[end])) ++end;
      names.push_back(text.substr(i, end - i));
      fresh = false;
      i = end - 1;
    }
  }
  return names;
}

/// The same model in other words: variables are read through others, which linear equations tie to them.
Random disguised(Random model, Dice& dice) {
  for (const std::string& name : real_variables(model.declarations)) {
    if (dice.chance(0.3)) continue;
    const std::string other = name + "_q", helper = name + "_p";
    for (std::string& equation : model.equations)
      for (std::size_t at = 0; (at = equation.find(name, at)) != std::string::npos; at += name.size()) {
        const auto follows = [&](const std::string& before) {
          return at >= before.size() && equation.compare(at - before.size(), before.size(), before) == 0;
        };
        if ((at > 0 && is_part_of_name(equation[at - 1])) || is_part_of_name(equation[at + name.size()]) ||
            follows("der(") || follows("pre(") || follows("reinit(") || dice.chance(0.5))
          continue;
        equation.insert(at + name.size(), "_q");
      }
    const std::vector<std::vector<std::string>> spellings{{"{1}={0};"},
                                                          {"0={1}-{0};"},
                                                          {"{1}+{2}=2*{0};", "{2}={0};"},
                                                          {"{1}+{2}=2*{0};", "{1}-{2}=0;"},
                                                          {"2*{1}={2};", "{2}-{0}={0};"}};
    const std::vector<std::string>& chosen = dice.of(spellings);
    model.declarations.push_back("Real " + other + (chosen.size() > 1 ? ", " + helper : "") + ";");
    for (const std::string& equation : chosen)
      model.equations.push_back(fmt::format(fmt::runtime(equation), name, other, helper));
  }
  return model;
}

void expect_run(const Random& model, const std::string& text, Method method) {
  SCOPED_TRACE(text);
  const Trajectory run =
      simulate(load_text(text).model, {.stop = model.stop, .rtol = 1e-9, .atol = 1e-9, .method = method});
  if (model.expected.empty()) {
    EXPECT_FALSE(run.status().ok());
    return;
  }
  if (run.status().code == StatusCode::singular_mode && method != Method::automatic) return;  // not a mode for it
  EXPECT_TRUE(run.status().ok()) << run.status().message;
  for (const auto& [name, value] : model.expected)
    EXPECT_NEAR(run.final()[run.index(name)], value, 1e-6 * (1.0 + std::abs(value))) << name;
}

void check(Random (*make)(Dice&), int usual) {
  int compared = 0, simulated = 0;
  const int first = random_seed(), count = random_cases(usual);
  for (int seed = first; seed < first + count; ++seed) {
    Dice dice(seed);
    Random model = make(dice);
    if (model.skipped) continue;
    const std::string text = model.text(dice);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    // (rodas5p has errors of 1e-14 in constant fields: a coincidence may be none)
    const Method method = dice.of(std::vector{Method::automatic, Method::automatic, Method::radau5, Method::taylor});
    record_models(++simulated);
    expect_run(model, text, method);
    if (!model.expected.empty()) {
      Dice words(seed + 1'000'003);
      expect_run(model, disguised(model, words).text(words), method);
    }
    ++compared;
    if (testing::Test::HasFailure()) return;  // one is enough to look at
  }
  expect_share(compared, 0.5, count);
}

// --- a state machine with timers and levels
struct Machine {
  enum class When { later, at, above, below };
  struct Phase {
    double speed, number;
    When when;
    int to;
  };
  std::vector<Phase> phases;

  /// Whether the condition of the phase holds, or does so right afterwards.
  bool holds(int phase, double t, double t0, double x) const {
    const Phase& p = phases[static_cast<std::size_t>(phase)];
    const auto exceeds = [](double g, double slope) { return g > same || (g > -same && slope > 0.0); };
    switch (p.when) {
      case When::later:
      case When::at:
        return t - t0 - p.number > -same;
      case When::above:
        return exceeds(x - p.number, p.speed);
      case When::below:
        return exceeds(p.number - x, -p.speed);
    }
    return false;
  }
  /// How long it takes until then.
  double wait(int phase, double t, double t0, double x) const {
    const Phase& p = phases[static_cast<std::size_t>(phase)];
    if (p.when == When::later || p.when == When::at) return t0 + p.number - t;
    const double time = (p.number - x) / p.speed;
    const bool towards = p.when == When::above ? p.speed > 0.0 : p.speed < 0.0;
    return towards && time > 0.0 ? time : 1e9;
  }
};

Random machine(Dice& dice) {
  Random r;
  r.stop = 12.0703125;
  Machine m;
  const int count = 2 + dice.below(3);
  std::string speeds, branches;
  for (int i = 0; i < count; ++i) {
    const int to = (i + 1 + dice.below(count - 1)) % count;
    const auto when = static_cast<Machine::When>(dice.below(4));
    const bool timer = when == Machine::When::later || when == Machine::When::at;
    m.phases.push_back({dice.quarter(-2, 2), timer ? dice.quarter(1, 3) : dice.quarter(-3, 3), when, to});
    const auto& p = m.phases.back();
    speeds += fmt::format("if phase=={} then {} else ", i, n(p.speed));
    const std::string condition = when == Machine::When::later ? fmt::format("time>pre(t0)+{}", n(p.number))
                                  : when == Machine::When::at
                                      ? fmt::format("time>=pre(t0)+{}", n(p.number))
                                      : fmt::format("x{}{}", when == Machine::When::above ? ">" : "<", n(p.number));
    branches += fmt::format("{} pre(phase)=={} and {} then phase={}; t0=time; k=pre(k)+1;",
                            i == 0 ? "when" : " elsewhen", i, condition, to);
  }
  r.declarations = {"Real x(start=0, fixed=true);", "discrete Integer phase(start=0);", "discrete Integer k(start=0);",
                    "discrete Real t0(start=0);"};
  r.equations = {"der(x)=" + speeds + "0;", branches + " end when;"};
  double t = 0.0, x = 0.0, t0 = 0.0;
  int phase = 0, k = 0;
  const auto& first = m.phases.front();
  // a condition that holds at the start has no edge, and never gets one
  bool dead =
      first.when == Machine::When::above ? x > first.number : first.when == Machine::When::below && x < first.number;
  while (true) {
    std::set<int> here;  // phases at this instant
    while (!dead && m.holds(phase, t, t0, x)) {
      if (!here.insert(phase).second) return r;  // a cycle
      phase = m.phases[static_cast<std::size_t>(phase)].to;
      t0 = t;
      ++k;
    }
    const double wait = dead ? 1e9 : m.wait(phase, t, t0, x);
    const double end = std::min(t + wait, r.stop);
    if (wait < 1e9 && std::abs(t + wait - r.stop) < same) r.skipped = true;
    x += (end - t) * m.phases[static_cast<std::size_t>(phase)].speed;
    t = end;
    if (t >= r.stop) break;
  }
  r.expected = {{"x", x}, {"phase", phase}, {"k", k}, {"t0", t0}};
  return r;
}

// --- blocks that sample together, in any order of declaration
Random network(Dice& dice) {
  Random r;
  r.stop = 3.0703125;
  struct Block {
    double gain, offset, start, slope;  // a = gain y + offset + slope time
    std::vector<std::pair<int, double>> reads_y, reads_a, reads_pre;
    int clock;  // 0: every 0.5 from 0 on, 1: every 1 from 0.5 on, 2: once, at 1
  };
  const int count = 2 + dice.below(3);
  std::vector<Block> blocks;  // each reads blocks before it
  std::vector<int> name;      // numbers in the text
  for (int i = 0; i < count; ++i) name.push_back(i);
  dice.shuffle(name);
  const auto of = [&](int i) { return name[static_cast<std::size_t>(i)]; };
  r.declarations.push_back("Real s(start=0, fixed=true);");
  r.equations.push_back("der(s)=1;");
  for (int i = 0; i < count; ++i) {
    Block b{dice.quarter(-1, 1), dice.quarter(-3, 3), dice.quarter(-3, 3), 0.25 * dice.below(3), {}, {}, {},
            dice.below(3)};
    for (int j = 0; j < i; ++j)
      if (dice.chance(0.7)) (dice.chance(0.5) ? b.reads_y : b.reads_a).emplace_back(j, dice.quarter(-1, 1));
    for (int j = 0; j < count; ++j)
      if (dice.chance(0.4)) b.reads_pre.emplace_back(j, dice.quarter(-1, 1));
    std::string value = "time";
    for (const auto& [j, c] : b.reads_y) value += fmt::format(" + {}*y{}", n(c), of(j));
    for (const auto& [j, c] : b.reads_a) value += fmt::format(" + {}*a{}", n(c), of(j));
    for (const auto& [j, c] : b.reads_pre) value += fmt::format(" + {}*pre(y{})", n(c), of(j));
    const char* clock = b.clock == 0 ? "sample(0,0.5)" : b.clock == 1 ? "sample(0.5,1)" : "time>=1";
    r.declarations.push_back(fmt::format("discrete Real y{}(start={});", of(i), n(b.start)));
    r.declarations.push_back(fmt::format("Real a{};", of(i)));
    r.equations.push_back(fmt::format("a{0}={1}*y{0} + {2} + {3}*{4};", of(i), n(b.gain), n(b.offset), n(b.slope),
                                      dice.chance(0.5) ? "s" : "time"));
    r.equations.push_back(fmt::format("when {} then y{}={}; end when;", clock, of(i), value));
    blocks.push_back(b);
  }
  std::vector<double> y;
  for (const Block& b : blocks) y.push_back(b.start);
  const auto a = [&](int j, double t) {
    const Block& b = blocks[static_cast<std::size_t>(j)];
    return b.gain * y[static_cast<std::size_t>(j)] + b.offset + b.slope * t;
  };
  for (int tick = 0; tick <= 6; ++tick) {
    const double t = 0.5 * tick;
    const std::vector<double> before = y;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Block& b = blocks[i];
      if (!(b.clock == 0 || (b.clock == 1 && tick % 2 == 1) || (b.clock == 2 && tick == 2))) continue;
      double value = t;
      for (const auto& [j, c] : b.reads_y) value += c * y[static_cast<std::size_t>(j)];
      for (const auto& [j, c] : b.reads_a) value += c * a(j, t);
      for (const auto& [j, c] : b.reads_pre) value += c * before[static_cast<std::size_t>(j)];
      y[i] = value;
    }
  }
  for (int i = 0; i < count; ++i) {
    r.expected[fmt::format("y{}", of(i))] = y[static_cast<std::size_t>(i)];
    r.expected[fmt::format("a{}", of(i))] = a(i, r.stop);
  }
  return r;
}

// --- one relay: above and below its threshold the fields are constant, and change at given times
struct Relay {
  struct Piece {
    double until, above, below, threshold;
  };
  std::vector<Piece> pieces;

  /// Empty: not unique.
  std::optional<double> end(double x) const {
    double t = 0.0;
    for (const Piece& p : pieces) {
      if (std::abs(x - p.threshold) < same) x = p.threshold;
      for (bool first = true; t < p.until - same; first = false) {
        const bool up = x == p.threshold && p.above > 0.0, down = x == p.threshold && p.below < 0.0;
        if (up && down) return std::nullopt;
        // where the field on the other side vanishes the solution may stay as well
        if (x == p.threshold && ((up && p.below == 0.0) || (down && p.above == 0.0)) && first) return std::nullopt;
        const double speed = x > p.threshold || up ? p.above : x < p.threshold || down ? p.below : 0.0;
        const double reached = (p.threshold - x) / speed;
        if (speed != 0.0 && x != p.threshold && reached > 0.0 && t + reached < p.until - same) {
          t += reached;
          x = p.threshold;
        } else {
          x += (p.until - t) * speed;
          t = p.until;
        }
      }
    }
    return x;
  }
};

/// A threshold that steps, by time or by a clause.
Random jumping(Dice& dice) {
  Random r;
  r.stop = 6.0703125;
  const double above = dice.quarter(-3, -1), below = dice.quarter(1, 3), start = dice.quarter(-3, 3);
  const double t1 = 0.25 * (1 + dice.below(9)), t2 = t1 + 0.25 * (1 + dice.below(9));
  const double r0 = dice.quarter(-3, 3), r1 = dice.quarter(-3, 3), r2 = dice.quarter(-3, 3);
  r.declarations = {fmt::format("Real x(start={}, fixed=true);", n(start))};
  std::string threshold =
      fmt::format("(if time>{} then (if time>{} then {} else {}) else {})", t1, t2, n(r2), n(r1), n(r0));
  if (dice.chance(0.5)) {
    threshold = "r";
    r.declarations.push_back(fmt::format("discrete Real r(start={});", n(r0)));
    r.equations.push_back(
        fmt::format("when time>={} then r={}; elsewhen time>={} then r={}; end when;", t1, n(r1), t2, n(r2)));
  }
  r.equations.push_back(fmt::format("der(x)=if x>{} then {} else {};", threshold, n(above), n(below)));
  const Relay relay{{{t1, above, below, r0}, {t2, above, below, r1}, {r.stop, above, below, r2}}};
  const auto x = relay.end(start);
  r.skipped = !x;
  if (x) r.expected = {{"x", *x}};
  return r;
}

/// Several relays on one surface, each in a spelling of its own, and a pulse.
Random spellings(Dice& dice) {
  Random r;
  r.stop = 5.0703125;
  const double start = dice.quarter(-3, 3), constant = dice.quarter(-1, 1), pulse = dice.quarter(-3, 3);
  const double t1 = 0.25 * (1 + dice.below(10)), t2 = t1 + 0.25 * (1 + dice.below(8));
  const std::vector<std::pair<const char*, int>> spelled{
      {"x", 1},   {"2*x", 1},         {"-x", -1},          {"0.5*x+1-1", 1},
      {"x^3", 1}, {"x*(y^2+1)", 1},   {"-3*x", -1},        {"x*exp(y)", 1},
      {"x/2", 1}, {"-x/(y^2+1)", -1}, {"x*(abs(y)+1)", 1}, {"-x*sqrt(y^2+2)*cosh(y)", -1}};
  double above = constant, below = constant;
  std::string field = n(constant);
  for (int k = dice.below(3); k >= 0; --k) {
    const auto [g, sign] = dice.of(spelled);
    const bool greater = dice.chance(0.5);
    const double a = dice.quarter(-2, 0), b = dice.quarter(0, 2);
    above += a;
    below += b;
    const bool holds_above = greater == (sign > 0);
    field += fmt::format(" + (if {} {} 0 then {} else {})", g,
                         dice.of(greater ? std::vector{">", ">="} : std::vector{"<", "<="}), n(holds_above ? a : b),
                         n(holds_above ? b : a));
  }
  field += fmt::format(" + (if time>{} and time<{} then {} else 0)", t1, t2, n(pulse));
  r.declarations = {fmt::format("Real x(start={}, fixed=true);", n(start)), "Real y(start=0.5, fixed=true);"};
  r.equations = {"der(x)=" + field + ";", "der(y)=0.25;"};
  if (dice.chance(0.5)) {  // one that only a clause reads
    r.declarations.push_back("discrete Integer k(start=0);");
    r.equations.push_back(fmt::format("when {} > 0 then k=pre(k)+1; end when;", dice.of(spelled).first));
  }
  const Relay relay{{{t1, above, below, 0.0}, {t2, above + pulse, below + pulse, 0.0}, {r.stop, above, below, 0.0}}};
  const auto x = relay.end(start);
  r.skipped = !x;
  if (x) r.expected = {{"x", *x}};
  return r;
}

/// A mass with dry friction under a load that steps, as a relay or as an automaton.
Random friction(Dice& dice) {
  Random r;
  r.stop = 6.0703125;
  const double limit = dice.quarter(1, 2), start = dice.quarter(-2, 2);
  Relay relay;
  std::string load;
  double t = 0.0;
  for (int k = 0; k < 3; ++k) {
    t += 0.25 * (1 + dice.below(7));
    const double force = dice.quarter(-3, 3);
    load += fmt::format("if time<{} then {} else ", t, n(force));
    relay.pieces.push_back({t, force - limit, force + limit, 0.0});
  }
  load += "0.5";
  relay.pieces.push_back({r.stop, 0.5 - limit, 0.5 + limit, 0.0});
  r.declarations = {fmt::format("Real v(start={}, fixed=true);", n(start))};
  r.equations = {fmt::format("der(v)=({})-{};", load, fmt::format("(if v>0 then {0} else -{0})", limit))};
  if (dice.chance(0.5)) {
    const int mode = start > 0.0 ? 1 : start < 0.0 ? -1 : 0;
    r.declarations = {fmt::format("Real v(start={}, fixed=true), sa, f;", n(start)),
                      fmt::format("discrete Integer mode(start={});", mode),
                      "discrete Boolean forth(start=false), back(start=false);"};
    r.equations = {
        fmt::format("forth=pre(mode)==0 and (sa>{0} or pre(forth) and sa>{0});", limit),
        fmt::format("back=pre(mode)==0 and (sa<-{0} or pre(back) and sa<-{0});", limit),
        "mode=if (pre(mode)==1 or forth) and v>0 then 1 elseif (pre(mode)==-1 or back) and v<0 then -1 else 0;",
        fmt::format("der(v)=if forth then sa-{0} elseif back then sa+{0} elseif pre(mode)==0 then 0 else sa;", limit),
        fmt::format("f=if forth then {0} elseif back then -{0} elseif pre(mode)==1 then {0} elseif pre(mode)==-1 "
                    "then -{0} else sa;",
                    limit),
        fmt::format("der(v)=({})-f;", load)};
  }
  const auto v = relay.end(start);
  r.skipped = !v;
  if (v) r.expected = {{"v", *v}};
  return r;
}

/// Buck, boost and buck-boost converters with an ideal switch and an ideal diode, which end the current when it
/// vanishes.
Random converter(Dice& dice) {
  Random r;
  r.stop = 4.0703125;
  const double E = dice.quarter(1, 3), V = dice.quarter(1, 4), start = dice.chance(0.6) ? 0.0 : dice.quarter(0, 2);
  std::vector<double> times;
  for (double t = 0.25 * (1 + dice.below(4)); times.size() < 3; t += 0.25 * (1 + dice.below(5))) times.push_back(t);
  const bool closed_first = dice.chance(0.5);
  const std::string within = fmt::format("(time>{} and time<{} or time>{})", times[0], times[1], times[2]);
  r.declarations = {fmt::format("Real i(start={}, fixed=true);", n(start)),
                    "Real u;",
                    "Real s;",
                    "Real id;",
                    "Real isw;",
                    "Real ud;",
                    "Real usw;"};
  r.equations = {"der(i)=u;", "i=isw+id;", "id=if s>0 then s else 0;", "ud=if s>0 then 0 else s;",
                 fmt::format("0=if {}{} then usw else isw;", closed_first ? "not " : "", within)};
  switch (dice.below(3)) {
    case 0:
      r.equations.push_back(fmt::format("u={}-usw-{};", E + V, V));
      r.equations.push_back(fmt::format("u=-ud-{};", V));
      break;
    case 1:
      r.equations.push_back(fmt::format("u={}-usw;", E));
      r.equations.push_back(fmt::format("u={}-ud-{};", E, E + V));
      break;
    default:
      r.equations.push_back(fmt::format("u={}-usw;", E));
      r.equations.push_back(fmt::format("u=-ud-{};", V));
  }
  double i = start, t = 0.0;
  bool closed = closed_first;
  times.push_back(r.stop);
  for (const double end : times) {
    i = closed ? i + E * (end - t) : std::max(0.0, i - V * (end - t));
    t = end;
    closed = !closed;
  }
  r.expected = {{"i", i}};
  return r;
}

TEST(RandomInstants, StateMachinesWithTimers) {
  check(machine, 150);
}
TEST(RandomInstants, SampledNetworksInAnyOrder) {
  check(network, 150);
}
TEST(RandomInstants, SurfacesThatJump) {
  check(jumping, 150);
}
TEST(RandomInstants, SpellingsOfOneSurface) {
  check(spellings, 150);
}
TEST(RandomInstants, DryFrictionAsARelayAndAsAnAutomaton) {
  check(friction, 150);
}
TEST(RandomInstants, ConvertersWithIdealDiodes) {
  check(converter, 150);
}

}  // namespace
}  // namespace saltus
