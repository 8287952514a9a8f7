#include "cli/completion.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace saltus::cli {

namespace {

struct KnownOption {
  std::vector<std::string> names;  ///< "--quiet", "-q"
  std::string text;
  bool takes_value = false, takes_file = false;
  std::vector<std::string> choices;
};
struct KnownCommand {
  std::string name, text;
  std::vector<KnownOption> options;
  std::vector<std::string> choices;  ///< of its argument; empty: a file
};

/// The words of a choice as CLI11 shows it: "{a,b}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto from = type.find('{'), to = type.find('}');
  std::vector<std::string> words;
  if (from == std::string::npos || to == std::string::npos) return words;
  std::string rest = type.substr(from + 1, to - from - 1);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    words.push_back(rest.substr(0, comma));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return words;
}

std::vector<KnownCommand> commands_of(const CLI::App& root) {
  std::vector<KnownCommand> commands;
  for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; })) {
    KnownCommand command{app->get_name(), app->get_description(), {}, {}};
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) {
        command.choices = choices_of(*option);
        continue;
      }
      KnownOption known{
          {}, option->get_description(), option->get_items_expected_max() > 0, false, choices_of(*option)};
      for (const auto& name : option->get_lnames()) known.names.push_back("--" + name);
      for (const auto& name : option->get_snames()) known.names.push_back("-" + name);
      known.takes_file = option->get_type_name().starts_with("FILE");
      command.options.push_back(std::move(known));
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// A text inside of single quotes of a shell.
std::string shell_text(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

void write_bash(std::ostream& out, const std::vector<KnownCommand>& commands) {
  std::vector<std::string> names;
  for (const auto& c : commands) names.push_back(c.name);
  out << "# saltus completion bash >~/.local/share/bash-completion/completions/saltus\n"
         "_saltus() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n";
  out << fmt::format("    COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\"))\n    return\n  fi\n",
                     joined(names));
  out << "  case ${COMP_WORDS[1]}:$before in\n";
  for (const auto& c : commands)
    for (const auto& o : c.options) {
      std::string pattern;
      for (const auto& name : o.names) pattern += (pattern.empty() ? "" : "|") + c.name + ":" + name;
      if (!o.choices.empty())
        out << fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n", pattern,
                           joined(o.choices));
      else if (o.takes_file)
        out << fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", pattern);
      else if (o.takes_value)
        out << fmt::format("    {}) return ;;\n", pattern);
    }
  out << "  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const auto& c : commands) {
    std::vector<std::string> options;
    for (const auto& o : c.options) options.insert(options.end(), o.names.begin(), o.names.end());
    out << fmt::format("    {}) words='{}' ;;\n", c.name, joined(options));
  }
  out << "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n";
  for (const auto& c : commands)
    if (!c.choices.empty())
      out << fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n", c.name, joined(c.choices));
  out << "  esac\n"
         "  COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "}\n"
         "complete -o filenames -F _saltus saltus\n";
}

void write_zsh(std::ostream& out, const std::vector<KnownCommand>& commands) {
  const auto described = [](std::string text) {  // what _arguments reads as its own signs
    std::string result;
    for (const char c : text) result += c == '[' || c == ']' || c == ':' ? "\\" + std::string(1, c) : std::string(1, c);
    return shell_text(result);
  };
  out << "#compdef saltus\n# saltus completion zsh >a folder of $fpath/_saltus\n_saltus() {\n  local -a commands\n  "
         "commands=(\n";
  for (const auto& c : commands) out << fmt::format("    '{}:{}'\n", c.name, described(c.text));
  out << "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n";
  for (const auto& c : commands) {
    out << fmt::format("    {})\n      _arguments \\\n", c.name);
    for (const auto& o : c.options)
      for (const auto& name : o.names) {
        const std::string value = !o.choices.empty() ? ":value:(" + joined(o.choices) + ")"
                                  : o.takes_file     ? ":file:_files"
                                  : o.takes_value    ? ":value:"
                                                     : "";
        out << fmt::format("        '{}[{}]{}' \\\n", name, described(o.text), value);
      }
    out << (c.choices.empty() ? "        '*:file:_files'\n      ;;\n"
                              : "        '*:word:(" + joined(c.choices) + ")'\n      ;;\n");
  }
  out << "  esac\n}\n_saltus \"$@\"\n";
}

void write_fish(std::ostream& out, const std::vector<KnownCommand>& commands) {
  out << "# saltus completion fish >~/.config/fish/completions/saltus.fish\n";
  for (const auto& c : commands)
    out << fmt::format("complete -c saltus -n __fish_use_subcommand -f -a {} -d '{}'\n", c.name, shell_text(c.text));
  for (const auto& c : commands) {
    const std::string where = fmt::format("complete -c saltus -n '__fish_seen_subcommand_from {}'", c.name);
    if (!c.choices.empty()) out << where << " -f -a '" << joined(c.choices) << "'\n";
    for (const auto& o : c.options) {
      out << where;
      for (const auto& name : o.names)
        out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
      if (!o.choices.empty())
        out << " -x -a '" << joined(o.choices) << "'";
      else if (o.takes_file)
        out << " -r -F";
      else if (o.takes_value)
        out << " -x";
      out << fmt::format(" -d '{}'\n", shell_text(o.text));
    }
  }
}

}  // namespace

Command completion_command() {
  return {
      "completion", [](CLI::App& parent) -> Action {
        auto shell = std::make_shared<std::string>();
        CLI::App& app = *parent.add_subcommand("completion", "Print what completes the command line in a shell");
        app.footer("The first lines of the output say where the shell looks for it.");
        app.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
        return [shell, root = &parent](const Streams& streams) {
          const auto commands = commands_of(*root);
          if (*shell == "bash")
            write_bash(streams.out, commands);
          else if (*shell == "zsh")
            write_zsh(streams.out, commands);
          else
            write_fish(streams.out, commands);
          return ExitCode::success;
        };
      }};
}

}  // namespace saltus::cli
