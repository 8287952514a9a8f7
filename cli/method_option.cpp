#include "cli/method_option.hpp"

#include <saltus/base/error.hpp>
#include <saltus/hybrid/methods.hpp>

#include <vector>

namespace saltus::cli {

std::string unknown_method(const std::string& name) {
  std::vector<std::string> names;
  for (const MethodInfo& row : method_table()) names.emplace_back(row.name);
  const std::string near = nearest_name(name, names);
  return "there is no method '" + name + "'; " +
         (near.empty() ? "there are " + method_summary() : "did you mean '" + near + "'?");
}

void add_method_option(CLI::App& app, std::string& method, const std::string& group) {
  const auto known = [](const std::string& name) { return find_method(name) ? std::string() : unknown_method(name); };
  std::string names;  // in braces after the type, from where completion of shells takes them
  for (const MethodInfo& row : method_table()) names += (names.empty() ? "{" : ",") + std::string(row.name);
  CLI::Option* option =
      app.add_option("--method", method, method_summary() + "; or a name of other solvers (RK45, dassl, …)");
  option->check(CLI::Validator(known, names + "}"))->type_name("M");
  if (!group.empty()) option->group(group);
}

}  // namespace saltus::cli
