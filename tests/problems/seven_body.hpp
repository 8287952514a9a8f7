// The seven-body mechanism (Andrews' squeezer): seven rigid bodies in the plane, joined without friction, driven by a
// constant torque.
//
// Sources: W. Schiehlen (ed.), Multibody Systems Handbook, Springer 1990; E. Hairer, G. Wanner, Solving Ordinary
// Differential Equations II, Springer 1996, section VII.7; Mazzia, Magherini, Test Set for Initial Value Problem
// Solvers, release 2.4 (reference values, computed by PSIDE with tolerance 1e-14).
#pragma once

#include <cmath>

#include "problems/problem.hpp"

namespace saltus::problems {

/// Angles beta, theta, gamma, phi, delta, omega, epsilon of the literature with their velocities, and six multipliers:
///
///   q' = v,   M(q) v' = f(q, v) - G(q)ᵀ lambda,   g(q) = 0
///
/// Index 3, one degree of freedom: d = 2. The guess has theta = 0 (as in the literature) and angles with one digit; at
/// rest.
inline Problem seven_body() {
  Recorder r;
  std::vector<Expr> q, v, lambda;
  for (const char* name : {"beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"}) q.push_back(r.variable(name));
  for (const Expr& angle : q) v.push_back(r.variable(angle.name() + "'"));
  for (int k = 1; k <= 6; ++k) lambda.push_back(r.variable("lambda" + std::to_string(k)));
  const Expr &beta = q[0], &theta = q[1], &gamma = q[2], &phi = q[3], &delta = q[4], &omega = q[5], &epsilon = q[6];

  // masses and moments of inertia
  const double m1 = 0.04325, m2 = 0.00365, m3 = 0.02373, m4 = 0.00706, m5 = 0.0705, m6 = 0.00706, m7 = 0.05498;
  const double I1 = 2.194e-6, I2 = 4.41e-7, I3 = 5.255e-6, I4 = 5.667e-7, I5 = 1.169e-5, I6 = 5.667e-7, I7 = 1.912e-5;
  // fixed points, lengths, spring and torque
  const double xa = -0.06934, ya = -0.00227, xb = -0.03635, yb = 0.03273, xc = 0.014, yc = 0.072;
  const double d = 0.028, da = 0.0115, e = 0.02, ea = 0.01421, rr = 0.007, ra = 0.00092, ss = 0.035, sa = 0.01874,
               sb = 0.01043, sc = 0.018, sd = 0.02, ta = 0.02308, tb = 0.00916, u = 0.04, ua = 0.01228, ub = 0.00449,
               zf = 0.02, zt = 0.04, fa = 0.01421;
  const double stiffness = 4530.0, free_length = 0.07785, torque = 0.033;

  // position of the common joint, reached over the crank; the three chains that end there close the loops
  const Expr jx = rr * cos(beta) - d * cos(beta + theta), jy = rr * sin(beta) - d * sin(beta + theta);
  const std::vector<Expr> g = {jx - ss * sin(gamma) - xb,
                               jy + ss * cos(gamma) - yb,
                               jx - e * sin(phi + delta) - zt * cos(delta) - xa,
                               jy + e * cos(phi + delta) - zt * sin(delta) - ya,
                               jx - zf * cos(omega + epsilon) - u * sin(epsilon) - xa,
                               jy - zf * sin(omega + epsilon) + u * cos(epsilon) - ya};

  // spring between the third body and C
  const Expr xd = sd * cos(gamma) + sc * sin(gamma) + xb, yd = sd * sin(gamma) - sc * cos(gamma) + yb;
  const Expr length = sqrt((xd - xc) * (xd - xc) + (yd - yc) * (yd - yc));
  const Expr pull = -stiffness * (length - free_length) / length;
  const Expr fx = pull * (xd - xc), fy = pull * (yd - yc);

  const Expr M11 = m1 * ra * ra + m2 * (rr * rr - 2.0 * da * rr * cos(theta) + da * da) + I1 + I2;
  const Expr M12 = m2 * (da * da - da * rr * cos(theta)) + I2;
  const double M22 = m2 * da * da + I2, M33 = m3 * (sa * sa + sb * sb) + I3, M44 = m4 * (e - ea) * (e - ea) + I4,
               M66 = m6 * (zf - fa) * (zf - fa) + I6;
  const Expr M45 = m4 * ((e - ea) * (e - ea) + zt * (e - ea) * sin(phi)) + I4;
  const Expr M55 =
      m4 * (zt * zt + 2.0 * zt * (e - ea) * sin(phi) + (e - ea) * (e - ea)) + m5 * (ta * ta + tb * tb) + I4 + I5;
  const Expr M67 = m6 * ((zf - fa) * (zf - fa) - u * (zf - fa) * sin(omega)) + I6;
  const Expr M77 =
      m6 * ((zf - fa) * (zf - fa) - 2.0 * u * (zf - fa) * sin(omega) + u * u) + m7 * (ua * ua + ub * ub) + I6 + I7;

  const std::vector<Expr> inertia = {
      M11 * der(v[0]) + M12 * der(v[1]), M12 * der(v[0]) + M22 * der(v[1]), M33 * der(v[2]),
      M44 * der(v[3]) + M45 * der(v[4]), M45 * der(v[3]) + M55 * der(v[4]), M66 * der(v[5]) + M67 * der(v[6]),
      M67 * der(v[5]) + M77 * der(v[6])};
  const std::vector<Expr> force = {torque - m2 * da * rr * v[1] * (v[1] + 2.0 * v[0]) * sin(theta),
                                   m2 * da * rr * v[0] * v[0] * sin(theta),
                                   fx * (sc * cos(gamma) - sd * sin(gamma)) + fy * (sd * cos(gamma) + sc * sin(gamma)),
                                   m4 * zt * (e - ea) * v[4] * v[4] * cos(phi),
                                   -m4 * zt * (e - ea) * v[3] * (v[3] + 2.0 * v[4]) * cos(phi),
                                   -m6 * u * (zf - fa) * v[6] * v[6] * cos(omega),
                                   m6 * u * (zf - fa) * v[5] * (v[5] + 2.0 * v[6]) * cos(omega)};
  for (std::size_t k = 0; k < 7; ++k) r.equation(der(q[k]) - v[k]);
  for (std::size_t k = 0; k < 7; ++k) {
    Expr reaction = 0.0;
    for (std::size_t i = 0; i < 6; ++i) reaction = reaction + derivative(g[i], q[k]) * lambda[i];
    r.equation(inertia[k] - force[k] + reaction, "motion of " + q[k].name());
  }
  for (std::size_t i = 0; i < 6; ++i) r.equation(g[i], "loop " + std::to_string(i + 1));
  std::vector<double> guess = {-0.06, 0.0, 0.5, 0.2, 0.5, -0.2, 1.2};
  guess.resize(20, 0.0);
  return {"seven bodies", r.system(), 0.0, std::move(guess), {2, 2, 18, 0, 0, 60}};
}

/// Start values of the literature: angles; all velocities 0; accelerations of the first two angles; the first two
/// multipliers.
inline const std::vector<double> seven_body_start{-0.0617138900142764496358948458001, 0.0,
                                                  0.455279819163070380255912382449,   0.222668390165885884674473185609,
                                                  0.487364979543842550225598953530,   -0.222668390165885884674473185609,
                                                  1.23054744454982119249735015568};
inline const std::vector<double> seven_body_start_acceleration{14222.4439199541138705911625887,
                                                               -10666.8329399655854029433719415};
inline const std::vector<double> seven_body_start_multipliers{98.5668703962410896057654982170,
                                                              -6.12268834425566265503114393122};

/// Angles, velocities and multipliers at t = 0.03.
inline const std::vector<double> seven_body_reference{
    0.1581077119629904e2,  -0.1575637105984298e2, 0.4082224013073101e-1, -0.5347301163226948,   0.5244099658805304,
    0.5347301163226948,    0.1048080741042263e1,  0.1139920302151208e4,  -0.1424379294994111e4, 0.1103291221937134e2,
    0.1929337464421385e2,  0.5735699284790808,    -0.1929337464421385e2, 0.3231791658026955,    0.1991753333731910e3,
    -0.2975531228015052e2, 0.2306654119098399e2,  0.3145271365475927e2,  0.2264249232082739e2,  0.1161740700019673e2};

}  // namespace saltus::problems
