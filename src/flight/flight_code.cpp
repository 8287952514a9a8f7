#include "flight/flight_code.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/model/recorded_system.hpp>
#include <saltus/program/taylor.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "flight/constrained_form.hpp"
#include "flight/host_code.hpp"
#include "model/model_access.hpp"
#include "model/rehome.hpp"

namespace saltus {

namespace {

using ExprLists = std::vector<std::vector<Expr>>;

constexpr std::size_t most_variables = 32;
constexpr std::size_t most_clocks = 63;                           // bits of FlightEdge::clocks
constexpr double shrink_of_series = 0.2, growth_of_series = 5.0;  // from one step to the next
constexpr std::size_t most_operations = 5000;               // of a series: to compile more takes longer than it gains
constexpr std::size_t most_constrained_operations = 20000;  // of a step, for the same reason

/// Compiles the modes of an atlas one by one.
class FlightCompiler {
 public:
  FlightCompiler(const Atlas& atlas, const CompiledModel& model, const FlightOrder& order,
                 std::vector<std::string>& missing)
      : atlas_(atlas), model_(model), order_(order), missing_(missing) {
    code_.method = order.method;
    if (const Tableau* const tableau = order.method.tableau) {
      const double power = -1.0 / tableau->error_exponent;
      code_.control = {power + 0.75 * tableau->beta, power, tableau->beta, tableau->shrink_limit,
                       tableau->growth_limit};
      const auto row = static_cast<std::size_t>(std::max(0, tableau->stiffness_stage));
      code_.stiffness = {tableau->a.data() + row * static_cast<std::size_t>(tableau->all_stages()),
                         tableau->stiffness_stage, tableau->stages - 1, tableau->stiffness_limit};
    } else {
      const double power = -1.0 / (order.method.series + 1);
      code_.control = {power, power, 0.0, shrink_of_series, growth_of_series};
      code_.stiffness = {nullptr, -1, 0, 0.0};
    }
    code_.deciding_discretes = atlas.deciding_discretes();
    code_.deciding_locks = atlas.deciding_locks();
  }

