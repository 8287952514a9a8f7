#include <saltus/modelica/modelica.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

#include "modelica/flatten/load.hpp"
#include "modelica/flatten/prelude.hpp"
#include "modelica/parser.hpp"

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

const ClassScope* choose_model(const Ast& ast, ScopeTree& scopes, const std::string& wanted, Diagnostics& diagnostics) {
  const SourceText& source = ast.source();
  const auto fail = [&](std::string message, std::string hint) {
    diagnostics.add(source.diagnose(Severity::error, {0, 0, source.file()}, std::move(message), std::move(hint)));
    return nullptr;
  };
  if (wanted.empty()) {
    const ClassScope* found = last_model(scopes, &scopes.root(), ast.root.classes);
    return found ? found : fail("the file contains no model", "write 'model Name ... end Name;'");
  }
  const ClassScope* scope = &scopes.root();
  for (std::size_t begin = 0; scope && begin <= wanted.size();) {
    const std::size_t end = std::min(wanted.find('.', begin), wanted.size());
    scope = scopes.find_member(std::string_view(wanted).substr(begin, end - begin), scope);
    begin = end + 1;
  }
  if (scope && scope->definition && (can_run(*scope->definition) || scope->definition->is_partial)) {
    if (!scope->definition->is_partial) return scope;
    return fail("'" + wanted + "' is partial and cannot run", "extend it and complete it");
  }
  std::vector<std::string> names;
  list_models(ast.root.classes, "", names);
  std::sort(names.begin(), names.end());
  const std::string near = did_you_mean(wanted, names);
  return fail(scope ? "'" + wanted + "' is a " + std::string(spelling(scope->kind())) + ", not a model"
                    : "there is no model '" + wanted + "' in this file",
              near);
}

}  // namespace

ModelicaModel load(std::string_view text, const std::string& file_name, const LoadOptions& options,
                   const FlattenLimits& limits) {
  ParseResult parsed = parse(text, file_name);
  parsed.require();
  std::optional<ParseResult> library;
  std::vector<const SourceText*> sources{&parsed.ast.source()};
  if (text.find("Modelica.") != std::string_view::npos) {
    library = parse(prelude(), "Modelica", 1);
    sources.push_back(&library->ast.source());
  }
  std::set<std::string> structural;
  // each round fixes the parameters that the one before found to decide the structure
  for (;;) {
    Diagnostics diagnostics;
    diagnostics.add(parsed.diagnostics);
    ScopeTree scopes;
    scopes.add(parsed.ast.root);
    if (library) scopes.add(library->ast.root);
    const ClassScope* cls = choose_model(parsed.ast, scopes, options.model_name, diagnostics);
    if (!cls) throw ModelicaError(std::move(diagnostics));
    Flattener flattener(scopes, sources, options, limits, structural, diagnostics);
    const std::size_t known = structural.size();
    if (!flattener.run(cls) && structural.size() > known) continue;
    Experiment experiment = diagnostics.has_errors() ? Experiment{} : flattener.experiment(cls);
    diagnostics.sort();
    if (diagnostics.has_errors()) throw ModelicaError(std::move(diagnostics));
    ModelicaModel result{flattener.take_model(), experiment, diagnostics.items()};
    result.model.quote_source([source = std::make_shared<const SourceText>(parsed.ast.source())](
                                  const SourceLocation& where) { return source->quote(where); });
    return result;
  }
}

}  // namespace modelica

ModelicaModel load_modelica(std::string_view text, const std::string& file_name, const LoadOptions& options) {
  return modelica::load(text, file_name, options, {});
}

ModelicaModel load_modelica_file(const std::string& path, const LoadOptions& options) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError("the file '" + path + "' cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw UsageError("the file '" + path + "' cannot be read");
  return load_modelica(text, path, options);
}

}  // namespace saltus
