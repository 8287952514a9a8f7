#include "cli/gradient.hpp"

#include <fmt/format.h>
#include <saltus/io/sensitivity_files.hpp>
#include <saltus/sens/adjoint.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>

#include "cli/accurate_run.hpp"
#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

namespace {

struct GradientCommandOptions : AccurateRunOptions {
  std::string of;
  std::vector<std::string> by;
  std::optional<double> stop;
  double memory = 256.0;
};

/// A term of a functional as it is written: "0.5*integral(x^2)".
struct WrittenTerm {
  double weight = 1.0;
  std::string kind;
  std::vector<std::string> arguments;
};

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw UsageError(fmt::format(
      "--of wants a sum of final_value(x), integral(x), event_time('x > 1', 2) and sum_over_events('x > 1', y), "
      "each with a number in front if you like: --of \"final_value(x) + 0.5*integral(v^2)\"; in '{}' {}",
      text, why));
}

std::string without_quotes(const std::string& text) {
  const bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

/// Parts of a sum with their signs: "+" and "-" inside of parentheses, quotes and numbers belong to the part.
std::vector<std::string> split_sum(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      quote = c == quote ? '\0' : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else {
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      // the sign of an exponent, 1e-3, or of the part itself
      const std::string& part = parts.back();
      const bool begins = part.find_first_not_of(" +-") == std::string::npos;
      const bool exponent =
          part.size() >= 2 && (part.back() == 'e' || part.back() == 'E') &&
          (std::isdigit(static_cast<unsigned char>(part[part.size() - 2])) != 0 || part[part.size() - 2] == '.');
      if (depth == 0 && (c == '+' || c == '-') && !begins && !exponent) parts.emplace_back();
    }
    parts.back() += c;
  }
  return parts;
}

WrittenTerm parse_term(const std::string& all, std::string part) {
  WrittenTerm term;
  const auto drop_spaces = [&] { part.erase(0, std::min(part.find_first_not_of(' '), part.size())); };
  for (drop_spaces(); !part.empty() && (part.front() == '+' || part.front() == '-'); drop_spaces()) {
    if (part.front() == '-') term.weight = -term.weight;
    part.erase(0, 1);
  }
  char* end = nullptr;
  if (const double factor = std::strtod(part.c_str(), &end); end != part.c_str()) {
    term.weight *= factor;
    part.erase(0, static_cast<std::size_t>(end - part.c_str()));
    drop_spaces();
    if (part.empty() || part.front() != '*') refuse(all, "a number has no '*' and term after it");
    part.erase(0, 1);
    drop_spaces();
  }
  while (part.ends_with(' ')) part.pop_back();
  const auto open = part.find('(');
  if (open == std::string::npos || !part.ends_with(')') || !std::isfinite(term.weight))
    refuse(all, fmt::format("'{}' is none of these", part));
  term.kind = part.substr(0, open);
  while (term.kind.ends_with(' ')) term.kind.pop_back();
  term.arguments = split_list(part.substr(open + 1, part.size() - open - 2));
  const std::size_t wanted = term.kind == "final_value" || term.kind == "integral"         ? 1
                             : term.kind == "event_time" || term.kind == "sum_over_events" ? 2
                                                                                           : 0;
  if (wanted == 0) refuse(all, fmt::format("there is no term '{}'", term.kind));
  if (term.arguments.size() != wanted || std::ranges::any_of(term.arguments, &std::string::empty))
    refuse(all, fmt::format("'{}' has {} argument{}", term.kind, wanted, wanted == 1 ? "" : "s"));
  return term;
}

/// The terms of a sum. Expressions become variables of the model.
Functional parse_functional(const std::string& text, ModelExtension& extension) {
  Functional sum;
  for (const std::string& part : split_sum(text)) {
    const WrittenTerm term = parse_term(text, part);
    if (term.kind == "final_value") {
      sum += term.weight * final_value(extension.value(term.arguments[0]));
    } else if (term.kind == "integral") {
      sum += term.weight * integral(extension.value(term.arguments[0]));
    } else if (term.kind == "event_time") {
      const std::string& number = term.arguments[1];
      if (number.size() > 9 || number.find_first_not_of("0123456789") != std::string::npos ||
          std::atoi(number.c_str()) < 1)
        refuse(text, fmt::format("the number of an event is 1, 2, …, not '{}'", number));
      sum += term.weight * event_time(without_quotes(term.arguments[0]), std::atoi(number.c_str()));
    } else {
      sum += term.weight * sum_over_events(without_quotes(term.arguments[0]), extension.value(term.arguments[1]));
    }
  }
  return sum;
}

