// The two versions differ in names and places of the same content (FMI 2.0.4 section 2.2, FMI 3.0.2 section 2.4).
#include "fmi/describe_model.hpp"

#include <fmt/format.h>
#include <saltus/base/version.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

#include "fmi/dependencies.hpp"
#include "fmi/unit_definition.hpp"
#include "fmi/xml_text.hpp"

namespace saltus {

namespace {

class Description {
 public:
  Description(const ExportedModel& model, const FmuOptions& options, const std::string& about)
      : model_(model), options_(options), about_(about), fmi2_(options.version == FmiVersion::fmi2) {
    for (const FmuVariable& v : model.variables()) {
      if (!v.info.details->unit.empty()) units_.insert(v.info.details->unit);
      if (v.info.details->type == VariableType::enumeration) enumerations_.insert(v.info.details->literals);
    }
  }

  std::string text() {
    root();
    kinds();
    unit_definitions();
    type_definitions();
    line(1, "<LogCategories>");
    line(2, R"(<Category name="logStatusWarning" description="Warnings"/>)");
    line(2, R"(<Category name="logStatusError" description="Errors, and runs that have failed"/>)");
    line(1, "</LogCategories>");
    experiment();
    line(1, "<ModelVariables>");
    for (std::size_t k = 0; k < model_.variables().size(); ++k) variable(k);
    line(1, "</ModelVariables>");
    structure();
    line(0, "</fmiModelDescription>");
    return std::move(out_);
  }

 private:
  void line(int depth, std::string_view text) {
    out_.append(2 * static_cast<std::size_t>(depth), ' ');
    out_ += text;
    out_ += '\n';
  }
  void element(int depth, std::string_view name, const XmlAttributes& attributes, std::string_view content = {}) {
    line(depth, content.empty() ? fmt::format("<{}{}/>", name, attributes.text())
                                : fmt::format("<{0}{1}>{2}</{0}>", name, attributes.text(), content));
  }

  void root() {
    out_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    XmlAttributes a;
    a.add("fmiVersion", fmi2_ ? "2.0" : "3.0").add("modelName", model_.compiled().name());
    a.add(fmi2_ ? "guid" : "instantiationToken", model_.token());
    a.add_some("description", about_).add("generationTool", fmt::format("Saltus {}", version()));
    a.add("variableNamingConvention", "structured");
    if (fmi2_) a.add("numberOfEventIndicators", model_.indicators().size());
    line(0, fmt::format("<fmiModelDescription{}>", a.text()));
  }

  void kinds() {
    const std::string identifier = model_identifier(model_.compiled().name());
    if (options_.kind != FmuKind::co_simulation) {
      XmlAttributes a;
      a.add("modelIdentifier", identifier);
      if (fmi2_)
        a.add("completedIntegratorStepNotNeeded", "true")
            .add("canNotUseMemoryManagementFunctions", "true")
            .add("canGetAndSetFMUstate", "true")
            .add("canSerializeFMUstate", "true")
            .add("providesDirectionalDerivative", "true");
      else
        a.add("canGetAndSetFMUState", "true")
            .add("canSerializeFMUState", "true")
            .add("providesDirectionalDerivatives", "true")
            .add("providesAdjointDerivatives", "true")
            .add("needsCompletedIntegratorStep", "false");
      element(1, "ModelExchange", a);
    }
    if (options_.kind != FmuKind::model_exchange) {
      XmlAttributes a;
      a.add("modelIdentifier", identifier).add("canHandleVariableCommunicationStepSize", "true");
      if (fmi2_)
        a.add("canInterpolateInputs", "true")
            .add("canNotUseMemoryManagementFunctions", "true")
            .add("canGetAndSetFMUstate", "true")
            .add("canSerializeFMUstate", "true")
            .add("providesDirectionalDerivative", "true");
      else
        a.add("canGetAndSetFMUState", "true")
            .add("canSerializeFMUState", "true")
            .add("providesDirectionalDerivatives", "true")
            .add("providesAdjointDerivatives", "true")
            .add("mightReturnEarlyFromDoStep", "true")
            .add("hasEventMode", "true");
      element(1, "CoSimulation", a);
    }
  }

