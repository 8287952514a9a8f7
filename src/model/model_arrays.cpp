#include "model/model_arrays.hpp"

#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "model/rewrite_model.hpp"

namespace saltus {

namespace {

using Form = IteratorForm;

/// "i - 1", for names and messages.
std::string text_of(const Form& form) {
  const auto operand = [&](std::size_t k) {
    const bool simple = form.operands[k].operands.empty() || form.operands[k].kind == Form::Kind::maximum ||
                        form.operands[k].kind == Form::Kind::minimum;
    return simple ? text_of(form.operands[k]) : "(" + text_of(form.operands[k]) + ")";
  };
  switch (form.kind) {
    case Form::Kind::number:
      return std::to_string(form.value);
    case Form::Kind::iterator:
      return form.value < 3 ? std::string(1, static_cast<char>('i' + form.value)) : fmt::format("i{}", form.value + 1);
    case Form::Kind::sum:
      return operand(0) + " + " + operand(1);
    case Form::Kind::difference:
      return operand(0) + " - " + operand(1);
    case Form::Kind::product:
      return operand(0) + "*" + operand(1);
    case Form::Kind::negative:
      return "-" + operand(0);
    case Form::Kind::maximum:
    case Form::Kind::minimum:
      return fmt::format("{}({}, {})", form.kind == Form::Kind::maximum ? "max" : "min", text_of(form.operands[0]),
                         text_of(form.operands[1]));
    default:
      throw UsageError("an index has no such form");
  }
}

std::string text_of(const std::vector<Form>& forms) {
  std::string text;
  for (const Form& form : forms) text += (text.empty() ? "" : ",") + text_of(form);
  return text;
}

std::string pass_text(const ModelArrays::Pass& pass) {
  std::string text;
  for (std::size_t k = 0; k < pass.size(); ++k)
    text += fmt::format("{}{} = {}", k == 0 ? "" : ", ", text_of({Form::Kind::iterator, static_cast<int>(k)}), pass[k]);
  return text;
}

}  // namespace

std::size_t ModelArrays::Array::size() const {
  std::size_t size = 1;
  for (const int n : dims) size *= static_cast<std::size_t>(n);
  return size;
}

void ModelArrays::Array::set(std::size_t position, double start) {
  if (starts.size() == 1) starts.assign(size(), starts.front());
  starts[position] = start;
}

std::string ModelArrays::Array::element_name(std::size_t position) const {
  std::string text;
  for (std::size_t k = dims.size(); k-- > 0;) {
    const auto n = static_cast<std::size_t>(dims[k]);
    text = std::to_string(position % n) + (text.empty() ? "" : ",") + text;
    position /= n;
  }
  return name + "[" + text + "]";
}

Expr ModelArrays::element(ModelData& model, std::size_t array, std::size_t position) {
  Array& a = arrays[array];
  const auto [it, fresh] = a.symbols.try_emplace(static_cast<int>(position));
  if (fresh) it->second = Expr(model.graph, model.graph->symbol(a.element_name(position), a.kind));
  return it->second;
}

std::optional<std::pair<std::size_t, std::size_t>> ModelArrays::find(const std::string& name) const {
  const auto bracket = name.find('[');
  if (bracket == std::string::npos || name.back() != ']') return std::nullopt;
  const auto it = by_name.find(name.substr(0, bracket));
  if (it == by_name.end()) return std::nullopt;
  const Array& array = arrays[it->second];
  std::size_t position = 0;
  const char* next = name.data() + bracket + 1;
  for (std::size_t k = 0; k < array.dims.size(); ++k) {
    int subscript = -1;
    const auto [end, fault] = std::from_chars(next, name.data() + name.size(), subscript);
    const bool last = k + 1 == array.dims.size();
    if (fault != std::errc() || subscript < 0 || subscript >= array.dims[k] || *end != (last ? ']' : ','))
      return std::nullopt;
    position = position * static_cast<std::size_t>(array.dims[k]) + static_cast<std::size_t>(subscript);
    next = end + 1;
  }
  return std::pair(it->second, position);
}

Expr ModelArrays::refer(ModelData& model, int array, std::size_t loop, std::vector<Form> forms) {
  const std::string text =
      array < 0 ? text_of(forms) : arrays[static_cast<std::size_t>(array)].name + "[" + text_of(forms) + "]";
  const auto [it, fresh] = known.try_emplace({loop, text}, references.size());
  if (fresh) {
    const SymbolKind kind = array < 0 ? SymbolKind::parameter : arrays[static_cast<std::size_t>(array)].kind;
    references.push_back({array, loop, std::move(forms), Expr(model.graph, model.graph->symbol(text, kind))});
  }
  return references[it->second].symbol;
}

std::size_t ModelArrays::position(const Reference& reference, const Pass& pass) const {
  const Array& array = arrays[static_cast<std::size_t>(reference.array)];
  std::size_t position = 0;
  for (std::size_t k = 0; k < reference.forms.size(); ++k) {
    const std::int64_t index = reference.forms[k].at(pass);
    if (index < 0 || index >= array.dims[k])
      throw ModelError(
          array.where,
          fmt::format("for_each: {}[{}] with {} has the subscript {}, but subscripts {} of '{}' are 0 … {}", array.name,
                      text_of(reference.forms), pass_text(pass), index, k + 1, array.name, array.dims[k] - 1));
    position = position * static_cast<std::size_t>(array.dims[k]) + static_cast<std::size_t>(index);
  }
  return position;
}

void ModelArrays::declare(ModelData& model, const Array& array, std::size_t position, const Expr& symbol) {
  std::size_t index = 0;
  const std::string& name = symbol.name();
  const double start = array.start(position);
  if (array.kind == SymbolKind::variable) {
    index = model.variables.size();
    model.variables.push_back(symbol);
    model.variable_info.push_back({name, start, array.fixed, array.nominal, array.details});
  } else if (array.kind == SymbolKind::parameter) {
    index = model.parameters.size();
    model.parameters.push_back({symbol, start, name, array.where, array.details});
  } else {
    index = model.discretes.size();
    model.discretes.push_back({.symbol = symbol,
                               .start = start,
                               .name = name,
                               .where = array.where,
                               .boolean = array.boolean,
                               .details = array.details});
  }
  if (!model.names.emplace(name, ModelData::Declared{array.kind, index}).second)
    throw ModelError(array.where, "'" + name + "' is declared twice in model '" + model.name + "'");
}

void ModelArrays::add_pass(ModelData& model, const ModelArrays& arrays, const Loop& loop, const Pass& pass,
                           const std::vector<Expr>& values) {
  Graph& graph = *model.graph;
  Rewrite rules(graph);
  for (std::size_t k = 0; k < loop.references.size(); ++k) {
    const Expr& from = arrays.references[loop.references[k]].symbol;
    rules.replace.emplace(from.id(), values[k].in(graph));
    if (loop.differentiated[k]) rules.replace.emplace(der(from).id(), der(values[k]).id());
  }
  for (const auto& [symbol, before] : loop.body.pre_symbols) {
    const Expr element(model.graph, rules(symbol.id()));
    const auto [place, fresh] = model.pre_places.emplace(element.id(), model.pre_symbols.size());
    if (fresh)
      model.pre_symbols.emplace_back(
          element, Expr(model.graph, graph.symbol("pre(" + element.name() + ")", SymbolKind::discrete)));
    rules.replace.emplace(before.id(), model.pre_symbols[place->second].second.id());
  }
  ModelData body = loop.body;
  rewrite_model(body, rules);
  const auto append = [](auto& list, auto& more) {
    list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  for (auto& d : body.definitions) d.discrete = Expr(model.graph, rules(d.discrete.id()));
  const int first = static_cast<int>(model.clauses.size());
  for (ModelData::Clause& c : body.clauses) {
    if (!c.named) c.name = (c.after >= 0 ? "elsewhen " : "when ") + to_string(c.condition);
    if (c.after >= 0) c.after += first;
  }
  for (ModelData::NamedEquation& e : body.equations)
    if (!e.name.empty()) e.name += " (" + pass_text(pass) + ")";
  append(model.equations, body.equations);
  append(model.initial_equations, body.initial_equations);
  append(model.definitions, body.definitions);
  append(model.clauses, body.clauses);
  append(model.assertions, body.assertions);
}

void ModelArrays::check_outside(const ModelData& model) {
  const std::vector<Expr> all = expressions_of(model);
  const auto check = [&](NodeId id) {
    for (const Reference& reference : model.arrays->references)
      if (reference.symbol.id() == id)
        throw ModelError("'" + reference.symbol.name() + "' stands outside of the loop whose index it has");
  };
  for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::discrete, SymbolKind::parameter})
    for (const Expr& s : symbols_of(all, kind)) check(s.id());
  for (const Expr& s : symbols_of(all, SymbolKind::derivative)) check(model.graph->symbol_of(s.id()).base);
}

