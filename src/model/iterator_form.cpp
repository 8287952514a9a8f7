#include "model/iterator_form.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace saltus {

std::int64_t IteratorForm::at(const std::vector<std::int64_t>& iterators) const {
  const auto operand = [&](std::size_t k) { return operands[k].at(iterators); };
  std::int64_t result = 0;
  const auto exact = [&](bool overflow) {
    if (overflow) throw NotKept{};
    return result;
  };
  switch (kind) {
    case Kind::number:
      return value;
    case Kind::iterator:
      return iterators[static_cast<std::size_t>(value)];
    case Kind::sum:
      return exact(__builtin_add_overflow(operand(0), operand(1), &result));
    case Kind::difference:
      return exact(__builtin_sub_overflow(operand(0), operand(1), &result));
    case Kind::product:
      return exact(__builtin_mul_overflow(operand(0), operand(1), &result));
    case Kind::negative:
      return -operand(0);
    case Kind::maximum:
      return std::max(operand(0), operand(1));
    case Kind::minimum:
      return std::min(operand(0), operand(1));
    case Kind::absolute:
      return std::abs(operand(0));
    case Kind::equal:
      return operand(0) == operand(1);
    case Kind::not_equal:
      return operand(0) != operand(1);
    case Kind::less:
      return operand(0) < operand(1);
    case Kind::less_equal:
      return operand(0) <= operand(1);
    case Kind::both:
      return operand(0) != 0 && operand(1) != 0;
    case Kind::either:
      return operand(0) != 0 || operand(1) != 0;
    case Kind::negation:
      return operand(0) == 0;
    case Kind::choice:
      return operand(0) != 0 ? operand(1) : operand(2);
  }
  return 0;
}

bool is_common_number(double value) {
  return std::abs(value) <= 10.0 && 2.0 * value == std::floor(2.0 * value);
}

}  // namespace saltus
