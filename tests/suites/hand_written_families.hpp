// Families of modes written by hand, small enough to be read at once, and the same as models.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/compiled_model.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "suites/affine_system.hpp"

namespace saltus::suite {

/// What the families have in common: one guard, of which locks[0] is the relation g > 0.
class HandWritten : public HybridSystem {
 public:
  const std::string& name() const override { return name_; }
  const std::vector<VariableInfo>& variables() const override { return variables_; }
  const std::vector<GuardInfo>& guards() const override { return guards_; }
  Mode initial_mode() const override {
    return {.automaton = 0, .discrete = discrete_, .locks = {0.0}, .conditions = {0.0}, .sees = {0}};
  }
  std::string describe(const Mode& mode) const override {
    if (!mode.sliding.empty()) return "sliding";
    if (!mode.contacts.empty()) return "in contact";
    return "mode " + std::to_string(mode.automaton) + (mode.locks[0] != 0.0 ? ", above" : ", below");
  }
  int side(const Mode& mode, int) const override { return mode.on_surfaces() ? 0 : mode.locks[0] != 0.0 ? +1 : -1; }
  void set_side(Mode& mode, int, int side) const override { mode.locks[0] = side > 0 ? 1.0 : 0.0; }
  bool transition(const EventInput&, Transition&) override { return false; }

 protected:
  HandWritten(std::string name, std::vector<VariableInfo> variables, std::string guard)
      : name_(std::move(name)), variables_(std::move(variables)), guards_{{.name = std::move(guard)}} {}

  std::string name_;
  std::vector<VariableInfo> variables_;
  std::vector<GuardInfo> guards_;
  std::vector<double> discrete_;
};

/// x' = 0.5 + y/4 - u, y' = u with the relay u = 1 where x > 0 and 0 elsewhere, from x = -1, y = 0. It slides from
/// t = 2 on, and leaves upwards at t = 2 + 4 log 2, when its weight, 0.5 + y/4, has come to 1.
class HandWrittenRelay final : public HandWritten {
 public:
  HandWrittenRelay()
      : HandWritten("relay", {{.name = "x", .start = -1.0}, {.name = "y", .start = 0.0}}, "x > 0"),
        below_({{{0.0, 0.25}, 0.5}, {{0.0, 0.0}, 0.0}}, {on_x()}),
        above_({{{0.0, 0.25}, -0.5}, {{0.0, 0.0}, 1.0}}, {on_x()}),
        sliding_({{{0.0, 0.0}, 0.0}, {{0.0, 0.25}, 0.5}}, {on_x(), {{0.0, 0.25}, 0.5}, {{0.0, -0.25}, 0.5}}) {}

  System& system(const Mode& mode) override {
    return mode.on_surfaces() ? sliding_ : mode.locks[0] != 0.0 ? above_ : below_;
  }
  bool can_stay_on_surfaces(const Mode& mode) override { return mode.contacts.empty() && mode.sliding.size() == 1; }

 private:
  static Affine on_x() { return {{1.0, 0.0}}; }
  AffineSystem below_, above_, sliding_;
};

inline Model relay_model() {
  Model m("relay");
  const Expr x = m.variable("x", -1.0), y = m.variable("y", 0.0), u = if_else(x > 0.0, 1.0, 0.0);
  m.equation(der(x) == 0.5 + 0.25 * y - u);
  m.equation(der(y) == u);
  return m;
}

/// h' = v, v' = -1 + 0.1 t from h = 1, v = 0: a ball on a floor at h = 0, with v := -v/2 when h < 0. The impacts
/// accumulate, the ball lies still, and at t = 10 it is lifted.
class HandWrittenBall final : public HandWritten {
 public:
  HandWrittenBall()
      : HandWritten("ball", {{.name = "h", .start = 1.0}, {.name = "v", .start = 0.0}}, "h >= 0"),
        flight_({{{0.0, 1.0}}, {{0.0, 0.0}, -1.0, 0.1}}, {{{1.0, 0.0}}}) {
    guards_[0].side_at_zero = +1;
    guards_[0].slides = false;
  }

