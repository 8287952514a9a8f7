// A system without switches as a HybridSystem, so that problems written as systems can be simulated.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "problems/problem.hpp"

namespace saltus::problems {

class SingleMode final : public HybridSystem {
 public:
  /// The variables in `fixed` keep their start values.
  explicit SingleMode(Problem problem, const std::vector<int>& fixed = {}) : problem_(std::move(problem)) {
    for (int j = 0; j < problem_.system->structure().variables; ++j)
      variables_.push_back({.name = problem_.system->variable_name(j), .start = problem_.guess[j]});
    for (const int j : fixed) variables_[j].fixed = true;
  }

  const std::string& name() const override { return problem_.name; }
  const std::vector<VariableInfo>& variables() const override { return variables_; }
  const std::vector<GuardInfo>& guards() const override { return guards_; }
  Mode initial_mode() const override { return {}; }
  std::string describe(const Mode&) const override { return ""; }
  System& system(const Mode&) override { return *problem_.system; }
  int side(const Mode&, int) const override { return 0; }
  void set_side(Mode&, int, int) const override {}
  bool transition(const EventInput&, Transition&) override { return false; }

 private:
  Problem problem_;
  std::vector<VariableInfo> variables_;
  std::vector<GuardInfo> guards_;
};

}  // namespace saltus::problems
