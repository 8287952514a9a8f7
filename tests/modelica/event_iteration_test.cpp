// What acts at one instant acts together: no clause sees values of which some are old, an elsewhen leaves it to the clause before it, and a sample is
// seen by everybody.
#include <cmath>
#include <functional>
#include <random>

#include "load_helpers.hpp"

namespace saltus {
namespace {

double final_value(const Trajectory& run, const char* name) { return run.final()[run.index(name)]; }

TEST(EventIteration, SamplesWhoseTimesAgreeWithinRoundingActTogether) {
  const Trajectory result = run_text(R"(model M "3*0.1 is not 0.3"
  discrete Integer both(start = 0), either(start = 0), last(start = 0);
equation
  when sample(0, 0.1) and sample(0, 0.3) then
    both = pre(both) + 1;
  end when;
  when {sample(0, 0.1), sample(0, 0.3)} then
    either = pre(either) + 1;
  end when;
  when sample(0, 0.1) then
    last = pre(last) + (if sample(0, 0.3) then 1 else 0);
  end when;
end M;
)",
                                     300.0);
  EXPECT_EQ(final_value(result, "both"), 1001.0);
  EXPECT_EQ(final_value(result, "either"), 3001.0);
  EXPECT_EQ(final_value(result, "last"), 1001.0);
  EXPECT_EQ(result.events().size(), 3001u);
}

TEST(EventIteration, ASampleAtTheEndIsSeenAlthoughItsTimeLiesARoundingErrorBehind) {
  const ModelicaModel loaded = load_text(
      "model M\n  discrete Integer n(start = 0);\nequation\n  when sample(0, 0.1) then\n    n = pre(n) + 1;\n  end when;\nend M;\n");
  for (int k = 1; k < 100; ++k) {
    const Trajectory result = run(loaded.model, k / 10.0);
    EXPECT_EQ(final_value(result, "n"), k + 1.0);
    EXPECT_EQ(result.events().back().t, k / 10.0);
  }
}

// During continuous integration a sample is false (3.7.5 of the specification): in its instant it becomes true and
// false again.
TEST(EventIteration, ASampleThatEndsIsAnEdge) {
  constexpr const char* text = R"(model M
  Boolean y;
  Integer rises(start = 0), falls(start = 0), changes(start = 0), ends(start = 0), named(start = 0);
  discrete Real last(start = -1);
  Real x(start = 0, fixed = true), z;
equation
  der(x) = 1;
  y = sample(0.5, 1);
  when y then
    rises = pre(rises) + 1;
    falls = pre(falls);
    last = pre(last);
  elsewhen not y then
    rises = pre(rises);
    falls = pre(falls) + 1;
    last = time;
  end when;
  when change(y) then
    changes = pre(changes) + 1;
  end when;
  when not sample(0.5, 1) then
    ends = pre(ends) + 1;
  end when;
  when not y and x > 1 then
    named = pre(named) + 1;
  end when;
  z = if y then 100 + x else x;
end M;
)";
  const Trajectory result = run_text(text, 3.0);
  for (const double t : {0.25, 0.5, 0.875, 1.5, 2.25, 2.5, 3.0}) {
    const double samples = std::floor(t + 0.5);
    for (const char* name : {"rises", "falls", "ends"}) EXPECT_EQ(result.at(t, name), samples) << name << " at " << t;
    EXPECT_EQ(result.at(t, "changes"), 2.0 * samples) << t;
    EXPECT_EQ(result.at(t, "named"), t <= 1.0 ? 0.0 : samples) << t;
    EXPECT_EQ(result.at(t, "last"), samples > 0.0 ? samples - 0.5 : -1.0) << t;
    EXPECT_EQ(result.at(t, "y"), 0.0) << t;
    EXPECT_NEAR(result.at(t, "z"), t, 1e-9);
  }
}

