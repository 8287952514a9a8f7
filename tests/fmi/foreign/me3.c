/* The functions of FMI 3.0 around one of the models, for model exchange alone. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "models.h"

typedef uint32_t Reference;
enum { ok = 0, error = 3 };

const char* fmi3GetVersion(void) {
  return "3.0";
}
void* fmi3InstantiateModelExchange(const char* name, const char* token, const char* resources, bool visible,
                                   bool logging, void* environment, void* log) {
  (void)name, (void)visible, (void)logging, (void)environment, (void)log;
  if (!token || strcmp(token, "{foreign}") != 0) return NULL;
  Model* m = calloc(1, sizeof *m);
  begin(m);
  if (read_resources(m, resources)) return m;
  free(m);
  return NULL;
}
void fmi3FreeInstance(void* c) {
  free(c);
}
int fmi3EnterInitializationMode(void* c, bool td, double tol, double start, bool sd, double stop) {
  (void)td, (void)tol, (void)sd, (void)stop;
  ((Model*)c)->t = start;
  ((Model*)c)->mode = 1;
  return ok;
}
int fmi3ExitInitializationMode(void* c) {
  return ((Model*)c)->mode = 2, ok;
}
int fmi3Terminate(void* c) {
  return ((Model*)c)->mode = 4, ok;
}
int fmi3Reset(void* c) {
  return begin(c), ok;
}

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
    if (r[k] != 32 || m->mode == 3) return error;
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

int fmi3EnterEventMode(void* c) {
  Model* m = c;
  if (m->mode != 3) return error;
  m->mode = 2;
  return ok;
}
int fmi3UpdateDiscreteStates(void* c, bool* again, bool* terminate, bool* nominals, bool* changed, bool* defined,
                             double* next) {
  Model* m = c;
  if (m->mode != 2) return error;
  handle_event(m);
  *again = *nominals = false;
  *terminate = m->terminate != 0;
  *changed = m->changed != 0;
  *defined = isfinite(m->next);
  *next = m->next;
  return ok;
}
int fmi3EnterContinuousTimeMode(void* c) {
  return ((Model*)c)->mode = 3, ok;
}
int fmi3CompletedIntegratorStep(void* c, bool no_set, bool* event, bool* terminate) {
  (void)no_set;
  *event = step_completed(c) != 0;
  *terminate = ((Model*)c)->terminate != 0;
  return ok;
}
int fmi3SetTime(void* c, double t) {
  return ((Model*)c)->t = t, ok;
}
int fmi3SetContinuousStates(void* c, const double* x, size_t n) {
  Model* m = c;
  if (n != states || m->mode != 3) return error;
  for (size_t k = 0; k < n; ++k) m->x[k] = x[k];
  return ok;
}
int fmi3GetContinuousStates(void* c, double* x, size_t n) {
  if (n != states) return error;
  for (size_t k = 0; k < n; ++k) x[k] = ((Model*)c)->x[k];
  return ok;
}
int fmi3GetContinuousStateDerivatives(void* c, double* dx, size_t n) {
  if (n != states) return error;
  return derivatives(c, dx), ok;
}
int fmi3GetEventIndicators(void* c, double* z, size_t n) {
  if (n != indicators) return error;
  return indicator_values(c, z), ok;
}
int fmi3GetNominalsOfContinuousStates(void* c, double* x, size_t n) {
  (void)c;
  for (size_t k = 0; k < n; ++k) x[k] = 1.0;
  return ok;
}