std::shared_ptr<ModelData> write_out_arrays(ModelData& model) {
  ModelArrays& arrays = *model.arrays;
  ModelArrays::check_outside(model);
  auto flat = std::make_shared<ModelData>(model);
  flat->arrays = nullptr;
  for (std::size_t a = 0; a < arrays.arrays.size(); ++a)
    for (std::size_t k = 0; k < arrays.arrays[a].size(); ++k)
      ModelArrays::declare(*flat, arrays.arrays[a], k, arrays.element(model, a, k));
  for (const ModelArrays::Loop& loop : arrays.loops)
    ModelArrays::for_each_pass(loop, [&](const ModelArrays::Pass& pass) {
      std::vector<Expr> values;
      for (const std::size_t r : loop.references) {
        const ModelArrays::Reference& reference = arrays.references[r];
        if (reference.array < 0)
          values.emplace_back(static_cast<double>(reference.forms.front().at(pass)));
        else
          values.push_back(
              arrays.element(model, static_cast<std::size_t>(reference.array), arrays.position(reference, pass)));
      }
      ModelArrays::add_pass(*flat, arrays, loop, pass, values);
    });
  return flat;
}

namespace {

/// Of what loops have none.
std::vector<std::size_t> rest_of(const ModelData& m) {
  std::size_t in_modes = 0;
  for (const auto& mode : m.modes) in_modes += mode.equations.size() + mode.transitions.size();
  for (const auto& t : m.transitions) in_modes += t.actions.size();
  return {m.variables.size(),    m.parameters.size(),   m.discretes.size(), m.inputs.size(),
          m.samples.size(),      m.surfaces.size(),     m.modes.size(),     m.transitions.size(),
          m.start_values.size(), m.bound_values.size(), in_modes,           m.arrays->arrays.size()};
}

}  // namespace