  System& system(const Mode& mode) override {
    if (mode.on_surfaces()) return lying_;
    return flight_;
  }
  bool can_stay_on_surfaces(const Mode& mode) override { return mode.sliding.empty() && mode.contacts.size() == 1; }
  bool same_equations(const Mode& a, const Mode& b) const override { return a.on_surfaces() == b.on_surfaces(); }
  bool transition(const EventInput& input, Transition& transition) override {
    const bool was = transition.mode.conditions[0] != 0.0, below = transition.mode.sees[0] < 0;
    transition.mode.conditions[0] = below ? 1.0 : 0.0;
    if (input.quiet || input.initial || was || !below) return was != below && !input.quiet;
    transition.x[1] *= -0.5;
    transition.reset[1] = 1;
    transition.fired.push_back("when h < 0");
    return true;
  }

 private:
  /// It stays where it is as long as the floor has to carry it.
  class Lying final : public AffineSystem {
   public:
    Lying() : AffineSystem({{{0.0, 1.0}}, {{0.0, 0.0}}}, {{{1.0, 0.0}}, {{0.0, 0.0}, 1.0, -0.1}}) {}
    bool project(double, std::span<double> x) override {
      const bool moved = x[0] != 0.0 || x[1] != 0.0;
      x[0] = x[1] = 0.0;
      return moved;
    }
  };
  AffineSystem flight_;
  Lying lying_;
};

inline Model ball_model() {
  Model m("ball");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -1.0 + 0.1 * m.time());
  m.when(h < 0.0).reset(v, -0.5 * v);
  return m;
}

/// Two explicit modes: x rises to 1, is set to x/2 and falls to 0; count says how often.
class HandWrittenAutomaton final : public HandWritten {
 public:
  HandWrittenAutomaton()
      : HandWritten("automaton", {{.name = "x", .start = 0.0}}, "x reaches the end"),
        rising_({{{0.0}, 1.0}}, {{{1.0}, -1.0}}),
        falling_({{{-1.0}, -0.5}}, {{{-1.0}, 0.0}}) {
    discrete_ = {0.0};
    guards_[0].slides = false;
  }

  System& system(const Mode& mode) override {
    if (mode.automaton == 0) return rising_;
    return falling_;
  }
  bool transition(const EventInput&, Transition& transition) override {
    Mode& mode = transition.mode;
    if (mode.sees[0] <= 0) return false;
    if (mode.automaton == 0) {
      transition.x[0] *= 0.5;
      transition.reset[0] = 1;
    }
    transition.fired.push_back(mode.automaton == 0 ? "turn" : "count");
    if (mode.automaton == 1) mode.discrete[0] += 1.0;
    mode.automaton = 1 - mode.automaton;
    mode.locks[0] = 0.0;
    mode.sees[0] = -1;  // the guard is another function now
    return true;
  }
  const std::vector<VariableInfo>& observed() const override { return observed_; }
  bool derives_variables() const override { return false; }
  void observe(const Mode& mode, double, std::span<const double> x, std::span<const double>,
               std::span<double> values) override {
    values[0] = x[0];
    values[1] = mode.discrete[0];
  }

 private:
  AffineSystem rising_, falling_;
  std::vector<VariableInfo> observed_ = {{.name = "x"}, {.name = "count"}};
};

inline Model automaton_model() {
  Model m("automaton");
  const Expr x = m.variable("x", 0.0), count = m.discrete("count", 0.0);
  auto rising = m.mode("rising"), falling = m.mode("falling");
  rising.equation(der(x) == 1.0);
  falling.equation(der(x) == -x - 0.5);
  rising.transition(x > 1.0).to(falling).reset(x, 0.5 * x);
  falling.transition(x < 0.0).to(rising).assign(count, m.pre(count) + 1.0);
  return m;
}

}  // namespace saltus::suite
