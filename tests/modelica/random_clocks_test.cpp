// Random chains of sub-clocks with memory against the literal definitions of the specification (16.5.2) on lists of
// times: subSample takes every f-th tick, superSample splits intervals, shiftSample is superSample, drop and subSample.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

struct Fraction {
  long long top = 0, bottom = 1;

  double value() const { return static_cast<double>(top) / static_cast<double>(bottom); }
};

Fraction reduced(long long top, long long bottom) {
  const long long common = std::gcd(top, bottom);
  return {top / common, bottom / common};
}

using Ticks = std::vector<Fraction>;

Ticks every(const Ticks& ticks, int factor) {
  Ticks result;
  for (std::size_t k = 0; k < ticks.size(); k += static_cast<std::size_t>(factor)) result.push_back(ticks[k]);
  return result;
}

Ticks split(const Ticks& ticks, int factor) {
  Ticks result;
  for (std::size_t k = 0; k + 1 < ticks.size(); ++k)
    for (int n = 0; n < factor; ++n) {
      const Fraction &a = ticks[k], &b = ticks[k + 1];
      const long long bottom = a.bottom * b.bottom * factor;
      result.push_back(reduced(a.top * b.bottom * (factor - n) + b.top * a.bottom * n, bottom));
    }
  result.push_back(ticks.back());
  return result;
}

Ticks shifted(const Ticks& ticks, int counter, int resolution) {
  Ticks fine = split(ticks, resolution);
  fine.erase(fine.begin(), fine.begin() + counter);
  return every(fine, resolution);
}

bool is_later(const Fraction& a, const Fraction& b) {
  return a.top * b.bottom > b.top * a.bottom;
}

struct Variable {
  Ticks ticks;
  std::vector<double> values;
  double start = 0.0;
};

TEST(RandomClocks, FollowTheLiteralDefinitions) {
  std::mt19937 random(7);
  const auto number = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  constexpr int models = 150;
  for (int k = 0; k < models; ++k) {
    const int bottoms[] = {1, 2, 5, 10};
    const int top = number(1, 4), bottom = bottoms[number(0, 3)];
    std::vector<Variable> all(1);
    constexpr int most_ticks = 200;  // of which the run sees the first few
    for (int n = 0; n < most_ticks; ++n) {
      all[0].ticks.push_back(reduced(static_cast<long long>(top) * n, bottom));
      all[0].values.push_back(all[0].ticks.back().value());
    }
    std::vector<std::string> declarations{"Real v0;"};
    std::vector<std::string> equations{"v0 = sample(time, Clock(" + std::to_string(top) + ", " +
                                       std::to_string(bottom) + "));"};
    const int count = number(2, 6);
    for (int n = 1; n < count; ++n) {
      const int from = number(0, n - 1), kind = number(0, 2);
      const Variable source = all[static_cast<std::size_t>(from)];
      const std::string u = "v" + std::to_string(from), name = "v" + std::to_string(n);
      Variable made;
      std::string call;
      if (kind == 2) {
        const int counter = number(0, 4), resolution = number(1, 4);
        made.ticks = shifted(source.ticks, counter, resolution);
        call = "shiftSample(" + u + ", " + std::to_string(counter) + ", " + std::to_string(resolution) + ")";
      } else {
        const int factor = number(1, 4);
        made.ticks = kind == 0 ? every(source.ticks, factor) : split(source.ticks, factor);
        call = (kind == 0 ? "subSample(" : "superSample(") + u + ", " + std::to_string(factor) + ")";
      }
      const bool memory = number(0, 1) == 1;
      made.start = number(-3, 3);
      double before = made.start;
      std::size_t seen = 0;
      for (const Fraction& t : made.ticks) {
        while (seen < source.ticks.size() && !is_later(source.ticks[seen], t)) ++seen;
        before = (seen > 0 ? source.values[seen - 1] : source.start) + (memory ? before : 0.0);
        made.values.push_back(before);
      }
      declarations.push_back("Real " + name + "(start = " + std::to_string(static_cast<int>(made.start)) + ");");
      equations.push_back(name + " = " + call + (memory ? " + previous(" + name + ");" : ";"));
      all.push_back(std::move(made));
    }
    std::ranges::shuffle(declarations, random);
    std::ranges::shuffle(equations, random);
    std::string text = "model M\n";
    for (const std::string& line : declarations) text += "  " + line + "\n";
    text += "equation\n";
    for (const std::string& line : equations) text += "  " + line + "\n";
    text += "end M;\n";
    const double stop = 8.0 * top / bottom;
    const Trajectory run = run_text(text, stop);
    // between the ticks of all variables
    std::vector<double> times;
    for (const Variable& v : all)
      for (const Fraction& t : v.ticks)
        if (t.value() < stop) times.push_back(t.value());
    times.push_back(stop);
    std::ranges::sort(times);
    for (std::size_t n = 0; n + 1 < times.size(); ++n) {
      if (times[n + 1] - times[n] < 1e-9) continue;
      const double middle = 0.5 * (times[n] + times[n + 1]);
      for (std::size_t i = 0; i < all.size(); ++i) {
        double expected = all[i].start;
        for (std::size_t j = 0; j < all[i].ticks.size() && all[i].ticks[j].value() < middle; ++j)
          expected = all[i].values[j];
        ASSERT_NEAR(run.at(middle, "v" + std::to_string(i)), expected, 1e-12 * (1.0 + std::abs(expected)))
            << text << "at " << middle;
      }
    }
  }
}

}  // namespace
}  // namespace saltus
