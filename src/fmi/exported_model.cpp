#include "fmi/exported_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace saltus {

namespace {

ModelicaModel read_exported(const std::string& text, const std::string& fixed) {
  LoadOptions options;
  options.extension = fixed;
  return load_modelica(text, model_file, options);
}

/// 128 bits of a text by two runs of FNV-1a, as hexadecimal digits with hyphens.
std::string token_of(std::string_view text) {
  std::uint64_t a = 0xcbf29ce484222325u, b = 0x84222325cbf29ce4u;
  for (const char c : text) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    b = (b ^ static_cast<unsigned char>(c)) * 0x10000000233u;
    b ^= b >> 31;
  }
  const std::string digits = fmt::format("{:016x}{:016x}", a, b);
  return fmt::format("{{{}-{}-{}-{}-{}}}", digits.substr(0, 8), digits.substr(8, 4), digits.substr(12, 4),
                     digits.substr(16, 4), digits.substr(20));
}

/// The differentiated variables of the mode in which runs begin, as positions; none where nothing is integrated.
std::vector<std::size_t> differentiated(const CompiledModel& compiled) {
  std::vector<std::size_t> positions;
  if (compiled.stands_still()) return positions;
  CompiledModel own(compiled);
  const Structure& structure = own.system(own.initial_mode()).structure();
  for (std::size_t j = 0; j < own.variables().size(); ++j)
    if (structure.differentiated(static_cast<int>(j))) positions.push_back(j);
  return positions;
}

}  // namespace

std::string_view to_string(Variability variability) {
  switch (variability) {
    case Variability::constant:
      return "constant";
    case Variability::fixed:
      return "fixed";
    case Variability::tunable:
      return "tunable";
    case Variability::discrete:
      return "discrete";
    case Variability::continuous:
      return "continuous";
  }
  return "";
}

ExportedModel::ExportedModel(const std::string& text, const std::string& fixed)
    : source_(read_exported(text, fixed)),
      compiled_(std::make_unique<CompiledModel>(source_.model)),
      token_(token_of(text + fixed)) {
  variables_.push_back(
      {.kind = FmuVariable::Kind::time, .info = {.name = "time", .details = VariableDetails{.unit = "s"}}});
  state_positions_ = differentiated(*compiled_);
  add_observed();
  add_parameters();
  add_derivatives();
  add_indicators();
}

void ExportedModel::add_observed() {
  std::unordered_set<std::string> discrete;
  std::unordered_map<std::string, std::size_t> place;
  for (const ModelData::Discrete& d : source_.model.data().discretes) discrete.insert(d.name);
  const std::vector<VariableInfo>& observed = compiled_->observed();
  const bool has_outputs =
      std::ranges::any_of(observed, [](const VariableInfo& v) { return v.details->causality == Causality::output; });
  std::unordered_set<std::size_t> inputs;
  for (const InputInfo& input : compiled_->inputs()) inputs.insert(static_cast<std::size_t>(input.variable));
  for (std::size_t k = 0; k < observed.size(); ++k) {
    FmuVariable variable{.kind = FmuVariable::Kind::observed, .index = k, .info = observed[k]};
    VariableDetails details = *observed[k].details;
    const bool input = inputs.contains(k);
    details.causality = input ? Causality::input : !has_outputs ? Causality::output : details.causality;
    if (!input && details.causality == Causality::input) details.causality = Causality::local;
    if (details.type != VariableType::real || discrete.contains(observed[k].name)) {
      variable.variability = Variability::discrete;
      variable.variable_start = !input && discrete.contains(observed[k].name);
    }
    variable.info.details = details;
    place.emplace(observed[k].name, variables_.size());
    variables_.push_back(std::move(variable));
  }
  for (const std::size_t j : state_positions_) {
    const auto found = place.find(compiled_->variables()[j].name);
    if (found == place.end()) throw Error("the state '" + compiled_->variables()[j].name + "' is not observed");
    variables_[found->second].state = true;
    states_.push_back(found->second);
  }
}

void ExportedModel::add_parameters() {
  const std::vector<VariableInfo> parameters = compiled_->parameter_info();
  const auto& fixed_names = source_.model.data().fixed_names;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const bool fixed = fixed_names.contains(parameters[k].name);
    variables_.push_back({.kind = fixed ? FmuVariable::Kind::constant : FmuVariable::Kind::parameter,
                          .index = k,
                          .variability = fixed ? Variability::constant : Variability::tunable,
                          .info = parameters[k]});
  }
  for (std::size_t k = 0; k < source_.fixed_parameters.size(); ++k) {
    FmuVariable variable{.kind = FmuVariable::Kind::constant,
                         .index = k,
                         .variability = Variability::constant,
                         .info = source_.fixed_parameters[k]};
    std::string& name = variable.info.name;  // declare_fixed has put it in quotes
    if (name.size() > 2 && name.starts_with('\'') && name.ends_with('\'')) name = name.substr(1, name.size() - 2);
    variables_.push_back(std::move(variable));
  }
}

void ExportedModel::add_derivatives() {
  for (std::size_t k = 0; k < states_.size(); ++k) {
    const VariableInfo& state = variables_[states_[k]].info;
    VariableDetails details;
    if (!state.details->unit.empty()) details.unit = state.details->unit + "/s";
    derivatives_.push_back(variables_.size());
    variables_.push_back({.kind = FmuVariable::Kind::derivative,
                          .index = k,
                          .state_of = states_[k],
                          .info = {.name = "der(" + state.name + ")", .details = details}});
  }
}

void ExportedModel::add_indicators() {
  const std::vector<GuardInfo>& guards = compiled_->guards();
  for (std::size_t k = 0; k < guards.size(); ++k) {
    if (guards[k].time_only || guards[k].of_input) continue;
    VariableDetails details;
    details.description = guards[k].name;
    indicators_.push_back(static_cast<int>(k));
    variables_.push_back(
        {.kind = FmuVariable::Kind::indicator,
         .index = indicators_.size() - 1,
         .info = {.name = fmt::format("'event indicator {}'", indicators_.size()), .details = details}});
  }
}

std::string declare_fixed(const std::vector<VariableInfo>& parameters) {
  std::string text;
  for (const VariableInfo& p : parameters) {
    const auto value = static_cast<long long>(p.start);
    switch (p.details->type) {
      case VariableType::boolean:
        text += fmt::format("final parameter Boolean '{}' = {};\n", p.name, p.start != 0.0);
        break;
      case VariableType::integer:
      case VariableType::enumeration:
        text += fmt::format("final parameter Integer '{}' = {};\n", p.name, value);
        break;
      case VariableType::real:
        text += fmt::format("final parameter Real '{}' = {};\n", p.name, p.start);
        break;
    }
  }
  return text;
}

}  // namespace saltus
