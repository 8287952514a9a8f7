#include "modelica/flatten/kept_loops.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace saltus::modelica {

std::int64_t IteratorForm::at(const std::vector<std::int64_t>& iterators) const {
  const auto operand = [&](std::size_t k) { return operands[k].at(iterators); };
  std::int64_t result = 0;
  const auto exact = [&](bool overflow) {
    if (overflow) throw NotKept{};  // which is told where the loop is written out
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

namespace {

/// Small integers and halves stay what they are: signs, exponents, factors that vanish.
bool is_common(double value) {
  return std::abs(value) <= 10.0 && 2.0 * value == std::floor(2.0 * value);
}

}  // namespace

void KeptLoops::read(const PassReads& reads, const std::vector<std::int64_t>& iterators, const Evaluate& evaluate) {
  for (const PassReads::Item& item : reads.items) switch (item.kind) {
      case PassReads::Item::Kind::element: {
        const Array& array = arrays[static_cast<std::size_t>(item.array)];
        std::int64_t offset = 0;
        for (std::size_t k = 0; k < item.forms.size(); ++k) {
          const std::int64_t size = array.component->dims[k], index = item.forms[k].at(iterators);
          if (index < 1 || index > size) throw NotKept{};  // which is told where the loop is written out
          offset = offset * size + index - 1;
        }
        elements_.push_back(array.first + static_cast<int>(offset));
        break;
      }
      case PassReads::Item::Kind::value:
        values_.push_back(item.forms.front().at(iterators));
        break;
      case PassReads::Item::Kind::choice: {
        std::size_t taken = 0;
        while (taken < item.forms.size() && item.forms[taken].at(iterators) == 0) ++taken;
        values_.push_back(static_cast<std::int64_t>(taken));
        read(item.branches[taken], iterators, evaluate);
        break;
      }
      case PassReads::Item::Kind::number: {
        const double value =
            item.forms.empty() ? evaluate(item.expression) : static_cast<double>(item.forms.front().at(iterators));
        const bool exact = item.exact || (!item.changeable && is_common(value));
        values_.push_back(exact ? 1 : 0);
        if (exact) {
          values_.push_back(std::bit_cast<std::int64_t>(value));
        } else {  // equal numbers are one: relations with them may coincide
          const auto known = std::ranges::find(lifted_values_, value);
          const auto place = known - lifted_values_.begin();
          if (known == lifted_values_.end()) lifted_values_.push_back(value);
          lifted_.emplace_back(item.expression, static_cast<int>(place));
          values_.push_back(place);
        }
        break;
      }
    }
}

void KeptLoops::add_pass(Nest& nest, const std::vector<std::int64_t>& iterators, const Evaluate& evaluate) {
  constexpr std::size_t most = 64;  // shapes of one model
  elements_.clear();
  values_.clear();
  lifted_.clear();
  lifted_values_.clear();
  read(nest.reads, iterators, evaluate);
  row_ = elements_;
  std::ranges::sort(row_);
  row_.erase(std::unique(row_.begin(), row_.end()), row_.end());
  // the values, and which elements are the same, in which order
  signature_ = values_;
  for (const int element : elements_) signature_.push_back(std::ranges::lower_bound(row_, element) - row_.begin());
  const auto [it, fresh] = nest.known.try_emplace(signature_, static_cast<int>(shapes.size()));
  if (fresh) {
    if (shapes.size() == most) throw NotKept{};
    shapes.push_back({iterators, row_.size(), {}, lifted_});
    nest.shapes.push_back(it->second);
    for (const int number : row_) needed[static_cast<std::size_t>(number)] = 1;
  }
  Shape& shape = shapes[static_cast<std::size_t>(it->second)];
  shape.rows.insert(shape.rows.end(), row_.begin(), row_.end());
  shape.values.insert(shape.values.end(), lifted_values_.begin(), lifted_values_.end());
}

}  // namespace saltus::modelica
