// Random numbers and hash values of the standard library, with the bits of its C functions.
#pragma once

#include <saltus/expr/graph.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace saltus::modelica {

/// f(state_in, state_out, number): a generator whose state is given and returned as Integers.
struct RandomGenerator {
  std::string_view c_function;
  std::size_t size;  ///< Integers in the state
  /// The next state; returns the number between 0 and 1. Both states have `size` Integers and may be the same.
  double (*next)(std::span<const std::int32_t> state, std::span<std::int32_t> after);
};

/// The generator that a C function is; null if it is none.
const RandomGenerator* random_generator(std::string_view c_function);
/// The same for expressions: from the state to the next state and the number.
std::shared_ptr<const ExternalFunction> random_function(const RandomGenerator& generator);

/// ModelicaStrings_hashString.
std::int32_t hash_of(std::string_view text);

/// What automaticGlobalSeed returns: one number for all runs, so that they can be repeated.
inline constexpr std::int32_t automatic_seed = 20'150'217;

}  // namespace saltus::modelica
