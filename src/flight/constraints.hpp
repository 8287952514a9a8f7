// Points of modes with constraints: Newton's method for all constraints of a mode, hidden ones included, by its own
// projection (constrained_form.hpp).
//
// Plain arithmetic without a library: the same text is compiled for processors and, at run time, for devices.
#pragma once

#include "flight/flight_arithmetic.hpp"

namespace saltus::flight {

/// Moves x onto the constraints of a mode with this tape. `edge`: the transition by which the mode is entered, -1: x
/// was reached in the mode. False: Newton's method does not converge, or what is differentiated would jump although the
/// transition does not say how. `moved`: room for n numbers.
template <class Code>
bool become_consistent(Code& code, int tape, int edge, double t, double* x, const double* data, double* moved) {
  constexpr int most_rounds = 10;
  const int n = code.variables();
  const double rtol = code.rtol() > 0.0 ? code.rtol() : 1e-6;
  const bool held = edge >= 0 && code.edge_projects(edge);
  for (int round = 0; round < most_rounds; ++round) {
    if (held)
      code.project_after(edge, t, x, data, moved);
    else
      code.project(tape, t, x, data, moved);
    bool done = true;
    for (int j = 0; j < n; ++j) {
      if (!(size_of(moved[j]) < infinity)) return false;
      const double change = size_of(moved[j] - x[j]), size = code.atol()[j] / rtol + size_of(x[j]);
      if (edge >= 0 && !held && code.differentiated(tape)[j] && change > Resolution::converged * size) return false;
      done = done && change <= Resolution::converged * size;
    }
    if (done && edge >= 0 && round == 0) return true;  // consistent values stay as they are, to the last bit
    for (int j = 0; j < n; ++j) x[j] = moved[j];
    if (done) return true;
  }
  return false;
}

}  // namespace saltus::flight
