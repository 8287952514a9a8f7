// Every function and every construct through the one helper that checks all derivatives.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "suites/check_derivatives.hpp"

namespace saltus {
namespace {

struct DerivativesTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};
  Expr z{graph, graph->symbol("z", SymbolKind::variable)};
};

TEST_F(DerivativesTest, EveryFunction) {
  suite::check_derivatives(
      {x + y, x - y, x * y, x / y, -x, pow(x, y), pow(x, 5.0), pow(x, -3.0), pow(x, 2.5), pow(1.5, x), sqrt(x), exp(x), log(x),
       sin(x), cos(x), tan(x), asin(x), acos(x), atan(x), sinh(x), cosh(x), tanh(x), asinh(x), acosh(1.0 + x), atanh(x),
       atan2(x, y), atan2(z, x), log10(y), abs(z), sign(z) * x, min(x, y), max(x, y) * z, floor(5.3 + y) * x,
       mod(x + 2.0, y), if_else(x > y && z < 0.0, x * z, y * y), no_event(abs(z)) * x, smooth_sign(z, 0.3), smooth_max(x, z, 0.1)},
      {{x, y, z}, {0.4, 0.7, -1.1}});
}

TEST_F(DerivativesTest, RandomExpressions) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Expr> pool{x, y, z, Expr(1.5)};
    const auto pick = [&] { return pool[random() % pool.size()]; };
    for (int k = 0; k < 15; ++k) {
      const Expr a = pick(), b = pick();
      switch (random() % 9) {
        case 0: pool.push_back(a + b); break;
        case 1: pool.push_back(a - b); break;
        case 2: pool.push_back(a * b / (1.0 + b * b)); break;
        case 3: pool.push_back(a / (2.0 + sin(b))); break;
        case 4: pool.push_back(sin(a)); break;
        case 5: pool.push_back(tanh(a)); break;
        case 6: pool.push_back(sqrt(1.0 + a * a)); break;
        case 7: pool.push_back(if_else(a > 0.1234, b, a)); break;
        default: pool.push_back(exp(-a * a)); break;
      }
    }
    suite::check_derivatives({pool.back(), pool[pool.size() - 2]}, {{x, y, z}, {0.4, 0.7, -1.1}});
    if (HasFailure()) break;
  }
}

TEST_F(DerivativesTest, ForwardAndBackwardSweepsAgree) {
  // a wide row goes backwards; the same function as many narrow rows goes forwards
  std::vector<Expr> s;
  std::vector<double> at;
  for (int k = 0; k < 200; ++k) {
    s.emplace_back(graph, graph->symbol("s" + std::to_string(k), SymbolKind::variable));
    at.push_back(0.01 * k - 0.7);
  }
  Expr chain = 0.0;
  for (int k = 0; k + 1 < 200; ++k) chain = sin(chain + s[k] * s[k + 1]) + if_else(s[k] > 0.0, s[k], -s[k]) / 7.0;
  suite::check_derivatives({chain}, {s, at});
}

}  // namespace
}  // namespace saltus
