// Connectors of the model itself, through which it would be connected to others.
#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

/// Adds the variables of a connector, or of a record inside of one; `prefix` begins their names there.
void collect_members(Instance& instance, const std::string& prefix, ConnectorInfo& connector) {
  for (Component& component : instance.components) {
    if (component.shape_state != Component::State::done || component.absent || component.is_parameter()) continue;
    const std::string name = prefix + std::string(component.name());
    for (std::size_t k = 0; k < component.elements.size(); ++k) {
      Instance& element = *component.elements[k];
      const std::string here = name + subscript_text(component.dims, k);
      if (element.is_connector) {
        ConnectorInfo part{.name = here, .type = element.cls->name, .members = {}, .parts = {}};
        collect_members(element, "", part);
        connector.parts.push_back(std::move(part));
      } else {
        collect_members(element, here + ".", connector);
      }
    }
    if (component.role == ConnectorRole::stream) continue;
    for (std::size_t k = 0; k < component.values.size(); ++k)
      connector.members.push_back({.name = name + subscript_text(component.dims, k),
                                   .variable = component.path + subscript_text(component.dims, k),
                                   .flow = component.role == ConnectorRole::flow});
  }
}

}  // namespace

std::vector<ConnectorInfo> Flattener::connectors() {
  std::vector<ConnectorInfo> all;
  for (Component& component : top_->components) {
    if (component.shape_state != Component::State::done || component.absent || component.inner) continue;
    for (std::size_t k = 0; k < component.elements.size(); ++k) {
      Instance& element = *component.elements[k];
      if (!element.is_connector) continue;
      ConnectorInfo connector{.name = std::string(component.name()) + subscript_text(component.dims, k),
                              .type = element.cls->name,
                              .description = std::string(component.source->declaration->description.text),
                              .members = {},
                              .parts = {}};
      collect_members(element, "", connector);
      if (!connector.members.empty() || !connector.parts.empty()) all.push_back(std::move(connector));
    }
  }
  return all;
}

}  // namespace saltus::modelica
