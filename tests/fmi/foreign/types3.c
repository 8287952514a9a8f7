/* An FMU of FMI 3.0 for model exchange with arrays and all types of numbers:
     x' = u - k x for two elements; an event where an element becomes smaller than 1/2, which counts it.
   Value references: 0 time, 1 n (size), 2 x, 3 der(x), 4 k, 5 u, 6… numbers of the types Float32, Int8, UInt8, Int16,
   UInt16, Int32, UInt32, Int64, UInt64, 16 Boolean[2], 20 total, 21 matrix, 24 indicators, 25 count, 26 twice the first
   state (Float32). */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t Reference;
enum { ok = 0, error = 3, size = 2 };

typedef struct {
  double t, x[size], k[size], u[size];
  float f32;
  int8_t i8;
  uint8_t u8;
  int16_t i16;
  uint16_t u16;
  int32_t i32, count;
  uint32_t u32;
  int64_t i64;
  uint64_t u64;
  bool flags[size], low[size];
} Model;

static void begin(Model* m) {
  const Model start = {.x = {1.0, 2.0}, .k = {1.0, 0.5}, .flags = {true, false}};
  *m = start;
}
const char* fmi3GetVersion(void) {
  return "3.0";
}
void* fmi3InstantiateModelExchange(const char* name, const char* token, const char* resources, bool visible,
                                   bool logging, void* environment, void* log) {
  (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log;
  Model* m = malloc(sizeof *m);
  begin(m);
  return m;
}
void fmi3FreeInstance(void* c) {
  free(c);
}
int fmi3EnterInitializationMode(void* c, bool td, double tol, double start, bool sd, double stop) {
  (void)td, (void)tol, (void)sd, (void)stop;
  return ((Model*)c)->t = start, ok;
}
int fmi3ExitInitializationMode(void* c) {
  Model* m = c;
  for (int k = 0; k < size; ++k) m->low[k] = m->x[k] < 0.5;
  return ok;
}
int fmi3Reset(void* c) {
  return begin(c), ok;
}
int fmi3GetFMUState(void* c, void** state) {
  *state = malloc(sizeof(Model));
  return memcpy(*state, c, sizeof(Model)), ok;
}
int fmi3SetFMUState(void* c, void* state) {
  return memcpy(c, state, sizeof(Model)), ok;
}
int fmi3FreeFMUState(void* c, void** state) {
  return (void)c, free(*state), *state = NULL, ok;
}
int fmi3EnterEventMode(void* c) {
  return (void)c, ok;
}
int fmi3EnterContinuousTimeMode(void* c) {
  return (void)c, ok;
}
int fmi3UpdateDiscreteStates(void* c, bool* again, bool* terminate, bool* nominals, bool* changed, bool* defined,
                             double* next) {
  Model* m = c;
  *again = *terminate = *nominals = *changed = *defined = false;
  *next = 0.0;
  for (int k = 0; k < size; ++k) {
    const bool low = m->x[k] < 0.5;
    m->count += low && !m->low[k];
    m->low[k] = low;
  }
  return ok;
}
int fmi3CompletedIntegratorStep(void* c, bool no_set, bool* event, bool* terminate) {
  return (void)c, (void)no_set, *event = *terminate = false, ok;
}
int fmi3SetTime(void* c, double t) {
  return ((Model*)c)->t = t, ok;
}
int fmi3SetContinuousStates(void* c, const double* x, size_t n) {
  if (n != size) return error;
  return memcpy(((Model*)c)->x, x, sizeof(double) * size), ok;
}
int fmi3GetContinuousStates(void* c, double* x, size_t n) {
  if (n != size) return error;
  return memcpy(x, ((Model*)c)->x, sizeof(double) * size), ok;
}
int fmi3GetContinuousStateDerivatives(void* c, double* dx, size_t n) {
  const Model* m = c;
  if (n != size) return error;
  for (int k = 0; k < size; ++k) dx[k] = m->u[k] - m->k[k] * m->x[k];
  return ok;
}
int fmi3GetEventIndicators(void* c, double* z, size_t n) {
  if (n != size) return error;
  for (int k = 0; k < size; ++k) z[k] = ((Model*)c)->x[k] - 0.5;
  return ok;
}
int fmi3GetNominalsOfContinuousStates(void* c, double* x, size_t n) {
  (void)c;
  for (size_t k = 0; k < n; ++k) x[k] = 1.0;
  return ok;
}
/* Derivatives of der(x) by x: a diagonal. */
int fmi3GetDirectionalDerivative(void* c, const Reference* unknowns, size_t nu, const Reference* knowns, size_t nk,
                                 const double* seed, size_t ns, double* result, size_t nr) {
  const Model* m = c;
  if (nu != 1 || nk != 1 || unknowns[0] != 3 || knowns[0] != 2 || ns != size || nr != size) return error;
  for (int k = 0; k < size; ++k) result[k] = -m->k[k] * seed[k];
  return ok;
}

int fmi3GetFloat64(void* c, const Reference* r, size_t n, double* v, size_t count) {
  Model* m = c;
  if (n != 1) return error;
  if (r[0] == 0 && count == 1) return v[0] = m->t, ok;
  if (r[0] == 3) return fmi3GetContinuousStateDerivatives(c, v, count);
  if (r[0] == 24) return fmi3GetEventIndicators(c, v, count);
  if (r[0] == 21 && count == 6) {
    for (int k = 0; k < 6; ++k) v[k] = 10.0 * (k / 3 + 1) + (k % 3 + 1) + m->t;
    return ok;
  }
  const double* from = r[0] == 2 ? m->x : r[0] == 4 ? m->k : r[0] == 5 ? m->u : NULL;
  if (!from || count != size) return error;
  return memcpy(v, from, sizeof(double) * size), ok;
}
int fmi3SetFloat64(void* c, const Reference* r, size_t n, const double* v, size_t count) {
  Model* m = c;
  double* to = n != 1 ? NULL : r[0] == 2 ? m->x : r[0] == 4 ? m->k : r[0] == 5 ? m->u : NULL;
  if (!to || count != size) return error;
  return memcpy(to, v, sizeof(double) * size), ok;
}
int fmi3GetBoolean(void* c, const Reference* r, size_t n, bool* v, size_t count) {
  if (n != 1 || r[0] != 16 || count != size) return error;
  return memcpy(v, ((Model*)c)->flags, sizeof(bool) * size), ok;
}
int fmi3SetBoolean(void* c, const Reference* r, size_t n, const bool* v, size_t count) {
  if (n != 1 || r[0] != 16 || count != size) return error;
  return memcpy(((Model*)c)->flags, v, sizeof(bool) * size), ok;
}
int fmi3GetFloat32(void* c, const Reference* r, size_t n, float* v, size_t count) {
  if (n != 1 || count != 1 || (r[0] != 6 && r[0] != 26)) return error;
  return v[0] = r[0] == 6 ? ((Model*)c)->f32 : (float)(2.0 * ((Model*)c)->x[0]), ok;
}
int fmi3SetFloat32(void* c, const Reference* r, size_t n, const float* v, size_t count) {
  if (n != 1 || count != 1 || r[0] != 6) return error;
  return ((Model*)c)->f32 = v[0], ok;
}

/* A parameter of one type. */
#define NUMBER(NAME, TYPE, FIELD, REFERENCE)                                                      \
  int fmi3Get##NAME(void* c, const Reference* r, size_t n, TYPE* v, size_t count) {               \
    if (n != 1 || count != 1) return error;                                                       \
    if (extra(c, r[0], v, sizeof(TYPE))) return ok;                                               \
    if (r[0] != REFERENCE) return error;                                                          \
    return v[0] = ((Model*)c)->FIELD, ok;                                                         \
  }                                                                                               \
  int fmi3Set##NAME(void* c, const Reference* r, size_t n, const TYPE* v, size_t count) {         \
    if (n != 1 || count != 1 || r[0] != REFERENCE) return error;                                  \
    return ((Model*)c)->FIELD = v[0], ok;                                                         \
  }

/* Results that are no parameters: the sum of all numbers, the count of events, the size. */
static bool extra(const Model* m, Reference r, void* v, size_t bytes) {
  if (r == 20 && bytes == 8) {
    const int64_t total = (int64_t)(m->f32 + m->i8 + m->u8 + m->i16 + m->u16) + m->i32 + m->u32 + m->i64 +
                          (int64_t)m->u64 + m->flags[0] + 2 * m->flags[1];
    return memcpy(v, &total, sizeof total), true;
  }
  if (r == 25 && bytes == 4) return memcpy(v, &m->count, sizeof m->count), true;
  if (r == 1 && bytes == 8) {
    const uint64_t n = size;
    return memcpy(v, &n, sizeof n), true;
  }
  return false;
}
NUMBER(Int8, int8_t, i8, 7)
NUMBER(UInt8, uint8_t, u8, 8)
NUMBER(Int16, int16_t, i16, 9)
NUMBER(UInt16, uint16_t, u16, 10)
NUMBER(Int32, int32_t, i32, 11)
NUMBER(UInt32, uint32_t, u32, 12)
NUMBER(Int64, int64_t, i64, 13)
NUMBER(UInt64, uint64_t, u64, 14)
