#include <saltus/modelica/modelica.hpp>

#include <algorithm>
#include <memory>

#include "modelica/flatten/load.hpp"
#include "modelica/library.hpp"
#include "modelica/parser.hpp"
#include "modelica/printer.hpp"

namespace saltus {
namespace modelica {
namespace {

bool can_run(const ClassDefinition& definition) {
  const bool kind = definition.kind == ClassKind::model || definition.kind == ClassKind::block ||
                    definition.kind == ClassKind::class_;
  return kind && !definition.is_partial;
}

// The last model of a list of classes, also inside of packages; null if there is none.
const ClassScope* last_model(ScopeTree& scopes, const ClassScope* scope,
                             const std::vector<const ClassDefinition*>& classes) {
  for (std::size_t k = classes.size(); k-- > 0;) {
    const ClassScope* nested_scope = scopes.find_member(classes[k]->name.text, scope);
    if (!nested_scope) continue;
    if (can_run(*classes[k])) return nested_scope;
    const auto* body = classes[k]->as<LongClass>();
    if (classes[k]->kind != ClassKind::package || !body) continue;
    std::vector<const ClassDefinition*> nested;
    for (const Element& element : body->elements)
      if (const auto* inner = element.as<const ClassDefinition*>()) nested.push_back(*inner);
    if (const ClassScope* found = last_model(scopes, nested_scope, nested)) return found;
  }
  return nullptr;
}

void list_models(const std::vector<const ClassDefinition*>& classes, const std::string& prefix,
                 std::vector<std::string>& names) {
  for (const ClassDefinition* definition : classes) {
    const std::string name = prefix + std::string(definition->name.text);
    if (can_run(*definition)) names.push_back(name);
    const auto* body = definition->as<LongClass>();
    if (!body) continue;
    std::vector<const ClassDefinition*> nested;
    for (const Element& element : body->elements)
      if (const auto* inner = element.as<const ClassDefinition*>()) nested.push_back(*inner);
    list_models(nested, name + ".", names);
  }
}

const ClassScope* find_path(ScopeTree& scopes, std::string_view path) {
  const ClassScope* scope = &scopes.root();
  for (std::size_t begin = 0; scope && begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    scope = scopes.find_member(path.substr(begin, end - begin), scope);
    begin = end + 1;
  }
  return scope;
}

/// The first ones of the names, for a message.
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), most); ++k) text += (k > 0 ? ", '" : "'") + names[k] + "'";
  return names.size() > most ? text + ", …" : text;
}

/// What to do where a dotted name leads to no class of a library; "" if that is not known.
std::string missing_in_library(const Library& library, ScopeTree& scopes, const std::string& wanted) {
  const std::size_t first = std::min(wanted.find('.'), wanted.size());
  if (first == wanted.size()) return {};
  if (std::string hint = library.missing_package(wanted.substr(0, first)); !hint.empty()) return hint;
  std::size_t known = first;
  for (std::size_t end = first; end < wanted.size() && find_path(scopes, wanted.substr(0, end));) {
    known = end;
    end = std::min(wanted.find('.', end + 1), wanted.size());
  }
  const std::size_t next = std::min(wanted.find('.', known + 1), wanted.size());
  const std::string name = wanted.substr(known + 1, next - known - 1);
  const ClassScope* package = find_path(scopes, wanted.substr(0, known));
  const std::string near =
      package && package->definition ? did_you_mean(name, library.names(*package->definition)) : "";
  return "'" + wanted.substr(0, known) + "' has no class '" + name + "'" + (near.empty() ? "" : "; " + near);
}

// `package`: where the classes of the text are.
const ClassScope* choose_model(const Ast& ast, const Library& library, ScopeTree& scopes, const ClassScope* package,
                               const std::string& wanted, Diagnostics& diagnostics) {
  const SourceText& source = ast.source();
  const auto fail = [&](std::string message, std::string hint) {
    diagnostics.add(source.diagnose(Severity::error, {0, 0, source.file()}, std::move(message), std::move(hint)));
    return nullptr;
  };
  if (wanted.empty()) {
    const ClassScope* found = last_model(scopes, package, ast.root.classes);
    return found ? found : fail("the file contains no model", "write 'model Name ... end Name;'");
  }
  const ClassScope* scope = find_path(scopes, wanted);
  if (!scope && package != &scopes.root()) scope = find_path(scopes, package->name + "." + wanted);
  if (scope && scope->definition && (can_run(*scope->definition) || scope->definition->is_partial)) {
    if (!scope->definition->is_partial) return scope;
    return fail("'" + wanted + "' is partial and cannot run", "extend it and complete it");
  }
  std::vector<std::string> names;
  list_models(ast.root.classes, "", names);
  std::sort(names.begin(), names.end());
  std::string near = did_you_mean(wanted, names);
  if (near.empty() && !scope && names.empty()) near = missing_in_library(library, scopes, wanted);
  return fail(scope
                  ? "'" + wanted + "' is a " + std::string(spelling(scope->kind())) + ", not a model"
                  : "there is no model '" + wanted + "' in this file" + (ast.root.classes.empty() ? " or library" : ""),
              near.empty() && !names.empty() ? "the models of this file: " + list_of(names) : near);
}

