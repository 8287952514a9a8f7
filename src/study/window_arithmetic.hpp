// Minimum, maximum and integral of variables over a piece of a run: the arithmetic of Windows, without anything that
// devices do not have. The text is compiled for devices at run time, too.
#pragma once

namespace saltus::flight {

/// Nodes from 0 to 1 and the weights of an integral.
struct WindowRule {
  const double *nodes, *weights;
  int count;
};

/// A variable over the time that was seen.
struct WindowSums {
  double low, high, integral;
};

/// Where values at the nodes of a piece are kept: times[count], values[count*width], point[width].
struct WindowRoom {
  double *times, *values, *point;
};

/// Looks for an extremum near the node `at`, by parabolas through three points. `sign`: +1 for the highest value.
template <class Evaluate>
double window_extremum(const WindowRule& rule, const WindowRoom& room, int width, int variable, int at, double sign,
                       const Evaluate& evaluate) {
  const auto value = [&](int node) { return sign * room.values[node * width + variable]; };
  double best = value(at);
  if (at == 0 || at + 1 == rule.count) return best;
  double a = room.times[at - 1], b = room.times[at], c = room.times[at + 1];
  double fa = value(at - 1), fc = value(at + 1);
  for (int round = 0; round < 6; ++round) {
    const double left = (b - a) * (best - fc), right = (b - c) * (best - fa);
    const double below = 2.0 * (left - right);
    const double top = below == 0.0 ? b : b - ((b - a) * left - (b - c) * right) / below;
    const double distance = top < b ? b - top : top - b;
    if (!(top > a && top < c) || distance <= 1e-9 * (c - a)) break;
    evaluate(top, false, room.point);
    const double there = sign * room.point[variable];
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
  return best;
}

/// Adds a piece of the run without events. `evaluate(t, last, values)` puts the values of all variables at a time into
/// `values`; `last`: at the end of the piece.
template <class Evaluate>
void see_window(const WindowRule& rule, const WindowRoom& room, int width, double begin, double end, WindowSums* sums,
                const Evaluate& evaluate) {
  for (int k = 0; k < rule.count; ++k) {
    const bool last = k + 1 == rule.count;
    room.times[k] = last ? end : begin + (end - begin) * rule.nodes[k];
    evaluate(room.times[k], last, room.values + k * width);
  }
  for (int d = 0; d < width; ++d) {
    int lowest = 0, highest = 0;
    double sum = 0.0;
    for (int k = 0; k < rule.count; ++k) {
      const double value = room.values[k * width + d];
      sum += rule.weights[k] * value;
      if (value < room.values[lowest * width + d]) lowest = k;
      if (value > room.values[highest * width + d]) highest = k;
    }
    sums[d].integral += sum * (end - begin);
    const double low = -window_extremum(rule, room, width, d, lowest, -1.0, evaluate);
    const double high = window_extremum(rule, room, width, d, highest, 1.0, evaluate);
    if (low < sums[d].low) sums[d].low = low;
    if (high > sums[d].high) sums[d].high = high;
  }
}

}  // namespace saltus::flight
