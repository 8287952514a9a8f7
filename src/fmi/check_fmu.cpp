// The rules are those of FMI 2.0.4, section 2.2, and FMI 3.0.2, section 2.4, which the schemas do not hold.
#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/fmi/check_fmu.hpp>
#include <saltus/fmi/imported_fmu.hpp>
#include <saltus/hybrid/simulate.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <set>

#include "base/number_from.hpp"
#include "fmi/import_problem.hpp"
#include "fmi/unpacked_fmu.hpp"

namespace saltus {

namespace {

using Level = FmuFinding::Severity;

std::string quoted_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

/// One variable of the description, with the element that holds its type: its own in FMI 3.0.
struct Declared {
  pugi::xml_node node, type;

  std::string text(const char* name) const { return node.attribute(name).value(); }
  std::string name() const { return text("name"); }
  std::string causality() const { return node.attribute("causality").as_string("local"); }
  bool real() const { return kind() == "Real" || kind().starts_with("Float"); }
  std::string kind() const { return type.name(); }
  std::string variability() const {
    const bool fixed =
        causality() == "parameter" || causality() == "structuralParameter" || causality() == "calculatedParameter";
    return node.attribute("variability").as_string(fixed ? "fixed" : real() ? "continuous" : "discrete");
  }
  /// The one that the standard gives where none is written; "" where none is allowed.
  std::string initial() const {
    if (const std::string given = text("initial"); !given.empty()) return given;
    const std::string c = causality(), v = variability();
    if (c == "input" || c == "independent") return "";
    if (c == "parameter" || c == "structuralParameter" || v == "constant") return "exact";
    return "calculated";
  }
  bool has_start() const { return type.attribute("start") || type.child("Start"); }
};

class Checker {
 public:
  explicit Checker(std::vector<FmuFinding>& findings) : findings_(findings) {}

  void check(const std::string& xml) {
    pugi::xml_document document;
    if (!document.load_buffer(xml.data(), xml.size())) return;  // read_description has said so
    root_ = document.document_element();
    fmi2_ = std::string_view(root_.attribute("fmiVersion").value()) == "2.0";
    collect();
    for (const auto* kind : {"ModelExchange", "CoSimulation", "ScheduledExecution"}) identifier(root_.child(kind));
    for (const Declared& v : variables_) variable(v);
    references();
    structure();
  }

 private:
  void say(Level severity, const std::string& where, const std::string& text) {
    findings_.push_back({severity, where, text});
  }
  void error(const Declared& v, const std::string& text) { say(Level::error, "ModelVariables: " + v.name(), text); }

  void collect() {
    for (const pugi::xml_node node : root_.child("ModelVariables").children()) {
      if (node.type() != pugi::node_element) continue;
      pugi::xml_node type = node;
      if (fmi2_)
        type = node.find_child([](const pugi::xml_node& child) {
          return child.type() == pugi::node_element && std::string_view(child.name()) != "Annotations";
        });
      variables_.push_back({node, type});
    }
    for (const pugi::xml_node unit : root_.child("UnitDefinitions").children("Unit"))
      units_.insert(unit.attribute("name").value());
    for (const pugi::xml_node type : root_.child("TypeDefinitions").children())
      types_.insert(type.attribute("name").value());
  }

  void identifier(const pugi::xml_node& kind) {
    if (!kind) return;
    const std::string text = kind.attribute("modelIdentifier").value();
    const bool valid = !text.empty() && !std::isdigit(static_cast<unsigned char>(text.front())) &&
                       std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (!valid) say(Level::error, kind.name(), fmt::format("the modelIdentifier '{}' is no name in C", text));
  }

