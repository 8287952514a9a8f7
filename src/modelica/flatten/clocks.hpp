// Clocks of a model (Modelica 3.6, chapter 16): calls of clock operators, and the exact rational times at which
// sub-partitions tick.
#pragma once

#include <saltus/expr/expr.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "modelica/flatten/value.hpp"

namespace saltus::modelica {

/// A fraction in lowest terms with a positive denominator.
class Rational {
 public:
  Rational(std::int64_t number = 0) : numerator_(number) {}  // NOLINT: integers are fractions
  /// Throws ClockFault if the result, or one below, is not within 63 bits.
  Rational(std::int64_t numerator, std::int64_t denominator);

  std::int64_t numerator() const { return numerator_; }
  std::int64_t denominator() const { return denominator_; }
  double value() const { return static_cast<double>(numerator_) / static_cast<double>(denominator_); }
  bool is_integer() const { return denominator_ == 1; }
  bool operator==(const Rational&) const = default;

  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  friend Rational operator/(const Rational& a, const Rational& b);

 private:
  std::int64_t numerator_ = 0, denominator_ = 1;
};
/// "3", "1/10".
std::string to_string(const Rational& number);

/// Clocks that cannot be: thrown by the inference, with the words of a message.
struct ClockFault {
  std::string message;
};

/// One call of an operator of clocks. In expressions a symbol stands for it until the clocks of the model are known.
struct ClockOperator {
  enum class Kind : std::uint8_t {
    // clocks
    inferred,  ///< Clock()
    rational,  ///< Clock(counter, resolution)
    real,      ///< Clock(interval)
    event,     ///< Clock(condition, startInterval)
    solver,    ///< Clock(c, solverMethod)
    // values
    sample,
    hold,
    previous,
    interval,
    first_tick,
    derivative,
    // values or clocks
    sub_sample,
    super_sample,
    shift_sample,
    back_sample,
    no_clock,
  };
  Kind kind;
  Value argument;                  ///< a scalar: what is converted, the condition of an event clock; may be empty
  std::optional<Expr> clock = {};  ///< of sample(u, clock) and Clock(c, solverMethod)
  std::int64_t factor = 0;         ///< or counter; 0 of sub_sample and super_sample: to be found
  std::int64_t resolution = 1;
  double seconds = 0.0;     ///< the interval of a real clock, the first one of an event clock
  std::string method = {};  ///< of Clock(c, solverMethod)
  Location where = {};

  bool converts() const { return kind >= Kind::sub_sample; }
  bool constructs() const { return kind <= Kind::solver; }
};

/// Which ticks of its base clock a sub-partition has: numbers first, first + step, first + 2 step, ...
struct SubClock {
  Rational first = 0, step = 0;
};
/// A conversion between sub-partitions: the ticks of `to` by those of `from`.
struct ClockConversion {
  std::size_t from, to;
  ClockOperator::Kind kind;
  std::int64_t factor = 0;  ///< or counter; 0 of sub_sample and super_sample: to be found
  std::int64_t resolution = 1;
};
/// A sub-partition that a constructor gives a clock.
struct ClockLabel {
  std::size_t part;
  Rational step = 1;  ///< of rational clocks in seconds; 1 otherwise
};

/// The clocks of all sub-partitions of one base partition. `names` says what is in each, for messages.
///
/// Each sub-clock is an affine form of its base clock. Conversions with known factors fix the forms of connected
/// sub-partitions up to one of them; labels fix the rest, and the factors that are not given are quotients of steps.
/// `events`: the base clock is an event clock, between whose ticks there is nothing. Without labels the fastest
/// sub-partition ticks each second. Throws ClockFault.
std::vector<SubClock> infer_clocks(std::span<const std::string> names, std::span<const ClockConversion> conversions,
                                   std::span<const ClockLabel> labels, bool events);

}  // namespace saltus::modelica