ModelArrays::Writing::Writing(ModelData& model, const std::vector<IndexRange>& ranges)
    : model_(model),
      arrays_(*model.arrays),
      levels_(arrays_.open.size()),
      equations_(model.equations.size()),
      initial_equations_(model.initial_equations.size()),
      definitions_(model.definitions.size()),
      clauses_(model.clauses.size()),
      assertions_(model.assertions.size()),
      pre_symbols_(model.pre_symbols.size()),
      rest_(rest_of(model)) {
  arrays_.open.insert(arrays_.open.end(), ranges.begin(), ranges.end());
  arrays_.open_loops.push_back(++arrays_.begun);
}

ModelArrays::Writing::~Writing() {
  if (!finished_) cut();
  arrays_.open_loops.pop_back();
  arrays_.open.erase(arrays_.open.begin() + static_cast<std::ptrdiff_t>(levels_), arrays_.open.end());
}

ModelData ModelArrays::Writing::cut() {
  ModelData body;
  body.graph = model_.graph;
  const auto take = [](auto& from, std::size_t first, auto& to) {
    to.assign(std::make_move_iterator(from.begin() + static_cast<std::ptrdiff_t>(first)),
              std::make_move_iterator(from.end()));
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(first), from.end());
  };
  take(model_.equations, equations_, body.equations);
  take(model_.initial_equations, initial_equations_, body.initial_equations);
  take(model_.definitions, definitions_, body.definitions);
  take(model_.clauses, clauses_, body.clauses);
  take(model_.assertions, assertions_, body.assertions);
  for (ModelData::Clause& c : body.clauses)
    if (c.after >= 0) c.after -= static_cast<int>(clauses_);
  // pre() of something that loops have in common stays with the model
  for (std::size_t k = 0; k < model_.pre_symbols.size(); ++k) {
    const auto& entry = model_.pre_symbols[k];
    const bool refers = std::ranges::any_of(
        arrays_.references, [&](const Reference& reference) { return reference.symbol.same(entry.first); });
    if (refers) body.pre_symbols.push_back(entry);
  }
  std::erase_if(model_.pre_symbols, [&](const auto& entry) {
    return std::ranges::any_of(body.pre_symbols, [&](const auto& other) { return other.first.same(entry.first); });
  });
  model_.pre_places.clear();
  for (std::size_t k = 0; k < model_.pre_symbols.size(); ++k)
    model_.pre_places.emplace(model_.pre_symbols[k].first.id(), k);
  return body;
}

