// The elements are those of FMI 2.0.4, section 2.2, and FMI 3.0.2, section 2.4.
#include "fmi/fmu_description.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <charconv>
#include <cmath>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "base/number_from.hpp"

namespace saltus {

namespace {

using Role = DescribedVariable::Role;
using Reached = DescribedVariable::Access;

[[noreturn]] void refuse(const std::string& what) {
  throw UsageError("modelDescription.xml: " + what);
}

std::string text_of(const pugi::xml_node& node, const char* name) {
  return node.attribute(name).value();
}

bool flag_of(const pugi::xml_node& node, const char* name) {
  const std::string text = text_of(node, name);
  return text == "true" || text == "1";
}

std::optional<double> number_of(const pugi::xml_node& node, const char* name) {
  const std::string_view text = node.attribute(name).value();
  if (text.empty()) return {};
  double value = 0.0;
  if (number_from(text, value) != std::errc())
    refuse(fmt::format("{}=\"{}\" of '{}' is not a number", name, text, text_of(node, "name")));
  return value;
}

/// A whole number that is not negative.
std::uint32_t count_of(const pugi::xml_node& node, const char* name) {
  const std::string_view text = node.attribute(name).value();
  std::uint32_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size())
    refuse(fmt::format("{}=\"{}\" of <{}> is not a whole number", name, text, node.name()));
  return value;
}

Role role_of(const pugi::xml_node& node) {
  static const std::map<std::string, Role> roles = {{"", Role::local},
                                                    {"local", Role::local},
                                                    {"independent", Role::independent},
                                                    {"parameter", Role::parameter},
                                                    {"structuralParameter", Role::structural_parameter},
                                                    {"calculatedParameter", Role::calculated_parameter},
                                                    {"input", Role::input},
                                                    {"output", Role::output}};
  const auto found = roles.find(text_of(node, "causality"));
  if (found == roles.end())
    refuse(fmt::format("causality=\"{}\" of '{}' is not known", text_of(node, "causality"), text_of(node, "name")));
  return found->second;
}

class Reader {
 public:
  explicit Reader(const pugi::xml_node& root) : root_(root) {}

  FmuDescription read() {
    const std::string version = text_of(root_, "fmiVersion");
    if (version != "2.0" && !version.starts_with("3."))
      refuse(fmt::format("fmiVersion=\"{}\" is not supported; ask for an FMU of FMI 2.0 or 3.0", version));
    d_.version = version == "2.0" ? FmiVersion::fmi2 : FmiVersion::fmi3;
    fmi2_ = d_.version == FmiVersion::fmi2;
    d_.model_name = text_of(root_, "modelName");
    d_.token = text_of(root_, fmi2_ ? "guid" : "instantiationToken");
    d_.description = text_of(root_, "description");
    d_.tool = text_of(root_, "generationTool");
    if (d_.model_name.empty()) refuse("there is no modelName");
    kinds();
    experiment();
    types();
    variables();
    structure();
    return std::move(d_);
  }

 private:
  void kinds() {
    const pugi::xml_node exchange = root_.child("ModelExchange"), steps = root_.child("CoSimulation");
    d_.model_exchange = !exchange.empty();
    d_.co_simulation = !steps.empty();
    d_.scheduled = !root_.child("ScheduledExecution").empty();
    if (!d_.model_exchange && !d_.co_simulation && !d_.scheduled)
      refuse("there is none of <ModelExchange>, <CoSimulation> and <ScheduledExecution>");
    const pugi::xml_node kind = d_.model_exchange ? exchange : steps;
    d_.identifier = text_of(kind, "modelIdentifier");
    d_.saves_states = flag_of(kind, fmi2_ ? "canGetAndSetFMUstate" : "canGetAndSetFMUState");
    d_.directional_derivatives =
        flag_of(kind, fmi2_ ? "providesDirectionalDerivative" : "providesDirectionalDerivatives");
    d_.once_per_process = flag_of(kind, "canBeInstantiatedOnlyOncePerProcess");
    d_.needs_tool = flag_of(kind, "needsExecutionTool");
    d_.variable_steps = flag_of(steps, "canHandleVariableCommunicationStepSize");
    d_.interpolates_inputs = fmi2_ && flag_of(steps, "canInterpolateInputs");
    d_.event_mode = !fmi2_ && flag_of(steps, "hasEventMode");
    d_.needs_completed_step =
        fmi2_ ? !flag_of(kind, "completedIntegratorStepNotNeeded") : flag_of(kind, "needsCompletedIntegratorStep");
  }

