/* Small models as a foreign tool would write them, for FMUs of model exchange. MODEL chooses one:
     1 BouncingBall    a ball that comes to rest below a threshold of speed
     2 VanDerPol       x'' = mu (1 - x^2) x' - x
     3 Dahlquist       x' = -k x
     4 Stair           a counter with a time event every second, which ends the run at 10
     5 Relay           x' = p0 - sign(x), with the sign as a discrete variable: it slides along x = 0
     6 Feedthrough     y = 2 u, n = m + 1, x' = u
     7 Broken          as Dahlquist, with faults that p1 chooses
     8 Resource        n is the first character of the file y.txt in its resources
     9 StateSpace      x1' = x2, x2' = -p0 x1 - p1 x2 + u, y = x1 + u/2
    10 EndlessBall     a ball that bounces without a threshold
    11 Circle          x1 is cos(t) or sin(t), whichever is not near to 1; a step that ends near to 1 asks for an event
                       that exchanges them. y = cos(t), n is the number of steps
    12 Steps           x1' = 1; the run ends behind the first step with x1 > p0
   Value references: 0 time, 1… states, 11… derivatives, 21… parameters, 31 and 32 inputs, 41 real output, 51 integer.
 */
#pragma once

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double t, x[2], p[2], u, y, z;
  int m, n;    /* integer input and output */
  int relay;   /* discrete state */
  double next; /* time event, or infinity */
  int terminate, changed;
  int mode; /* 0 instantiated, 1 initialisation, 2 event mode, 3 continuous-time mode, 4 over, 5 step mode */
  double slope;   /* of the input u in a step of co-simulation */
  int event_mode; /* co-simulation: the importer uses event mode */
} Model;

#if MODEL == 1 || MODEL == 10
enum { states = 2, indicators = 1 };
#elif MODEL == 2 || MODEL == 9
enum { states = 2, indicators = 0 };
#elif MODEL == 3 || MODEL == 7 || MODEL == 11 || MODEL == 12
enum { states = 1, indicators = 0 };
#elif MODEL == 4 || MODEL == 8
enum { states = 0, indicators = 0 };
#elif MODEL == 5
enum { states = 1, indicators = 1 };
#elif MODEL == 6
enum { states = 1, indicators = 0 };
#endif

static void begin(Model* m) {
  memset(m, 0, sizeof *m);
  m->next = INFINITY;
#if MODEL == 1 || MODEL == 10
  m->x[0] = 1.0, m->p[0] = 9.81, m->p[1] = 0.7;
#elif MODEL == 2
  m->x[0] = 2.0, m->p[0] = 1.0;
#elif MODEL == 3 || MODEL == 7
  m->x[0] = 1.0, m->p[0] = 1.0;
#elif MODEL == 4
  m->n = 1, m->next = 1.0;
#elif MODEL == 5
  m->x[0] = 1.0, m->p[0] = 0.25, m->relay = 1;
#elif MODEL == 9
  m->p[0] = 4.0, m->p[1] = 0.4;
#elif MODEL == 11
  m->relay = 1; /* x1 is the sine, and the cosine is positive */
#endif
}

/* Reads what the model needs of its resources, from a folder or from its URI. 0: it is not there. */
static int read_resources(Model* m, const char* folder) {
#if MODEL == 8
  char path[1000];
  if (!folder) return 0;
  if (strncmp(folder, "file://", 7) == 0) folder += 7;
  snprintf(path, sizeof path, "%s/y.txt", folder);
  FILE* file = fopen(path, "r");
  if (!file) return 0;
  m->n = fgetc(file);
  fclose(file);
#endif
  (void)m, (void)folder;
  return 1;
}

static void derivatives(const Model* m, double* dx) {
#if MODEL == 1 || MODEL == 10
  dx[0] = m->x[1], dx[1] = m->relay ? 0.0 : -m->p[0]; /* relay: at rest */
#elif MODEL == 2
  dx[0] = m->x[1], dx[1] = m->p[0] * (1.0 - m->x[0] * m->x[0]) * m->x[1] - m->x[0];
#elif MODEL == 3
  dx[0] = -m->p[0] * m->x[0];
#elif MODEL == 5
  dx[0] = m->p[0] - m->relay;
#elif MODEL == 6
  dx[0] = m->u;
#elif MODEL == 9
  dx[0] = m->x[1], dx[1] = -m->p[0] * m->x[0] - m->p[1] * m->x[1] + m->u;
#elif MODEL == 11 /* relay: sign of the other coordinate; 2 or -2 if x1 is the cosine */
  dx[0] = (abs(m->relay) == 1 ? 1.0 : -1.0) * (m->relay > 0 ? 1.0 : -1.0) * sqrt(1.0 - m->x[0] * m->x[0]);
#elif MODEL == 12
  dx[0] = 1.0;
#elif MODEL == 7
  dx[0] = m->p[1] == 1.0 && m->t > 0.5 ? NAN : -m->p[0] * m->x[0];
#endif
  (void)m, (void)dx;
}

static void indicator_values(const Model* m, double* z) {
#if MODEL == 1 || MODEL == 10
  z[0] = m->relay ? 1.0 : m->x[0];
#elif MODEL == 5
  z[0] = m->x[0];
#endif
  (void)m, (void)z;
}

static void outputs(Model* m) {
#if MODEL == 5
  m->y = m->relay;
#elif MODEL == 6
  m->y = 2.0 * m->u, m->n = m->m + 1;
#elif MODEL == 9
  m->y = m->x[0] + 0.5 * m->u;
#elif MODEL == 11
  m->y = abs(m->relay) == 2 ? m->x[0] : (m->relay > 0 ? 1.0 : -1.0) * sqrt(1.0 - m->x[0] * m->x[0]);
#endif
  (void)m;
}

/* A step of the integrator is over. Whether an event is needed. */
static int step_completed(Model* m) {
#if MODEL == 11
  m->n += 1;
  return fabs(m->x[0]) > 0.8;
#elif MODEL == 12
  m->terminate = m->x[0] > m->p[0];
#endif
  (void)m;
  return 0;
}

/* One round of event mode. */
static void handle_event(Model* m) {
  m->changed = 0;
#if MODEL == 1 || MODEL == 10
  if (m->x[0] <= 0.0 && m->x[1] < 0.0) {
    m->x[0] = DBL_MIN; /* above the ground */
    m->x[1] = -m->p[1] * m->x[1];
    if (MODEL == 1 && m->x[1] < 0.1) m->x[1] = 0.0, m->relay = 1;
    m->changed = 1;
  }
#elif MODEL == 4
  if (m->t >= m->next) {
    m->n += 1;
    m->next += 1.0;
    if (m->n >= 10) m->terminate = 1;
  }
#elif MODEL == 11
  if (fabs(m->x[0]) > 0.8) {
    const double other = (m->relay > 0 ? 1.0 : -1.0) * sqrt(1.0 - m->x[0] * m->x[0]);
    m->relay = (abs(m->relay) == 1 ? 2 : 1) * (m->x[0] > 0.0 ? 1 : -1);
    m->x[0] = other, m->changed = 1;
  }
#elif MODEL == 5
  if (m->relay > 0 ? m->x[0] < 0.0 : m->x[0] > 0.0) m->relay = -m->relay;
#endif
}
