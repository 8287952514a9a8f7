// Whole numbers that are made of the iterators of loops: subscripts, and conditions on them.
#pragma once

#include <cstdint>
#include <vector>

namespace saltus {

/// A loop has something that cells do not have: the model is written out.
struct NotKept {};

/// An expression of iterators: their values decide it. Numbers are exact, since only integers occur.
struct IteratorForm {
  enum class Kind : std::uint8_t {
    number,
    iterator,
    sum,  // and the following: of the operands
    difference,
    product,
    negative,
    maximum,
    minimum,
    absolute,
    equal,
    not_equal,
    less,
    less_equal,
    both,
    either,
    negation,
    choice
  };
  Kind kind = Kind::number;
  std::int64_t value = 0;  ///< a number, or which iterator
  std::vector<IteratorForm> operands = {};

  /// Throws NotKept where numbers become too large.
  std::int64_t at(const std::vector<std::int64_t>& iterators) const;
};

/// Small integers and halves: signs, exponents, factors that vanish. Expressions with them are simplified.
bool is_common_number(double value);

}  // namespace saltus
