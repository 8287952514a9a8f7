// What an FMU is, as its description says.
#include <fmt/format.h>
#include <saltus/fmi/imported_fmu.hpp>

#include <algorithm>
#include <utility>

#include "fmi/exchanged_fmu.hpp"
#include "fmi/import_problem.hpp"
#include "fmi/stepped_model.hpp"
#include "fmi/unpacked_fmu.hpp"

namespace saltus {

std::string import_problem(const FmuDescription& about) {
  if (!about.model_exchange && !about.co_simulation)
    return fmt::format(
        "it is an FMU for scheduled execution only, whose parts a scheduler activates by clocks. Ask the tool that "
        "made "
        "it{} for an FMU for model exchange or co-simulation",
        about.tool.empty() ? "" : " (" + about.tool + ")");
  if (!about.clocks.empty())
    return fmt::format(
        "it has {} clocks, the first is '{}', and Saltus does not drive clocks of FMUs; ask for an FMU "
        "without",
        about.clocks.size(), about.clocks.front());
  if (about.needs_tool)
    return fmt::format("it needs the tool that made it at run time{}; ask for one that runs alone",
                       about.tool.empty() ? "" : " (" + about.tool + ")");
  return "";
}

std::shared_ptr<ImportedFmu> import_fmu(const std::string& file, const ImportOptions& options) {
  return with_file(file, [&]() -> std::shared_ptr<ImportedFmu> {
    bool exchange = false;
    {
      const FmuDescription about = read_description(UnpackedFmu::description_of(file));
      if (const std::string problem = import_problem(about); !problem.empty()) throw UsageError(problem);
      exchange = about.model_exchange;
    }
    if (exchange) return std::make_shared<ExchangedFmu>(file, options);
    return std::make_shared<SteppedModel>(file, options);
  });
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
      text += fmt::format("{} variables are not shown: texts and binary values\n", d.left_out.size());
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
