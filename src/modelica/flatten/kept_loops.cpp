#include "modelica/flatten/kept_loops.hpp"

#include <algorithm>
#include <bit>

namespace saltus::modelica {

KeptLoops::Found KeptLoops::find(int number) const {
  int element = 0;
  for (const Group& g : groups)
    if (number >= g.first && number < g.first + g.count * g.width()) {
      element = (number - g.first) / g.width();
      number -= element * g.width();
    }
  const auto array = std::prev(std::ranges::upper_bound(arrays, number, {}, &Array::first));
  return {&*array, element, number - array->first};
}

int KeptLoops::place(const Found& found) const {
  const Array& a = *found.array;
  if (a.group < 0) return a.place + found.position;
  const Group& g = groups[static_cast<std::size_t>(a.group)];
  return a.place + found.position + found.element * (a.component->is_discrete() ? g.discretes : g.variables);
}

int KeptLoops::prototype_of(const Instance& instance) const {
  for (const Instance* i = &instance; i; i = i->parent)
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (groups[g].element == i) return static_cast<int>(g);
  return -1;
}

int KeptLoops::position(const Dims& dims, const std::vector<IteratorForm>& forms,
                        const std::vector<std::int64_t>& iterators) {
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < forms.size(); ++k) {
    const std::int64_t index = forms[k].at(iterators);
    if (index < 1 || index > dims[k]) throw NotKept{};
    offset = offset * dims[k] + index - 1;
  }
  return static_cast<int>(offset);
}

void KeptLoops::read(const PassReads& reads, const std::vector<std::int64_t>& iterators, const Evaluate& evaluate) {
  for (const PassReads::Item& item : reads.items) switch (item.kind) {
      case PassReads::Item::Kind::element: {
        const Array& array = arrays[static_cast<std::size_t>(item.array)];
        const int element = array.group < 0 ? 0
                                            : position(groups[static_cast<std::size_t>(array.group)].array->dims,
                                                       item.element, iterators);
        elements_.push_back(number(item.array, element, position(array.component->dims, item.forms, iterators)));
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
        const bool exact = item.exact || (!item.changeable && is_common_number(value));
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
