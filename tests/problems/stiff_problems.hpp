// Stiff ODEs and DAEs of index 1 with exact solutions or published reference values.
#pragma once

#include "problems/ode_problems.hpp"

namespace saltus::problem {

// References at the end point: F. Mazzia, C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4
// (University of Bari).
/// Chemical kinetics with rates over nine decades, to t = 1e11.
Problem robertson();
/// Eight species of a plant's growth (HIRES), to t = 321.8122.
Problem hires();
/// The Belousov-Zhabotinsky reaction, one long relaxation cycle, to t = 360.
Problem oregonator();
/// Relaxation oscillation, eps = 1e-6, to t = 2.
Problem van_der_pol();
/// Mixes a signal of low with one of high frequency: 15 equations, diodes, stray capacitances of 2e-12 F that make
/// it stiff and oscillating, to t = 1e-3.
Problem ring_modulator();
/// Amplifier with two transistors, a DAE of index 1 with a singular constant mass matrix, to t = 0.2.
Problem transistor_amplifier();

/// x' = y cos(t)/x, y^2 = x^4: x = exp(sin t), y = x^2. Semi-explicit, index 1, nonlinear constraint.
Problem index_1();
/// x' + x'^3/10 = the same of cos(t) x, y = x x': x = exp(sin t). Fully implicit.
Problem implicit_index_1();
/// x' = y + (x^2 - sin^2 4t)/10, y + y^3/100 + x = the same of the solution x = sin 4t, y = 4 cos 4t. Fast, but hardly
/// nonlinear: Newton's method bears the long steps of high orders.
Problem fast_index_1();
/// Heat equation on n cells with Dirichlet ends driven by algebraic equations; smooth start. Exact: e^{-lambda t} times
/// the first eigenvector.
Problem heat(int n);

}  // namespace saltus::problem
