/* The functions of FMI 2.0 around one of the models, for co-simulation alone. Events happen inside of the steps. */
#include <stddef.h>

#include "models.h"
#include "steps.h"

typedef unsigned int Reference;
enum { ok = 0, discard = 2, error = 3 };

void* fmi2Instantiate(const char* name, int type, const char* guid, const char* resources, const void* callbacks,
                      int visible, int logging) {
  (void)name, (void)callbacks, (void)visible, (void)logging;
  if (type != 1 || !guid || strcmp(guid, "{foreign}") != 0) return NULL;
  Model* m = calloc(1, sizeof *m);
  begin(m);
  if (read_resources(m, resources)) return m;
  free(m);
  return NULL;
}
void fmi2FreeInstance(void* c) {
  free(c);
}
int fmi2SetupExperiment(void* c, int td, double tol, double start, int sd, double stop) {
  (void)td, (void)tol, (void)sd, (void)stop;
  return ((Model*)c)->t = start, ok;
}
int fmi2EnterInitializationMode(void* c) {
  return ((Model*)c)->mode = 1, ok;
}
int fmi2ExitInitializationMode(void* c) {
  return ((Model*)c)->mode = 5, ok;
}
int fmi2Reset(void* c) {
  const int n = ((Model*)c)->n;
  begin(c);
  if (MODEL == 8) ((Model*)c)->n = n; /* of its resources */
  return ok;
}
int fmi2DoStep(void* c, double t, double h, int no_set) {
  Model* m = c;
  (void)no_set;
  if (m->mode != 5 || fabs(t - m->t) > 1e-9 * (1.0 + fabs(t))) return error;
  if (LONGEST > 0.0 && h > LONGEST * (1.0 + 1e-9)) return discard; /* refused */
  for (;;) {
    const double until = m->next < t + h + 1e-9 ? m->next : t + h;
    move(m, until);
    if (until != m->next) break;
    handle_event(m);
    if (m->terminate) return discard;
  }
  m->slope = 0.0;
  return ok;
}
int fmi2GetRealStatus(void* c, int kind, double* value) {
  if (kind != 2) return discard;
  return *value = ((Model*)c)->t, ok;
}
int fmi2GetBooleanStatus(void* c, int kind, int* value) {
  if (kind != 3) return discard;
  return *value = ((Model*)c)->terminate, ok;
}
int fmi2SetRealInputDerivatives(void* c, const Reference* r, size_t n, const int* orders, const double* v) {
  if (n != 1 || r[0] != 31 || orders[0] != 1) return error;
  return ((Model*)c)->slope = v[0], ok;
}

static double* place(Model* m, Reference r) {
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
    double* at = r[k] >= 11 && r[k] < 13 ? &dx[r[k] - 11] : place(c, r[k]);
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
  for (size_t k = 0; k < n; ++k) {
    if (r[k] != 32) return error;
    ((Model*)c)->m = v[k];
  }
  return ok;
}
int fmi2GetBoolean(void* c, const Reference* r, size_t n, int* v) {
  return (void)c, (void)r, (void)n, (void)v, error;
}
int fmi2SetBoolean(void* c, const Reference* r, size_t n, const int* v) {
  return (void)c, (void)r, (void)n, (void)v, error;
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
