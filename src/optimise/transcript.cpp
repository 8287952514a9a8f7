#include "optimise/transcript.hpp"

#include <fmt/format.h>
#include <saltus/base/names.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <algorithm>
#include <cmath>

#include "model/rehome.hpp"
#include "optimise/squares.hpp"

namespace saltus {

namespace {

/// "x" of "x.start": as CompiledModel::with_values calls the start value.
std::string settable_name(const Model& model, const std::string& name) {
  static const std::string ending = ".start";
  const bool is_parameter = std::ranges::any_of(model.data().parameters, [&](const auto& p) { return p.name == name; });
  return !is_parameter && name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

double value_in(const Model& model, const std::string& name) {
  for (const ModelData::Parameter& p : model.data().parameters)
    if (p.name == name) return p.value;
  const std::string variable = settable_name(model, name);
  for (const VariableInfo& v : model.data().variable_info)
    if (v.name == variable) return v.start;
  return 0.0;
}

/// Where a search begins that was given no guess.
double guess_between(double lower, double upper, double given, double otherwise) {
  if (!std::isnan(given)) return given;
  if (!std::isnan(otherwise) && lower <= otherwise && otherwise <= upper) return otherwise;
  if (std::isfinite(lower) && std::isfinite(upper)) return 0.5 * (lower + upper);
  return std::isfinite(lower) ? lower : upper;
}

void check_bounds(const std::string& name, double lower, double upper, bool may_be_equal = false) {
  if (may_be_equal ? lower <= upper : lower < upper) return;
  throw UsageError(fmt::format("the bounds of '{}' are {} and {}: the first must be less", name, lower, upper));
}

/// The element of a list with a number from 1, a discrete variable.
Expr element(const std::vector<Expr>& list, const Expr& number, std::size_t first, std::size_t count) {
  if (count == 1) return list[first];
  const std::size_t half = count / 2;
  const BoolExpr lower = no_event(number < Expr(static_cast<double>(first + half) + 0.5));
  return if_else(lower, element(list, number, first, half), element(list, number, first + half, count - half));
}
Expr element(const std::vector<Expr>& list, const Expr& number) {
  return element(list, number, 0, list.size());
}

/// Numbers that a model hides beside those of its inputs.
Expr hidden(Model& model, const std::string& name, double start) {
  const Expr symbol = model.discrete(name, start);
  ModelContent content = model.content();
  content->discretes.back().hidden = true;
  return symbol;
}

}  // namespace

double LinearForm::at(std::span<const double> x) const {
  double value = constant;
  for (const auto& [k, factor] : factors) value += factor * x[k];
  return value;
}

Transcript::Transcript(const Model& model, const Programme& programme, const OptimiseOptions& options)
    : programme_(programme),
      simulate_(options.simulate),
      written_(ModelContent(std::make_shared<ModelData>(with_own_graph(model.data())))) {
  own_nodes_ = written_.data().graph->size();
  if (!simulate_.keep_steps) throw UsageError("a search reads values between steps: keep_steps = false leaves none");
  if (!(simulate_.stop > simulate_.start) && !programme.stop)
    throw UsageError("a search needs runs with a length: the stop time must be later than the start time");
  add_parameters(model);
  add_stop();
  add_controls();
  if (unknowns_.empty()) throw UsageError("nothing is free: name controls, parameters or a free end of the run");
  objective_ = read(programme_.minimise, "what is minimised");
  if (objective_.empty()) throw UsageError("say what is to be minimised");
  find_squares();
  for (std::size_t k = 0; k < programme_.end.size(); ++k) {
    EndCondition& row = programme_.end[k];
    if (row.label.empty()) row.label = fmt::format("end condition {}", k + 1);
    check_bounds(row.label, row.lower, row.upper, true);
    end_rows_.push_back(read(row.value, row.label));
    if (end_rows_.back().empty()) throw UsageError(fmt::format("'{}' has no value", row.label));
    set_nominal(end_rows_.back().size() == 1 ? end_rows_.back()[0].variable : "", row.label, row.nominal);
  }
  for (std::size_t k = 0; k < programme_.path.size(); ++k) {
    PathCondition& row = programme_.path[k];
    if (row.label.empty()) row.label = fmt::format("path condition {}", k + 1);
    check_bounds(row.label, row.lower, row.upper);
    path_variables_.push_back(variable_of(row.value, row.label));
    set_nominal(path_variables_.back(), row.label, row.nominal);
  }
  model_.emplace(written_);
  for (const Unknown& u : unknowns_) {
    if (!(u.lower <= u.guess && u.guess <= u.upper))
      throw UsageError(
          fmt::format("the guess {} of '{}' lies outside of its bounds, {} and {}", u.guess, u.name, u.lower, u.upper));
  }
  check_differentiable();
  if (!options.homotopy.empty()) model_->with_values({{options.homotopy, 0.0}});  // throws for unknown names
}

/// That of the variable, where none was given.
void Transcript::set_nominal(const std::string& variable, const std::string& label, double& nominal) const {
  if (std::isnan(nominal)) {
    nominal = 1.0;
    for (const VariableInfo& v : written_.data().variable_info)
      if (v.name == variable && v.nominal > 0.0) nominal = v.nominal;
  }
  if (!(nominal > 0.0)) throw UsageError(fmt::format("the nominal value of '{}' must be positive", label));
}

std::string Transcript::fresh(const std::string& name) const {
  std::string result = name;
  for (int k = 2; written_.data().names.contains(result); ++k) result = fmt::format("{} {}", name, k);
  return result;
}

std::size_t Transcript::add_unknown(std::string name, double lower, double upper, double guess) {
  check_bounds(name, lower, upper);
  // bounds say how large steps may be; where they are far apart the guess does
  double scale = std::isfinite(upper - lower) ? 0.5 * (upper - lower) : std::max(1.0, std::abs(guess));
  if (const double size = std::abs(guess); size > 0.0 && scale > 100.0 * size) scale = 100.0 * size;
  unknowns_.push_back({.name = std::move(name), .lower = lower, .upper = upper, .guess = guess, .scale = scale});
  return unknowns_.size() - 1;
}

void Transcript::add_parameters(const Model& model) {
  for (const FreeValue& p : programme_.parameters)
    add_unknown(p.name, p.lower, p.upper, guess_between(p.lower, p.upper, p.guess, value_in(model, p.name)));
}

void Transcript::add_stop() {
  stop_.constant = simulate_.stop;
  stop_symbol_ = simulate_.stop;
  if (!programme_.stop) return;
  const FreeValue& stop = *programme_.stop;
  if (!(stop.lower > simulate_.start && std::isfinite(stop.upper)))
    throw UsageError("a free end of the run needs bounds, and the lower one must be later than the start");
  const double guess = guess_between(stop.lower, stop.upper, stop.guess, not_given);
  const std::string name = fresh("end of the run");
  stop_symbol_ = written_.parameter(name, guess);
  stop_unknown_ = add_unknown(name, stop.lower, stop.upper, guess);
  stop_ = {.constant = 0.0, .factors = {{*stop_unknown_, 1.0}}};
  const BoolExpr over = written_.time() >= stop_symbol_;
  ModelContent content = written_.content();
  content->guard_names.emplace_back(over.expr(), "end of the run");
  written_.when(over).terminate("the end of the run");
  simulate_.stop = stop.upper + 0.01 * (stop.upper - simulate_.start);
}

std::size_t Transcript::grid_of(const Control& control) {
  for (std::size_t g = 0; g < grids_.size(); ++g)
    if (grids_[g].intervals == control.intervals && grids_[g].lengths.empty() != control.free_lengths) return g;
  ControlGrid grid{.intervals = control.intervals, .lengths = {}};
  Clock clock;
  const std::string of = " of " + control.input;
  const double begin = simulate_.start;
  const double length = stop_.at(guess()) - begin;
  if (control.free_lengths) {
    std::vector<double> guess = control.lengths;
    if (guess.empty()) guess.assign(static_cast<std::size_t>(control.intervals), length / control.intervals);
    if (guess.size() != static_cast<std::size_t>(control.intervals))
      throw UsageError(
          fmt::format("'{}' has {} intervals and {} lengths", control.input, control.intervals, guess.size()));
    const double most = simulate_.stop - begin;
    for (int k = 0; k < control.intervals; ++k) {
      const std::string name = fresh(fmt::format("{}.length[{}]", control.input, k + 1));
      clock.lengths.push_back(written_.parameter(name, guess[static_cast<std::size_t>(k)]));
      // below this two changes are one instant
      constexpr double shortest = 1e-6;
      grid.lengths.push_back(add_unknown(name, shortest * most, most, guess[static_cast<std::size_t>(k)]));
      unknowns_.back().scale = most / control.intervals;
    }
  } else {
    clock.lengths.assign(static_cast<std::size_t>(control.intervals),
                         (stop_symbol_ - begin) / static_cast<double>(control.intervals));
  }
  if (control.intervals > 1) {
    clock.index = hidden(written_, fresh("interval" + of), 1.0);
    clock.next = hidden(written_, fresh("next interval" + of), begin + length / control.intervals);
    written_.start(clock.next, begin + clock.lengths[0]);
  }
  grids_.push_back(std::move(grid));
  clocks_.push_back(std::move(clock));
  return grids_.size() - 1;
}

void Transcript::add_controls() {
  for (const Control& control : programme_.controls) {
    if (control.intervals < 1) throw UsageError(fmt::format("'{}' needs at least one interval", control.input));
    const auto& inputs = written_.data().inputs;
    if (std::ranges::find(inputs, control.input, &ModelData::Input::name) == inputs.end()) {
      const auto same = [&](const Control& c) { return c.input == control.input; };
      if (std::ranges::count_if(programme_.controls, same) > 1)
        throw UsageError(fmt::format("'{}' is given twice as a control", control.input));
      const NameTable names(inputs, [](const ModelData::Input& i) -> std::string_view { return i.name; });
      throw UsageError(fmt::format("'{}' is no input of the model '{}'; controls are inputs: declare 'input Real {}'{}",
                                   control.input, written_.name(), control.input, names.hint(control.input)));
    }
    add_control(control, grid_of(control));
  }
  for (std::size_t g = 0; g < grids_.size(); ++g)
    if (grids_[g].intervals > 1) write_clock(g);
}

/// The input becomes a variable of the model: its equation, a polynomial with hidden numbers, is there already.
void Transcript::add_control(const Control& control, std::size_t grid) {
  ModelContent content = written_.content();
  const auto place = std::ranges::find(content->inputs, control.input, &ModelData::Input::name);
  const ModelData::Input input = *place;
  content->inputs.erase(place);
  const bool linear = control.curve == ControlCurve::linear;
  if (input.held) {
    const ModelData::Discrete& d = content->discretes[static_cast<std::size_t>(input.places.variable)];
    if (d.boolean || d.details->type != VariableType::real || linear)
      throw UsageError(fmt::format("the input '{}' cannot be a {}control: it is no Real that moves", control.input,
                                   linear ? "linear " : ""));
  } else {
    Rare<VariableDetails>& stored = content->variable_info[static_cast<std::size_t>(input.places.variable)].details;
    VariableDetails details = *stored;
    details.causality = Causality::local;
    stored = std::move(details);
  }
  const std::size_t count = static_cast<std::size_t>(control.intervals) + (linear ? 1 : 0);
  const double start = input.held ? content->discretes[static_cast<std::size_t>(input.places.variable)].start
                                  : content->variable_info[static_cast<std::size_t>(input.places.variable)].start;
  std::vector<double> guess = control.guess;
  if (guess.size() <= 1)
    guess.assign(count, guess_between(control.lower, control.upper, guess.empty() ? not_given : guess[0], start));
  if (guess.size() != count)
    throw UsageError(
        fmt::format("the control '{}' has {} values, and its guess {}", control.input, count, guess.size()));
  TranscribedControl made{.grid = grid, .values = {}};
  std::vector<Expr> symbols;
  for (std::size_t k = 0; k < count; ++k) {
    if (control.fixed_values) {
      symbols.emplace_back(guess[k]);
      made.values.push_back({.constant = guess[k]});
      continue;
    }
    const std::string name = fresh(fmt::format("{}[{}]", control.input, k + 1));
    symbols.push_back(written_.parameter(name, guess[k]));
    made.values.push_back({.factors = {{add_unknown(name, control.lower, control.upper, guess[k]), 1.0}}});
  }
  const auto number = [&](int which) { return content->discretes[static_cast<std::size_t>(which)].symbol; };
  const Clock& clock = clocks_[grid];
  written_.start(number(input.places.coefficients[0]), symbols[0]);
  if (linear) {
    written_.start(number(input.places.coefficients[1]), (symbols[1] - symbols[0]) / clock.lengths[0]);
    content->discretes[static_cast<std::size_t>(input.places.since)].start = simulate_.start;
  }
  value_symbols_.push_back(std::move(symbols));
  controls_.push_back(std::move(made));
  places_.push_back(input.places);
}

void Transcript::write_clock(std::size_t grid) {
  const Clock& clock = clocks_[grid];
  ModelContent content = written_.content();
  const auto number = [&](int which) { return content->discretes[static_cast<std::size_t>(which)].symbol; };
  const Expr before = written_.pre(clock.next);
  const BoolExpr due = written_.time() >= before;
  content->guard_names.emplace_back(due.expr(), "next interval");
  When acts = written_.when(due);
  content->clauses.back().name = "next interval";
  acts.assign(clock.index, written_.pre(clock.index) + 1.0);
  for (std::size_t c = 0; c < controls_.size(); ++c) {
    if (controls_[c].grid != grid) continue;
    const std::vector<Expr>& values = value_symbols_[c];
    const bool linear = programme_.controls[c].curve == ControlCurve::linear;
    std::vector<Expr> slopes;
    for (std::size_t k = 0; linear && k + 1 < values.size(); ++k)
      slopes.push_back((values[k + 1] - values[k]) / clock.lengths[k]);
    const std::size_t intervals = clock.lengths.size();
    acts.assign(number(places_[c].coefficients[0]), element(values, clock.index, 0, intervals));
    if (!linear) continue;
    acts.assign(number(places_[c].coefficients[1]), element(slopes, clock.index));
    acts.assign(number(places_[c].since), before);
  }
  const BoolExpr more = no_event(clock.index < Expr(static_cast<double>(grids_[grid].intervals) - 0.5));
  const Expr later = grids_[grid].lengths.empty() ? simulate_.start + clock.index * clock.lengths[0]
                                                  : before + element(clock.lengths, clock.index);
  acts.assign(clock.next, if_else(more, later, Expr(InputInfo::never)));
}

std::vector<LinearForm> Transcript::borders(const ControlGrid& grid) const {
  std::vector<LinearForm> result{{.constant = simulate_.start}};
  for (int k = 1; k <= grid.intervals; ++k) {
    LinearForm border;
    if (!grid.lengths.empty() && k < grid.intervals) {
      border = result.back();
      border.factors.emplace_back(grid.lengths[static_cast<std::size_t>(k - 1)], 1.0);
    } else {
      const double share = static_cast<double>(k) / grid.intervals;
      border.constant = simulate_.start + share * (stop_.constant - simulate_.start);
      for (const auto& [unknown, factor] : stop_.factors) border.factors.emplace_back(unknown, share * factor);
    }
    result.push_back(std::move(border));
  }
  return result;
}

std::size_t Transcript::path_intervals() const {
  int most = grids_.empty() ? 10 : 1;
  for (const ControlGrid& grid : grids_) most = std::max(most, grid.intervals);
  return path_variables_.empty() ? 0 : static_cast<std::size_t>(most);
}

std::vector<LinearForm> Transcript::path_borders() const {
  const int count = static_cast<int>(path_intervals());
  for (const ControlGrid& grid : grids_)
    if (grid.intervals == count) return borders(grid);
  return borders({.intervals = count, .lengths = {}});
}

Expr Transcript::rehomed(const Expr& value, const std::string& what) const {
  if (!value.graph()) return value;
  if (value.is_symbol() && value.graph()->symbol_of(value.id()).kind == SymbolKind::variable)
    return written_.symbol(value.name());  // also one that was given by its name alone
  Expr own = value;
  if (value.id() >= own_nodes_)
    throw UsageError(fmt::format("{} is an expression that was made while the model was being copied", what));
  rehome(own, written_.data().graph);
  return own;
}

/// The variable with the value of an expression: the one that it names, or a new one.
std::string Transcript::variable_of(const Expr& value, const std::string& what) {
  const Expr own = rehomed(value, what);
  if (own.is_symbol()) {
    const SymbolKind kind = own.graph()->symbol_of(own.id()).kind;
    if (kind == SymbolKind::variable || kind == SymbolKind::discrete) return own.name();
  }
  const std::string name = fresh(fmt::format("value {}", ++made_));
  const Expr made = written_.variable(name);
  written_.equation(made == own, name);
  return name;
}

std::string Transcript::integral_of(const Expr& value, const std::string& what) {
  const std::string name = fresh(fmt::format("integral {}", ++made_));
  const Expr made = written_.variable(name, 0.0, {.fixed = true});
  written_.equation(der(made) == rehomed(value, what), name);
  return name;
}

std::vector<ReadTerm> Transcript::read(const Functional& functional, const std::string& what) {
  std::vector<ReadTerm> result;
  for (const Functional::Term& term : functional.terms()) {
    switch (term.kind) {
      case Functional::Kind::final_value:
        result.push_back({.weight = term.weight, .variable = variable_of(term.value, what)});
        break;
      case Functional::Kind::integral:
        result.push_back({.weight = term.weight, .variable = integral_of(term.value, what)});
        break;
      case Functional::Kind::event_time:
        if (term.number < 1) throw UsageError("events are counted from 1");
        result.push_back({.weight = term.weight, .event = term.event, .number = term.number});
        break;
      case Functional::Kind::event_sum:
        throw UsageError(
            fmt::format("{}: sums over events cannot be optimised yet; count or add up in a discrete "
                        "variable of the model, and take its final value",
                        what));
    }
  }
  return result;
}

/// y of x = y, or of der(x) = y, as it is written.
std::optional<Definition> Transcript::definition_of(const Expr& symbol) const {
  for (const ModelData::NamedEquation& named : written_.data().equations)
    for (const bool turned : {false, true}) {
      const Expr& left = turned ? named.equation.rhs : named.equation.lhs;
      const Expr& right = turned ? named.equation.lhs : named.equation.rhs;
      if (!left.is_symbol()) continue;
      const Symbol& s = left.graph()->symbol_of(left.id());
      if (s.kind == SymbolKind::derivative ? s.base == symbol.id() : left.same(symbol))
        return Definition{right, s.kind == SymbolKind::derivative};
    }
  return std::nullopt;
}

void Transcript::find_squares() {
  only_squares_ = true;
  const auto number = [&](const std::string& name) -> std::optional<double> {
    if (std::ranges::any_of(unknowns_, [&](const Unknown& u) { return u.name == name; })) return std::nullopt;
    for (const ModelData::Parameter& p : written_.data().parameters)
      if (p.name == name) return p.value;
    return std::nullopt;
  };
  // free lengths and a free end change over what an integral is taken, which the squares know nothing of
  const bool moves = stop_unknown_ || std::ranges::any_of(grids_, [](const auto& g) { return !g.lengths.empty(); });
  for (const Functional::Term& term : programme_.minimise.terms()) {
    const bool integrated = term.kind == Functional::Kind::integral;
    if (term.kind == Functional::Kind::event_time || moves) {
      only_squares_ = false;
      continue;
    }
    const Squares found =
        squares_of(rehomed(term.value, "what is minimised"), term.weight, integrated,
                   {.number = number, .definition = [&](const Expr& symbol) { return definition_of(symbol); }});
    only_squares_ = only_squares_ && found.complete;
    for (const Squares::Term& square : found.terms)
      squares_.push_back({square.factor, variable_of(square.residual, "what is minimised"), square.integrated});
  }
  if (squares_.empty()) only_squares_ = false;
}

void Transcript::check_differentiable() const {
  SimulateOptions nothing = simulate_;
  nothing.progress = [](const Progress&) { return false; };
  nothing.stop = simulate_.start + 1e-9 * (simulate_.stop - simulate_.start);
  std::vector<std::string> names;
  for (const Unknown& u : unknowns_) names.push_back(u.name);
  simulate_with_sensitivities(*model_, names, nothing);
}

std::vector<double> Transcript::guess() const {
  std::vector<double> x;
  for (const Unknown& u : unknowns_) x.push_back(u.guess);
  return x;
}

CompiledModel Transcript::at(std::span<const double> x, std::span<const std::pair<std::string, double>> more) const {
  std::vector<std::pair<std::string, double>> changes;
  for (const auto& [name, value] : more) changes.emplace_back(settable_name(written_, name), value);
  for (std::size_t k = 0; k < unknowns_.size(); ++k)
    changes.emplace_back(settable_name(written_, unknowns_[k].name), x[k]);
  return model_->with_values(changes);
}

}  // namespace saltus
