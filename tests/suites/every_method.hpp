// All methods of the table, `auto` included, for tests that must hold whatever integrates.
#pragma once

#include <saltus/hybrid/methods.hpp>

#include <vector>

namespace saltus::suite {

inline std::vector<Method> every_method() {
  std::vector<Method> list;
  for (const MethodInfo& row : method_table()) list.push_back(row.method);
  return list;
}

}  // namespace saltus::suite
