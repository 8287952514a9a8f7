#include <fmt/format.h>
#include <saltus/base/names.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/model/model.hpp>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "model/expression_tests.hpp"
#include "model/model_arrays.hpp"

namespace saltus {

namespace {

void check_value(const std::string& what, const std::string& name, double value, const SourceLocation& where) {
  if (!std::isfinite(value))
    throw ModelError(where, what + " of '" + name + "' is " + number_text(value) + "; give a finite number");
}

void check_graph(const ModelData& d, const Expr& e, const char* what) {
  if (e.graph() && e.graph() != d.graph)
    throw UsageError(std::string(what) + ": the expression belongs to another model than '" + d.name + "'");
}

void refuse_input(const ModelData& d, const Expr& e, const char* what) {
  for (const ModelData::Input& input : d.inputs) {
    const auto place = static_cast<std::size_t>(input.places.variable);
    if ((input.held ? d.discretes[place].symbol : d.variables[place]).same(e))
      throw ModelError(fmt::format("{}: '{}' is an input; its values come from outside of the model", what, input.name));
  }
}

bool has_kind(const Expr& e, SymbolKind kind) {
  return e.is_symbol() && e.graph()->symbol_of(e.id()).kind == kind;
}

void add_reset(ModelData& d, std::vector<ModelData::Action>& actions, const Expr& x, const Expr& value, const BoolExpr& only_if = true) {
  check_graph(d, x, "reset");
  check_graph(d, value, "reset");
  if (!has_kind(x, SymbolKind::variable) && !has_kind(x, SymbolKind::derivative))
    throw ModelError("reset: '" + to_string(x) +
                     "' is not a variable or the derivative of one; only these can jump (use assign for discrete ones)");
  refuse_input(d, x, "reset");
  actions.push_back({ModelData::Action::Kind::reset, x, value, {}, only_if});
}

void add_assign(ModelData& d, std::vector<ModelData::Action>& actions, const Expr& q, const Expr& value) {
  check_graph(d, q, "assign");
  check_graph(d, value, "assign");
  if (!has_kind(q, SymbolKind::discrete))
    throw ModelError("assign: '" + to_string(q) + "' is not a discrete variable (use reset for variables that jump)");
  refuse_input(d, q, "assign");
  actions.push_back({ModelData::Action::Kind::assign, q, value, {}});
}

}  // namespace

struct ModelContent::Shared {
  std::shared_ptr<ModelData> data;                        // what is written down; null: what writes it out was not asked
  std::function<std::shared_ptr<ModelData>()> write_out;  // of a text; none: there is nothing to do
  std::string name;
  std::mutex lock;  // of all this: several threads may read
  std::shared_ptr<const RepeatedModel> loops;
  std::shared_ptr<ModelData> flat;  // without arrays, until the next change
};

ModelContent::ModelContent(std::shared_ptr<ModelData> data) : shared_(std::make_shared<Shared>()) {
  shared_->data = std::move(data);
}

ModelContent::ModelContent(std::string name, std::shared_ptr<const RepeatedModel> loops,
                           std::function<std::shared_ptr<ModelData>()> write_out)
    : shared_(std::make_shared<Shared>()) {
  shared_->name = std::move(name);
  shared_->loops = std::move(loops);
  shared_->write_out = std::move(write_out);
}

const std::string& ModelContent::name() const { return shared_->write_out ? shared_->name : shared_->data->name; }

std::shared_ptr<const RepeatedModel> ModelContent::loops() const {
  const std::lock_guard guard(shared_->lock);
  if (!shared_->loops && shared_->data && shared_->data->arrays) shared_->loops = keep_array_loops(*shared_->data);
  return shared_->loops;
}

std::shared_ptr<ModelData> ModelContent::read() const {
  const std::lock_guard guard(shared_->lock);
  if (!shared_->data) shared_->data = shared_->write_out();
  if (!shared_->data->arrays) return shared_->data;
  if (!shared_->flat) shared_->flat = write_out_arrays(*shared_->data);
  return shared_->flat;
}

const std::shared_ptr<ModelData>& ModelContent::written() const {
  const std::lock_guard guard(shared_->lock);
  if (!shared_->data) shared_->data = shared_->write_out();
  return shared_->data;
}

const std::shared_ptr<ModelData>& ModelContent::change() const {
  written();
  const std::lock_guard guard(shared_->lock);
  shared_->loops = nullptr;
  shared_->flat = nullptr;
  return shared_->data;
}

Model::Model(std::string name) : data_(std::make_shared<ModelData>()) {
  data_->name = std::move(name);
  data_->time = Expr(data_->graph, data_->graph->symbol("time", SymbolKind::time));
  data_->still = Expr(data_->graph, data_->graph->symbol("nothing", SymbolKind::variable));
  data_->initial_symbol = Expr(data_->graph, data_->graph->symbol("initial()", SymbolKind::discrete));
  data_->terminal_symbol = Expr(data_->graph, data_->graph->symbol("terminal()", SymbolKind::discrete));
}

const std::string& Model::name() const { return data_.name(); }

Model Model::copy() const {
  return Model(ModelContent(std::make_shared<ModelData>(data())));
}

Expr Model::time() const { return data_.written()->time; }

namespace {

Expr declare(ModelData& d, const std::string& name, SymbolKind kind, std::size_t index, const SourceLocation& where) {
  if (name.empty()) throw ModelError(where, "a declaration needs a name");
  if (name == "time") throw ModelError(where, "'time' is the name of the time variable; choose another");
  if ((d.arrays && d.arrays->by_name.contains(name)) ||
      !d.names.emplace(name, ModelData::Declared{kind, index}).second)
    throw ModelError(where, "'" + name + "' is declared twice in model '" + d.name + "'");
  return {d.graph, d.graph->symbol(name, kind)};
}

VariableDetails details_of(VariableOptions o, const SourceLocation& where) {
  return {o.min,  o.max,       std::move(o.unit), std::move(o.description), where,
          o.type, o.causality, std::move(o.literals)};
}

}  // namespace

Expr Model::variable(const std::string& name, double start, VariableOptions o, const SourceLocation& where) {
  check_value("the start value", name, start, where);
  if (!(o.nominal > 0.0) || !std::isfinite(o.nominal))
    throw ModelError(where, "the nominal value of '" + name + "' must be a positive number");
  const Expr symbol = declare(*data_, name, SymbolKind::variable, data_->variables.size(), where);
  data_->variables.push_back(symbol);
  data_->variable_info.push_back(
      {name, start, o.fixed, o.nominal, details_of(std::move(o), where)});
  return symbol;
}

Expr Model::parameter(const std::string& name, double value, const SourceLocation& where) {
  check_value("the value", name, value, where);
  const Expr symbol = declare(*data_, name, SymbolKind::parameter, data_->parameters.size(), where);
  data_->parameters.push_back({symbol, value, name, where});
  return symbol;
}

Expr Model::parameter(const std::string& name, double value, VariableOptions options, const SourceLocation& where) {
  const Expr symbol = parameter(name, value, where);
  data_->parameters.back().details = details_of(std::move(options), where);
  return symbol;
}

Expr Model::discrete(const std::string& name, double start, const SourceLocation& where) {
  check_value("the start value", name, start, where);
  const Expr symbol = declare(*data_, name, SymbolKind::discrete, data_->discretes.size(), where);
  data_->discretes.push_back({.symbol = symbol, .start = start, .name = name, .where = where});
  data_->discretes.back().details = VariableDetails{.where = where};
  return symbol;
}

Expr Model::discrete(const std::string& name, double start, VariableOptions options, const SourceLocation& where) {
  const Expr symbol = discrete(name, start, where);
  data_->discretes.back().boolean = options.type == VariableType::boolean;
  data_->discretes.back().details = details_of(std::move(options), where);
  return symbol;
}

BoolExpr Model::discrete(const std::string& name, bool start, const SourceLocation& where) {
  return BoolExpr(discrete(name, start ? 1.0 : 0.0, VariableOptions{.type = VariableType::boolean}, where));
}

void Model::equation(const Equation& equation, const std::string& name, const SourceLocation& where) {
  check_graph(*data_, equation.lhs, "equation");
  check_graph(*data_, equation.rhs, "equation");
  data_->equations.push_back({equation, name, where});
}

void Model::equations(const std::vector<Equation>& equations, const SourceLocation& where) {
  for (const Equation& e : equations) equation(e, "", where);
}

void Model::initial_equation(const Equation& equation, const SourceLocation& where) {
  check_graph(*data_, equation.lhs, "initial_equation");
  check_graph(*data_, equation.rhs, "initial_equation");
  data_->initial_equations.push_back({equation, "", where});
}

void Model::allow_unbalanced() { data_->unbalanced = true; }

void Model::start_at(double time) { data_->start_time = time; }

void Model::scaling(Scaling scaling) { data_->scaling = scaling; }

void Model::define(const Expr& discrete, const Expr& value, const SourceLocation& where) {
  if (!has_kind(discrete, SymbolKind::discrete))
    throw ModelError(where, "define: '" + to_string(discrete) + "' is not a discrete variable");
  refuse_input(*data_, discrete, "define");
  check_graph(*data_, value, "define");
  data_->definitions.push_back({discrete, value, where});
}

void Model::surface(const BoolExpr& relation, SurfaceRule rule, const SourceLocation& where) {
  data_->surfaces.push_back({relation, rule, where});
}

void Model::guard_nominal(const BoolExpr& relation, double nominal, const SourceLocation& where) {
  check_graph(*data_, relation.expr(), "guard_nominal");
  if (!(nominal > 0.0) || !std::isfinite(nominal))
    throw ModelError(where, "guard_nominal: the nominal value must be a positive number");
  data_->surfaces.push_back({relation, SurfaceRule::filippov, where, nominal});
}

void Model::stabilise_sliding(double strength) {
  if (!(strength > 0.0) || !std::isfinite(strength)) throw ModelError("stabilise_sliding: the strength must be a positive number");
  data_->stabilisation = strength;
}

When Model::when(const BoolExpr& condition, const SourceLocation& where) {
  check_graph(*data_, condition.expr(), "when");
  data_->clauses.push_back({condition, {}, where, -1, "when " + to_string(condition)});
  return {data_, data_->clauses.size() - 1};
}

BoolExpr Model::sample(const Expr& start, const Expr& interval) {
  for (const Expr& part : {start, interval}) {
    check_graph(*data_, part, "sample");
    if (!part.is_constant() && depends_on(part, {SymbolKind::time, SymbolKind::variable, SymbolKind::derivative, SymbolKind::discrete}))
      throw ModelError("sample: '" + to_string(part) + "' is not made of numbers and parameters alone");
  }
  const auto has_value = [](const Expr& part) { return !part.is_constant() || std::isfinite(part.constant_value()); };
  if (!has_value(start) || !has_value(interval) || (interval.is_constant() && !(interval.constant_value() > 0.0)))
    throw ModelError("sample: the start must be finite and the interval a positive number");
  // hidden discrete variables: the number of the next sample, that of the next one of a run backwards, and a pulse that is true in
  // the instant itself
  const auto text = [](const Expr& part) { return part.is_constant() ? fmt::format("{}", part.constant_value()) : to_string(part); };
  const std::string plain = fmt::format("sample({}, {})", text(start), text(interval));
  std::string name = plain;
  for (int k = 2; data_->names.contains(name); ++k) name = fmt::format("{} #{}", plain, k);
  const auto hidden = [&](const std::string& what, double value) {
    const Expr d = discrete(what, value);
    data_->discretes.back().hidden = true;
    return d;
  };
  constexpr double none = -1e100;
  const Expr next = hidden("next number of " + name, 0.0), previous = hidden("previous number of " + name, none), pulse = hidden(name, 0.0);
  data_->discretes.back().pulse = true;
  const auto clause = [&](const BoolExpr& due) {
    data_->guard_names.emplace_back(due.expr(), name);
    When acts = when(due);
    data_->clauses.back().name = "";
    data_->clauses.back().samples = true;
    return acts;
  };
  // counting avoids the drift of adding the interval again and again
  const BoolExpr due = time() >= start + next * interval;
  // a run that starts late begins with the sample of that time, if there is one, without making up for those before
  const Expr number = no_event(max(next, floor((time() - start) / interval + 1e-9)));
  const Expr late = time() - (start + number * interval);
  const BoolExpr now = no_event(late <= 1e-9 * interval + 1e-12 * abs(time()));
  const auto existing = [&](const Expr& k) { return if_else(no_event(k >= 0.0), k, Expr(none)); };
  clause(due)
      .assign(pulse, if_else(now, Expr(1.0), Expr(0.0)))
      .assign(previous, existing(if_else(now, number - 1.0, number)))
      .assign(next, number + 1.0);
  data_->clauses.back().at_start = true;
  data_->samples.push_back({start, interval, pulse});
  clause(time() <= start + previous * interval).assign(pulse, 1.0).assign(previous, existing(previous - 1.0));
  return BoolExpr(pulse);
}

Expr Model::pre(const Expr& symbol) {
  if (!has_kind(symbol, SymbolKind::discrete) && !has_kind(symbol, SymbolKind::variable))
    throw ModelError("pre: '" + to_string(symbol) + "' is not a variable or discrete variable");
  check_graph(*data_, symbol, "pre");
  for (std::size_t k = 0; k < data_->inputs.size(); ++k) {
    const ModelData::Input& input = data_->inputs[k];
    if (!input.held && data_->variables[static_cast<std::size_t>(input.places.variable)].same(symbol))
      return value_before(k);
  }
  const auto [place, fresh] = data_->pre_places.emplace(symbol.id(), data_->pre_symbols.size());
  if (!fresh) return data_->pre_symbols[place->second].second;
  const Expr before(data_->graph, data_->graph->symbol("pre(" + symbol.name() + ")", SymbolKind::discrete));
  data_->pre_symbols.emplace_back(symbol, before);
  return before;
}

BoolExpr Model::pre(const BoolExpr& discrete) { return BoolExpr(pre(discrete.expr())); }
BoolExpr Model::initial() { return BoolExpr(data_->initial_symbol); }
BoolExpr Model::terminal() { return BoolExpr(data_->terminal_symbol); }

void Model::assertion(const BoolExpr& condition, const std::string& message, const SourceLocation& where) {
  check_graph(*data_, condition.expr(), "assertion");
  data_->assertions.push_back({condition, message, where});
}

ExplicitMode Model::mode(const std::string& name) {
  for (const auto& mode : data_->modes)
    if (mode.name == name) throw ModelError("the mode '" + name + "' is declared twice");
  data_->modes.push_back({name, {}, {}});
  return {data_, data_->modes.size() - 1};
}

void Model::start_in(const ExplicitMode& mode) {
  if (mode.data_ != data_) throw UsageError("start_in: the mode belongs to another model");
  data_->start_mode = mode.mode_;
}

namespace {

/// `settable`: "h.start" and "h(start)" mean h, too.
ModelData::Declared find(const ModelData& d, const std::string& name, bool settable = false) {
  if (const auto it = d.names.find(name); it != d.names.end()) return it->second;
  std::vector<std::string> known;
  for (const auto& [candidate, place] : d.names)
    if (place.kind != SymbolKind::discrete || !d.discretes[place.index].hidden) known.push_back(candidate);
  std::sort(known.begin(), known.end());
  const NameTable names(known);
  if (const auto place = settable ? names.find_settable(name) : names.find(name)) return d.names.at(known[*place]);
  throw ModelError("'" + name + "' is not declared in model '" + d.name + "'" + names.hint(name));
}

}  // namespace

Expr Model::symbol(const std::string& name) const {
  ModelData& written = *data_.written();
  if (written.arrays)
    if (const auto place = written.arrays->find(name))
      return written.arrays->element(written, place->first, place->second);
  const auto [kind, index] = find(written, name);
  if (kind == SymbolKind::variable) return written.variables[index];
  if (kind == SymbolKind::parameter) return written.parameters[index].symbol;
  return written.discretes[index].symbol;
}

void Model::set(const std::string& name, double value) {
  if (data_->arrays)
    if (const auto place = data_->arrays->find(name)) {
      check_value("the value", name, value, {});
      data_->arrays->arrays[place->first].set(place->second, value);
      return;
    }
  const auto [kind, index] = find(*data_, name, true);
  check_value("the value", name, value, {});
  data_->start_values.erase(name);
  if (kind == SymbolKind::variable)
    data_->variable_info[index].start = value;
  else if (kind == SymbolKind::parameter)
    data_->parameters[index].value = value;
  else
    data_->discretes[index].start = value;
}

namespace {

/// An attribute of a symbol must be a function of parameters.
void check_attribute(const ModelData& d, const Expr& symbol, const Expr& value, const char* function, const char* what) {
  check_graph(d, symbol, function);
  check_graph(d, value, function);
  if (!has_kind(symbol, SymbolKind::variable) && !has_kind(symbol, SymbolKind::discrete))
    throw ModelError(fmt::format("{}: '{}' is not a variable or discrete variable", function, to_string(symbol)));
  for (const SymbolKind kind : {SymbolKind::time, SymbolKind::variable, SymbolKind::derivative, SymbolKind::discrete})
    for (const Expr& s : symbols_of(std::span(&value, 1), kind))
      throw ModelError(fmt::format("{}: {} of '{}' depends on '{}'; only parameters are known before the run", function,
                                   what, symbol.name(), s.name()));
}

}  // namespace

void Model::start(const Expr& symbol, const Expr& value) {
  check_attribute(*data_, symbol, value, "start", "the start value");
  data_->start_values.insert_or_assign(symbol.name(), value);
}

void Model::bounds(const Expr& symbol, const Expr& min, const Expr& max) {
  check_attribute(*data_, symbol, min, "bounds", "the least value");
  check_attribute(*data_, symbol, max, "bounds", "the greatest value");
  const auto& [kind, index] = data_->names.at(symbol.name());
  Rare<VariableDetails>& stored =
      kind == SymbolKind::variable ? data_->variable_info[index].details : data_->discretes[index].details;
  VariableDetails details = *stored;
  if (min.is_constant()) details.min = min.constant_value();
  if (max.is_constant()) details.max = max.constant_value();
  stored = std::move(details);
  data_->bound_values.insert_or_assign(symbol.name(), ModelData::Bounds{min, max});
}

void Model::fix(const std::string& name, const std::string& reason) { data_->fixed_names.insert_or_assign(name, reason); }

void Model::quote_source(SourceQuote quote) { data_->quote = std::move(quote); }

When::When(ModelContent data, std::size_t clause)
    : data_(std::move(data)), clause_(clause), loop_(data_->arrays ? data_->arrays->innermost() : 0) {}

ModelData& When::model() const {
  ModelData& model = *data_;
  if (loop_ != (model.arrays ? model.arrays->innermost() : 0))
    throw UsageError("a clause of a loop is written in the body of that loop, and any other one outside of loops");
  return model;
}

When& When::reset(const Expr& x, const Expr& value, const BoolExpr& only_if) {
  ModelData& m = model();
  check_graph(m, only_if.expr(), "reset");
  add_reset(m, m.clauses[clause_].actions, x, value, only_if);
  return *this;
}

When& When::assign(const Expr& discrete, const Expr& value) {
  ModelData& m = model();
  add_assign(m, m.clauses[clause_].actions, discrete, value);
  return *this;
}

When& When::assign(const BoolExpr& discrete, const BoolExpr& value) { return assign(discrete.expr(), value.expr()); }

When& When::terminate(const std::string& message, const BoolExpr& only_if) {
  ModelData& m = model();
  check_graph(m, only_if.expr(), "terminate");
  m.clauses[clause_].actions.push_back({ModelData::Action::Kind::terminate, {}, {}, message, only_if});
  return *this;
}

When& When::assertion(const BoolExpr& condition, const std::string& message) {
  ModelData& m = model();
  check_graph(m, condition.expr(), "assertion");
  m.clauses[clause_].actions.push_back({ModelData::Action::Kind::check, {}, condition.expr(), message});
  return *this;
}

When& When::record() {
  model().clauses[clause_].actions.push_back({ModelData::Action::Kind::record, {}, {}, {}});
  return *this;
}

When& When::record_touches() {
  model().clauses[clause_].touches = true;
  return *this;
}

When& When::named(const std::string& name) {
  ModelData::Clause& clause = model().clauses[clause_];
  clause.name = name;
  clause.named = true;
  return *this;
}

When When::otherwise_when(const BoolExpr& condition, const SourceLocation& where) {
  ModelData& m = model();
  check_graph(m, condition.expr(), "otherwise_when");
  m.clauses.push_back({condition, {}, where, static_cast<int>(clause_), "elsewhen " + to_string(condition)});
  return {data_, m.clauses.size() - 1};
}

ExplicitMode& ExplicitMode::equation(const Equation& equation, const std::string& name, const SourceLocation& where) {
  check_graph(*data_, equation.lhs, "equation");
  check_graph(*data_, equation.rhs, "equation");
  data_->modes[mode_].equations.push_back({equation, name, where});
  return *this;
}

ExplicitMode& ExplicitMode::equations(const std::vector<Equation>& equations, const SourceLocation& where) {
  for (const Equation& e : equations) equation(e, "", where);
  return *this;
}

ModeTransition ExplicitMode::transition(const BoolExpr& condition, const SourceLocation& where) {
  check_graph(*data_, condition.expr(), "transition");
  data_->modes[mode_].transitions.push_back(data_->transitions.size());
  data_->transitions.push_back({mode_, condition, mode_, false, {}, where});
  return {data_, data_->transitions.size() - 1};
}

const std::string& ExplicitMode::name() const { return data_->modes[mode_].name; }

ModeTransition& ModeTransition::to(const ExplicitMode& successor) {
  if (successor.data_ != data_) throw UsageError("transition: the successor belongs to another model");
  data_->transitions[transition_].to = successor.mode_;
  data_->transitions[transition_].has_target = true;
  return *this;
}

ModeTransition& ModeTransition::reset(const Expr& x, const Expr& value) {
  add_reset(*data_, data_->transitions[transition_].actions, x, value);
  return *this;
}

ModeTransition& ModeTransition::assign(const Expr& discrete, const Expr& value) {
  add_assign(*data_, data_->transitions[transition_].actions, discrete, value);
  return *this;
}

}  // namespace saltus
