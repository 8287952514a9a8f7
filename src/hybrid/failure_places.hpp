// Where in the model a failure comes from: names of equations for messages.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <span>
#include <string>
#include <vector>

#include "hybrid/failure.hpp"

namespace saltus {

/// The first equation without a finite value at a point, or right behind it along xp (direction: of time), with the
/// part that has none: ": 'sqrt(h)' in 'der(h) = -sqrt(h)'", and after a line break what to try, where the model knows
/// it. "" if all of them have values.
std::string undefined_equation(System& system, double t, int direction, std::span<const double> x,
                               std::span<const double> xp);

/// " in 'der(x) = x*x'": the equation that holds the derivative of a variable, or else the variable. "" if none does.
std::string equation_with(const System& system, int variable);

/// The message of a failure at a time, with what every message has: the time, the places of the guards among its
/// culprits, and what to try: the line after a line break, or else what the page of its status says.
std::string complete_message(const Failure& failure, double t, std::span<const GuardInfo> guards);

}  // namespace saltus
