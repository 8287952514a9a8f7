/* The functions of FMI 3.0 around one of the models, for co-simulation alone. With event mode, steps end at events. */
#include "steps.h"
#include "values3.h"

void* fmi3InstantiateCoSimulation(const char* name, const char* token, const char* resources, bool visible,
                                  bool logging, bool event_mode, bool early, const Reference* required, size_t count,
                                  void* environment, void* log, void* update) {
  (void)name, (void)visible, (void)logging, (void)early, (void)required, (void)count, (void)environment, (void)log;
  (void)update;
  if (!token || strcmp(token, "{foreign}") != 0) return NULL;
  Model* m = calloc(1, sizeof *m);
  begin(m);
  m->event_mode = event_mode;
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
  Model* m = c;
  return m->mode = m->event_mode ? 2 : 5, ok;
}
int fmi3Reset(void* c) {
  const int event_mode = ((Model*)c)->event_mode, n = ((Model*)c)->n;
  begin(c);
  if (MODEL == 8) ((Model*)c)->n = n; /* of its resources */
  return ((Model*)c)->event_mode = event_mode, ok;
}
int fmi3EnterEventMode(void* c) {
  Model* m = c;
  if (m->mode != 5) return error;
  return m->mode = 2, ok;
}
int fmi3UpdateDiscreteStates(void* c, bool* again, bool* terminate, bool* nominals, bool* changed, bool* defined,
                             double* next) {
  Model* m = c;
  if (m->mode != 2) return error;
  handle_event(m);
  *again = *nominals = *changed = false;
  *terminate = m->terminate != 0;
  *defined = false; /* steps end at time events without an announcement */
  *next = 0.0;
  return ok;
}
int fmi3EnterStepMode(void* c) {
  Model* m = c;
  if (m->mode != 2) return error;
  return m->mode = 5, ok;
}
int fmi3DoStep(void* c, double t, double h, bool no_set, bool* event, bool* terminate, bool* early, double* last) {
  Model* m = c;
  (void)no_set;
  *event = *terminate = *early = false;
  if (m->mode != 5 || fabs(t - m->t) > 1e-9 * (1.0 + fabs(t))) return error;
  for (;;) {
    const double until = m->next < t + h + 1e-9 ? m->next : t + h;
    move(m, until);
    *last = m->t;
    if (until != m->next) return ok;
    if (m->event_mode) {
      *event = true;
      *early = m->t < t + h;
      return ok;
    }
    handle_event(m);
    *terminate = m->terminate != 0;
    if (m->terminate) return ok;
  }
}
