#include "modelica/flatten/kept_loops.hpp"

#include <algorithm>
#include <cstdlib>

namespace saltus::modelica {

std::int64_t IteratorForm::at(const std::vector<std::int64_t>& iterators) const {
  const auto operand = [&](std::size_t k) { return operands[k].at(iterators); };
  switch (kind) {
    case Kind::number:
      return value;
    case Kind::iterator:
      return iterators[static_cast<std::size_t>(value)];
    case Kind::sum:
      return operand(0) + operand(1);
    case Kind::difference:
      return operand(0) - operand(1);
    case Kind::product:
      return operand(0) * operand(1);
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

void KeptLoops::read(const PassReads& reads, const std::vector<std::int64_t>& iterators) {
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
        read(item.branches[taken], iterators);
        break;
      }
    }
}

void KeptLoops::add_pass(Nest& nest, const std::vector<std::int64_t>& iterators) {
  constexpr std::size_t most = 64;  // shapes of one model
  elements_.clear();
  values_.clear();
  read(nest.reads, iterators);
  row_ = elements_;
  std::ranges::sort(row_);
  row_.erase(std::unique(row_.begin(), row_.end()), row_.end());
  // the values, and which elements are the same, in which order
  signature_ = values_;
  for (const int element : elements_) signature_.push_back(std::ranges::lower_bound(row_, element) - row_.begin());
  const auto [it, fresh] = nest.known.try_emplace(signature_, static_cast<int>(shapes.size()));
  if (fresh) {
    if (shapes.size() == most) throw NotKept{};
    shapes.push_back({iterators, row_.size(), {}});
    nest.shapes.push_back(it->second);
    for (const int number : row_) needed[static_cast<std::size_t>(number)] = 1;
  }
  std::vector<int>& rows = shapes[static_cast<std::size_t>(it->second)].rows;
  rows.insert(rows.end(), row_.begin(), row_.end());
}

}  // namespace saltus::modelica
