// What an FMU is, as its description says.
#include <fmt/format.h>
#include <saltus/fmi/imported_fmu.hpp>

#include <algorithm>
#include <utility>

#include "fmi/import_problem.hpp"
#include "fmi/unpacked_fmu.hpp"

namespace saltus {

std::string import_problem(const FmuDescription& about) {
  if (!about.model_exchange)
    return fmt::format(
        "it is an FMU for {} only, which brings a solver of its own: Saltus cannot find events inside of "
        "it. Ask the tool that made it{} for an FMU for model exchange",
        about.co_simulation ? "co-simulation" : "scheduled execution",
        about.tool.empty() ? "" : " (" + about.tool + ")");
  if (about.needs_tool)
    return fmt::format("it needs the tool that made it at run time{}; ask for one that runs alone",
                       about.tool.empty() ? "" : " (" + about.tool + ")");
  return "";
}

std::string describe_fmu(const std::string& file) {
  return with_file(file, [&] {
    const UnpackedFmu files(file);
    const FmuDescription d = read_description(files.description());
    using Role = DescribedVariable::Role;
    const auto count = [&](Role role) { return std::ranges::count(d.variables, role, &DescribedVariable::role); };
    std::string kinds;
    for (const auto& [there, name] :
         {std::pair(d.model_exchange, "model exchange"), std::pair(d.co_simulation, "co-simulation"),
          std::pair(d.scheduled, "scheduled execution")})
      if (there) kinds += (kinds.empty() ? "" : ", ") + std::string(name);
    std::string text = fmt::format("{}: FMI {}, {}{}\n", d.model_name, d.version == FmiVersion::fmi2 ? "2.0" : "3.0",
                                   kinds, d.tool.empty() ? "" : ", made by " + d.tool);
    if (!d.description.empty()) text += d.description + "\n";
    text += fmt::format("{} states, {} event indicators, {} inputs, {} outputs, {} parameters, {} variables\n",
                        d.states.size(), d.indicators, count(Role::input), count(Role::output), count(Role::parameter),
                        d.variables.size());
    text += fmt::format("saves its state: {}; directional derivatives: {}\n", d.saves_states ? "yes" : "no",
                        d.directional_derivatives ? "yes" : "no");
    if (!d.left_out.empty())
      text +=
          fmt::format("{} variables are not shown: texts, arrays, clocks or other number types\n", d.left_out.size());
    std::string problem = import_problem(d);
    if (problem.empty()) try {
        files.library(d.identifier);
      } catch (const UsageError& missing) {
        problem = missing.what();
      }
    text += problem.empty() ? "saltus run can run it; its code then runs with your rights\n"
                            : "saltus run cannot run it: " + problem + "\n";
    return text;
  });
}

}  // namespace saltus