void print_gradient(std::ostream& out, const FunctionalGradient& found, const std::string& of) {
  const Status& status = found.trajectory.status();
  out << fmt::format("{} at t = {:.12g}{}{}\n", to_string(status.code), status.t, status.message.empty() ? "" : ": ",
                     status.message);
  if (!found.why.empty()) {
    out << fmt::format("{} has no derivatives: {}\n", of, found.why);
    return;
  }
  out << fmt::format("{} = {:.12g}\n\n", of, found.value);
  std::size_t width = 9;
  for (const std::string& name : found.parameters) width = std::max(width, name.size());
  out << fmt::format("  {:<{}}  {:>18}\n", "parameter", width, "derivative");
  for (std::size_t k = 0; k < found.parameters.size(); ++k)
    out << fmt::format("  {:<{}}  {:>18.10g}\n", found.parameters[k], width, found.derivatives[k]);
}

ExitCode find_gradient(const GradientCommandOptions& o, const Streams& streams) {
  if (o.of.empty()) throw UsageError("say what to differentiate: --of \"final_value(x)\"");
  if (o.by.empty()) throw UsageError("say by which parameters and start values: --by mu,x.start");
  Functional functional;
  const ModelicaModel model = load_extended(
      o, streams, [&](const Model&, ModelExtension& extension) { functional = parse_functional(o.of, extension); });
  const CompiledModel compiled(model.model);
  SimulateOptions options = o.simulate(model, compiled);
  options.stop = o.stop.value_or(model.experiment.stop.value_or(options.start + 1.0));
  std::optional<ProgressBar> bar(std::in_place, streams.err, o.shows_progress());
  options.progress = [&](const Progress& p) { return (*bar)(p); };
  const FunctionalGradient found =
      gradient(compiled, functional, o.by, options, {.memory = static_cast<std::size_t>(o.memory * 1024.0 * 1024.0)});
  bar.reset();
  std::ostream& words = o.json == "-" ? streams.err : streams.out;
  if (!o.quiet) print_gradient(words, found, o.of);
  if (!o.json.empty()) write_file(o.json, streams.out, [&](std::ostream& file) { write_gradient_json(file, found); });
  if (found.why.empty() && found.trajectory.status().ok()) return ExitCode::success;
  if (o.quiet) streams.err << fmt::format("no derivatives: {}\n", found.why);
  return ExitCode::failure;
}

}  // namespace

Command gradient_command() {
  return {"gradient", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<GradientCommandOptions>();
            CLI::App& app =
                *parent.add_subcommand("gradient", "Derivatives of one number by many parameters (adjoint)");
            app.footer(
                "Examples:\n"
                "  saltus gradient Ball.mo --of \"final_value(h)\" --by e,g,h.start\n"
                "  saltus gradient Block.mo --of \"integral(x^2) + 0.1*event_time('x > 0.9', 2)\" --by mu,k --json -\n"
                "Exit codes: 0 success, 1 the run failed or has no derivatives, 2 wrong command line or model.");
            o->add_run(app);
            app.add_option("--stop", o->stop, "Stop time (default: the model's experiment annotation, or start + 1)")
                ->type_name("T")
                ->group("Model");
            const char* group = "Gradient";
            app.add_option("--of", o->of,
                           "What to differentiate: a sum of final_value(x), integral(x), event_time('x > 1', 2) and "
                           "sum_over_events('x > 1', y), with numbers as factors")
                ->type_name("SUM")
                ->group(group);
            app.add_option_function<std::string>(
                   "--by", [o](const std::string& text) { o->by = split_list(text); },
                   "Parameters and start values (x.start)")
                ->type_name("A,B")
                ->group(group);
            app.add_option("--memory", o->memory, "Most memory for the record of the run, in MB (256)")
                ->check(CLI::PositiveNumber)
                ->type_name("MB")
                ->group("Method");
            app.add_option("--json", o->json, "Write the result as JSON; - is standard output")
                ->type_name("FILE")
                ->group("Files");
            app.add_flag("--quiet,-q", o->quiet, "Print nothing but errors")->group("Terminal");
            return [o](const Streams& streams) { return find_gradient(*o, streams); };
          }};
}

}  // namespace saltus::cli
