// A tape as statements of C: what C source and the text for devices have in common.
#pragma once

#include <saltus/program/program.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace saltus {

/// How a kind of text writes what is not the same in all of them.
struct TapeWords {
  std::function<std::string(double)> number;                                 ///< a constant, fit to stand behind a sign
  std::function<std::string(std::size_t group, std::uint32_t place)> input;  ///< an input
  std::function<std::string(std::size_t group, std::size_t place)> output;   ///< where an output goes
  std::function<std::string(Op)> function;  ///< the name of a function; of `fma` for all fused operations
};

/// Declares the temporaries, and computes the outputs.
std::string tape_text(const Tape& tape, const TapeWords& words);

}  // namespace saltus
