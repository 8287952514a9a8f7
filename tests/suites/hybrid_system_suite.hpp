// What every HybridSystem promises, checked from outside: a hand-written family, a compiled model, a decorator.
#pragma once

#include <saltus/hybrid/simulate.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace saltus::suite {

/// A family, and how it moves.
struct Family {
  std::string name;
  std::function<std::shared_ptr<HybridSystem>()> make;
  double stop;
  std::vector<double> final;       ///< of all observed variables at the end
  std::vector<std::string> kinds;  ///< of its events, in order; empty: there are very many
  std::vector<Method> methods = {Method::automatic, Method::dop853, Method::rodas5p, Method::radau, Method::taylor};
};

/// For the names of tests.
inline void PrintTo(const Family& family, std::ostream* out) {
  *out << family.name;
}

inline SimulateOptions tight(const Family& family, Method method = Method::automatic) {
  return {.stop = family.stop, .rtol = 1e-10, .atol = 1e-10, .method = method};
}

inline std::vector<double> fields(System& system, double t, std::vector<double> x) {
  const Structure& s = system.structure();
  x.resize(static_cast<std::size_t>(s.variables), 0.5);
  std::vector<double> F(static_cast<std::size_t>(s.equations)), g(static_cast<std::size_t>(s.guards)),
      xp(x.size(), 0.25);
  system.residual(t, x, xp, F);
  system.guards(t, x, xp, g);
  F.insert(F.end(), g.begin(), g.end());
  return F;
}

inline std::vector<double> start_of(const HybridSystem& family) {
  std::vector<double> x;
  for (const VariableInfo& v : family.variables()) x.push_back(v.start);
  return x;
}

/// The modes in which a run has been, once each.
inline std::vector<Mode> modes_of(const Trajectory& run) {
  std::vector<Mode> modes;
  for (const Trajectory::Segment& segment : run.segments())
    if (const Mode mode = run.mode(segment); modes.empty() || !(modes.back() == mode)) modes.push_back(mode);
  return modes;
}

inline void keeps_the_side_it_is_given(HybridSystem& family) {
  Mode mode = family.initial_mode();
  if (!mode.sees.empty()) {  // an FMU looks at its guards itself
    ASSERT_EQ(mode.sees.size(), family.guards().size());
  }
  for (int k = 0; k < static_cast<int>(family.guards().size()); ++k)
    for (const int side : {+1, -1}) {
      family.set_side(mode, k, side);
      const int found = family.side(mode, k);
      EXPECT_TRUE(found == side || found == 0) << family.guards()[static_cast<std::size_t>(k)].name;
      Mode again = mode;
      if (found != 0) family.set_side(again, k, side);
      EXPECT_EQ(again, mode) << "a side that is given twice";
    }
}

inline void rests_where_it_is_put_to_rest(HybridSystem& family) {
  Mode mode = family.initial_mode();
  for (int k = 0; k < static_cast<int>(family.guards().size()); ++k) {
    if (family.side(mode, k) == 0) continue;
    family.rest(mode, k);
    EXPECT_TRUE(family.rests(mode, k));
    const Mode before = mode;
    family.rest(mode, k);
    EXPECT_EQ(mode, before);
  }
}

inline void has_independent_systems(HybridSystem& family, const Trajectory& run) {
  const std::vector<Mode> modes = modes_of(run);
  const std::vector<double> x = start_of(family);
  std::vector<System*> systems;
  std::vector<std::vector<double>> values;
  for (const Mode& mode : modes) {
    systems.push_back(&family.system(mode));
    values.push_back(fields(*systems.back(), 0.5, x));
    EXPECT_GE(systems.back()->structure().guards, static_cast<int>(family.guards().size()));
    EXPECT_GE(systems.back()->structure().variables, static_cast<int>(family.variables().size()));
  }
  for (std::size_t k = 0; k < systems.size(); ++k) {
    EXPECT_EQ(fields(*systems[k], 0.5, x), values[k]) << "another mode was asked for since";
    EXPECT_EQ(fields(family.system(modes[k]), 0.5, x), values[k]) << "the same mode once more";
  }
}

inline void compares_modes_with_sense(HybridSystem& family, const Trajectory& run) {
  const std::vector<Mode> modes = modes_of(run);
  for (const Mode& a : modes) {
    EXPECT_TRUE(family.same_decisions(a, a));
    std::vector<double> key, again;
    family.identify(a, key);
    family.identify(a, again);
    EXPECT_EQ(key, again);
    EXPECT_FALSE(family.describe(a).empty());
    for (const Mode& b : modes) {
      EXPECT_EQ(family.same_equations(a, b), family.same_equations(b, a));
      if (!family.same_equations(a, b)) continue;
      const std::vector<double> x = start_of(family);
      EXPECT_EQ(fields(family.system(a), 0.5, x), fields(family.system(b), 0.5, x)) << "said to be the same";
    }
  }
}