  void experiment() {
    const pugi::xml_node node = root_.child("DefaultExperiment");
    d_.experiment = {number_of(node, "startTime"), number_of(node, "stopTime"), number_of(node, "tolerance"),
                     number_of(node, "stepSize")};
    if (d_.experiment.tolerance && !(*d_.experiment.tolerance > 0.0)) d_.experiment.tolerance.reset();
  }

  void types() {
    for (const pugi::xml_node type : root_.child("TypeDefinitions").children()) {
      const pugi::xml_node items = fmi2_ ? type.child("Enumeration") : type;
      if (!items || (!fmi2_ && std::string_view(type.name()) != "EnumerationType")) continue;
      std::map<double, std::string> literals;
      for (const pugi::xml_node item : items.children("Item"))
        literals[number_of(item, "value").value_or(0)] = text_of(item, "name");
      std::vector<std::string> list;
      for (const auto& [value, name] : literals) {
        if (value != static_cast<double>(list.size() + 1)) {  // other values are shown as numbers
          list.clear();
          break;
        }
        list.push_back(name);
      }
      enumerations_[text_of(type, "name")] = list;
    }
  }

  void variables() {
    std::set<std::string> names;
    std::size_t index = 0;
    for (const pugi::xml_node node : root_.child("ModelVariables").children()) {
      if (node.type() != pugi::node_element) continue;
      ++index;
      const std::string name = text_of(node, "name");
      if (name.empty()) refuse(fmt::format("variable {} has no name", index));
      if (!names.insert(name).second) refuse(fmt::format("there are two variables '{}'", name));
      places_.push_back(d_.variables.size());
      if (const std::optional<DescribedVariable> v = variable(node)) {
        by_reference_.emplace(v->reference, d_.variables.size());
        elements(*v, node);
      } else {
        if (index > most_variables) refuse(fmt::format("there are more than {} variables", most_variables));
        places_.back() = none;
        (std::string_view(node.name()) == "Clock" ? d_.clocks : d_.left_out).push_back(name);
      }
    }
    for (const auto& [place, other] : derivative_of_) {
      DescribedVariable& derivative = d_.variables[place];
      const std::size_t state = (fmi2_ ? place_of_index(other) : place_of_reference(other)) + derivative.element;
      const std::string& name = derivative.info.name;
      if (state >= d_.variables.size() || d_.variables[state].elements != derivative.elements ||
          d_.variables[state].element != derivative.element)
        refuse(fmt::format("'{}' is the derivative of a variable of another size", name));
      if (d_.variables[state].access != Reached::real)
        refuse(fmt::format("'{}' is the derivative of a variable that is not real", name));
      derivative.derivative_of = state;
    }
  }

  /// Sizes of the dimensions; those that structural parameters give are the start values of these.
  std::vector<std::uint32_t> sizes(const pugi::xml_node& node) const {
    constexpr std::uint32_t most = 100'000;
    std::vector<std::uint32_t> list;
    std::uint64_t all = 1;
    for (const pugi::xml_node dimension : node.children("Dimension")) {
      if (dimension.attribute("start")) {
        list.push_back(count_of(dimension, "start"));
      } else {
        const std::uint32_t reference = count_of(dimension, "valueReference");
        const pugi::xml_node given = root_.child("ModelVariables").find_child([&](const pugi::xml_node& v) {
          return v.attribute("valueReference").as_uint() == reference;
        });
        if (text_of(given, "causality") != "structuralParameter" && text_of(given, "variability") != "constant")
          refuse(fmt::format("a size of '{}' is the variable {}, which is no structural parameter",
                             text_of(node, "name"), reference));
        list.push_back(count_of(given, "start"));
      }
      all *= list.back();
      if (all > most) refuse(fmt::format("'{}' has more than {} elements", text_of(node, "name"), most));
    }
    return list;
  }

