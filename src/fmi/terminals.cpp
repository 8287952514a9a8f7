#include "fmi/terminals.hpp"

#include <fmt/format.h>

#include <unordered_set>

#include "fmi/xml_text.hpp"

namespace saltus {

namespace {

/// The elements of some connectors. Those of Modelica fit together by the names of their members: "plug".
std::string terminals(std::span<const ConnectorInfo> connectors, const std::unordered_set<std::string>& shown,
                      int depth) {
  const std::string indent(2 * static_cast<std::size_t>(depth), ' ');
  std::string out;
  for (const ConnectorInfo& connector : connectors) {
    std::string content;
    for (const ConnectorInfo::Member& member : connector.members)
      if (shown.contains(member.variable))
        content += fmt::format("{}  <TerminalMemberVariable{}/>\n", indent,
                               XmlAttributes()
                                   .add("variableKind", member.flow ? "inflow" : "signal")
                                   .add("variableName", member.variable)
                                   .add("memberName", member.name)
                                   .text());
    content += terminals(connector.parts, shown, depth + 1);
    if (content.empty()) continue;
    out += fmt::format("{0}<Terminal{1}>\n{2}{0}</Terminal>\n", indent,
                       XmlAttributes()
                           .add("name", connector.name)
                           .add("matchingRule", "plug")
                           .add("terminalKind", connector.type)
                           .add_some("description", connector.description)
                           .text(),
                       content);
  }
  return out;
}

}  // namespace

std::string describe_terminals(std::span<const ConnectorInfo> connectors, const ExportedModel& model) {
  std::unordered_set<std::string> shown;
  for (const FmuVariable& v : model.variables()) shown.insert(v.info.name);
  const std::string content = terminals(connectors, shown, 2);
  if (content.empty()) return "";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiTerminalsAndIcons fmiVersion=\"3.0\">\n  <Terminals>\n" +
         content + "  </Terminals>\n</fmiTerminalsAndIcons>\n";
}

}  // namespace saltus
