// Random conditions of time, nested in each other, in several spellings: relations on functions and on chosen numbers,
// Boolean variables in their places, factors from 1e-7 to 1e7, time itself or variables that equal it, modes that are
// explicit and such that are not. What they are worth at a time is known by evaluating them there; values are compared
// inside of the run. SALTUS_RANDOM_CASES and SALTUS_RANDOM_SEED draw more and others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "load_helpers.hpp"
#include "random_cases.hpp"

namespace saltus {
namespace {

/// An expression as text, and its value.
struct Formula {
  std::string text;
  std::function<double(double t)> at;
};

class Writer {
 public:
  explicit Writer(int seed) : engine_(static_cast<std::uint64_t>(seed) * 6151u + 7u) {
    // what equals time: itself, a state, or an algebraic variable
    switch (below(3)) {
      case 0:
        break;
      case 1:
        clock_ = "x";
        declare("Real x(start=0, fixed=true);", "der(x)=1;");
        break;
      default:
        clock_ = "z";
        declare("Real x(start=0, fixed=true);", "der(x)=1;");
        declare("Real z;", "z+0.1*z^3=x+0.1*x^3;");
    }
  }

  int below(int count) { return static_cast<int>(engine_() % static_cast<unsigned>(count)); }
  /// An odd multiple of 1/64 plus something: switchings do not coincide by chance.
  double place(double low, double high) { return low + (high - low) * (below(1000) + 0.37) / 1000.0; }

  Formula condition(int depth) {
    Formula result = bare_condition(depth);
    if (below(4) == 0) {
      const std::string name = fmt::format("b{}", count_++);
      declare(fmt::format("Boolean {};", name), fmt::format("{}={};", name, result.text));
      result.text = name;
    }
    return result;
  }

  void declare(std::string declaration, std::string equation) {
    declarations_.push_back(std::move(declaration));
    equations_.push_back(std::move(equation));
  }
  std::string model() {
    std::shuffle(declarations_.begin(), declarations_.end(), engine_);
    std::shuffle(equations_.begin(), equations_.end(), engine_);
    return fmt::format("model M\n  {}\nequation\n  {}\nend M;\n", fmt::join(declarations_, "\n  "),
                       fmt::join(equations_, "\n  "));
  }

 private:
  Formula signal() {
    const double a = place(0.05, 3.0);
    switch (below(4)) {
      case 0:
        return {fmt::format("({}-{})", clock_, a), [a](double t) { return t - a; }};
      case 1:
        return {fmt::format("(mod({},{})-{})", clock_, 1.0 + a, 0.5 * a),
                [a](double t) { return t - (1.0 + a) * std::floor(t / (1.0 + a)) - 0.5 * a; }};
      case 2:
        return {fmt::format("(abs({}-{})-0.6)", clock_, a), [a](double t) { return std::abs(t - a) - 0.6; }};
      default:
        return {fmt::format("sin(2*({}-{}))", clock_, a), [a](double t) { return std::sin(2.0 * (t - a)); }};
    }
  }
  /// A number that conditions choose, never 0.5 or 1.5.
  Formula chosen(int depth) {
    const Formula c = condition(depth - 1);
    const int p = below(4), q = 3 - p;
    Formula result{fmt::format("(if {} then {} else {})", c.text, p, q),
                   [c, p, q](double t) { return c.at(t) != 0.0 ? p : q; }};
    switch (below(4)) {
      case 0:
        return {fmt::format("{}^2", result.text), [result](double t) { return std::pow(result.at(t), 2.0); }};
      case 1:
        return {fmt::format("sqrt({})", result.text), [result](double t) { return std::sqrt(result.at(t)); }};
      case 2: {
        const double scale = std::pow(10.0, below(15) - 7);
        return {fmt::format("({}*{}/{})", scale, result.text, scale), result.at};
      }
      default:
        return result;
    }
  }
  Formula relation(const Formula& f, double threshold) {
    const double scale = below(2) ? 1.0 : std::pow(10.0, below(15) - 7);
    const bool above = below(2) != 0;
    const std::string text = fmt::format("{}*{}{}{}", scale, f.text, above ? ">" : "<", scale * threshold);
    return {text, [f, threshold, above](double t) { return (f.at(t) > threshold) == above ? 1.0 : 0.0; }};
  }
  Formula bare_condition(int depth) {
    switch (depth <= 0 ? 0 : below(7)) {
      case 1: {
        const Formula a = condition(depth - 1);
        return {fmt::format("(not {})", a.text), [a](double t) { return 1.0 - a.at(t); }};
      }
      case 2: {
        const Formula a = condition(depth - 1), b = condition(depth - 1);
        return {fmt::format("({} and {})", a.text, b.text), [a, b](double t) { return a.at(t) * b.at(t); }};
      }
      case 3: {
        const Formula a = condition(depth - 1), b = condition(depth - 1);
        return {fmt::format("({} or {})", a.text, b.text), [a, b](double t) { return std::max(a.at(t), b.at(t)); }};
      }
      case 4: {
        const Formula a = chosen(depth), b = signal();
        const Formula product{fmt::format("{}*({})", a.text, b.text), [a, b](double t) { return a.at(t) * b.at(t); }};
        return bracketed(relation(product, 0.3));
      }
      case 5:
      case 6:
        return bracketed(relation(chosen(depth), below(2) ? 0.5 : 1.5));
      default:
        return bracketed(relation(signal(), 0.0));
    }
  }
  static Formula bracketed(Formula f) {
    f.text = "(" + f.text + ")";
    return f;
  }

