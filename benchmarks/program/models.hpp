// The benchmark models, each written once as a template: with doubles it is the plain C++ peer, with dual numbers or
// power series the peer for derivatives, with expressions it is recorded. T is the type of what varies, P that of the
// parameters.
//
// `choose(k, g, yes, no)` is relation number k: yes where g > 0, otherwise no. The peer looks at lock k instead of g,
// as the recorded program does when its relations are locked.
#pragma once

#include <cmath>

namespace saltus::bench {

/// Number types with something better overload these.
template <class T>
T square(const T& a) {
  return a * a;
}
template <class T>
void sine_cosine(const T& a, T& sine, T& cosine) {
  using std::cos;
  using std::sin;
  sine = sin(a);
  cosine = cos(a);
}

/// A mass on a belt, held by a spring; Stribeck friction.
struct StickSlip {
  static constexpr int states = 2, parameters = 6, relations = 1;
  static constexpr const char* name = "stick_slip_2";
  template <class T, class P, class Choose>
  static void rhs(const T&, const T* x, const P* p, T* dx, Choose choose) {
    const T slip = x[1] - p[4];
    const P direction = choose(0, slip, P(1.0), P(-1.0));
    dx[0] = x[1];
    dx[1] = p[5] - p[0] * x[0] - p[1] * x[1] - p[2] * direction / (1.0 + p[3] * (direction * slip));
  }
};

/// Two masses with a hardening spring between them, both with friction on the ground, one driven.
struct TwoMasses {
  static constexpr int states = 4, parameters = 8, relations = 2;
  static constexpr const char* name = "two_masses_4";
  template <class T, class P, class Choose>
  static void rhs(const T& t, const T* x, const P* p, T* dx, Choose choose) {
    using std::cos;
    const T gap = x[1] - x[0], rate = x[3] - x[2];
    const T spring = p[0] * gap + p[1] * rate + p[6] * (square(gap) * gap);
    const P first = choose(0, x[2], P(1.0), P(-1.0)), second = choose(1, x[3], P(1.0), P(-1.0));
    dx[0] = x[2];
    dx[1] = x[3];
    dx[2] = spring - p[2] * x[0] - p[3] * first / (1.0 + p[5] * (first * x[2]));
    dx[3] = p[7] * cos(t) - spring - p[4] * second / (1.0 + p[5] * (second * x[3]));
  }
};

/// A planar chain of seven rods with dry friction in the joints. The mass matrix is factorised (LDL^T) in the
/// right-hand side.
struct Arm {
  static constexpr int links = 7, states = 2 * links, parameters = 3, relations = links;
  static constexpr const char* name = "arm_14";
  /// Entry of the constant part of the mass matrix for unit rods.
  static constexpr double inertia(int i, int j) {
    const int outer = i > j ? i : j;
    return links - outer - 0.5 + (i == j ? 1.0 / 12.0 : 0.0);
  }
  template <class T, class P, class Choose>
  static void rhs(const T&, const T* x, const P* p, T* dx, Choose choose) {
    const T* const speed = x + links;
    T s[links], c[links], speed_squared[links], torque[links], force[links], m[links][links], pivot[links];
    for (int i = 0; i < links; ++i) {
      sine_cosine(x[i], s[i], c[i]);
      speed_squared[i] = square(speed[i]);
      const T relative = i > 0 ? speed[i] - speed[i - 1] : speed[0];
      torque[i] = p[1] * relative + choose(i, relative, p[2], -p[2]);
    }
    for (int i = 0; i < links; ++i) {
      force[i] = -torque[i] - p[0] * (links - i - 0.5) * s[i];
      if (i + 1 < links) force[i] = force[i] + torque[i + 1];
      for (int j = 0; j < i; ++j) {
        const T turning = inertia(i, j) * (s[i] * c[j] - c[i] * s[j]);
        force[i] = force[i] - turning * speed_squared[j];
        force[j] = force[j] + turning * speed_squared[i];
        m[i][j] = inertia(i, j) * (c[i] * c[j] + s[i] * s[j]);
      }
      m[i][i] = T(inertia(i, i));
    }
    for (int j = 0; j < links; ++j) {
      T scaled[links] = {};
      pivot[j] = m[j][j];
      for (int k = 0; k < j; ++k) {
        scaled[k] = m[j][k] * pivot[k];
        pivot[j] = pivot[j] - m[j][k] * scaled[k];
      }
      const T inverse = 1.0 / pivot[j];
      for (int i = j + 1; i < links; ++i) {
        for (int k = 0; k < j; ++k) m[i][j] = m[i][j] - m[i][k] * scaled[k];
        m[i][j] = m[i][j] * inverse;
      }
    }
    for (int i = 0; i < links; ++i)
      for (int k = 0; k < i; ++k) force[i] = force[i] - m[i][k] * force[k];
    for (int i = 0; i < links; ++i) force[i] = force[i] / pivot[i];
    for (int i = links; i-- > 0;)
      for (int k = i + 1; k < links; ++k) force[i] = force[i] - m[k][i] * force[k];
    for (int i = 0; i < links; ++i) {
      dx[i] = speed[i];
      dx[links + i] = force[i];
    }
  }
};

/// Reaction, diffusion and advection on a line, with a thermostat in every cell.
struct Stencil {
  static constexpr int states = 1000, parameters = 5, relations = states;
  static constexpr const char* name = "stencil_1000";
  template <class T, class P, class Choose>
  static void rhs(const T&, const T* x, const P* p, T* dx, Choose choose) {
    const auto cell = [&](int i, const T& left, const T& right) {
      const T u = x[i], deficit = p[3] - u;
      const T heat = choose(i, deficit, p[4] * deficit, T(0.0));
      dx[i] = p[0] * (left - T(2.0) * u + right) - p[1] * u * (right - left) + u * (T(1.0) - u) * (u - p[2]) + heat;
    };
    cell(0, T(0.0), x[1]);
    for (int i = 1; i + 1 < states; ++i) cell(i, x[i - 1], x[i + 1]);
    cell(states - 1, x[states - 2], T(0.0));
  }
};

}  // namespace saltus::bench