  void variable(const Declared& v) {
    const std::string causality = v.causality(), variability = v.variability(), initial = v.initial();
    static const std::map<std::string, std::set<std::string>> allowed = {
        {"parameter", {"fixed", "tunable"}},
        {"structuralParameter", {"fixed", "tunable"}},
        {"calculatedParameter", {"fixed", "tunable"}},
        {"input", {"discrete", "continuous"}},
        {"output", {"constant", "discrete", "continuous"}},
        {"local", {"constant", "fixed", "tunable", "discrete", "continuous"}},
        {"independent", {"continuous"}}};
    if (const auto known = allowed.find(causality); known == allowed.end())
      error(v, fmt::format("the causality '{}' is not known", causality));
    else if (!known->second.contains(variability))
      error(v, fmt::format("a variable with the causality '{}' cannot be '{}'", causality, variability));
    if (variability == "continuous" && !v.real()) error(v, fmt::format("a {} cannot be continuous", v.kind()));
    start(v, initial);
    bounds(v);
    if (const std::string type = v.type.attribute("declaredType").value(); !type.empty() && !types_.contains(type))
      error(v, fmt::format("its type '{}' is not defined", type));
    if (const std::string unit = v.type.attribute("unit").value(); !unit.empty() && !units_.contains(unit))
      say(fmi2_ ? Level::warning : Level::error, "ModelVariables: " + v.name(),
          fmt::format("its unit '{}' is not defined", unit));
  }

  void start(const Declared& v, const std::string& initial) {
    if (v.kind() == "Clock" || v.kind() == "Binary") return;
    const std::string causality = v.causality();
    if (!v.text("initial").empty() && (causality == "input" || causality == "independent"))
      error(v, fmt::format("a variable with the causality '{}' has no 'initial'", causality));
    const bool needed = causality == "input" || initial == "exact" || initial == "approx";
    if (needed && !v.has_start())
      error(v, causality == "input" ? "an input needs a start value"
                                    : fmt::format("it needs a start value: its initial value is '{}'", initial));
    if (!needed && v.has_start())
      error(v, causality == "independent" ? "the independent variable has no start value"
                                          : "it has a start value, although its initial value is calculated");
  }

  static std::optional<double> number(const pugi::xml_attribute& attribute) {
    const std::string_view text = attribute.value();
    double value = 0.0;
    if (number_from(text, value) != std::errc()) return {};
    return value;
  }

  void bounds(const Declared& v) {
    const auto min = number(v.type.attribute("min")), max = number(v.type.attribute("max")),
               start = number(v.type.attribute("start")), nominal = number(v.type.attribute("nominal"));
    if (min && max && *min > *max) error(v, fmt::format("its minimum {} is above its maximum {}", *min, *max));
    if (start && ((min && *start < *min) || (max && *start > *max)))
      error(v, fmt::format("its start value {} is outside of its bounds", *start));
    if (nominal && *nominal == 0.0) error(v, "its nominal value is 0");
  }

  void references() {
    std::map<std::string, const Declared*> seen;
    const Declared* independent = nullptr;
    for (const Declared& v : variables_) {
      if (v.causality() == "independent") {
        if (independent) error(v, fmt::format("'{}' is an independent variable, too", independent->name()));
        independent = &v;
      }
      const std::string key = (fmi2_ ? v.kind() + " " : "") + v.text("valueReference");
      const auto [other, added] = seen.emplace(key, &v);
      if (added) continue;
      if (!fmi2_) error(v, fmt::format("it has the value reference of '{}'", other->second->name()));
      if (fmi2_ && v.type.attribute("unit").value() != std::string(other->second->type.attribute("unit").value()))
        error(v, fmt::format("it is an alias of '{}' and has another unit", other->second->name()));
    }
    if (!fmi2_ && !independent) say(Level::error, "ModelVariables", "there is no independent variable");
  }

  /// The variable that an unknown or dependency names: by its index in FMI 2.0, by its value reference in FMI 3.0.
  const Declared* named(const std::string& text) const {
    std::size_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || end != text.data() + text.size()) return nullptr;
    if (fmi2_) return number >= 1 && number <= variables_.size() ? &variables_[number - 1] : nullptr;
    const auto found = std::ranges::find_if(
        variables_, [&](const Declared& v) { return v.node.attribute("valueReference").as_ullong() == number; });
    return found == variables_.end() ? nullptr : &*found;
  }

