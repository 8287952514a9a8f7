// One model in many spellings: units, order of declaration, conditions with names or inside of others.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace saltus::executors {

class Spelling {
 public:
  explicit Spelling(unsigned seed) : random_(seed) {}

  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  /// A factor of a unit: 1 as a rule, otherwise between 1e-7 and 1e7.
  double unit() { return pick(2) == 0 ? 1.0 : std::pow(10.0, pick(15) - 7); }
  static std::string text(double value) { return fmt::format("({:.17g})", value); }

  void declare(const std::string& line) { declared_.push_back(line); }
  void equate(const std::string& line) { equations_.push_back(line); }

  /// A variable in this unit; returns how its value in natural units is written. `start` is a text in natural units.
  std::string variable(const std::string& name, const std::string& start, bool fixed, double unit) {
    declare("Real " + name + "(start = " + text(unit) + "*(" + start + "), nominal = " + text(unit) +
            (fixed ? ", fixed = true" : "") + ");");
    return unit == 1.0 ? name : "(" + name + "/" + text(unit) + ")";
  }
  /// der(name) = rate, for a rate in natural units.
  void derivative(const std::string& name, double unit, const std::string& rate) {
    const std::string scaled = text(unit) + "*(" + rate + ")";
    equate(pick(2) == 0 ? "der(" + name + ") = " + scaled + ";" : "0 = " + scaled + " - der(" + name + ");");
  }
  static std::string reset(const std::string& name, double unit, const std::string& value) {
    return "reinit(" + name + ", " + text(unit) + "*(" + value + "));";
  }

  /// a > b, or a >= b.
  std::string greater(const std::string& a, const std::string& b, bool strict = true) {
    const std::string op = strict ? " > " : " >= ", turned = strict ? " < " : " <= ";
    switch (pick(4)) {
      case 0:
        return named(b + turned + a);
      case 1:
        return named(text(between(0.5, 5.0)) + "*(" + a + " - (" + b + "))" + op + "0");
      case 2:
        return named("not (" + b + (strict ? " >= " : " > ") + a + ")");
      default:
        return named(a + op + b);
    }
  }
  /// An expression that is `then` where a condition holds, and `otherwise` elsewhere.
  std::string choice(const std::string& condition, const std::string& then, const std::string& otherwise) {
    if (pick(3) == 0) return "(if (if " + condition + " then 1 else 0) > 0.5 then " + then + " else " + otherwise + ")";
    return "(if " + condition + " then " + then + " else " + otherwise + ")";
  }

  /// The declarations, the sections before the equations, and the equations, in some order.
  std::string written(const std::string& initial = "") {
    std::ranges::shuffle(declared_, random_);
    std::ranges::shuffle(equations_, random_);
    std::string all;
    for (const std::string& line : declared_) all += line + " ";
    if (!initial.empty()) all += "initial equation " + initial + " ";
    all += "equation ";
    for (const std::string& line : equations_) all += line + " ";
    return all;
  }

 private:
  std::string named(const std::string& condition) {
    if (pick(3) != 0) return "(" + condition + ")";
    const std::string name = fmt::format("c{}", ++names_);
    declare("Boolean " + name + ";");
    equate(name + " = " + condition + ";");
    return name;
  }

  std::mt19937 random_;
  std::vector<std::string> declared_, equations_;
  int names_ = 0;
};

}  // namespace saltus::executors
