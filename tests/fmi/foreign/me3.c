/* The functions of FMI 3.0 around one of the models, for model exchange alone. */
#include "values3.h"

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