// The state is exact up to rounding errors: which side of the stop time they put the crossing on must not count. In
// other units of x, where these errors are others, as well.
TEST(EventIteration, RelationsThatBecomeTrueAtTheStopTimeAct) {
  std::mt19937 random(41);
  const auto number = [&](double low, double high) {
    return std::round(1e3 * std::uniform_real_distribution(low, high)(random)) / 1e3;
  };
  for (int k = 0; k < 60; ++k) {
    const double stop = number(0.1, 5.0), speed = number(0.1, 3.0);
    const std::string unit = std::vector{"1", "1e-7", "1e7"}[static_cast<std::size_t>(k % 3)],
                      end = std::to_string(stop);
    const std::string rate = unit + "*" + std::to_string(speed);
    const bool accelerated = k % 2 == 1;
    const std::string slope = accelerated ? "2*time*" + rate : rate;
    const std::string level = rate + "*" + end + (accelerated ? "*" + end : "");
    const std::string text = "model M\n  Real x(start = 0, fixed = true, nominal = " + unit +
                             ");\n  Integer n(start = 0);\n  Boolean b;\nequation\n  der(x) = " + slope +
                             ";\n  b = x >= " + level + ";\n  when b then\n    n = pre(n) + 1;\n  end when;\nend M;\n";
    SCOPED_TRACE(text);
    const Model model = load_text(text).model;
    for (const Method method : {Method::dopri5, Method::rodas5p, Method::radau, Method::taylor}) {
      const Trajectory result = simulate(model, {.stop = stop, .method = method});
      ASSERT_TRUE(result.status().ok()) << result.status().message;
      EXPECT_EQ(result.t_end(), stop);
      EXPECT_EQ(final_value(result, "n"), 1.0);
      EXPECT_EQ(final_value(result, "b"), 1.0);
      EXPECT_EQ(result.at(0.5 * stop, "n"), 0.0);
    }
  }
}

// Infinity and what is no number end the run where a clause or a discrete equation gives them, and reach no result.
TEST(EventIteration, ValuesThatAreNotFiniteEndTheRunWhereTheyAreGiven) {
  struct Case {
    const char *equations, *variable;
    double t;
  };
  for (const Case& c :
       {Case{"when time > 0.5 then d = 1/x; end when; k = 0;", "d", 0.5},
        Case{"when time > 0.5 then d = x/x; end when; k = 0;", "d", 0.5},
        Case{"when time > 0.5 then d = 1; reinit(y, 1/x); end when; k = 0;", "y", 0.5},
        Case{"when time > 0.5 then d = 1; end when; k = div(6, 1 - integer(d));", "k", 0.5},
        Case{"when time > 0.5 then d = 1; end when; k = mod(6, integer(d));", "k", 0.0},
        // so many events that the last ones are settled in flight
        Case{"when y > 1 then reinit(y, 0); d = pre(d) + 1; end when; k = div(6, 1500 - integer(d));", "k", 1500.0}}) {
    SCOPED_TRACE(c.equations);
    const std::string text = std::string(R"(model M
  Real x(start = 0, fixed = true), y(start = 0, fixed = true);
  discrete Real d(start = 0, fixed = true);
  Integer k;
equation
  der(x) = 0;
  der(y) = 1;
  )") + c.equations + "\nend M;\n";
    const Trajectory result = simulate(load_text(text).model, {.stop = 2000.0, .rtol = 1e-10, .atol = 1e-10});
    EXPECT_EQ(result.status().code, StatusCode::not_finite);
    EXPECT_NE(result.status().message.find("no finite value for '" + std::string(c.variable) + "'"), std::string::npos)
        << result.status().message;
    EXPECT_NEAR(result.status().t, c.t, 1e-6);  // 1500 crossings of a straight line: rounding errors
    for (const double value : result.final()) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(EventIteration, BranchesThatAreNotTakenNeedNoValue) {
  const Trajectory result = run_text(R"(model M "the last passes of the loop divide by zero"
  function gcd
    input Integer a, b;
    output Integer g;
  protected
    Integer x = a, y = b, t;
  algorithm
    while y <> 0 loop
      t := mod(x, y);
      x := y;
      y := t;
    end while;
    g := x;
  end gcd;
  Integer n(start = 84, fixed = true), before(start = 0, fixed = true), q;
equation
  q = gcd(n, 36);
  when time > 0.5 then
    before = pre(q);
    n = 90;
  end when;
end M;
)",
                                     1.0);
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  EXPECT_EQ(final_value(result, "before"), 12.0);
  EXPECT_EQ(final_value(result, "q"), 18.0);
}

TEST(EventIteration, AnElsewhenLeavesItToTheClauseBeforeItAtTheSameInstant) {
  const Trajectory result = run_text(R"(model M
  discrete Integer n(start = 0), a(start = 0), m(start = 0);
equation
  when time >= 1 then
    n = pre(n) + 1;
  elsewhen sample(0.5, 0.5) then
    n = pre(n) + 10;
  end when;
  when sample(1, 1) then
    a = pre(a) + 1;
  end when;
  when a > 0 then
    m = pre(m) + 100;
  elsewhen sample(0.5, 0.5) then
    m = pre(m) + 1;
  end when;
end M;
)",
                                     2.0);
  EXPECT_EQ(final_value(result, "n"), 31.0);
  EXPECT_EQ(final_value(result, "m"), 103.0);  // a is 1 in the first round at t = 1 already
}

