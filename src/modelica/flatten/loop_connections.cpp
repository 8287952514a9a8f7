// Connections of a model whose loops are kept. What does not fit is told where the model is written out.
#include <algorithm>

#include "modelica/flatten/loop_reader.hpp"

namespace saltus::modelica {

LoopReader::End LoopReader::read_end(ExprPtr e) {
  const auto* reference = e->as<ComponentReference>();
  if (!reference || reference->global || reference->parts.size() < 2) throw NotKept{};
  End end;
  const ReferencePart& first = reference->parts.front();
  end.component = flattener_.own_component(first.name.text, context_);
  if (!end.component || end.component->owner != flattener_.top_ || end.component->type.builtin) throw NotKept{};
  end.whole = first.subscripts.empty() && !end.component->dims.empty();
  if (!end.whole) end.forms = subscripts(first, *end.component);
  Instance* instance = end.component->elements.empty() ? nullptr : end.component->elements.front();
  for (std::size_t p = 1; p < reference->parts.size(); ++p) {
    const ReferencePart& part = reference->parts[p];
    Component* const component = instance ? instance->find(part.name.text) : nullptr;
    if (!component || component->absent || component->inner || component->source->is_protected) throw NotKept{};
    if (part.subscripts.size() != component->dims.size()) throw NotKept{};
    std::size_t position = 0;
    for (std::size_t k = 0; k < part.subscripts.size(); ++k) {
      end_ = component->dims[k];
      const std::optional<IteratorForm> form =
          has_iterator(part.subscripts[k]) ? std::nullopt : form_of(part.subscripts[k], true);
      end_ = -1;
      const std::int64_t index = form ? form->at({}) : 0;
      if (index < 1 || index > component->dims[k]) throw NotKept{};
      position = position * static_cast<std::size_t>(component->dims[k]) + static_cast<std::size_t>(index - 1);
    }
    end.path.emplace_back(part.name.text, position);
    instance = component->type.builtin ? nullptr : &component->element(position);
  }
  return end;
}

void LoopReader::connect(const ConnectEquation& node, const std::vector<std::int64_t>& iterators) {
  auto it = ends_.find(&node);
  if (it == ends_.end()) it = ends_.emplace(&node, std::pair(read_end(node.first), read_end(node.second))).first;
  const auto& [a, b] = it->second;
  if (a.whole || b.whole) {
    if (!a.whole || !b.whole || a.component->dims != b.component->dims) throw NotKept{};
    for (std::size_t e = 0; e < static_cast<std::size_t>(count(a.component->dims)); ++e) connect(a, e, b, e);
    return;
  }
  const auto element = [&](const End& end) {
    std::size_t position = 0;
    for (std::size_t k = 0; k < end.forms.size(); ++k) {
      const std::int64_t size = end.component->dims[k], index = end.forms[k].at(iterators);
      if (index < 1 || index > size) throw NotKept{};
      position = position * static_cast<std::size_t>(size) + static_cast<std::size_t>(index - 1);
    }
    return position;
  };
  connect(a, element(a), b, element(b));
}

void LoopReader::connect(const End& a, std::size_t a_element, const End& b, std::size_t b_element) {
  struct Place {
    Instance* instance;
    Component* scalar = nullptr;
    std::size_t position = 0;
    int element;
  };
  const auto follow = [](const End& end, std::size_t element) {
    const bool one_for_all = end.component->prototype >= 0;
    Place place{.instance = &end.component->element(one_for_all ? 0 : element),
                .element = one_for_all ? static_cast<int>(element) : 0};
    for (const auto& [name, position] : end.path) {
      Component* const component = place.instance ? place.instance->find(name) : nullptr;
      if (!component || component->absent) throw NotKept{};
      place.scalar = component;
      place.position = position;
      place.instance = component->type.builtin ? nullptr : &component->element(position);
    }
    return place;
  };
  const Place x = follow(a, a_element), y = follow(b, b_element);
  flattener_.charge(1, {});
  if (x.instance && y.instance)
    connect(*x.instance, x.element, *y.instance, y.element);
  else if (!x.instance && !y.instance)
    connect(*x.scalar, x.position, x.element, *y.scalar, y.position, y.element);
  else
    throw NotKept{};
}

void LoopReader::connect(Instance& a, int a_element, Instance& b, int b_element) {
  if (!a.is_connector || !b.is_connector || a.components.size() != b.components.size()) throw NotKept{};
  if (flattener_.equality_constraint(a)) throw NotKept{};
  for (Component& first : a.components) {
    Component* const second = b.find(first.name());
    if (!second || first.absent || second->absent || first.is_parameter() || second->is_parameter() ||
        first.dims != second->dims || first.type.builtin != second->type.builtin || first.inner || second->inner)
      throw NotKept{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(count(first.dims)); ++k)
      if (first.type.builtin)
        connect(first, k, a_element, *second, k, b_element);
      else
        connect(first.element(k), a_element, second->element(k), b_element);
  }
}

void LoopReader::connect(Component& a, std::size_t a_position, int a_element, Component& b, std::size_t b_position,
                         int b_element) {
  if (fitting_.emplace(&a, &b).second) {
    if (a.role != b.role || a.is_parameter() || b.is_parameter() || a.type.kind != b.type.kind ||
        a.type.enumeration != b.type.enumeration)
      throw NotKept{};
    if (a.direction != Direction::none && a.direction == b.direction) throw NotKept{};
    if (flattener_.attribute_text(a, "unit") != flattener_.attribute_text(b, "unit")) throw NotKept{};
  }
  loops_->connections.join(loops_->number(loops_->array_of.at(&a), a_element, static_cast<int>(a_position)),
                           loops_->number(loops_->array_of.at(&b), b_element, static_cast<int>(b_position)));
}

}  // namespace saltus::modelica