// The package that `within` names; the outermost scope if there is none of that name.
const ClassScope* package_of(const Ast& ast, ScopeTree& scopes, Diagnostics& diagnostics) {
  if (ast.root.within.empty()) return &scopes.root();
  Name name = ast.root.within;
  name.global = true;
  if (const ClassScope* found = scopes.find(name, &scopes.root())) return found;
  diagnostics.add(ast.source().diagnose(Severity::warning, name.where,
                                        "there is no package '" + print(ast.root.within) +
                                            "'; the classes of this file are read as if they stood outside of it",
                                        "name the folder of the package with --library"));
  return &scopes.root();
}

// The class `cls` with the text of LoadOptions::extension. It has the name of `cls` and stands in a package of its own.
// `extended`: the parsed text, which is kept from one round to the next.
const ClassScope* extend(const ClassScope* cls, const std::string& extension, Library& library, ScopeTree& scopes,
                         const Ast*& extended) {
  constexpr std::string_view package = "'extension'";
  if (!extended) {
    const std::string name(cls->definition->name.text);
    const std::string text = "package " + std::string(package) + " model " + name + " extends ." + cls->name + ";\n" +
                             extension + "\nend " + name + "; end " + std::string(package) + ";";
    ParseResult parsed = parse(text, "extension", library.next_file());
    parsed.require();
    extended = &library.adopt(std::move(parsed));
  }
  scopes.add(extended->root, &scopes.root());
  return scopes.find_member(cls->definition->name.text, scopes.find_member(package, &scopes.root()));
}

// The argument of that name in a modification or annotation; null if there is none.
const ModificationArgument* argument_of(const Modification* modification, std::string_view name) {
  if (modification)
    for (const ModificationArgument& argument : modification->arguments)
      if (argument.is_plain() && argument.name.parts.size() == 1 && argument.name.parts[0].text == name)
        return &argument;
  return nullptr;
}

// The text of name = "text" in a modification; "" if there is none.
std::string text_of(const Modification* modification, std::string_view name) {
  const ModificationArgument* argument = argument_of(modification, name);
  const auto* literal = argument && argument->modification && argument->modification->value
                            ? argument->modification->value->as<StringLiteral>()
                            : nullptr;
  return literal ? std::string(literal->value) : std::string();
}

// True if a library says that models of that version need no change.
bool takes_version(const Modification* library, const std::string& version) {
  const ModificationArgument* conversion = argument_of(library, "conversion");
  if (!conversion || !conversion->modification) return false;
  for (const ModificationArgument& from : conversion->modification->arguments) {
    const auto* literal =
        from.modification && from.modification->value ? from.modification->value->as<StringLiteral>() : nullptr;
    if (literal && from.is_plain() && from.name.parts[0].text == "noneFromVersion" && literal->value == version)
      return true;
  }
  return false;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Warns of libraries that are there in another version than annotation(uses(...)) asks for. `all`: also those that the
// model has not needed.
void check_uses(const ClassDefinition& definition, ScopeTree& scopes, const SourceText& source, bool all,
                Diagnostics& diagnostics) {
  const ModificationArgument* uses = argument_of(definition.description.annotation, "uses");
  if (!uses || !uses->modification) return;
  for (const ModificationArgument& library : uses->modification->arguments) {
    if (!library.is_plain() || library.name.parts.size() != 1) continue;
    const std::string_view name = library.name.parts[0].text;
    const std::string wanted = text_of(library.modification, "version");
    if (!all && !has(scopes.class_names(&scopes.root()), name)) continue;
    const ClassScope* found = scopes.find_member(name, &scopes.root());
    const Modification* about = found && found->definition ? found->definition->description.annotation : nullptr;
    const std::string version = text_of(about, "version");
    if (wanted.empty() || version.empty() || version == wanted || takes_version(about, wanted)) continue;
    diagnostics.add(source.diagnose(
        Severity::warning, library.where,
        "version " + wanted + " of '" + std::string(name) + "' is asked for, but version " + version + " is there",
        "name the folder of the other version with --library before this one"));
  }
}

// A model whose loops are written out when that is asked for: by reading the text once more.
Model with_loops(const std::string& name, std::shared_ptr<const RepeatedModel> loops, std::string_view text,
                 const std::string& file_name, const LoadOptions& options, const FlattenLimits& limits) {
  LoadOptions flat = options;
  flat.keep_loops = false;
  return Model(ModelContent(name, std::move(loops), [text = std::string(text), file_name, flat, limits] {
    return load(text, file_name, flat, limits).model.content().read();
  }));
}

}  // namespace

