#include "cli/functional_text.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "cli/study_spec.hpp"

namespace saltus::cli {

namespace {

/// What is read, for messages.
struct Written {
  const std::string& text;
  const std::string& option;
};

/// A term of a functional as it is written: "0.5*integral(x^2)".
struct WrittenTerm {
  double weight = 1.0;
  std::string kind;
  std::vector<std::string> arguments;
};

[[noreturn]] void refuse(const Written& all, const std::string& why) {
  throw UsageError(fmt::format(
      "{} wants a sum of final_value(x), integral(x), event_time('x > 1', 2) and sum_over_events('x > 1', y), "
      "each with a number in front if you like: {} \"final_value(x) + 0.5*integral(v^2)\"; in '{}' {}",
      all.option, all.option, all.text, why));
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

WrittenTerm parse_term(const Written& all, std::string part) {
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

/// Whether a text names one of the terms.
bool has_term(const std::string& text) {
  for (const char* kind : {"final_value", "integral", "event_time", "sum_over_events"}) {
    const std::string name = kind;
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      const auto open = text.find_first_not_of(' ', at + name.size());
      const bool begins = at == 0 || (std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0 &&
                                      text[at - 1] != '_' && text[at - 1] != '.');
      if (begins && open != std::string::npos && text[open] == '(') return true;
    }
  }
  return false;
}

}  // namespace

Functional parse_functional(const std::string& text, const std::string& option, ModelExtension& extension) {
  const Written all{.text = text, .option = option};
  Functional sum;
  for (const std::string& part : split_sum(text)) {
    const WrittenTerm term = parse_term(all, part);
    if (term.kind == "final_value") {
      sum += term.weight * final_value(extension.value(term.arguments[0]));
    } else if (term.kind == "integral") {
      sum += term.weight * integral(extension.value(term.arguments[0]));
    } else if (term.kind == "event_time") {
      const std::string& number = term.arguments[1];
      if (number.size() > 9 || number.find_first_not_of("0123456789") != std::string::npos ||
          std::atoi(number.c_str()) < 1)
        refuse(all, fmt::format("the number of an event is 1, 2, …, not '{}'", number));
      sum += term.weight * event_time(without_quotes(term.arguments[0]), std::atoi(number.c_str()));
    } else {
      sum += term.weight * sum_over_events(without_quotes(term.arguments[0]), extension.value(term.arguments[1]));
    }
  }
  return sum;
}

Functional parse_value(const std::string& text, const std::string& option, ModelExtension& extension) {
  return has_term(text) ? parse_functional(text, option, extension) : final_value(extension.value(text));
}

}  // namespace saltus::cli