void ModelArrays::Writing::check_rest() const {
  if (rest_of(model_) == rest_) return;
  throw ModelError(
      "for_each: the body of a loop has equations, definitions, clauses and assertions; declare variables, arrays, "
      "parameters, inputs, samples, modes and surfaces before it, and give start values and bounds to arrays");
}

void ModelArrays::Writing::finish() {
  check_rest();
  finished_ = true;
  Loop loop{arrays_.open, cut()};
  find_references(loop);
  try {
    for_each_pass(loop, [&](const Pass& pass) {
      for (const std::size_t r : loop.references)
        if (arrays_.references[r].array >= 0) static_cast<void>(arrays_.position(arrays_.references[r], pass));
    });
  } catch (const NotKept&) {
    throw ModelError("for_each: a subscript is too large to be computed");
  }
  const ModelData& body = loop.body;
  const bool empty = body.equations.empty() && body.initial_equations.empty() && body.definitions.empty() &&
                     body.clauses.empty() && body.assertions.empty();
  if (!empty) arrays_.loops.push_back(std::move(loop));  // it may hold other loops alone
}

void ModelArrays::Writing::find_references(Loop& loop) const {
  const std::vector<Expr> all = expressions_of(loop.body);
  std::unordered_map<NodeId, std::size_t> symbols;
  for (std::size_t r = 0; r < arrays_.references.size(); ++r) symbols.emplace(arrays_.references[r].symbol.id(), r);
  const auto add = [&](NodeId id) {
    if (const auto it = symbols.find(id); it != symbols.end()) loop.references.push_back(it->second);
  };
  for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::discrete, SymbolKind::parameter})
    for (const Expr& s : symbols_of(all, kind)) add(s.id());
  std::unordered_set<NodeId> differentiated;
  for (const Expr& s : symbols_of(all, SymbolKind::derivative)) {
    add(model_.graph->symbol_of(s.id()).base);
    differentiated.insert(model_.graph->symbol_of(s.id()).base);
  }
  for (const auto& [symbol, before] : loop.body.pre_symbols) add(symbol.id());
  std::ranges::sort(loop.references);
  loop.references.erase(std::unique(loop.references.begin(), loop.references.end()), loop.references.end());
  for (const std::size_t r : loop.references)
    if (std::ranges::find(arrays_.open_loops, arrays_.references[r].loop) == arrays_.open_loops.end())
      throw ModelError("'" + arrays_.references[r].symbol.name() + "' stands outside of the loop whose index it has");
  for (const std::size_t r : loop.references)
    loop.differentiated.push_back(differentiated.contains(arrays_.references[r].symbol.id()));
}

}  // namespace saltus