  /// Adds a scalar, or all elements of an array: x[1,1], x[1,2], ….
  void elements(const DescribedVariable& v, const pugi::xml_node& node) {
    const pugi::xml_attribute derivative = (fmi2_ ? type_child(node) : node).attribute("derivative");
    const bool real = v.access == Reached::real;
    const auto add = [&](DescribedVariable element) {
      if (real && derivative)
        derivative_of_.emplace_back(d_.variables.size(), count_of(fmi2_ ? type_child(node) : node, "derivative"));
      if (d_.variables.size() >= most_variables)
        refuse(fmt::format("there are more than {} variables", most_variables));
      d_.variables.push_back(std::move(element));
    };
    if (fmi2_ || !node.child("Dimension")) return add(v);
    const std::vector<std::uint32_t> dims = sizes(node);
    std::uint32_t count = 1;
    for (const std::uint32_t size : dims) count *= size;
    if (count == 0) {
      by_reference_.erase(v.reference);
      return;
    }
    const std::vector<double> starts = start_values(node, v.access);
    if (starts.size() > 1 && starts.size() != count)
      refuse(fmt::format("'{}' has {} elements and {} start values", v.info.name, count, starts.size()));
    for (std::uint32_t k = 0; k < count; ++k) {
      DescribedVariable element = v;
      element.element = k;
      element.elements = count;
      std::string subscripts;
      for (std::uint32_t place = k, d = static_cast<std::uint32_t>(dims.size()); d-- > 0; place /= dims[d])
        subscripts = fmt::format("{}{}{}", place % dims[d] + 1, subscripts.empty() ? "" : ",", subscripts);
      element.info.name += "[" + subscripts + "]";
      if (!starts.empty()) element.info.start = starts[starts.size() == 1 ? 0 : k];
      add(std::move(element));
    }
  }

  /// The numbers of an attribute `start`, which is a list for arrays.
  static std::vector<double> start_values(const pugi::xml_node& node, Reached access) {
    std::istringstream words(text_of(node, "start"));
    std::vector<double> list;
    for (std::string word; words >> word;) {
      double value = word == "true" ? 1.0 : 0.0;
      const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
      const bool number = problem == std::errc() && end == word.data() + word.size() && std::isfinite(value);
      const bool truth = access == Reached::boolean && (word == "true" || word == "false");
      if (!number && !truth)
        refuse(fmt::format("the start value {} of '{}' is not a number", word, text_of(node, "name")));
      list.push_back(value);
    }
    return list;
  }

  /// Nothing: the type cannot be shown.
  std::optional<DescribedVariable> variable(const pugi::xml_node& node) {
    DescribedVariable v;
    v.info.name = text_of(node, "name");
    v.reference = count_of(node, "valueReference");
    v.role = role_of(node);
    const pugi::xml_node type = fmi2_ ? type_child(node) : node;
    const std::string_view kind = type.name();
    VariableDetails details;
    details.description = text_of(node, "description");
    static const std::map<std::string_view, Reached> numbers2 = {{"Real", Reached::real},
                                                                 {"Integer", Reached::integer},
                                                                 {"Boolean", Reached::boolean},
                                                                 {"Enumeration", Reached::enumeration}};
    static const std::map<std::string_view, Reached> numbers3 = {
        {"Float64", Reached::real},  {"Float32", Reached::float32}, {"Int8", Reached::int8},
        {"UInt8", Reached::uint8},   {"Int16", Reached::int16},     {"UInt16", Reached::uint16},
        {"Int32", Reached::integer}, {"UInt32", Reached::uint32},   {"Int64", Reached::int64},
        {"UInt64", Reached::uint64}, {"Boolean", Reached::boolean}, {"Enumeration", Reached::enumeration}};
    const auto& numbers = fmi2_ ? numbers2 : numbers3;
    const auto known = numbers.find(kind);
    if (known == numbers.end()) return {};
    v.access = known->second;
    if (v.access == Reached::boolean) {
      details.type = VariableType::boolean;
    } else if (v.access == Reached::enumeration) {
      details.type = VariableType::enumeration;
      details.literals = enumerations_[text_of(type, "declaredType")];
      if (details.literals.empty()) details.type = VariableType::integer;
    } else if (v.access != Reached::real && v.access != Reached::float32) {
      details.type = VariableType::integer;
    }
    const bool real = details.type == VariableType::real;
    const bool is_array = !fmi2_ && type.child("Dimension");
    const std::string variability = text_of(node, "variability");
    v.continuous = real && (variability.empty() || variability == "continuous");
    if (real) details.unit = text_of(type, "unit");
    if (v.access == Reached::boolean) {
      v.has_start = !text_of(type, "start").empty();
      v.info.start = flag_of(type, "start") ? 1.0 : 0.0;
    } else {
      const std::optional<double> start = is_array ? std::nullopt : number_of(type, "start");
      v.has_start = !text_of(type, "start").empty();
      v.info.start = start.value_or(0.0);
      details.min = number_of(type, "min").value_or(details.min);
      details.max = number_of(type, "max").value_or(details.max);
    }
    if (real) {
      v.info.nominal = std::abs(number_of(type, "nominal").value_or(1.0));
      if (v.info.nominal == 0.0) v.info.nominal = 1.0;
    }
    details.causality = v.role == Role::input    ? Causality::input
                        : v.role == Role::output ? Causality::output
                                                 : Causality::local;
    v.info.details = details;
    return v;
  }

