/* Values and saved states of the models by the functions of FMI 3.0, for both kinds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "models.h"

typedef uint32_t Reference;
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
int fmi3GetFloat64(void* c, const Reference* r, size_t n, double* v, size_t count) {
  double dx[2] = {0};
  derivatives(c, dx);
  if (n != count) return error;
  for (size_t k = 0; k < n; ++k) {
    double* at = place(c, r[k]);
    if (r[k] >= 11 && r[k] < 13) at = &dx[r[k] - 11];
    if (!at) return error;
    v[k] = *at;
  }
  return ok;
}
int fmi3SetFloat64(void* c, const Reference* r, size_t n, const double* v, size_t count) {
  if (n != count) return error;
  for (size_t k = 0; k < n; ++k) {
    double* at = place(c, r[k]);
    if (!at) return error;
    *at = v[k];
  }
  return ok;
}
int fmi3GetInt32(void* c, const Reference* r, size_t n, int32_t* v, size_t count) {
  outputs(c);
  for (size_t k = 0; k < n && k < count; ++k) v[k] = r[k] == 32 ? ((Model*)c)->m : ((Model*)c)->n;
  return ok;
}
int fmi3SetInt32(void* c, const Reference* r, size_t n, const int32_t* v, size_t count) {
  Model* m = c;
  for (size_t k = 0; k < n && k < count; ++k) {
    if (r[k] != 32 || m->mode == 3 || (m->event_mode && m->mode == 5)) return error;
    m->m = v[k];
  }
  return ok;
}
int fmi3GetInt64(void* c, const Reference* r, size_t n, int64_t* v, size_t count) {
  return (void)c, (void)r, (void)n, (void)v, (void)count, error;
}
int fmi3SetInt64(void* c, const Reference* r, size_t n, const int64_t* v, size_t count) {
  return (void)c, (void)r, (void)n, (void)v, (void)count, error;
}
int fmi3GetBoolean(void* c, const Reference* r, size_t n, bool* v, size_t count) {
  return (void)c, (void)r, (void)n, (void)v, (void)count, error;
}
int fmi3SetBoolean(void* c, const Reference* r, size_t n, const bool* v, size_t count) {
  return (void)c, (void)r, (void)n, (void)v, (void)count, error;
}

int fmi3GetFMUState(void* c, void** state) {
  Model* copy = malloc(sizeof *copy);
  *copy = *(Model*)c;
  *state = copy;
  return ok;
}
int fmi3SetFMUState(void* c, void* state) {
  return *(Model*)c = *(Model*)state, ok;
}
int fmi3FreeFMUState(void* c, void** state) {
  return (void)c, free(*state), *state = NULL, ok;
}