TEST(EventIteration, AssertionsInClausesHoldWhenTheyAct) {
  const auto ends = [](const std::string& body) {
    const Model model = load_text("model M\n  Real x(start = 0, fixed = true);\n  discrete Integer n(start = 0);\nequation\n  der(x) = 1;\n" + body +
                                  "end M;\n")
                            .model;
    const Trajectory result = simulate(model, {.stop = 2.0});
    return std::pair(result.status().code, result.t_end());
  };
  const std::string count = "n = pre(n) + 1;\n", end = "  end when;\n";
  // true when it acts, not for ever
  EXPECT_EQ(ends("  when x > 0.5 then\n" + count + "assert(x < 0.6, \"late\");\n" + end).first, StatusCode::success);
  EXPECT_EQ(ends("algorithm\n  when x > 0.5 then\n    n := n + 1;\n    assert(x < 0.6, \"late\");\n" + end).first, StatusCode::success);
  // in the round in which a sample is true, with the values that the clause assigns
  const auto [sampled, when] = ends("  when sample(0.1, 0.1) then\n" + count + "assert(n < 6, \"many\");\n" + end);
  EXPECT_EQ(sampled, StatusCode::assertion_failed);
  EXPECT_NEAR(when, 0.6, 1e-12);
  const auto [counted, then] = ends("algorithm\n  when sample(0.1, 0.1) then\n    n := n + 1;\n    assert(n < 6, \"many\");\n" + end);
  EXPECT_EQ(counted, StatusCode::assertion_failed);
  EXPECT_NEAR(then, 0.6, 1e-12);
  // under an if, and one that never holds
  const std::string never = "if n > 3 then\nassert(false, \"n is \" + String(n));\nend if;\n";
  const auto [under_if, at] = ends("  when sample(0.1, 0.1) then\n" + count + never + end);
  EXPECT_EQ(under_if, StatusCode::assertion_failed);
  EXPECT_NEAR(at, 0.4, 1e-12);
}

TEST(EventIteration, ClausesThatWaitForTheEndActWhenTheModelEndsTheRun) {
  const ModelicaModel loaded = load_text(R"(model M
  Real x(start = 0, fixed = true);
  discrete Real last(start = 0);
equation
  der(x) = 1;
  when terminal() then
    last = x;
  end when;
  when x > 0.5 then
    terminate("far enough");
  end when;
end M;
)");
  const Trajectory result = simulate(loaded.model, {.stop = 2.0});
  EXPECT_EQ(result.status().code, StatusCode::terminated);
  EXPECT_EQ(result.status().message, "the model ended the run: far enough");
  EXPECT_NEAR(final_value(result, "last"), 0.5, 1e-12);
}