  static pugi::xml_node type_child(const pugi::xml_node& node) {
    for (const pugi::xml_node child : node.children())
      if (child.type() == pugi::node_element && std::string_view(child.name()) != "Annotations") return child;
    return {};
  }

  /// The place of a variable in the list by its index from 1.
  std::size_t place_of_index(std::uint32_t index) const {
    if (index < 1 || index > places_.size() || places_[index - 1] == none)
      refuse(fmt::format("there is no variable with the index {} that can be used here", index));
    return places_[index - 1];
  }
  std::size_t place_of_reference(std::uint32_t reference) const {
    const auto found = by_reference_.find(reference);
    if (found == by_reference_.end())
      refuse(fmt::format("there is no variable of numbers with the value reference {}", reference));
    return found->second;
  }

  void structure() {
    const pugi::xml_node node = root_.child("ModelStructure");
    if (!node) refuse("there is no <ModelStructure>");
    const pugi::xml_node list = fmi2_ ? node.child("Derivatives") : node;
    std::set<std::size_t> seen;
    for (const pugi::xml_node unknown : list.children(fmi2_ ? "Unknown" : "ContinuousStateDerivative")) {
      const std::size_t place =
          fmi2_ ? place_of_index(count_of(unknown, "index")) : place_of_reference(count_of(unknown, "valueReference"));
      for (std::size_t k = place; k < place + d_.variables[place].elements; ++k) {
        const std::optional<std::size_t> state = d_.variables[k].derivative_of;
        if (!state) refuse(fmt::format("'{}' stands among the derivatives, and is none", d_.variables[k].info.name));
        if (!seen.insert(*state).second)
          refuse(fmt::format("the state '{}' has two derivatives", d_.variables[*state].info.name));
        d_.derivatives.push_back(k);
        d_.states.push_back(*state);
      }
    }
    if (fmi2_) {
      constexpr std::uint32_t most = 1'000'000;
      if (root_.attribute("numberOfEventIndicators")) d_.indicators = count_of(root_, "numberOfEventIndicators");
      if (d_.indicators > most) refuse(fmt::format("there are more than {} event indicators", most));
    } else {
      for (const pugi::xml_node indicator : node.children("EventIndicator")) {
        const std::size_t place = place_of_reference(count_of(indicator, "valueReference"));
        for (std::size_t k = place; k < place + d_.variables[place].elements; ++k) {
          const DescribedVariable& v = d_.variables[k];
          const std::string& text = v.info.details->description;
          d_.indicator_names.push_back(text.empty() || v.elements > 1 ? v.info.name : text);
        }
      }
      d_.indicators = d_.indicator_names.size();
    }
  }

  static constexpr std::size_t most_variables = 1'000'000;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  pugi::xml_node root_;
  FmuDescription d_;
  bool fmi2_ = true;
  std::map<std::string, std::vector<std::string>> enumerations_;
  std::vector<std::size_t> places_;  ///< by index from 0: the place in the list
  std::map<std::uint32_t, std::size_t> by_reference_;
  std::vector<std::pair<std::size_t, std::uint32_t>>
      derivative_of_;  ///< derivative (place), index or reference of its state
};

}  // namespace

FmuDescription read_description(const std::string& xml) {
  constexpr std::size_t most_bytes = std::size_t{256} << 20;
  if (xml.size() > most_bytes) refuse(fmt::format("it has more than {} MB", most_bytes >> 20));
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(xml.data(), xml.size());
  if (!result) {
    const auto line =
        1 + std::count(xml.begin(),
                       xml.begin() + std::min<std::ptrdiff_t>(result.offset, static_cast<std::ptrdiff_t>(xml.size())),
                       '\n');
    refuse(fmt::format("it is not XML: {} in line {}", result.description(), line));
  }
  const pugi::xml_node root = document.child("fmiModelDescription");
  if (!root) refuse("there is no <fmiModelDescription>");
  return Reader(root).read();
}

}  // namespace saltus
