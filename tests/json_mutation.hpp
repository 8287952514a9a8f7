// Changes of values in JSON, as a program would make them that knows how files are sealed.
#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace saltus {

namespace json_mutation {

inline void collect(nlohmann::ordered_json& node, std::vector<nlohmann::ordered_json*>& all) {
  all.push_back(&node);
  if (node.is_structured())
    for (auto& child : node) collect(child, all);
}

}  // namespace json_mutation

/// Replaces, removes or repeats some values.
inline void mutate_json(nlohmann::ordered_json& json, std::mt19937& dice) {
  using Json = nlohmann::ordered_json;
  const auto below = [&](std::size_t size) { return std::uniform_int_distribution<std::size_t>(0, size - 1)(dice); };
  for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
    std::vector<Json*> all;
    json_mutation::collect(json, all);
    Json& node = *all[below(all.size())];
    if (node.is_array() && !node.empty() && below(2) == 0) {
      const std::size_t place = below(node.size());
      if (below(2) == 0)
        node.erase(place);
      else
        node.push_back(Json(node[place]));
      continue;
    }
    if (node.is_number() && below(2) == 0) {
      node = below(2) == 0 ? Json(-node.get<double>()) : Json(node.get<double>() + 1.0);
      continue;
    }
    const Json values[] = {0,
                           1,
                           -1,
                           7,
                           0.5,
                           1e300,
                           -1e300,
                           2147483648.0,
                           std::numeric_limits<std::int64_t>::max(),
                           std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::uint64_t>::max(),
                           "nan",
                           "inf",
                           "",
                           "../../evil",
                           "status",
                           std::string(300, 'x'),
                           nullptr,
                           true,
                           Json::array(),
                           Json::object(),
                           Json::array({1, "x"}),
                           Json{{"a", 1}}};
    node = values[below(std::size(values))];
  }
}

}  // namespace saltus