  std::mt19937_64 engine_;
  std::string clock_ = "time";
  std::vector<std::string> declarations_, equations_;
  int count_ = 0;
};

/// The integral of a function that is constant between switchings, if they lie further apart than the steps.
double integral(const std::function<double(double)>& f, double stop, double step) {
  double sum = 0.0;
  for (double t = 0.0; t < stop; t += step) {
    double low = t, high = std::min(t + step, stop);
    const double first = f(low), last = f(high), width = high - low;
    if (first == last) {
      sum += first * width;
      continue;
    }
    for (int k = 0; k < 40; ++k) {
      const double middle = 0.5 * (low + high);
      (f(middle) == first ? low : high) = middle;
    }
    sum += first * (low - t) + last * (t + width - low);
  }
  return sum;
}

TEST(RandomRelations, HaveTheTruthOfTheirExpressions) {
  constexpr double stop = 6.0, near = 1e-4;
  const int cases = random_cases(150), seed = random_seed();
  for (int k = seed; k < seed + cases; ++k) {
    Writer writer(k);
    const Formula c = writer.condition(4);
    writer.declare("Real y;", fmt::format("y=if {} then 1 else 0;", c.text));
    writer.declare("Real I(start=0, fixed=true);", "der(I)=y;");
    if (writer.below(2))
      writer.declare("discrete Integer n(start=0);", fmt::format("when {} then n=pre(n)+1; end when;", c.text));
    const std::string text = writer.model();
    SCOPED_TRACE(fmt::format("seed {}\n{}", k, text));
    const ModelicaModel loaded = load_text(text);
    const double expected = integral(c.at, stop, 1.0 / 1024.0);
    if (std::abs(integral(c.at, stop, 1.0 / 1531.0) - expected) > 1e-9) continue;  // switchings lie closer together
    for (const Method method : {Method::automatic, Method::dopri5, Method::radau}) {
      const Trajectory run = simulate(loaded.model, {.stop = stop, .rtol = 1e-8, .atol = 1e-8, .method = method});
      if (run.status().code == StatusCode::singular_mode && method != Method::automatic) continue;
      SCOPED_TRACE(run.statistics().method);
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      const std::size_t y = run.index("y");
      for (int i = 0; i < 60; ++i) {
        const double t = (i + 0.5) * stop / 60.0, value = c.at(t);
        if (c.at(t - near) != value || c.at(t + near) != value) continue;  // it switches there
        ASSERT_EQ(run.at(t)[y], value) << t;
      }
      ASSERT_NEAR(run.final()[run.index("I")], expected, 1e-5);
    }
  }
  record_models(cases);
}

}  // namespace
}  // namespace saltus