  std::vector<const Declared*> unknowns(const char* group, const char* name) {
    const pugi::xml_node structure = root_.child("ModelStructure");
    const std::string where = std::string("ModelStructure: ") + (fmi2_ ? group : name);
    std::vector<const Declared*> list;
    for (const pugi::xml_node unknown :
         (fmi2_ ? structure.child(group) : structure).children(fmi2_ ? "Unknown" : name)) {
      const std::string text = unknown.attribute(fmi2_ ? "index" : "valueReference").value();
      const Declared* v = named(text);
      if (!v) {
        say(Level::error, where, fmt::format("there is no variable '{}'", text));
        continue;
      }
      if (std::ranges::find(list, v) != list.end())
        say(Level::error, where, fmt::format("'{}' is there twice", v->name()));
      list.push_back(v);
      const auto words = [&](const char* attribute) {
        std::vector<std::string> found;
        const std::string all = unknown.attribute(attribute).value();
        for (std::size_t begin = all.find_first_not_of(" \n\t"); begin != std::string::npos;) {
          const std::size_t end = std::min(all.find_first_of(" \n\t", begin), all.size());
          found.push_back(all.substr(begin, end - begin));
          begin = all.find_first_not_of(" \n\t", end);
        }
        return found;
      };
      const std::vector<std::string> dependencies = words("dependencies");
      for (const std::string& d : dependencies)
        if (!named(d)) say(Level::error, where, fmt::format("'{}' depends on '{}', which is not there", v->name(), d));
      if (unknown.attribute("dependenciesKind") && words("dependenciesKind").size() != dependencies.size())
        say(Level::error, where, fmt::format("'{}' has not one kind for each dependency", v->name()));
    }
    return list;
  }

  /// All variables of a property, and only these, must be unknowns of one list.
  template <class Belongs>
  void complete(const std::vector<const Declared*>& list, const std::string& where, const char* what,
                Belongs&& belongs) {
    for (const Declared& v : variables_)
      if (belongs(v) && std::ranges::find(list, &v) == list.end())
        say(Level::error, where, fmt::format("'{}' is {} and is not listed", v.name(), what));
    for (const Declared* v : list)
      if (!belongs(*v)) say(Level::error, where, fmt::format("'{}' is listed and is not {}", v->name(), what));
  }

  void structure() {
    complete(unknowns("Outputs", "Output"), "ModelStructure: outputs", "an output",
             [](const Declared& v) { return v.causality() == "output"; });
    const auto derivatives = unknowns("Derivatives", "ContinuousStateDerivative");
    if (root_.child("ModelExchange"))
      complete(derivatives, "ModelStructure: derivatives", "the derivative of a variable",
               [](const Declared& v) { return v.type.attribute("derivative") != nullptr; });
    unknowns("InitialUnknowns", "InitialUnknown");
    if (!fmi2_) unknowns("", "EventIndicator");
  }

  std::vector<FmuFinding>& findings_;
  pugi::xml_node root_;
  bool fmi2_ = true;
  std::vector<Declared> variables_;
  std::set<std::string> units_, types_;
};

/// Machines that an FMU serves, and those it does not.
void check_binaries(const UnpackedFmu& files, const FmuDescription& about, std::vector<FmuFinding>& findings) {
  namespace fs = std::filesystem;
  std::set<std::string> machines;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(fs::path(files.folder()) / "binaries", problem))
    machines.insert(entry.path().filename().string());
  const auto any_of = [&](std::initializer_list<const char*> names) {
    return std::ranges::any_of(names, [&](const char* name) { return machines.contains(name); });
  };
  const bool sources = fs::exists(fs::path(files.folder()) / "sources", problem);
  for (const auto& [there, name] :
       {std::pair(any_of({"linux64", "x86_64-linux", "aarch64-linux"}), "Linux"),
        std::pair(any_of({"win64", "win32", "x86_64-windows", "x86-windows", "aarch64-windows"}), "Windows"),
        std::pair(any_of({"darwin64", "x86_64-darwin", "aarch64-darwin"}), "macOS")})
    if (!there)
      findings.push_back({Level::note, "binaries",
                          fmt::format("there are none for {}{}", name, sources ? "; its sources are there" : "")});
  try {
    files.library(about.identifier);
  } catch (const UsageError& missing) {
    findings.push_back({Level::error, "binaries", missing.what()});
  }
}