inline void says_which_guards_end_a_stay(HybridSystem& family, const Trajectory& run) {
  for (const Mode& mode : modes_of(run)) {
    if (!mode.on_surfaces()) continue;
    ASSERT_TRUE(family.can_stay_on_surfaces(mode));
    std::vector<int> exits;
    family.exit_guards(mode, exits);
    ASSERT_EQ(exits.size(), mode.sliding.size() + mode.contacts.size());
    System& system = family.system(mode);
    std::vector<double> x = start_of(family);
    system.project(0.5, x);
    const std::vector<double> all = fields(system, 0.5, x);
    const std::span<const double> g = std::span(all).last(static_cast<std::size_t>(system.structure().guards));
    for (std::size_t k = 0; k < exits.size(); ++k) {
      const int last = exits[k] + (k < mode.sliding.size() ? 1 : 0);
      ASSERT_GE(exits[k], static_cast<int>(family.guards().size()));
      ASSERT_LT(last, system.structure().guards);
      if (k < mode.sliding.size()) {
        EXPECT_NEAR(g[static_cast<std::size_t>(exits[k])] + g[static_cast<std::size_t>(last)], 1.0, 1e-12);
      }
    }
    for (const int k : mode.sliding)
      EXPECT_EQ(family.side(mode, k), 0) << "a surface on which it slides is not watched";
    for (const int k : mode.contacts) EXPECT_EQ(family.side(mode, k), 0);
  }
}

inline void does_nothing_in_an_idle_round(const Family& made, HybridSystem& family) {
  Simulator run(made.make(), tight(made));
  run.run();
  const Mode mode = run.mode();
  Transition transition;
  transition.mode = mode;
  transition.x = start_of(family);
  transition.reset.assign(transition.x.size(), 0);
  const std::vector<double> x = transition.x, xp(x.size(), 0.0);
  EXPECT_FALSE(family.transition({.t = run.t(), .x_before = x, .xp_before = xp}, transition));
  EXPECT_EQ(transition.mode, mode);
  EXPECT_EQ(transition.x, x);
  EXPECT_FALSE(transition.any_reset());
}

inline void moves_as_it_should(const Family& family) {
  for (const Method method : family.methods) {
    const Trajectory run = simulate(family.make(), tight(family, method));
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    ASSERT_EQ(run.final().size(), family.final.size());
    for (std::size_t j = 0; j < family.final.size(); ++j)
      EXPECT_NEAR(run.final()[j], family.final[j], 1e-7) << run.variables()[j].name;
    if (family.kinds.empty()) continue;
    std::vector<std::string> kinds;
    for (const Event& e : run.events()) kinds.emplace_back(to_string(e.kind));
    EXPECT_EQ(kinds, family.kinds);
  }
}

/// Bit by bit.
inline void moves_as(const Family& family, const std::shared_ptr<HybridSystem>& other) {
  const Trajectory a = simulate(family.make(), tight(family)), b = simulate(other, tight(family));
  EXPECT_EQ(a.final(), b.final());
  ASSERT_EQ(a.events().size(), b.events().size());
  for (std::size_t k = 0; k < a.events().size(); ++k) {
    EXPECT_EQ(a.events()[k].t, b.events()[k].t);
    EXPECT_EQ(a.events()[k].kind, b.events()[k].kind);
    EXPECT_EQ(a.events()[k].after, b.events()[k].after);
    EXPECT_EQ(a.events()[k].mode_after, b.events()[k].mode_after);
  }
}

/// Another instance is independent: runs in turns give what they give alone.
inline void has_independent_instances(const Family& family) {
  const auto original = family.make();
  const auto another = std::shared_ptr<HybridSystem>(original->instance());
  if (!another) return;
  EXPECT_EQ(another->name(), original->name());
  EXPECT_EQ(another->guards().size(), original->guards().size());
  Simulator first(original, tight(family)), second(another, tight(family));
  for (int part = 1; part <= 8; ++part) {
    first.advance_to(family.stop * part / 8);
    second.advance_to(family.stop * part / 8);
  }
  EXPECT_EQ(first.trajectory().final(), second.trajectory().final());
}

/// All of it.
inline void conforms(const Family& family) {
  const std::shared_ptr<HybridSystem> system = family.make();
  const Trajectory run = simulate(system, tight(family));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  keeps_the_side_it_is_given(*system);
  rests_where_it_is_put_to_rest(*system);
  has_independent_systems(*system, run);
  compares_modes_with_sense(*system, run);
  says_which_guards_end_a_stay(*system, run);
  does_nothing_in_an_idle_round(family, *system);
  moves_as_it_should(family);
  has_independent_instances(family);
}

}  // namespace saltus::suite
