#include <saltus/model/homotopy.hpp>

#include "model/homotopy_share.hpp"
#include "model/rewrite_model.hpp"

namespace saltus {

Expr homotopy(Model& model, const Expr& actual, const Expr& simplified) {
  if (actual.same(simplified)) return actual;
  const Expr share =
      model.data().names.contains(homotopy_name) ? model.symbol(homotopy_name) : model.parameter(homotopy_name, 1.0);
  // where one of the two has no part it need not have a value
  const Expr mixed = if_else(no_event(share > 0.0), share * actual + (1.0 - share) * simplified, simplified);
  return if_else(no_event(share < 1.0), mixed, actual);
}

bool has_homotopy(const ModelData& model) {
  return model.names.contains(homotopy_name);
}

void set_homotopy(ModelData& m, double share) {
  const auto declared = m.names.find(homotopy_name);
  if (declared == m.names.end()) return;
  const std::size_t index = declared->second.index;
  Rewrite rules(*m.graph);
  rules.replace.emplace(m.parameters[index].symbol.id(), m.graph->constant(share));
  rewrite_model(m, rules);
  m.names.erase(declared);
  m.parameters.erase(m.parameters.begin() + static_cast<std::ptrdiff_t>(index));
  for (auto& [name, place] : m.names)
    if (place.kind == SymbolKind::parameter && place.index > index) --place.index;
}

}  // namespace saltus