ModelicaModel load(std::string_view text, const std::string& file_name, const LoadOptions& options,
                   const FlattenLimits& limits) {
  ParseResult parsed = parse(text, file_name);
  parsed.require();
  Library library(options.libraries);
  const Diagnostics parse_notes = parsed.diagnostics;
  const Ast& ast = library.adopt(std::move(parsed));
  library.place(ast.root, file_name);
  StructuralParameters structural;
  const Ast* extended = nullptr;
  bool keep_loops = options.keep_loops;
  // each round fixes the parameters that the one before found to decide the structure
  for (;;) {
    Diagnostics diagnostics;
    diagnostics.add(parse_notes);
    ScopeTree scopes(&library);
    const ClassScope *cls = nullptr, *run = nullptr;  // the class that is asked for, and the same with the extension
    try {
      const ClassScope* package = package_of(ast, scopes, diagnostics);
      scopes.add(ast.root, package);
      for (const ClassDefinition* definition : ast.root.classes)
        check_uses(*definition, scopes, ast.source(), true, diagnostics);
      cls = choose_model(ast, library, scopes, package, options.model_name, diagnostics);
      run = cls && !options.extension.empty() ? extend(cls, options.extension, library, scopes, extended) : cls;
    } catch (const Fault& fault) {
      diagnostics.add(
          library.sources()[fault.where.file]->diagnose(Severity::error, fault.where, fault.message, fault.hint));
    }
    if (!run) throw ModelicaError(std::move(diagnostics));
    Flattener flattener(scopes, library.sources(), options, limits, structural, diagnostics);
    const std::size_t known = structural.size();
    if (keep_loops) flattener.keep_loops();
    std::shared_ptr<const RepeatedModel> loops;
    try {
      if (!flattener.run(run) && structural.size() > known) continue;
      // what there is to tell is told of the model that is written out
      const bool silent = diagnostics.items().size() == parse_notes.items().size() && !flattener.start_time_used();
      if (flattener.has_kept_loops() && silent) loops = flattener.repeated_model();
    } catch (const NotKept&) {
    }
    if (flattener.has_kept_loops() && !loops) {
      keep_loops = false;
      continue;
    }
    for (const ClassScope* outside = cls; outside && outside->definition; outside = outside->parent)
      if (std::ranges::find(ast.root.classes, outside->definition) == ast.root.classes.end())
        check_uses(*outside->definition, scopes, *library.sources()[outside->definition->name.where.file], false,
                   diagnostics);
    Experiment experiment = diagnostics.has_errors() ? Experiment{} : flattener.experiment(cls);
    diagnostics.sort();
    if (diagnostics.has_errors()) throw ModelicaError(std::move(diagnostics));
    std::vector<VariableInfo> fixed = flattener.fixed_parameters();
    std::vector<ConnectorInfo> connectors = flattener.connectors();
    Model model = flattener.take_model();
    if (loops) model = with_loops(model.name(), std::move(loops), text, file_name, options, limits);
    ModelicaModel result{std::move(model),
                         experiment,
                         diagnostics.items(),
                         std::string(cls->definition->description.text),
                         flattener.start_time_used(),
                         std::move(fixed),
                         std::move(connectors)};
    if (flattener.has_kept_loops()) return result;
    if (result.start) result.model.start_at(*result.start);
    result.model.quote_source([sources = library.shared_sources()](const SourceLocation& where) {
      for (const auto& source : sources)
        if (std::string quoted = source->quote(where); !quoted.empty()) return quoted;
      return std::string();
    });
    return result;
  }
}

}  // namespace modelica

ModelicaModel load_modelica(std::string_view text, const std::string& file_name, const LoadOptions& options) {
  return modelica::load(text, file_name, options, {});
}

ModelicaModel load_modelica_file(const std::string& path, const LoadOptions& options) {
  return load_modelica(modelica::read_text(path), path, options);
}

ModelicaModel load_modelica_class(const std::string& name, const LoadOptions& options) {
  if (name.empty()) throw UsageError("the name of a class is missing, for example \"Package.Model\"");
  LoadOptions named = options;
  named.model_name = name;
  return modelica::load("", "library", named, {});
}

}  // namespace saltus