TEST(EventIteration, ResetsAndEndsUnderAConditionTakePlaceOrDoNot) {
  const auto model = [](const std::string& body) {
    return "model M\n  Real v1(start = 3, fixed = true), v2(start = 0, fixed = true), i, x(start = 0, fixed = true);\n"
           "  parameter Real kick = 1;\n  discrete Integer n(start = 0);\n  Boolean closed = time > 0.5;\nequation\n"
           "  2*der(v1) = -i;\n  der(v2) = i;\n  der(x) = 1;\n  if closed then\n    v1 = v2;\n  else\n    i = 0;\n  end if;\n" + body + "end M;\n";
  };
  const std::string equations = "  when time > 0.5 then\n    n = pre(n) + 1;\n    if kick*x > 1 then\n      reinit(v1, 9);\n    elseif x > 0.7 then\n"
                                "      terminate(\"late\");\n    else\n      reinit(x, 10);\n    end if;\n  end when;\n";
  const std::string statements = "algorithm\n  when time > 0.5 then\n    n := n + 1;\n    if kick*x > 1 then\n      reinit(v1, 9);\n    elseif x > 0.7 then\n"
                                 "      terminate(\"late\");\n    else\n      reinit(x, 10);\n    end if;\n  end when;\n";
  for (const std::string& body : {equations, statements}) {
    // x is reset, v1 is not: two coupled capacitors share their charge, 2*3 + 1*0 = 3*2
    const Trajectory shared = run_text(model(body), 1.0);
    EXPECT_EQ(shared.status().code, StatusCode::success);
    EXPECT_NEAR(final_value(shared, "v1"), 2.0, 1e-9) << body;
    EXPECT_NEAR(final_value(shared, "v2"), 2.0, 1e-9) << body;
    EXPECT_NEAR(final_value(shared, "x"), 10.5, 1e-9) << body;
    // v1 is reset, and the other one follows it
    Model kicked = load_text(model(body)).model;
    kicked.set("kick", 3.0);
    const Trajectory held = run(kicked, 1.0);
    EXPECT_NEAR(final_value(held, "v1"), 9.0, 1e-9) << body;
    EXPECT_NEAR(final_value(held, "v2"), 9.0, 1e-9) << body;
    EXPECT_NEAR(final_value(held, "x"), 1.0, 1e-9) << body;
    Model late = load_text(model(body)).model;
    late.set("x", 0.4);
    EXPECT_EQ(simulate(late, {.stop = 1.0}).status().code, StatusCode::terminated) << body;
  }
}

TEST(EventIteration, LongCascadesSettle) {
  for (const std::string next : {"a[i + 1]", "pre(a[i + 1])"}) {  // in one round, against the order of the file; and in one round each
    const Trajectory result = run_text("model M\n  parameter Integer N = 300;\n  discrete Integer a[N](each start = 0);\nequation\n"
                                       "  for i in 1:N - 1 loop\n    when " + next + " > 0 then\n      a[i] = 1;\n    end when;\n  end for;\n"
                                       "  when time >= 0.5 then\n    a[N] = 1;\n  end when;\nend M;\n",
                                       1.0);
    EXPECT_EQ(final_value(result, "a[1]"), 1.0) << next;
    EXPECT_EQ(result.events().size(), 1u) << next;
  }
}

// --- random programs beside the event iteration of Modelica 3.6, appendix B: solve all equations, in an order in which each needs earlier ones only,
// with pre() fixed; then pre() takes the new values; until nothing changes

struct Instant {
  double t = 0.0;
  bool first_of_all = false;  // the first iteration of the run, in which initial() holds
  bool over = false;          // samples are: what they have led to has settled
  std::vector<double> now, before;
};

struct Formula {
  std::string text;
  std::function<double(const Instant&)> value;
};

struct Item {
  bool is_boolean = false, is_clause = false;
  std::string name;
  std::vector<std::pair<Formula, Formula>> branches;  // condition and value; a definition has one, with no condition
};

