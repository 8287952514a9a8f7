// The families of tests/suites against what every HybridSystem promises: written by hand, compiled, and forwarded.
#include "suites/forwarding_system.hpp"
#include "suites/hand_written_families.hpp"
#include "suites/hybrid_system_suite.hpp"

#include <cmath>
#include <numbers>

namespace saltus {
namespace {

using suite::Family;

template <class System>
std::shared_ptr<HybridSystem> by_hand() {
  return std::make_shared<System>();
}
template <Model (*model)()>
std::shared_ptr<HybridSystem> compiled() {
  return std::make_shared<CompiledModel>(model());
}
Family forwarded(Family family) {
  const auto make = family.make;
  family.name += "Forwarded";
  family.make = [make] { return std::make_shared<suite::ForwardingSystem>(make()); };
  return family;
}

std::vector<Family> families() {
  const double exit = 2.0 + 4.0 * std::numbers::ln2, rest = 6.0 - exit;
  // the ball lies still until t = 10; then v = (t - 10)^2 / 20
  const std::vector<std::string> relay{"slide_enter", "slide_exit"};
  // up to 1 in a time 1, down from 1/2 to 0 in log 2: x' = -x - 1/2
  const double period = 1.0 + std::numbers::ln2;
  const std::vector<double> automaton{7.0 - 4.0 * period, 4.0};
  std::vector<Family> list{
      {"RelayByHand", by_hand<suite::HandWrittenRelay>, 6.0, {rest * rest / 8.0, 2.0 + rest}, relay},
      {"RelayCompiled", compiled<suite::relay_model>, 6.0, {rest * rest / 8.0, 2.0 + rest}, relay},
      {"BallByHand", by_hand<suite::HandWrittenBall>, 12.0, {8.0 / 60.0, 0.2}, {}},
      {"BallCompiled", compiled<suite::ball_model>, 12.0, {8.0 / 60.0, 0.2}, {}},
      {"AutomatonByHand", by_hand<suite::HandWrittenAutomaton>, 7.0, automaton, {}},
      {"AutomatonCompiled", compiled<suite::automaton_model>, 7.0, automaton, {}},
  };
  const std::size_t plain = list.size();
  for (std::size_t k = 0; k < plain; ++k) list.push_back(forwarded(list[k]));
  return list;
}

class Conformance : public testing::TestWithParam<Family> {};

TEST_P(Conformance, KeepsItsPromises) {
  suite::conforms(GetParam());
}

TEST_P(Conformance, AForwardingSystemChangesNothing) {
  suite::moves_as(GetParam(), std::make_shared<suite::ForwardingSystem>(GetParam().make()));
}

INSTANTIATE_TEST_SUITE_P(HybridSystem, Conformance, testing::ValuesIn(families()),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace saltus