  void unit_definitions() {
    if (units_.empty()) return;
    line(1, "<UnitDefinitions>");
    for (const std::string& name : units_) {
      const std::optional<UnitDefinition> unit = define_unit(name);
      if (!unit) {
        element(2, "Unit", XmlAttributes().add("name", name));
        continue;
      }
      XmlAttributes a;
      for (const auto& [base, exponent] : std::initializer_list<std::pair<const char*, int>>{{"kg", unit->kg},
                                                                                             {"m", unit->m},
                                                                                             {"s", unit->s},
                                                                                             {"A", unit->A},
                                                                                             {"K", unit->K},
                                                                                             {"mol", unit->mol},
                                                                                             {"cd", unit->cd},
                                                                                             {"rad", unit->rad}})
        if (exponent != 0) a.add(base, exponent);
      if (unit->factor != 1.0) a.add("factor", unit->factor);
      if (unit->offset != 0.0) a.add("offset", unit->offset);
      element(2, "Unit", XmlAttributes().add("name", name), fmt::format("<BaseUnit{}/>", a.text()));
    }
    line(1, "</UnitDefinitions>");
  }

  /// The name of the type with these literals.
  std::string type_name(const std::vector<std::string>& literals) const {
    return fmt::format("Enumeration{}", std::distance(enumerations_.begin(), enumerations_.find(literals)) + 1);
  }

  void type_definitions() {
    if (enumerations_.empty()) return;
    line(1, "<TypeDefinitions>");
    for (const std::vector<std::string>& literals : enumerations_) {
      std::string items;
      for (std::size_t k = 0; k < literals.size(); ++k)
        items += fmt::format("<Item{}/>", XmlAttributes().add("name", literals[k]).add("value", k + 1).text());
      const XmlAttributes name = XmlAttributes().add("name", type_name(literals));
      if (fmi2_)
        element(2, "SimpleType", name, "<Enumeration>" + items + "</Enumeration>");
      else
        element(2, "EnumerationType", name, items);
    }
    line(1, "</TypeDefinitions>");
  }

  void experiment() {
    const Experiment& e = model_.experiment();
    const double start = e.start.value_or(0.0);
    XmlAttributes a;
    a.add("startTime", start)
        .add("stopTime", e.stop.value_or(start + 1.0))
        .add("tolerance", e.tolerance.value_or(1e-6));
    if (e.interval && *e.interval > 0.0) a.add("stepSize", *e.interval);
    element(1, "DefaultExperiment", a);
  }

  static std::string_view causality(const FmuVariable& v) {
    switch (v.kind) {
      case FmuVariable::Kind::time:
        return "independent";
      case FmuVariable::Kind::parameter:
        return "parameter";
      case FmuVariable::Kind::observed:
        return to_string(v.info.details->causality);
      default:
        return "local";
    }
  }

  /// "exact", "approx" or "calculated"; empty where the standard wants none.
  static std::string_view initial(const FmuVariable& v) {
    if (v.kind == FmuVariable::Kind::time || v.is_input()) return "";
    if (v.kind == FmuVariable::Kind::parameter || v.kind == FmuVariable::Kind::constant) return "exact";
    if (v.state) return v.info.fixed ? "exact" : "approx";
    return v.variable_start ? "approx" : "calculated";
  }

  std::string type_element(const FmuVariable& v) const {
    switch (v.info.details->type) {
      case VariableType::boolean:
        return "Boolean";
      case VariableType::integer:
        return fmi2_ ? "Integer" : "Int32";
      case VariableType::enumeration:
        return "Enumeration";
      case VariableType::real:
        break;
    }
    return fmi2_ ? "Real" : "Float64";
  }