class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) {
    const int count = whole(3, 7);
    for (int k = 0; k < count; ++k) add_item();
  }

  std::string text() {
    std::vector<std::string> declarations, equations;
    for (const Item& item : items_) {
      const std::string type = item.is_boolean ? "Boolean" : "Integer", start = item.is_boolean ? "false" : "0";
      declarations.push_back((item.is_clause ? "  discrete " : "  ") + type + " " + item.name + "(start = " + start + ");\n");
      std::string equation;
      if (!item.is_clause) equation = "  " + item.name + " = " + item.branches[0].second.text + ";\n";
      for (std::size_t k = 0; item.is_clause && k < item.branches.size(); ++k)
        equation += (k == 0 ? "  when " : "  elsewhen ") + item.branches[k].first.text + " then\n    " + item.name + " = " +
                    item.branches[k].second.text + ";\n";
      if (item.is_clause) equation += "  end when;\n";
      equations.push_back(equation);
    }
    std::shuffle(declarations.begin(), declarations.end(), random_);
    std::shuffle(equations.begin(), equations.end(), random_);
    std::string all = "model M\n";
    for (const auto& d : declarations) all += d;
    all += "equation\n";
    for (const auto& e : equations) all += e;
    return all + "end M;\n";
  }

  /// The values after the instant k/8, for each k up to the last.
  std::vector<std::vector<double>> solve(int last) {
    Instant at;
    at.now.assign(items_.size(), 0.0);
    std::vector<std::vector<double>> memory, result;  // of the conditions
    for (const Item& item : items_) memory.emplace_back(item.branches.size(), 0.0);
    for (int k = 0; k <= last; ++k) {
      at.t = k / 8.0;
      for (const bool over : {false, true}) {
        at.over = over;
        bool settled = false;
        for (int iteration = 0; iteration < 50 && !settled; ++iteration) {
          const bool start = k == 0 && iteration == 0 && !over;
          at.first_of_all = start;
          at.before = at.now;
          iterate(at, memory, start);
          settled = at.now == at.before && iteration > 0;
        }
        if (!settled) return {};
      }
      result.push_back(at.now);
    }
    return result;
  }

  const std::vector<Item>& items() const { return items_; }

 private:
  int whole(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }

  void iterate(Instant& at, std::vector<std::vector<double>>& memory, bool start) const {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (!item.is_clause) {
        at.now[i] = item.branches[0].second.value(at);
        continue;
      }
      bool acted = start;  // conditions that hold from the start have no edge
      for (std::size_t k = 0; k < item.branches.size(); ++k) {
        const double truth = item.branches[k].first.value(at);
        if (truth != 0.0 && memory[i][k] == 0.0 && !std::exchange(acted, true)) at.now[i] = item.branches[k].second.value(at);
        memory[i][k] = truth;
      }
    }
  }

  int pick(bool boolean) {
    std::vector<int> found;
    for (std::size_t k = 0; k < items_.size(); ++k)
      if (items_[k].is_boolean == boolean) found.push_back(static_cast<int>(k));
    return found.empty() ? -1 : found[static_cast<std::size_t>(whole(0, static_cast<int>(found.size()) - 1))];
  }

  Formula sample() {
    const int start = whole(1, 3), interval = whole(2, 4);
    return {"sample(" + std::to_string(start / 8.0) + ", " + std::to_string(interval / 8.0) + ")", [=](const Instant& at) {
              const int k = static_cast<int>(8.0 * at.t) - start;
              return !at.first_of_all && !at.over && k >= 0 && k % interval == 0 ? 1.0 : 0.0;
            }};
  }

  Formula condition(int depth) {
    const int kind = depth == 0 ? whole(0, 4) : whole(0, 9), b = pick(true), n = pick(false);
    const auto index = static_cast<std::size_t>(kind == 1 ? b : n);
    if (kind == 9) return sample();
    if (kind == 1 && b >= 0) {
      const std::string& name = items_[index].name;
      switch (whole(0, 3)) {
        case 0: return {"pre(" + name + ")", [=](const Instant& at) { return at.before[index]; }};
        case 1: return {"edge(" + name + ")", [=](const Instant& at) { return at.now[index] > at.before[index] ? 1.0 : 0.0; }};
        case 2: return {"change(" + name + ")", [=](const Instant& at) { return at.now[index] != at.before[index] ? 1.0 : 0.0; }};
        default: return {name, [=](const Instant& at) { return at.now[index]; }};
      }
    }
    if (kind == 2 && n >= 0)
      return {"change(" + items_[index].name + ")", [=](const Instant& at) { return at.now[index] != at.before[index] ? 1.0 : 0.0; }};
    if ((kind == 3 || kind == 4) && n >= 0) {
      const Formula a = number(1);
      const int limit = whole(-1, 3);
      return {a.text + " > " + std::to_string(limit), [=](const Instant& at) { return a.value(at) > limit ? 1.0 : 0.0; }};
    }
    if (kind == 5 || kind == 6) {
      const Formula x = condition(depth - 1), y = condition(depth - 1);
      return {"(" + x.text + " and " + y.text + ")", [=](const Instant& at) { return x.value(at) * y.value(at); }};
    }
    if (kind == 7) {
      const Formula x = condition(depth - 1), y = condition(depth - 1);
      return {"(" + x.text + " or " + y.text + ")", [=](const Instant& at) { return std::max(x.value(at), y.value(at)); }};
    }
    if (kind == 8) {
      const Formula x = condition(depth - 1);
      return {"not (" + x.text + ")", [=](const Instant& at) { return 1.0 - x.value(at); }};
    }
    const double limit = whole(1, 15) / 8.0;
    return {"time >= " + std::to_string(limit), [=](const Instant& at) { return at.t >= limit ? 1.0 : 0.0; }};
  }

  Formula number(int depth) {
    const int kind = depth == 0 ? whole(0, 2) : whole(0, 4), n = pick(false);
    const auto index = static_cast<std::size_t>(n);
    if (kind <= 1 && n >= 0) return {items_[index].name, [=](const Instant& at) { return at.now[index]; }};
    if (kind == 2 && n >= 0) return {"pre(" + items_[index].name + ")", [=](const Instant& at) { return at.before[index]; }};
    if (kind == 3) {
      const Formula a = number(depth - 1), b = number(depth - 1);
      return {"(" + a.text + " - " + b.text + ")", [=](const Instant& at) { return a.value(at) - b.value(at); }};
    }
    if (kind == 4) {
      const Formula c = condition(0), a = number(depth - 1), b = number(depth - 1);
      return {"(if " + c.text + " then " + a.text + " else " + b.text + ")",
              [=](const Instant& at) { return c.value(at) != 0.0 ? a.value(at) : b.value(at); }};
    }
    const int constant = whole(0, 3);
    return {std::to_string(constant), [=](const Instant&) { return double(constant); }};
  }

  void add_item() {
    Item item;
    item.is_clause = chance(0.6);
    item.is_boolean = !item.is_clause && chance(0.6);
    const std::size_t own = items_.size();
    item.name = (item.is_boolean ? "b" : "n") + std::to_string(own);
    if (!item.is_clause) {
      item.branches.emplace_back(Formula{}, item.is_boolean ? condition(2) : number(2));
    } else {
      const Formula count{"pre(" + item.name + ") + 1", [=](const Instant& at) { return at.before[own] + 1.0; }};
      for (int k = whole(1, 3); k > 0; --k) {
        Formula when = chance(0.5) ? sample() : condition(2);
        if (chance(0.3)) {
          const Formula s = sample(), c = when;
          when = {"(" + s.text + " and " + c.text + ")", [=](const Instant& at) { return s.value(at) * c.value(at); }};
        }
        item.branches.emplace_back(when, chance(0.5) ? count : number(2));
      }
    }
    items_.push_back(std::move(item));
  }

  std::mt19937 random_;
  std::vector<Item> items_;
};

TEST(EventIteration, RandomProgramsDoWhatTheSpecificationSays) {
  constexpr int last = 17;
  int compared = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Program program(seed);
    const std::string text = program.text();
    const auto expected = program.solve(last);
    if (expected.empty()) continue;  // it does not settle
    const Trajectory result = simulate(load_text(text).model, {.stop = last / 8.0});
    ASSERT_TRUE(result.status().ok()) << "seed " << seed << ": " << result.status().message << "\n" << text;
    ++compared;
    for (int k = 0; k <= last; ++k)
      for (std::size_t i = 0; i < program.items().size(); ++i)
        ASSERT_EQ(result.at(k / 8.0, program.items()[i].name), expected[static_cast<std::size_t>(k)][i])
            << "seed " << seed << ", t = " << k / 8.0 << ", " << program.items()[i].name << "\n" << text;
  }
  EXPECT_GT(compared, 250);
}

}  // namespace
}  // namespace saltus
