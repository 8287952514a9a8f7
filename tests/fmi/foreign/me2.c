/* The functions of FMI 2.0 around one of the models, for model exchange alone. */
#include "values2.h"

typedef struct {
  int again, terminate, nominals, changed, next_defined;
  double next;
} EventInfo;

const char* fmi2GetVersion(void) {
  return "2.0";
}
const char* fmi2GetTypesPlatform(void) {
  return "default";
}
#ifndef WITHOUT_INSTANTIATE
void* fmi2Instantiate(const char* name, int type, const char* guid, const char* resources, const void* callbacks,
                      int visible, int logging) {
  (void)name, (void)callbacks, (void)visible, (void)logging;
  if (type != 0 || !guid || strcmp(guid, "{foreign}") != 0) return NULL;
  Model* m = calloc(1, sizeof *m);
  begin(m);
  if (read_resources(m, resources)) return m;
  free(m);
  return NULL;
}
#endif
void fmi2FreeInstance(void* c) {
  free(c);
}
int fmi2SetDebugLogging(void* c, int on, size_t n, const char* const* categories) {
  return (void)c, (void)on, (void)n, (void)categories, ok;
}
int fmi2SetupExperiment(void* c, int td, double tol, double start, int sd, double stop) {
  (void)td, (void)tol, (void)sd, (void)stop;
  ((Model*)c)->t = start;
  return ok;
}
int fmi2EnterInitializationMode(void* c) {
  return ((Model*)c)->mode = 1, ok;
}
int fmi2ExitInitializationMode(void* c) {
  return ((Model*)c)->mode = 2, ok;
}
int fmi2Terminate(void* c) {
  return ((Model*)c)->mode = 4, ok;
}
int fmi2Reset(void* c) {
  return begin(c), ok;
}

int fmi2EnterEventMode(void* c) {
  Model* m = c;
  if (m->mode != 3) return error;
  m->mode = 2;
  return ok;
}
int fmi2NewDiscreteStates(void* c, EventInfo* info) {
  Model* m = c;
  if (m->mode != 2) return error;
#if MODEL == 7
  if (m->p[1] == 2.0) return error;
#endif
  memset(info, 0, sizeof *info);
  handle_event(m);
#if MODEL == 7
  info->again = m->p[1] == 3.0; /* finds no end */
  if (m->p[1] == 4.0) m->x[0] = NAN, m->changed = 1;
#endif
  info->terminate = m->terminate;
  info->changed = m->changed;
  info->next_defined = isfinite(m->next);
  info->next = m->next;
  return ok;
}
int fmi2EnterContinuousTimeMode(void* c) {
  return ((Model*)c)->mode = 3, ok;
}
int fmi2CompletedIntegratorStep(void* c, int no_set, int* event, int* terminate) {
  (void)no_set;
  *event = step_completed(c);
  *terminate = ((Model*)c)->terminate;
  return ok;
}
int fmi2SetTime(void* c, double t) {
  return ((Model*)c)->t = t, ok;
}
int fmi2SetContinuousStates(void* c, const double* x, size_t n) {
  Model* m = c;
  if (n != states || m->mode != 3) return error;
  for (size_t k = 0; k < n; ++k) m->x[k] = x[k];
  return ok;
}
int fmi2GetContinuousStates(void* c, double* x, size_t n) {
  if (n != states) return error;
  for (size_t k = 0; k < n; ++k) x[k] = ((Model*)c)->x[k];
  return ok;
}
int fmi2GetDerivatives(void* c, double* dx, size_t n) {
  if (n != states) return error;
#if MODEL == 7
  if (((Model*)c)->p[1] == 5.0 && ((Model*)c)->t > 0.5) return error;
#endif
  return derivatives(c, dx), ok;
}
int fmi2GetEventIndicators(void* c, double* z, size_t n) {
  if (n != indicators) return error;
  return indicator_values(c, z), ok;
}
int fmi2GetNominalsOfContinuousStates(void* c, double* x, size_t n) {
  (void)c;
  for (size_t k = 0; k < n; ++k) x[k] = 1.0;
  return ok;
}
