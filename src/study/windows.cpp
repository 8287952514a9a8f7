// A piece is evaluated at Chebyshev-Lobatto nodes, twice as many as its polynomial has degrees, so that also squares
// are integrated exactly: the weights are those of Clenshaw and Curtis (1960). Extrema between nodes are found by
// parabolas through three points.
#include "study/windows.hpp"

#include <saltus/base/elementary.hpp>

#include <algorithm>
#include <cmath>

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

void Windows::see(double begin, double end, int degree, const Evaluate& evaluate) {
  const NodeRule& rule = rule_for(degree);
  const std::size_t count = rule.nodes.size(), width = windows_.size();
  times_.resize(count);
  nodes_.resize(count * width);
  for (std::size_t k = 0; k < count; ++k) {
    const bool last = k + 1 == count;
    times_[k] = last ? end : begin + (end - begin) * rule.nodes[k];
    evaluate(times_[k], last, std::span(nodes_).subspan(k * width, width));
  }
  for (std::size_t d = 0; d < width; ++d) {
    std::size_t lowest = 0, highest = 0;
    double sum = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      sum += rule.weights[k] * value(k, d);
      if (value(k, d) < value(lowest, d)) lowest = k;
      if (value(k, d) > value(highest, d)) highest = k;
    }
    windows_[d].integral += sum * (end - begin);
    see_extremum(lowest, d, -1.0, evaluate);
    see_extremum(highest, d, +1.0, evaluate);
  }
}

void Windows::see_extremum(std::size_t at, std::size_t variable, double sign, const Evaluate& evaluate) {
  double best = sign * value(at, variable);
  double& limit = sign > 0.0 ? windows_[variable].high : windows_[variable].low;
  point_.resize(windows_.size());
  if (at > 0 && at + 1 < times_.size()) {
    double a = times_[at - 1], b = times_[at], c = times_[at + 1];
    double fa = sign * value(at - 1, variable), fc = sign * value(at + 1, variable);
    for (int round = 0; round < 6; ++round) {
      const double left = (b - a) * (best - fc), right = (b - c) * (best - fa);
      const double below = 2.0 * (left - right);
      const double top = below == 0.0 ? b : b - ((b - a) * left - (b - c) * right) / below;
      if (!(top > a && top < c) || std::abs(top - b) <= 1e-9 * (c - a)) break;
      evaluate(top, false, point_);
      const double there = sign * point_[variable];
      const bool better = there > best, later = top > b;
      if (better) {
        (later ? a : c) = b;
        (later ? fa : fc) = best;
        b = top;
        best = there;
      } else {
        (later ? c : a) = top;
        (later ? fc : fa) = there;
      }
    }
  }
  limit = sign > 0.0 ? std::max(limit, best) : std::min(limit, -best);
}

}  // namespace saltus