  XmlAttributes type_attributes(const FmuVariable& v) const {
    const VariableDetails& d = *v.info.details;
    const bool real = d.type == VariableType::real, whole = d.type == VariableType::integer;
    XmlAttributes a;
    if (d.type == VariableType::enumeration) a.add("declaredType", type_name(d.literals));
    if (real) {
      a.add_some("unit", d.unit);
      if (v.info.nominal != 1.0 && std::isfinite(v.info.nominal)) a.add("nominal", std::abs(v.info.nominal));
    }
    for (const auto& [name, bound] : {std::pair("min", d.min), std::pair("max", d.max)}) {
      if (!std::isfinite(bound)) continue;
      if (real) a.add(name, bound);
      if (whole && std::abs(bound) <= std::numeric_limits<int>::max()) a.add(name, static_cast<int>(bound));
    }
    const std::string_view kind = initial(v);
    if (v.is_input() || kind == "exact" || kind == "approx") {
      if (real)
        a.add("start", v.info.start);
      else if (d.type == VariableType::boolean)
        a.add("start", v.info.start != 0.0 ? "true" : "false");
      else
        a.add("start", static_cast<int>(v.info.start));
    }
    if (v.kind == FmuVariable::Kind::derivative) a.add("derivative", fmi2_ ? v.state_of + 1 : v.state_of);
    if (v.state && options_.kind != FmuKind::co_simulation) a.add("reinit", "true");
    return a;
  }

  void variable(std::size_t reference) {
    const FmuVariable& v = model_.variables()[reference];
    if (v.kind == FmuVariable::Kind::indicator && fmi2_) return;
    XmlAttributes a;
    a.add("name", v.info.name).add("valueReference", reference);
    a.add_some("description", v.info.details->description);
    a.add("causality", causality(v)).add("variability", to_string(v.variability));
    a.add_some("initial", initial(v));
    if (fmi2_) {
      element(2, "ScalarVariable", a, fmt::format("<{}{}/>", type_element(v), type_attributes(v).text()));
    } else {
      const std::string type = type_attributes(v).text();
      line(2, fmt::format("<{}{}{}/>", type_element(v), a.text(), type));
    }
  }

  /// References to variables: index from 1 in FMI 2.0, value reference in FMI 3.0.
  std::string list(const std::vector<std::size_t>& references) const {
    std::string text;
    for (const std::size_t r : references) text += fmt::format("{}{}", text.empty() ? "" : " ", fmi2_ ? r + 1 : r);
    return text;
  }

  /// The unknowns of one kind. Without `known` an importer assumes that they depend on everything.
  void unknowns(const char* group, const char* name, const std::vector<std::size_t>& references,
                const Dependencies* known = nullptr) {
    if (references.empty()) return;
    if (fmi2_) line(2, fmt::format("<{}>", group));
    for (const std::size_t r : references) {
      XmlAttributes a;
      if (fmi2_)
        a.add("index", r + 1);
      else
        a.add("valueReference", r);
      if (const auto knowns = known ? known->of(r) : std::nullopt) a.add("dependencies", list(*knowns));
      element(fmi2_ ? 3 : 2, fmi2_ ? "Unknown" : name, a);
    }
    if (fmi2_) line(2, fmt::format("</{}>", group));
  }

  void structure() {
    std::vector<std::size_t> outputs, initial_unknowns, indicators;
    for (std::size_t k = 0; k < model_.variables().size(); ++k) {
      const FmuVariable& v = model_.variables()[k];
      if (v.is_output()) outputs.push_back(k);
      const bool found = initial(v) == "approx" || initial(v) == "calculated";
      if (found && (v.is_output() || v.state || v.kind == FmuVariable::Kind::derivative)) initial_unknowns.push_back(k);
      if (v.kind == FmuVariable::Kind::indicator) indicators.push_back(k);
    }
    line(1, "<ModelStructure>");
    const Dependencies known(model_);
    unknowns("Outputs", "Output", outputs, &known);
    unknowns("Derivatives", "ContinuousStateDerivative", model_.derivatives(), &known);
    unknowns("InitialUnknowns", "InitialUnknown", initial_unknowns);
    if (!fmi2_) unknowns("", "EventIndicator", indicators);
    line(1, "</ModelStructure>");
  }

  const ExportedModel& model_;
  const FmuOptions& options_;
  const std::string& about_;
  bool fmi2_;
  std::set<std::string> units_;
  std::set<std::vector<std::string>> enumerations_;
  std::string out_;
};

}  // namespace

std::string model_identifier(const std::string& name) {
  std::string identifier;
  for (const char c : name) identifier += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (identifier.empty() || std::isdigit(static_cast<unsigned char>(identifier.front()))) identifier.insert(0, "m_");
  return identifier;
}

std::string describe_model(const ExportedModel& model, const FmuOptions& options, const std::string& about) {
  return Description(model, options, about).text();
}

}  // namespace saltus
