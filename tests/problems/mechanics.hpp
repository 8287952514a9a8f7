// Mechanical problems.
//
// Sources: Cartesian pendulum in any textbook on DAEs; Gear, Gupta, Leimkuhler, J. Comput. Appl. Math. 12 (1985);
// multi-pendula: Nedialkov and Pryce, Solving DAEs by Taylor series II, BIT 47 (2007); robot arm: Campbell,
// Griepentrog, SIAM J. Sci. Comput. 16 (1995), example of De Luca and Isidori; car axis: Mazzia, Magherini, Test Set
// for Initial Value Problem Solvers, release 2.4.
#pragma once

#include <cmath>

#include "problems/problem.hpp"

namespace saltus::problems {

inline constexpr double gravity = 9.81;

/// p' = v, v' = -lambda p - (0, g) - friction v + (drive sin t, 0), |p|^2 = length^2. Index 3.
/// With g = 9.81, length 1, start (1, 0, 0, 0, 0): at t = 10 the solution is pendulum_reference.
inline Problem pendulum(std::vector<double> guess, double length = 1.0, double g = gravity, double friction = 0.0,
                        double drive = 0.0) {
  Recorder r;
  const auto x = r.variables("px py vx vy lambda");
  r.equation(der(x[0]) - x[2], "kinematics x");
  r.equation(der(x[1]) - x[3], "kinematics y");
  r.equation(der(x[2]) + x[4] * x[0] + friction * x[2] - drive * sin(r.time()), "dynamics x");
  r.equation(der(x[3]) + x[4] * x[1] + friction * x[3] + g, "dynamics y");
  r.equation(x[0] * x[0] + x[1] * x[1] - length * length, "length");
  return {"pendulum", r.system(), 0.0, std::move(guess), {2, 2, 3, 0, 0, 15}};
}

/// The pendulum without gravity, driven along its circle such that its speed is 0.5 + 0.4 cos wt: p' = v,
/// v' = -lambda p + drive (-p_y, p_x), |p| = 1, all of which is known. Index 3.
inline std::vector<double> driven_rotor_solution(double t, double w) {
  const double angle = 0.5 * t + 0.4 / w * std::sin(w * t), speed = 0.5 + 0.4 * std::cos(w * t);
  const double c = std::cos(angle), s = std::sin(angle);
  return {c, s, -speed * s, speed * c, speed * speed};
}
inline Problem driven_rotor(double w) {
  Recorder r;
  const auto x = r.variables("px py vx vy lambda");
  const Expr drive = -0.4 * w * sin(w * r.time());
  r.equation(der(x[0]) - x[2], "kinematics x");
  r.equation(der(x[1]) - x[3], "kinematics y");
  r.equation(der(x[2]) + x[4] * x[0] + drive * x[1], "dynamics x");
  r.equation(der(x[3]) + x[4] * x[1] - drive * x[0], "dynamics y");
  r.equation(x[0] * x[0] + x[1] * x[1] - 1.0, "length");
  return {"driven rotor", r.system(), 0.0, driven_rotor_solution(0.0, w), {2, 2, 3, 0, 0, 15}};
}

/// Closed form by Jacobi's elliptic functions: sin(theta/2) = k cd(sqrt(g) t, k^2), k = sin(pi/4).
inline const std::vector<double> pendulum_reference{0.2750874625761, -0.9614192050991, -4.1755981009517,
                                                    -1.1947490545605, 28.2945672060672};
/// The same at t = 100.
inline const std::vector<double> pendulum_reference_at_100{0.181513351427020434, -0.983388480334059526, -4.31953678053467588,
                                                           -0.797297927855313187, 28.9411229762313733};

/// The pendulum with both hidden constraints appended: 7 equations for 5 variables, two of them redundant.
inline Problem pendulum_with_hidden_constraints() {
  Recorder r;
  const auto x = r.variables("px py vx vy lambda");
  r.equation(der(x[0]) - x[2]);
  r.equation(der(x[1]) - x[3]);
  r.equation(der(x[2]) + x[4] * x[0]);
  r.equation(der(x[3]) + x[4] * x[1] + gravity);
  r.equation(x[0] * x[0] + x[1] * x[1] - 1.0, "length");
  r.equation(x[0] * x[2] + x[1] * x[3], "velocity");
  r.equation(x[2] * x[2] + x[3] * x[3] - x[4] * (x[0] * x[0] + x[1] * x[1]) - gravity * x[1], "acceleration");
  return {"pendulum + hidden", r.system(), 0.0, {0.6, -0.8, 0.4, 0.3, 1.0}, {1, 2, 3, 0, 2, 12}};
}

/// Index 2 by an additional multiplier.
inline Problem pendulum_ggl() {
  Recorder r;
  const auto x = r.variables("px py vx vy lambda eta");
  r.equation(der(x[0]) - x[2] + x[5] * x[0]);
  r.equation(der(x[1]) - x[3] + x[5] * x[1]);
  r.equation(der(x[2]) + x[4] * x[0]);
  r.equation(der(x[3]) + x[4] * x[1] + gravity);
  r.equation(x[0] * x[0] + x[1] * x[1] - 1.0);
  r.equation(x[0] * x[2] + x[1] * x[3]);
  return {"pendulum GGL", r.system(), 0.0, {0.6, -0.8, 0.4, 0.3, 1.0, 0.0}, {1, 2, 4, 0, 0, 12}};
}

/// Crank (angle a) and rod (angle b) with the end of the rod on a rail: l1 sin a + l2 sin b = 0. Index 3. With l1 = l2
/// the configuration a = -b = pi/2 is singular.
inline Problem slider_crank(std::vector<double> guess, double l1 = 1.0, double l2 = 2.0) {
  Recorder r;
  const auto x = r.variables("a b va vb lambda");
  const Expr &va = x[2], &vb = x[3], &lambda = x[4];
  const Expr sa = sin(x[0]), ca = cos(x[0]), sb = sin(x[1]), cb = cos(x[1]);
  const double m1 = 1.0, m2 = 1.0, m3 = 1.0, J1 = m1 * l1 * l1 / 3.0, J2 = m2 * l2 * l2 / 12.0;
  const Expr M11 = J1 + m2 * l1 * l1 + m3 * l1 * l1 * sa * sa;
  const Expr M12 = 0.5 * m2 * l1 * l2 * (ca * cb + sa * sb) + m3 * l1 * l2 * sa * sb;
  const Expr M22 = J2 + m2 * l2 * l2 / 4.0 + m3 * l2 * l2 * sb * sb;
  const Expr h1 = 0.5 * m2 * l1 * l2 * (sa * cb - ca * sb) * vb * vb + m3 * l1 * l1 * sa * ca * va * va +
                  m3 * l1 * l2 * sa * cb * vb * vb;
  const Expr h2 = 0.5 * m2 * l1 * l2 * (ca * sb - sa * cb) * va * va + m3 * l2 * l2 * sb * cb * vb * vb +
                  m3 * l1 * l2 * ca * sb * va * va;
  r.equation(der(x[0]) - va);
  r.equation(der(x[1]) - vb);
  r.equation(M11 * der(va) + M12 * der(vb) + h1 + (0.5 * m1 + m2) * gravity * l1 * ca + lambda * l1 * ca, "crank");
  r.equation(M12 * der(va) + M22 * der(vb) + h2 + 0.5 * m2 * gravity * l2 * cb + lambda * l2 * cb, "rod");
  r.equation(l1 * sa + l2 * sb, "rail");
  return {"slider-crank", r.system(), 0.0, std::move(guess), {2, 2, 3, 0, 0, 15}};
}

/// Two-link robot arm with flexible joint on a prescribed path: index 5, no degree of freedom; the structural index
/// is 3. Exact: x1 = 1 - e^t, x3 = e^t - t.
inline Problem robot_arm(std::vector<double> guess = {-0.2, 0.5, 1.0, -1.0, 0.1, 0.2, 0.2, 0.1}) {
  Recorder r;
  const auto x = r.variables("x1 x2 x3 x4 x5 x6 u1 u2");
  const Expr& t = r.time();
  const Expr cs = cos(x[2]), sn = sin(x[2]), q = 2.0 - cs * cs;
  const Expr a = 2.0 / q, b = cs / q, c = sn / q, d = cs * sn / q, s = x[3] + x[5], w = 2.0 * x[2] - x[1],
             u = x[6] - x[7];
  r.equation(der(x[0]) - x[3]);
  r.equation(der(x[1]) - x[4]);
  r.equation(der(x[2]) - x[5]);
  r.equation(der(x[3]) - (2.0 * c * s * s + x[3] * x[3] * d + w * (a + 2.0 * b) + a * u));
  r.equation(der(x[4]) -
             (-2.0 * c * s * s - x[3] * x[3] * d + w * (1.0 - 3.0 * a - 2.0 * b) - a * x[6] + (a + 1.0) * x[7]));
  r.equation(der(x[5]) - (-2.0 * c * s * s - x[3] * x[3] * d + w * (a - 9.0 * b) - 2.0 * x[3] * x[3] * c - d * s * s -
                          (a + b) * u));
  r.equation(cos(x[0]) + cos(x[0] + x[2]) - (cos(1.0 - exp(t)) + cos(1.0 - t)));
  r.equation(sin(x[0]) + sin(x[0] + x[2]) - (sin(1.0 - exp(t)) + sin(1.0 - t)));
  return {"robot arm", r.system(), 0.2, std::move(guess), {4, 0, 8, 0, 0, 40}};
}

/// Two masses that stick together by dry friction, the friction force alpha as a multiplier (Hamann, Mehrmann,
/// Numerical solution of hybrid systems of DAEs, 2008): index 2. The report says d = 3, a = 2; a related paper says d =
/// 4, a = 1, which is wrong.
inline Problem stick_slip_while_sliding() {
  Recorder r;
  const auto x = r.variables("p1 p2 v1 v2 alpha");
  r.equation(der(x[0]) - x[2]);
  r.equation(der(x[1]) - x[3]);
  r.equation(der(x[2]) - sin(r.time()) + 0.4 * x[4]);
  r.equation(der(x[3]) - 0.4 * x[4]);
  r.equation(x[2] - x[3]);
  return {"stick-slip while sliding", r.system(), 0.3, {1.0, 1.0, 0.2, 0.1, 0.0}, {1, 3, 2, 0, 0, 10}};
}

/// At t = 0.2.
inline const std::vector<double> robot_arm_reference{-0.22140276, 0.44555118, 1.02140276,  -1.22140276,
                                                     -2.43528525, 0.22140276, -1.55804762, 3.11315033};

/// `count` pendula, the force in one of which lengthens the next: index 2 count + 1, two degrees of freedom each.
inline Problem multi_pendula(int count) {
  Recorder r;
  std::vector<Expr> x;
  std::vector<double> guess;
  for (int k = 0; k < count; ++k) {
    const std::string number = std::to_string(k + 1);
    for (const char* name : {"px", "py", "vx", "vy", "lambda"}) x.push_back(r.variable(name + number));
    for (double value : {0.6, 0.8, 0.1, 0.0, 0.0}) guess.push_back(value);
  }
  for (int k = 0; k < count; ++k) {
    const Expr* p = &x[static_cast<std::size_t>(5 * k)];
    const Expr length = k == 0 ? Expr(1.0) : 1.0 + 0.1 * x[static_cast<std::size_t>(5 * k - 1)];
    r.equation(der(p[0]) - p[2]);
    r.equation(der(p[1]) - p[3]);
    r.equation(der(p[2]) + p[4] * p[0]);
    r.equation(der(p[3]) + p[4] * p[1] - 1.0);
    r.equation(p[0] * p[0] + p[1] * p[1] - length * length);
  }
  const int n = 5 * count, mu = 2 * count;
  return {"pendula x" + std::to_string(count),
          r.system(),
          0.0,
          std::move(guess),
          {mu, 2 * count, 3 * count, 0, 0, (mu + 1) * n}};
}

/// Car axis on a bumpy road, index 3, 10 variables, stiff springs and tiny mass: badly scaled as published.
/// Reference at t = 3 in car_axis_reference.
inline Problem car_axis() {
  Recorder r;
  const auto x = r.variables("xl yl xr yr xl' yl' xr' yr' lambda1 lambda2");
  const double L = 1.0, L0 = 0.5, eps = 1e-2, M = 10.0, h = 0.1, tau = M_PI / 5.0, omega = 2.0 * M_PI / tau,
               m = M * eps * eps / 2.0;
  const Expr yb = h * sin(omega * r.time()), xb = sqrt(L * L - yb * yb);
  const Expr Ll = sqrt(x[0] * x[0] + x[1] * x[1]);
  const Expr Lr = sqrt((x[2] - xb) * (x[2] - xb) + (x[3] - yb) * (x[3] - yb));
  for (std::size_t k = 0; k < 4; ++k) r.equation(der(x[k]) - x[4 + k]);
  const Expr &l1 = x[8], &l2 = x[9];
  r.equation(m * der(x[4]) - ((L0 - Ll) * x[0] / Ll + l1 * xb + 2.0 * l2 * (x[0] - x[2])));
  r.equation(m * der(x[5]) - ((L0 - Ll) * x[1] / Ll + l1 * yb + 2.0 * l2 * (x[1] - x[3]) - m));
  r.equation(m * der(x[6]) - ((L0 - Lr) * (x[2] - xb) / Lr - 2.0 * l2 * (x[0] - x[2])));
  r.equation(m * der(x[7]) - ((L0 - Lr) * (x[3] - yb) / Lr - 2.0 * l2 * (x[1] - x[3]) - m));
  r.equation(xb * x[0] + yb * x[1]);
  r.equation((x[0] - x[2]) * (x[0] - x[2]) + (x[1] - x[3]) * (x[1] - x[3]) - L * L);
  return {"car axis", r.system(), 0.0, {0.0, 0.5, 1.0, 0.5, -0.5, 0.0, -0.5, 0.0, 0.0, 0.0}, {2, 4, 6, 0, 0, 30}};
}

inline const std::vector<double> car_axis_reference{
    0.0493455784275402809,   0.496989460230171154,   1.04174252488542152,   0.373911027265361257,
    -0.0770583684040972358,  0.00744686658723778553, 0.0175568157537232223, 0.770341043779251976,
    -0.00473688659084893325, -0.00110468033125734369};

}  // namespace saltus::problems
