#include "cli/input_options.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/io/input_file.hpp>

#include <filesystem>

namespace saltus::cli {

void InputOptions::add_to(CLI::App& app, const std::string& group) {
  CLI::Option* option = app.add_option("--input", given,
                                       "Values of an input from a CSV file, NAME=FILE, or of all inputs that are "
                                       "columns of FILE; lines between the rows, "
                                       "or steps with FILE:held (repeatable)");
  option->type_name("[NAME=]FILE");
  if (!group.empty()) option->group(group);
}

std::map<std::string, InputSignal> InputOptions::read(const HybridSystem& model) const {
  constexpr std::string_view held = ":held";
  std::map<std::string, InputSignal> result;
  const auto add = [&](const std::string& name, const InputSignal& signal) {
    if (!result.emplace(name, signal).second)
      throw UsageError(fmt::format("--input: values of '{}' are given twice; give one file for each input", name));
  };
  for (std::string text : given) {
    const bool steps = text.ends_with(held);
    if (steps) text.resize(text.size() - held.size());
    const auto between = steps ? InputSignal::Between::steps : InputSignal::Between::lines;
    std::error_code ignored;
    const std::size_t equals = std::filesystem::exists(text, ignored) ? std::string::npos : text.find('=');
    if (equals == std::string::npos) {
      for (const auto& [name, signal] : read_inputs(text, model, between)) add(name, signal);
    } else {
      const std::string name = text.substr(0, equals);
      add(name, read_input(text.substr(equals + 1), name, between));
    }
  }
  return result;
}

}  // namespace saltus::cli
