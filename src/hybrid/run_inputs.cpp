#include "hybrid/run_inputs.hpp"

#include <fmt/format.h>
#include <saltus/base/names.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

namespace saltus {

namespace {

double& at(Mode& mode, int place) {
  return mode.discrete[static_cast<std::size_t>(place)];
}

void write_current(const InputInfo& info, const InputPiece& piece, Mode& mode) {
  for (std::size_t k = 0; k < info.coefficients.size(); ++k) at(mode, info.coefficients[k]) = piece.c[k];
  if (info.since >= 0) at(mode, info.since) = piece.since;
}

InputPiece read_current(const InputInfo& info, Mode& mode) {
  InputPiece piece;
  for (const int place : info.coefficients) piece.c.push_back(at(mode, place));
  if (info.since >= 0) piece.since = at(mode, info.since);
  return piece;
}

}  // namespace

RunInputs::RunInputs(const HybridSystem& hybrid, const SimulateOptions& options, int direction)
    : direction_(direction) {
  inputs_.reserve(hybrid.inputs().size());
  for (const InputInfo& info : hybrid.inputs())
    inputs_.push_back({&info, &hybrid.observed()[static_cast<std::size_t>(info.variable)], nullptr});
  if (!inputs_.empty()) {
    std::unordered_map<std::string_view, int> kept;
    for (const VariableInfo& v : hybrid.variables()) kept.emplace(v.name, static_cast<int>(kept.size()));
    for (Input& input : inputs_)
      if (const auto it = kept.find(input.variable->name); it != kept.end()) input.kept = it->second;
  }
  for (const auto& [name, signal] : options.inputs) {
    Input& input = find(name);
    const InputSignal::Data& data = signal.data();
    for (std::size_t k = 0; k < data.values.size(); ++k) check(input, data.values[k], data.times[k]);
    input.course = InputCourse::make(signal, {.origin = options.start,
                                              .stop = options.stop,
                                              .direction = direction,
                                              .rtol = options.rtol,
                                              .atol = options.atol * input.variable->nominal,
                                              .max_step = options.max_step,
                                              .degree = degree(input),
                                              .name = name});
    input.given = true;
  }
}

RunInputs::Input& RunInputs::find(const std::string& name) {
  const NameTable names(inputs_, [](const Input& input) -> std::string_view { return input.variable->name; });
  if (const auto place = names.find(name)) return inputs_[*place];
  const std::string hint = names.hint(name);
  throw UsageError(fmt::format("'{}' is not an input of the model{}", name,
                               inputs_.empty() ? ", which has none"
                               : hint.empty()  ? "; the first one is '" + inputs_.front().variable->name + "'"
                                               : hint));
}

/// Throws UsageError for a value that the type of an input does not have.
void RunInputs::check(const Input& input, double value, double t) const {
  const VariableDetails& details = *input.variable->details;
  const auto refuse = [&](const std::string& what) {
    throw UsageError(
        fmt::format("the input '{}' is {}, and is given {} for t = {}", input.variable->name, what, value, t));
  };
  if (!std::isfinite(value)) refuse("a number");
  if (details.type == VariableType::boolean && value != 0.0 && value != 1.0) refuse("a Boolean (0 or 1)");
  if (details.type == VariableType::integer && value != std::round(value)) refuse("an Integer");
  const auto literals = static_cast<double>(details.literals.size());
  if (details.type == VariableType::enumeration && (value != std::round(value) || value < 1.0 || value > literals))
    refuse(fmt::format("an enumeration (1 to {})", literals));
}

std::string RunInputs::impulse_text(const Input& input, double jump) {
  return fmt::format("der({0}) is an impulse: the input {0} jumps by {1:.6g}", input.variable->name, jump);
}

double RunInputs::bounded(double t) const {
  return std::isfinite(t) ? t : direction_ * InputInfo::never;
}

void RunInputs::write_next(const Input& input, const InputPiece& piece, Mode& mode) const {
  const InputInfo& info = *input.info;
  for (std::size_t k = 0; k < info.next_coefficients.size(); ++k) at(mode, info.next_coefficients[k]) = piece.c[k];
  if (info.next_since >= 0) at(mode, info.next_since) = piece.since;
  at(mode, info.following) = bounded(piece.end);
}

void RunInputs::begin(Mode& mode, double t) {
  for (Input& input : inputs_) {
    if (!input.course) continue;
    const InputPiece piece = input.course->from(t);
    write_current(*input.info, piece, mode);
    change_time(input, mode) = bounded(piece.end);
  }
  plan(mode);
}

void RunInputs::resume(Mode& mode, double t) {
  for (Input& input : inputs_) {
    const InputPiece now = read_current(*input.info, mode);
    double& change = change_time(input, mode);
    double& back = at(mode, direction_ > 0 ? input.info->previous : input.info->next);
    back = -direction_ * InputInfo::never;  // the other direction has plans of its own
    if (!input.course) {
      const bool moves = std::any_of(now.c.begin() + 1, now.c.end(), [](double c) { return c != 0.0; });
      if (moves || std::abs(change) < InputInfo::never)
        resumed_ += fmt::format("{}nothing is given for the input '{}': it goes on {} from t = {:.6g}",
                                resumed_.empty() ? "" : "; ", input.variable->name,
                                moves ? "along its last line" : "with its last value", t);
      change = direction_ * InputInfo::never;
      input.given = true;
      continue;
    }
    const InputPiece piece = input.course->from(t);
    if (piece.same_curve(now)) {
      change = bounded(piece.end);
    } else {
      write_next(input, piece, mode);
      change = input.planned = t;
    }
  }
  plan(mode);
}

void RunInputs::plan_all(Mode& mode) {
  for (Input& input : inputs_) {
    if (!input.course) continue;
    const double change = change_time(input, mode);
    if (std::abs(change) >= InputInfo::never || change == input.planned) continue;
    write_next(input, input.course->from(change), mode);
    input.planned = change;
  }
}

void RunInputs::set(Mode& mode, double t, std::span<const InputChange> changes, SimulateOptions& options) {
  for (const InputChange& change : changes) {
    const Input& input = find(change.name);
    check(input, change.value, t);
    if (!std::isfinite(change.slope) || (change.slope != 0.0 && degree(input) == 0))
      throw UsageError(fmt::format("the input '{}' is given the slope {}{}", change.name, change.slope,
                                   degree(input) == 0 ? ", and is constant between changes" : ""));
  }
  for (const InputChange& change : changes) {
    Input& input = find(change.name);
    InputPiece piece{.since = t, .c = std::vector<double>(input.info->coefficients.size(), 0.0)};
    piece.c[0] = change.value;
    if (change.slope != 0.0) piece.c[1] = change.slope;
    piece.end = direction_ * std::numeric_limits<double>::infinity();
    write_next(input, piece, mode);
    change_time(input, mode) = input.planned = t;
    input.course.reset();
    input.given = true;
    options.inputs.erase(change.name);
  }
}

std::string RunInputs::remark() const {
  constexpr std::size_t most_shown = 5;
  std::vector<const VariableInfo*> missing;
  for (const Input& input : inputs_)
    if (!input.given) missing.push_back(input.variable);
  if (missing.empty()) return resumed_;
  std::string text = resumed_ + (resumed_.empty() ? "" : "; ");
  if (missing.size() == 1)
    return text + fmt::format("nothing is given for the input '{}': it keeps its start value {}", missing[0]->name,
                              value_text(*missing[0]->details, missing[0]->start, 6));
  text += fmt::format("nothing is given for {} inputs, which keep their start values: ", missing.size());
  for (std::size_t k = 0; k < std::min(missing.size(), most_shown); ++k)
    text += (k == 0 ? "" : ", ") + missing[k]->name;
  return text + (missing.size() > most_shown ? ", …" : "");
}

}  // namespace saltus