  FlightCode run() {
    place_.assign(atlas_.modes().size(), none);
    for (std::size_t k = 0; k < atlas_.modes().size(); ++k) add_mode(k);
    for (std::size_t k = 0; k < atlas_.modes().size(); ++k)
      if (place_[k] != none)
        for (std::size_t e = 0; e < atlas_.modes()[k].edges.size(); ++e)
          add_edge(code_.modes[place_[k]], atlas_.modes()[k].edges[e], static_cast<int>(e));
    return std::move(code_);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void miss(std::string why) {
    if (std::ranges::find(missing_, why) == missing_.end()) missing_.push_back(std::move(why));
  }

  void add_mode(std::size_t number) {
    const Mode& mode = atlas_.modes()[number].mode;
    const auto* const system = dynamic_cast<const RecordedSystem*>(&model_.system(mode));
    const std::string name = "'" + model_.describe(mode) + "'";
    if (!system) return miss("the mode " + name + " is not made of equations");
    if (system->equations().variables.size() != model_.variables().size() ||
        system->equations().variables.size() > most_variables)
      return miss("the mode " + name + " has too many variables");
    std::optional<ConstrainedMode> constrained;
    if (!system->structure().explicit_ode) {
      std::string why;
      constrained = ConstrainedMode::find(*system, why);
      if (!constrained) return miss("the mode " + name + " has no code: " + why);
    }
    const std::size_t tape = tape_of(mode, *system, constrained ? &*constrained : nullptr);
    if (tape == none) return;
    FlightMode made{.number = static_cast<int>(number), .tape = tape, .mode = mode};
    std::vector<Position> positions;
    model_.positions(mode, positions);
    const auto side = [&](int guard) {
      const auto k = static_cast<std::size_t>(guard);
      if (k >= positions.size()) return exit_side(mode, guard);
      return model_.guards()[k].same_as >= 0 ? 0 : side_of(positions[k]);
    };
    for (const int k : code_.tapes[tape].guards) made.sides.push_back(static_cast<signed char>(side(k)));
    for (const int k : code_.tapes[tape].clocks) made.clock_sides.push_back(static_cast<signed char>(side(k)));
    if (order_.lanes > 1 && !every_guard_has_bounds(made)) return;
    const std::vector<double> data = system->data();
    made.fixed.assign(data.begin() + static_cast<std::ptrdiff_t>(common_data()), data.end());
    place_[number] = code_.modes.size();
    code_.modes.push_back(std::move(made));
  }

  /// Lanes have no enclosures: a pulse of a guard without bounds might be missed.
  bool every_guard_has_bounds(const FlightMode& mode) {
    const FlightTape& tape = code_.tapes[mode.tape];
    const auto& info = model_.guards();
    for (std::size_t k = 0; k < mode.sides.size(); ++k) {
      if (mode.sides[k] == 0 || tape.affine[k] || tape.bounds.places[k] >= 0) continue;
      const auto number = static_cast<std::size_t>(tape.guards[k]);
      miss("the guard " + (number < info.size() ? "'" + info[number].name + "'" : "that ends a slide") +
           " is neither affine nor bounded along a step: short pulses of it could be missed");
      return false;
    }
    return true;
  }

  std::size_t common_data() const {
    const EventLogic::Setup& setup = ModelAccess::logic(model_);
    return setup.parameters.size() + setup.discretes.size();
  }

  /// Guards that end a stay on a surface are positive while it lasts.
  int exit_side(const Mode& mode, int guard) const {
    std::vector<int> exits;
    model_.exit_guards(mode, exits);
    for (std::size_t k = 0; k < exits.size(); ++k) {
      const bool slide = k < mode.sliding.size();
      if (guard == exits[k] || (slide && guard == exits[k] + 1)) return +1;
    }
    return 0;
  }

  /// The tape of the equations of a mode. `constrained`: null for explicit ones.
  std::size_t tape_of(const Mode& mode, const RecordedSystem& system, const ConstrainedMode* constrained) {
    const RecordedEquations& written = system.equations();
    // graphs of modes on surfaces stay in place, and so does that of the model
    const std::tuple key{static_cast<const void*>(written.variables.front().graph().get()), mode.automaton,
                         constrained ? constrained->shape() : ConstrainedShape{}};
    const auto [it, fresh] = tapes_.try_emplace(key, none);
    if (!fresh) return it->second;
    const GraphHandle graph = written.variables.front().graph()->clone();
    RecordedEquations eq = written;
    rehome(eq, graph);
    std::vector<Expr> f = system.right_hand_sides(), all_eliminated = ModelAccess::eliminated(model_, mode);
    rehome(f, graph);
    rehome(all_eliminated, graph);
    const Expr time = eq.time.is_symbol() ? eq.time : Expr(graph, graph->symbol("time", SymbolKind::time));
    ConstrainedForm form;
    if (constrained) {
      std::string why = "series of modes with constraints have no code";
      std::optional<ConstrainedForm> made;
      if (code_.method.tableau) made = constrained->make(eq, why);
      if (!made) {
        miss("the mode '" + model_.describe(mode) + "' has no code: " + why);
        return none;
      }
      if (reads_what_follows(eq, *constrained)) {
        miss("a guard of the mode '" + model_.describe(mode) +
             "' reads a variable that algebraic equations give: short pulses of it could be missed");
        return none;
      }
      form = std::move(*made);
      f = form.slopes;
    }
    std::vector<std::pair<Expr, Expr>> slopes;
    for (std::size_t j = 0; j < f.size(); ++j) slopes.emplace_back(der(eq.variables[j]), f[j]);
    all_eliminated = substitute(all_eliminated, slopes);

    FlightTape tape{.n = f.size()};
    std::vector<Expr> guards, clocks;
    const auto& info = model_.guards();
    for (std::size_t k = 0; k < eq.guards.size(); ++k) {
      if (k < info.size() && info[k].same_as >= 0) continue;
      const bool clock = k < info.size() && info[k].time_only;
      (clock ? tape.clocks : tape.guards).push_back(static_cast<int>(k));
      (clock ? clocks : guards).push_back(eq.guards[k]);
    }
    std::vector<Expr> read = f;
    for (const auto* list : {&guards, &clocks, &all_eliminated, &form.projected})
      read.insert(read.end(), list->begin(), list->end());
    const std::vector<Expr> data = find_data(eq, read, tape.data);
    if (tape.data.empty() && !data.empty()) return none;

    std::vector<Expr> moving{time}, speed{Expr(1.0)};
    moving.insert(moving.end(), eq.variables.begin(), eq.variables.end());
    speed.insert(speed.end(), f.begin(), f.end());
    const auto along = [&](const std::vector<Expr>& list) {
      return list.empty() ? std::vector<Expr>{} : directional_derivative(list, moving, speed);
    };
    if (clocks.size() > most_clocks) {
      miss("there are too many guards of time");
      return none;
    }
    const std::vector<Expr> clock_slopes = along(clocks);
    for (const Expr& slope : clock_slopes)
      if (depends_on(slope, {time})) {
        miss("there are guards of time that are not linear in it");
        return none;
      }
    if (!code_.method.tableau && operations_of_series(time, eq.variables, data, f) > most_operations) {
      miss("Taylor series of the solution take too many operations");
      return none;
    }
    StepEquations equations{time, eq.variables, data, f, guards, all_eliminated};
    if (constrained) {
      equations.checked.push_back(form.regularity);
      equations.projected = form.projected;
      equations.orientation = form.determinant;
    }
    StepTape step = make_step_tape(step_method(), equations);
    if (!step.tape.calls.empty()) {
      miss("there is external code");
      return none;
    }
    if (constrained && step.tape.code.size() > most_constrained_operations) {
      miss("the mode '" + model_.describe(mode) + "' has no code: its constraints take too many operations");
      return none;
    }
    tape.first = step.first;
    tape.affine.assign(step.affine.begin(), step.affine.end());
    tape.step = TapeRunner(std::move(step.tape), order_.lanes);
    const ExprLists inputs{{time}, eq.variables, data};
    const std::vector<Expr> guard_slopes = along(guards);
    tape.at = Program(inputs, ExprLists{f, guards, guard_slopes, along(guard_slopes), clocks, clock_slopes});
    tape.guard = Program(inputs, ExprLists{guards});
    std::vector<Expr> wanted;
    for (const int k : order_.eliminated) wanted.push_back(all_eliminated[static_cast<std::size_t>(k)]);
    tape.observe = Program(inputs, ExprLists{wanted});
    tape.bounds = make_guard_bounds(time, eq.variables, data, guards, tape.affine);
    if (constrained) {
      tape.project = Program(inputs, ExprLists{form.projected});
      for (const int d : constrained->shape().d) tape.state.push_back(d > 0);
    }
    it->second = code_.tapes.size();
    code_.tapes.push_back(std::move(tape));
    return it->second;
  }

  /// Whether guards read what is not integrated: algebraic variables, multipliers and derivatives. Their polynomials
  /// need not show what their equations do within a step; and after an impulse their sign is for the loop to decide.
  bool reads_what_follows(const RecordedEquations& eq, const ConstrainedMode& constrained) const {
    std::vector<Expr> guards, following;
    for (std::size_t k = 0; k < eq.guards.size(); ++k)
      if (k >= model_.guards().size() || model_.guards()[k].same_as < 0) guards.push_back(eq.guards[k]);
    for (std::size_t j = 0; j < eq.variables.size(); ++j)
      if (constrained.shape().d[j] == 0) following.push_back(eq.variables[j]);
    return !symbols_of(guards, SymbolKind::derivative).empty() ||
           std::ranges::any_of(guards, [&](const Expr& guard) { return depends_on(guard, following); });
  }

  StepMethod step_method() const {
    if (!code_.method.tableau) return {.series = code_.method.series};
    const Tableau& t = *code_.method.tableau;
    return {t.stages, t.extra_stages, t.a, t.c, t.error, t.second_error, t.dense_degree, t.dense};
  }

  std::size_t operations_of_series(const Expr& time, const std::vector<Expr>& variables, const std::vector<Expr>& data,
                                   const std::vector<Expr>& f) const {
    return TaylorProgram(ExprLists{{time}, variables, data}, {true, true, false}, ExprLists{f})
        .operations(code_.method.series);
  }

  static bool depends_on(const Expr& e, const std::vector<Expr>& symbols) {
    if (!e.graph()) return false;
    const NodeId root = e.id();
    const std::vector<NodeId> nodes = e.graph()->reachable(std::span(&root, 1));
    return std::ranges::any_of(symbols, [&](const Expr& s) { return std::ranges::binary_search(nodes, s.id()); });
  }

  /// The data and locks that occur, and what they are in a member. Locks are not entered: they are numbers.
  std::vector<Expr> find_data(const RecordedEquations& eq, const std::vector<Expr>& read,
                              std::vector<FlightDatum>& data) {
    const EventLogic::Setup& setup = ModelAccess::logic(model_);
    std::unordered_map<NodeId, std::size_t> global;
    for (std::size_t k = 0; k < setup.locks.size(); ++k)
      if (setup.locks[k].graph()) global.emplace(setup.locks[k].id(), k);
    std::vector<NodeId> leaves, roots;
    for (const Expr& lock : eq.locks) leaves.push_back(lock.id());
    for (const Expr& e : read)
      if (e.graph()) roots.push_back(e.id());
    const std::vector<NodeId> nodes = eq.variables.front().graph()->reachable(roots, leaves);
    const auto occurs = [&](const Expr& e) { return std::ranges::binary_search(nodes, e.id()); };
    std::vector<Expr> result;
    const std::size_t parameters = setup.parameters.size(), discretes = setup.discretes.size();
    for (std::size_t k = 0; k < eq.data.size(); ++k) {
      if (!occurs(eq.data[k])) continue;
      using Kind = FlightDatum::Kind;
      data.push_back(k < parameters               ? FlightDatum{Kind::parameter, k}
                     : k < parameters + discretes ? FlightDatum{Kind::discrete, k - parameters}
                                                  : FlightDatum{Kind::fixed, k - parameters - discretes});
      result.push_back(eq.data[k]);
    }
    for (const Expr& lock : eq.locks) {
      if (!occurs(lock)) continue;
      const auto found = global.find(lock.id());
      if (found == global.end()) {
        miss("there are relations that only one mode has");
        data.clear();
        return {Expr(0.0)};
      }
      data.push_back({FlightDatum::Kind::lock, found->second});
      result.push_back(lock);
    }
    return result;
  }

  void add_edge(FlightMode& from, const AtlasEdge& edge, int number) {
    const std::size_t target = place_[static_cast<std::size_t>(edge.target)];
    if (target == none) return;
    FlightEdge made{.edge = number, .departures = edge.departures, .target = target, .roundings = edge.roundings};
    find_cause(code_.tapes[from.tape], made);
    if (!compile_actions(edge, made))
      return miss("actions of '" + model_.describe(from.mode) + "' need each other, or slopes");
    find_zeros(from, made);
    if (code_.tapes[code_.modes[target].tape].constrained() && !made.variables.empty()) hold_what_is_set(made);
    from.edges.push_back(std::move(made));
  }

  static void find_cause(const FlightTape& tape, FlightEdge& edge) {
    for (const int d : edge.departures) {
      const auto guard = std::ranges::find(tape.guards, guard_of(d)),
                 clock = std::ranges::find(tape.clocks, guard_of(d));
      if (guard != tape.guards.end()) edge.guard = static_cast<int>(guard - tape.guards.begin());
      if (clock != tape.clocks.end()) edge.clocks |= 1LL << (clock - tape.clocks.begin());
    }
  }

  /// A reset is obeyed, and what has not been set moves onto the constraints, where these say how.
  void hold_what_is_set(FlightEdge& edge) {
    const FlightMode& target = code_.modes[edge.target];
    const FlightTape& tape = code_.tapes[target.tape];
    const auto* const system = dynamic_cast<const RecordedSystem*>(&model_.system(target.mode));
    std::string why;
    const std::optional<ConstrainedMode> constrained = ConstrainedMode::find(*system, why);
    const GraphHandle graph = system->equations().variables.front().graph()->clone();
    RecordedEquations eq = system->equations();
    rehome(eq, graph);
    const std::vector<Expr> held = constrained->projection_holding(eq, edge.variables);
    if (held.empty()) return;
    std::vector<Expr> data;
    const EventLogic::Setup& setup = ModelAccess::logic(model_);
    const std::size_t parameters = setup.parameters.size(), discretes = setup.discretes.size();
    for (const FlightDatum& d : tape.data) {
      using Kind = FlightDatum::Kind;
      data.push_back(d.kind == Kind::parameter  ? eq.data[d.place]
                     : d.kind == Kind::discrete ? eq.data[parameters + d.place]
                     : d.kind == Kind::fixed    ? eq.data[parameters + discretes + d.place]
                                                : Expr(graph, setup.locks[d.place].id()));
    }
    const Expr time = eq.time.is_symbol() ? eq.time : Expr(graph, graph->symbol("time", SymbolKind::time));
    edge.project = Program(ExprLists{{time}, eq.variables, data}, ExprLists{held});
  }

  /// Guards that may be zero after the event: those that fired, and the surfaces that were slid on.
  void find_zeros(const FlightMode& from, FlightEdge& edge) const {
    const FlightTape& tape = code_.tapes[code_.modes[edge.target].tape];
    const auto add = [&](int guard) {
      const auto it = std::ranges::find(tape.guards, guard);
      if (it != tape.guards.end()) edge.at_zero.push_back(static_cast<int>(it - tape.guards.begin()));
    };
    for (const int d : edge.departures) add(d / 2);
    for (const int k : from.mode.sliding) add(k);
  }

  /// What the actions give, from the values before the event. False: that cannot be told, or is not what happened.
  bool compile_actions(const AtlasEdge& edge, FlightEdge& made) {
    using Kind = ModelData::Action::Kind;
    EventLogic::Setup setup = ModelAccess::logic(model_);
    const GraphHandle graph = setup.time.graph()->clone();
    rehome(setup, graph);
    std::unordered_map<NodeId, Expr> given;  // by target
    std::vector<std::pair<Expr, Expr>> before;
    for (const auto& [symbol, pre] : setup.pre_variables) before.emplace_back(pre, symbol);
    for (const auto& [symbol, pre] : setup.pre_discretes) before.emplace_back(pre, symbol);
    for (std::size_t k = 0; k < setup.locks.size() && k < edge.truths.size(); ++k)
      before.emplace_back(setup.locks[k], Expr(edge.truths[k]));
    std::vector<const ModelData::Action*> actions;
    for (const auto& value : edge.given) {
      const auto giver = static_cast<std::size_t>(value.giver), clauses = setup.clauses.size();
      const ModelData::Action& a =
          (giver < clauses ? setup.clauses[giver].actions : setup.transitions[giver - clauses].actions)[value.action];
      if (a.kind != Kind::reset && a.kind != Kind::assign) return false;
      actions.push_back(&a);
    }
    // assignments see each other's new values, within a clause only those of earlier ones; each is tried until the
    // values that it needs are there
    const auto seen_by = [&](std::size_t other, std::size_t i) {
      const auto &a = edge.given[other], &b = edge.given[i];
      return other != i && actions[other]->kind == Kind::assign && (a.giver != b.giver || a.action < b.action);
    };
    std::vector<char> done(actions.size(), 0);
    for (std::size_t round = 0; round <= actions.size(); ++round)
      for (std::size_t i = 0; i < actions.size(); ++i) {
        if (done[i]) continue;
        std::vector<std::pair<Expr, Expr>> replaced = before;
        bool ready = true;
        for (const Expr& symbol : symbols_of(std::span(&actions[i]->value, 1), SymbolKind::discrete)) {
          if (symbol.same(actions[i]->target)) continue;
          for (std::size_t other = 0; other < actions.size(); ++other)
            if (seen_by(other, i) && symbol.same(actions[other]->target)) {
              ready = ready && done[other];
              if (done[other]) replaced.emplace_back(symbol, given.at(symbol.id()));
            }
        }
        if (!ready) continue;
        given.insert_or_assign(actions[i]->target.id(), substitute(std::span(&actions[i]->value, 1), replaced).front());
        done[i] = 1;
      }
    if (std::ranges::find(done, 0) != done.end()) return false;
    std::vector<Expr> values;
    const auto add = [&](const std::vector<Expr>& symbols, std::vector<int>& places) {
      for (std::size_t k = 0; k < symbols.size(); ++k)
        if (const auto it = given.find(symbols[k].id()); it != given.end()) {
          places.push_back(static_cast<int>(k));
          values.push_back(it->second);
        }
    };
    add(setup.variables, made.variables);
    add(setup.discretes, made.discretes);
    if (!symbols_of(values, SymbolKind::derivative).empty()) return false;
    made.act = Program(ExprLists{{setup.time}, setup.variables, setup.parameters, setup.discretes}, ExprLists{values});
    return true;
  }

  const Atlas& atlas_;
  CompiledModel model_;
  const FlightOrder& order_;
  std::vector<std::string>& missing_;
  FlightCode code_;
  std::vector<std::size_t> place_;  // by mode of the atlas
  std::map<std::tuple<const void*, int, ConstrainedShape>, std::size_t> tapes_;
};

}  // namespace

bool FlightCode::needs_proof(const FlightMode& mode) const {
  const FlightTape& tape = tapes[mode.tape];
  for (std::size_t k = 0; k < mode.sides.size(); ++k)
    if (mode.sides[k] != 0 && !tape.affine[k]) return true;
  return false;
}

void FlightMethod::identify(std::vector<double>& key) const {
  key.push_back(series);
  if (!tableau) return;
  key.push_back(tableau->stages);
  key.insert(key.end(), tableau->a.begin(), tableau->a.end());
}

void FlightCode::gather(const FlightMode& mode, const FlightNumbers& numbers, double* data, std::size_t stride) const {
  const double* const from[] = {numbers.parameters.data(), numbers.discretes.data(), numbers.locks.data(),
                                mode.fixed.data()};  // in the order of FlightDatum::Kind
  for (const FlightDatum& d : tapes[mode.tape].data) {
    *data = from[static_cast<std::size_t>(d.kind)][d.place];
    data += stride;
  }
}

FlightCode compile_flight(const Atlas& atlas, const CompiledModel& model, const FlightOrder& order,
                          std::vector<std::string>& missing) {
  return FlightCompiler(atlas, model, order, missing).run();
}

bool as_in_example(const FlightCode& code, const FlightEdge& edge, const AtlasEdge& learned) {
  const AtlasEdge::Example& example = learned.example;
  std::vector<double> out(edge.variables.size() + edge.discretes.size()), x = example.x_before,
                                                                          d = example.discrete_before;
  const double* const in[] = {&example.t, x.data(), example.parameters.data(), d.data()};
  double* const outs[] = {out.data()};
  Workspace work = edge.act.workspace();
  edge.act(in, outs, work);
  for (std::size_t k = 0; k < edge.variables.size(); ++k) x[static_cast<std::size_t>(edge.variables[k])] = out[k];
  for (std::size_t k = 0; k < edge.discretes.size(); ++k)
    d[static_cast<std::size_t>(edge.discretes[k])] = out[edge.variables.size() + k];
  const FlightMode& target = code.modes[edge.target];
  if (code.tapes[target.tape].constrained()) {
    HostCode host(code, {.rtol = 1.0, .atol = std::vector<double>(x.size(), 1.0)});
    const HostCode::Point after(host, 0);
    const HostCode::SearchRoom room(host);
    host.gather(static_cast<int>(edge.target), example.parameters.data(), example.after.discrete.data(),
                example.after.locks.data(), after.data);
    if (!flight::become_consistent(host, static_cast<int>(target.tape), host.number_of(edge), example.t, x.data(),
                                   after.data, room.x))
      return false;
  }
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * (1.0 + std::abs(a) + std::abs(b)); };
  for (std::size_t j = 0; j < x.size(); ++j)
    if (!near(x[j], example.x_after[j])) return false;
  for (std::size_t k = 0; k < d.size(); ++k)
    if (!std::ranges::binary_search(code.deciding_discretes, static_cast<int>(k)) &&
        !near(d[k], example.after.discrete[k]))
      return false;
  return true;
}

void drop_wrong_edges(const Atlas& atlas, FlightCode& code, std::vector<std::string>& missing) {
  for (FlightMode& mode : code.modes) {
    const std::vector<AtlasEdge>& learned = atlas.modes()[static_cast<std::size_t>(mode.number)].edges;
    const auto wrong = [&](const FlightEdge& edge) {
      return !as_in_example(code, edge, learned[static_cast<std::size_t>(edge.edge)]);
    };
    constexpr const char* why = "there are actions that do more than their assignments say";
    if (std::erase_if(mode.edges, wrong) > 0 && std::ranges::find(missing, why) == missing.end())
      missing.emplace_back(why);
  }
}

}  // namespace saltus
