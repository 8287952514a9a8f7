/* Values and saved states of the models by the functions of FMI 2.0, for both kinds. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#include "models.h"

typedef unsigned int Reference;
enum { ok = 0, discard = 2, error = 3 };

static double* place(Model* m, Reference r) {
  if (r == 61) return indicator_values(m, &m->z), &m->z;
  if (r == 0) return &m->t;
  if (r >= 1 && r < 3) return &m->x[r - 1];
  if (r >= 21 && r < 23) return &m->p[r - 21];
  if (r == 31) return &m->u;
  if (r == 41) return outputs(m), &m->y;
  return NULL;
}
int fmi2GetReal(void* c, const Reference* r, size_t n, double* v) {
  double dx[2] = {0};
  derivatives(c, dx);
  for (size_t k = 0; k < n; ++k) {
    if (r[k] >= 11 && r[k] < 13) {
      v[k] = dx[r[k] - 11];
      continue;
    }
    double* at = place(c, r[k]);
    if (!at) return error;
    v[k] = *at;
  }
  return ok;
}
int fmi2SetReal(void* c, const Reference* r, size_t n, const double* v) {
  for (size_t k = 0; k < n; ++k) {
    double* at = place(c, r[k]);
    if (!at) return error;
    *at = v[k];
  }
  return ok;
}
int fmi2GetInteger(void* c, const Reference* r, size_t n, int* v) {
  outputs(c);
  for (size_t k = 0; k < n; ++k) v[k] = r[k] == 32 ? ((Model*)c)->m : ((Model*)c)->n;
  return ok;
}
int fmi2SetInteger(void* c, const Reference* r, size_t n, const int* v) {
  Model* m = c;
  for (size_t k = 0; k < n; ++k) {
    /* discrete inputs change in event mode only */
    if (r[k] != 32 || m->mode == 3 || (m->event_mode && m->mode == 5)) return error;
    m->m = v[k];
  }
  return ok;
}
int fmi2GetBoolean(void* c, const Reference* r, size_t n, int* v) {
  return (void)c, (void)r, (void)n, (void)v, n ? error : ok;
}
int fmi2SetBoolean(void* c, const Reference* r, size_t n, const int* v) {
  return (void)c, (void)r, (void)n, (void)v, n ? error : ok;
}

int fmi2GetFMUstate(void* c, void** state) {
  Model* copy = malloc(sizeof *copy);
  *copy = *(Model*)c;
  *state = copy;
  return ok;
}
int fmi2SetFMUstate(void* c, void* state) {
  return *(Model*)c = *(Model*)state, ok;
}
int fmi2FreeFMUstate(void* c, void** state) {
  return (void)c, free(*state), *state = NULL, ok;
}