void check_run(const std::string& file, std::vector<FmuFinding>& findings) {
  constexpr std::int64_t most_steps = 100'000;
  try {
    const auto fmu = import_fmu(file);
    SimulateOptions options;
    options.start = fmu->experiment().start.value_or(0.0);
    options.stop = std::max(fmu->experiment().stop.value_or(0.0), options.start + 1e-3);
    if (!fmu->experiment().stop) options.stop = options.start + 1.0;
    options.rtol = options.atol = fmu->experiment().tolerance.value_or(1e-6);
    options.max_steps = most_steps;
    options.keep_steps = false;
    const Trajectory run = simulate(fmu, options);
    const bool good = run.status().ok() || run.status().code == StatusCode::terminated;
    findings.push_back(
        {good ? Level::note : Level::error, "run",
         fmt::format("the default experiment ends with {} at t = {:.9g}{}{}", to_string(run.status().code), run.t_end(),
                     run.status().message.empty() ? "" : ": ", run.status().message)});
  } catch (const Error& problem) {
    findings.push_back({Level::error, "run", problem.what()});
  }
}

}  // namespace

std::string_view to_string(FmuFinding::Severity severity) {
  switch (severity) {
    case FmuFinding::Severity::error:
      return "error";
    case FmuFinding::Severity::warning:
      return "warning";
    case FmuFinding::Severity::note:
      return "note";
  }
  return "";
}

bool FmuCheck::ok() const {
  return std::ranges::none_of(findings, [](const FmuFinding& f) { return f.severity == Level::error; });
}

std::string FmuCheck::json() const {
  std::string lines, list;
  for (std::size_t begin = 0; begin < summary.size();) {
    const std::size_t end = std::min(summary.find('\n', begin), summary.size());
    lines += fmt::format("{}{}", lines.empty() ? "" : ", ", quoted_json(summary.substr(begin, end - begin)));
    begin = end + 1;
  }
  for (const FmuFinding& f : findings)
    list += fmt::format("{}\n    {{\"severity\": \"{}\", \"where\": {}, \"text\": {}}}", list.empty() ? "" : ",",
                        to_string(f.severity), quoted_json(f.where), quoted_json(f.text));
  return fmt::format("{{\n  \"ok\": {},\n  \"summary\": [{}],\n  \"findings\": [{}{}]\n}}\n", ok(), lines, list,
                     list.empty() ? "" : "\n  ");
}

FmuCheck check_fmu(const std::string& file, const FmuCheckOptions& options) {
  return with_file(file, [&] {
    const UnpackedFmu files(file);
    FmuCheck result;
    FmuDescription about;
    bool readable = true;
    try {
      about = read_description(files.description());
      result.summary = describe_fmu(file);
    } catch (const UsageError& problem) {
      readable = false;
      result.findings.push_back({Level::error, "modelDescription.xml", problem.what()});
    }
    Checker(result.findings).check(files.description());
    if (!readable) return result;
    if (const std::string problem = import_problem(about); !problem.empty())
      result.findings.push_back({Level::note, "import", problem});
    for (const std::string& name : about.left_out)
      result.findings.push_back({Level::note, "ModelVariables: " + name, "it is a text or binary, and not shown"});
    check_binaries(files, about, result.findings);
    if (options.run) check_run(file, result.findings);
    return result;
  });
}

}  // namespace saltus
