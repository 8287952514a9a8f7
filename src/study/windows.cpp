// A piece is evaluated at Chebyshev-Lobatto nodes, twice as many as its polynomial has degrees, so that also squares
// are integrated exactly: the weights are those of Clenshaw and Curtis (1960). Extrema between nodes are found by
// parabolas through three points.
#include "study/windows.hpp"

#include <saltus/base/elementary.hpp>

#include <algorithm>

namespace saltus {

namespace {

struct NodeRule {
  std::vector<double> nodes, weights;  // on [0, 1]
};

NodeRule make_rule(int n) {
  constexpr double pi = 3.141592653589793;
  NodeRule rule;
  for (int k = 0; k <= n; ++k) {
    const double angle = pi * k / n;
    double sum = 1.0;
    for (int j = 1; j <= n / 2; ++j)
      sum -= (2 * j == n ? 1.0 : 2.0) / (4.0 * j * j - 1.0) * elementary::cos(2.0 * j * angle);
    rule.nodes.push_back(0.5 * (1.0 - elementary::cos(angle)));
    rule.weights.push_back((k == 0 || k == n ? 0.5 : 1.0) * sum / n);
  }
  rule.nodes.back() = 1.0;
  return rule;
}

/// Rules with an even number of intervals, from 8 to 32.
const NodeRule& rule_for(int degree) {
  static const std::vector<NodeRule> rules = [] {
    std::vector<NodeRule> all;
    for (int n = 8; n <= 32; n += 2) all.push_back(make_rule(n));
    return all;
  }();
  return rules[static_cast<std::size_t>(std::clamp(degree, 4, 16) - 4)];
}

}  // namespace

flight::WindowRule window_rule(int degree) {
  const NodeRule& rule = rule_for(degree);
  return {rule.nodes.data(), rule.weights.data(), static_cast<int>(rule.nodes.size())};
}

void Windows::see(double begin, double end, int degree, const Evaluate& evaluate) {
  const flight::WindowRule rule = window_rule(degree);
  const std::size_t width = windows_.size();
  times_.resize(static_cast<std::size_t>(rule.count));
  nodes_.resize(times_.size() * width);
  point_.resize(width);
  flight::see_window(rule, {times_.data(), nodes_.data(), point_.data()}, static_cast<int>(width), begin, end,
                     windows_.data(),
                     [&](double t, bool last, double* values) { evaluate(t, last, std::span(values, width)); });
}

}  // namespace saltus
