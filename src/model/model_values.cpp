#include "model/model_values.hpp"

#include <fmt/format.h>
#include <saltus/base/names.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "model/homotopy_share.hpp"

namespace saltus {

namespace {

/// Throws unless the value is one of the type.
void check_type(const VariableDetails& details, const std::string& name, double value) {
  if (!std::isfinite(value))
    throw ModelError(fmt::format("the value of '{}' is {}; give a finite number", name, number_text(value)));
  const bool whole = value == std::round(value);
  std::string allowed;
  if (details.type == VariableType::integer && !whole) allowed = "a whole number";
  if (details.type == VariableType::boolean && value != 0.0 && value != 1.0) allowed = "0 or 1";
  if (details.type == VariableType::enumeration &&
      !(whole && value >= 1.0 && value <= static_cast<double>(details.literals.size())))
    allowed = fmt::format("a whole number from 1 to {}", details.literals.size());
  if (!allowed.empty())
    throw ModelError(fmt::format("'{}' is of type {} and cannot be set to {}; give {}", name, to_string(details.type),
                                 number_text(value), allowed));
}

}  // namespace

ValueNames::ValueNames(const ModelData& model, std::vector<int> observed_position, std::vector<int> observed_discretes)
    : model_name_(model.name),
      fixed_names_(model.fixed_names),
      observed_position_(std::move(observed_position)),
      observed_discretes_(std::move(observed_discretes)),
      start_values_(model) {
  for (const auto& p : model.parameters) {
    parameter_names_.push_back(p.name);
    parameter_details_.push_back(p.details);
  }
}

const std::string& ValueNames::name_at(const ModelValues& values, std::uint32_t place) const {
  const std::size_t count = parameter_names_.size();
  return place < count ? parameter_names_[place] : (*values.observed)[place - count].name;
}

std::uint32_t ValueNames::find(const ModelValues& values, const std::string& name) const {
  std::call_once(order_->made, [&] {
    order_->places.resize(parameter_names_.size() + values.observed->size());
    std::iota(order_->places.begin(), order_->places.end(), 0u);
    std::sort(order_->places.begin(), order_->places.end(),
              [&](std::uint32_t a, std::uint32_t b) { return name_at(values, a) < name_at(values, b); });
  });
  const auto& places = order_->places;
  const auto place_of = [&](const std::string& exact) -> std::optional<std::uint32_t> {
    if (const auto fixed = fixed_names_.find(exact); fixed != fixed_names_.end())
      throw ModelError(
          fmt::format("'{}' cannot be changed in the compiled model '{}': {}", exact, model_name_, fixed->second));
    const auto it =
        std::lower_bound(places.begin(), places.end(), exact,
                         [&](std::uint32_t place, const std::string& n) { return name_at(values, place) < n; });
    if (it == places.end() || name_at(values, *it) != exact) return {};
    return *it;
  };
  if (const auto exact = place_of(name)) return *exact;
  const NameSpelling spelling = read_name(name);
  if (spelling.of != NameSpelling::Of::derivative)
    if (const auto meant = place_of(spelling.name)) return *meant;
  const NameTable names(places, [&](std::uint32_t place) -> std::string_view { return name_at(values, place); });
  throw ModelError(fmt::format("'{}' is not declared in model '{}'{}", name, model_name_, names.hint(name)));
}

void ValueNames::set_start(ModelValues& values, std::size_t observed, double value) const {
  const auto put = [&](std::shared_ptr<const std::vector<VariableInfo>>& list, std::size_t k) {
    auto copy = std::make_shared<std::vector<VariableInfo>>(*list);
    (*copy)[k].start = value;
    list = std::move(copy);
  };
  if ((*values.observed)[observed].start != value) put(values.observed, observed);
  if (observed >= observed_position_.size())
    values.discrete[static_cast<std::size_t>(observed_discretes_[observed - observed_position_.size()])] = value;
  else if (const int k = observed_position_[observed];
           k >= 0 && (*values.kept)[static_cast<std::size_t>(k)].start != value)
    put(values.kept, static_cast<std::size_t>(k));
}

ModelValues ValueNames::changed(const ModelValues& before,
                                std::span<const std::pair<std::string, double>> changes) const {
  ModelValues values = before;
  const std::size_t count = parameter_names_.size();
  for (const auto& [text, value] : changes) {
    const std::uint32_t place = find(before, text);
    const std::string& name = name_at(before, place);
    if (place < count) {
      check_type(*parameter_details_[place], name, value);
      values.parameters[place] = value;
      continue;
    }
    check_type(*(*before.observed)[place - count].details, name, value);
    if (const int k = start_values_.place_of(name); k >= 0) values.start_given[static_cast<std::size_t>(k)] = 1;
    set_start(values, place - count, value);
  }
  if (!start_values_.any() || values.parameters == before.parameters) return values;
  auto observed = std::make_shared<std::vector<VariableInfo>>(*values.observed);
  start_values_.evaluate(values.parameters, values.start_given, *observed, values.discrete,
                         std::span(*observed).subspan(observed_position_.size()));
  auto kept = std::make_shared<std::vector<VariableInfo>>(*values.kept);
  for (std::size_t k = 0; k < observed_position_.size(); ++k)
    if (observed_position_[k] >= 0) (*kept)[static_cast<std::size_t>(observed_position_[k])] = (*observed)[k];
  values.observed = std::move(observed);
  values.kept = std::move(kept);
  return values;
}

void ValueNames::write(const ModelValues& values, ModelData& model) const {
  std::size_t place = 0;
  for (ModelData::Parameter& parameter : model.parameters)
    if (parameter.name != homotopy_name) parameter.value = values.parameters[place++];
  for (std::size_t k = 0; k < model.variable_info.size(); ++k)
    model.variable_info[k].start = (*values.observed)[k].start;
  for (std::size_t k = 0; k < model.discretes.size(); ++k) model.discretes[k].start = values.discrete[k];
  for (auto it = model.start_values.begin(); it != model.start_values.end();) {
    const int k = start_values_.place_of(it->first);
    it = k >= 0 && values.start_given[static_cast<std::size_t>(k)] ? model.start_values.erase(it) : std::next(it);
  }
}

}  // namespace saltus
