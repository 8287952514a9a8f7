/* The solver of the FMUs for co-simulation: the method of Runge and Kutta in steps of at most a thousandth. */
#pragma once

#include "models.h"

static void shifted(const Model* m, const double* x, double t, const double* k, double h, double* out) {
  Model at = *m;
  at.t = t;
  for (int j = 0; j < states; ++j) at.x[j] = x[j] + h * (k ? k[j] : 0.0);
  derivatives(&at, out);
}
static void move(Model* m, double until) {
  const double left = until - m->t;
  const int count = (int)ceil(left / 1e-3 - 1e-9);
  const double h = count > 0 ? left / count : 0.0;
  for (int i = 0; i < count; ++i) {
    double k1[2] = {0}, k2[2] = {0}, k3[2] = {0}, k4[2] = {0};
    shifted(m, m->x, m->t, NULL, 0.0, k1);
    m->u += 0.5 * h * m->slope;
    shifted(m, m->x, m->t + 0.5 * h, k1, 0.5 * h, k2);
    shifted(m, m->x, m->t + 0.5 * h, k2, 0.5 * h, k3);
    m->u += 0.5 * h * m->slope;
    shifted(m, m->x, m->t + h, k3, h, k4);
    for (int j = 0; j < states; ++j) m->x[j] += h / 6.0 * (k1[j] + 2.0 * k2[j] + 2.0 * k3[j] + k4[j]);
    m->t += h;
  }
  m->t = until;
}
