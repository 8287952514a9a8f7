/* The functions of FMI 2.0 around one of the models, for co-simulation alone. Events happen inside of the steps. */
#include "steps.h"
#include "values2.h"

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
