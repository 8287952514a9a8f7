#include "model/cell_code.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_set>
#include <utility>

#include "model/model_access.hpp"
#include "model/rehome.hpp"

namespace saltus {

class CellCode::Maker {
 public:
  Maker(const RepeatedModel& model, const ProgramOptions& options) : model_(model), options_(options) {}

  std::shared_ptr<const CellCode> make() {
    code_->name_ = model_.name;
    code_->all_variables_ = model_.variables.size();
    code_->parameter_info_ = model_.parameters;
    for (const RepeatedModel::Shape& shape : model_.shapes)
      if (shape.level > 0 ? !add_follower(shape) : !add_shape(shape)) return nullptr;
    for (const RepeatedModel::Sum& sum : model_.sums) code_->followers_.push_back({.sum = sum, .level = sum.level});
    std::ranges::stable_sort(code_->followers_, {}, &Follower::level);
    if (code_->cells_ == 0 || (resets_ && reads_others_) || !number_variables()) return nullptr;
    fill_structure();
    find_first_mode();
    name_guards();
    code_->parameters_ = ModelAccess::values(*code_->shapes_.front().model).parameters;
    return std::move(code_);
  }

 private:
  /// What concerns all cells at once, or makes modes that have no cells.
  static bool has_more(const ModelData& m) {
    return !m.modes.empty() || !m.transitions.empty() || !m.inputs.empty() || !m.surfaces.empty() ||
           !m.initial_equations.empty() || m.unbalanced || m.stabilisation != 0.0 || m.start_time ||
           std::ranges::any_of(m.discretes, [](const auto& q) { return q.pulse; });
  }
  static bool has_special_clauses(const EventLogic::Setup& logic) {
    return std::ranges::any_of(logic.clauses, [](const ModelData::Clause& c) { return c.touches || c.samples; });
  }

  bool add_shape(const RepeatedModel::Shape& from) {
    Shape& shape = code_->shapes_.emplace_back();
    if (!compile(from, shape)) return false;
    const CompiledModel& cell = *shape.model;
    const EventLogic::Setup& logic = ModelAccess::logic(cell);
    if (cell.stands_still() || has_special_clauses(logic) || logic.initial_flag >= 0 || logic.terminal_flag >= 0)
      return false;
    shape.code = &ModelAccess::system(cell).code();
    if (!shape.code->common().explicit_ode || !shape.code->common().taylor) return false;
    shape.first_cell = code_->cells_;
    code_->cells_ += from.cells;
    shape.discretes = logic.discretes.size();
    shape.locks = logic.locks.size();
    shape.guards = cell.guards().size();
    shape.conditions = cell.initial_mode().conditions.size();
    if (shape.discretes != from.model.discretes.size() || shape.conditions != logic.clauses.size()) return false;
    return numbers_fit(shape) && guards_are_local(shape) && actions_are_local(shape) && surfaces_are_explicit(shape);
  }

  /// Whether the equations of the first cell can be solved for derivatives in the same way with the numbers of all:
  /// where one of them is a coefficient that vanishes, they cannot.
  static bool numbers_fit(const Shape& shape) {
    if (shape.numbers == 0 || !shape.code->form_depends_on_data()) return true;
    std::vector<double> data = ModelAccess::values(*shape.model).parameters;
    const Mode mode = shape.model->initial_mode();
    data.insert(data.end(), mode.discrete.begin(), mode.discrete.end());
    if (data.size() != shape.code->equations().data.size()) return false;
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      std::ranges::copy(shape.numbers_of(cell), data.end() - static_cast<std::ptrdiff_t>(shape.numbers));
      if (!shape.code->same_form_for(data)) return false;
    }
    return true;
  }

  /// Variables that follow: everything that they read stands still.
  bool add_follower(const RepeatedModel::Shape& from) {
    Follower& follower = code_->followers_.emplace_back();
    follower.level = from.level;
    return compile(from, follower.shape) && follower.shape.own.empty() && follower.shape.model->guards().empty() &&
           follower.shape.model->initial_mode().locks.empty();
  }

  /// The model of one cell, and where its variables are.
  bool compile(const RepeatedModel::Shape& from, Shape& shape) {
    if (has_more(from.model)) return false;
    ModelData model = with_own_graph(from.model);
    for (std::size_t k = 0; k < model.variables.size(); ++k)
      if (!from.own[k]) model.equations.push_back({der(model.variables[k]) == 0.0, "", {}});
    try {
      shape.model = ModelAccess::compiled(model, options_);
    } catch (const ModelError&) {  // found again, and told, where the model is written out
      return false;
    }
    const CompiledModel& cell = *shape.model;
    shape.cells = from.cells;
    shape.variables = cell.variables().size();
    shape.declared = from.model.variables.size();
    shape.declared_places = from.variables;
    shape.numbers = from.numbers;
    shape.number_values = from.number_values;
    shape.discrete_places = from.discretes;
    for (const VariableInfo& v : from.model.variable_info) shape.names.push_back(v.name);
    for (const ModelData::Discrete& q : from.model.discretes) shape.names.push_back(q.name);
    const std::vector<int>& places = ModelAccess::places(cell);
    shape.declared_of.resize(shape.variables);
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (places[k] >= 0) {
        shape.declared_of[static_cast<std::size_t>(places[k])] = static_cast<int>(k);
        if (from.own[k] == 1) shape.own.push_back(places[k]);
        if (from.own[k] == 2) return false;
      } else if (from.own[k] == 1) {
        shape.eliminated.push_back(static_cast<int>(k));
      } else if (from.own[k] == 2) {
        ++shape.copies;
      } else {
        return false;
      }
    }
    std::ranges::sort(shape.own);
    return true;
  }

  static std::unordered_set<NodeId> own_symbols(const Shape& shape) {
    std::unordered_set<NodeId> own;
    for (const int j : shape.own) own.insert(shape.code->equations().variables[static_cast<std::size_t>(j)].id());
    return own;
  }

  /// Only own variables are reset, and clauses do not read those of others, which may be reset at the same instant.
  bool actions_are_local(const Shape& shape) {
    const std::unordered_set<NodeId> own = own_symbols(shape);
    const auto reads_own = [&](const Expr& e) {
      return e.is_constant() || std::ranges::all_of(symbols_of(std::span(&e, 1), SymbolKind::variable),
                                                    [&](const Expr& s) { return own.contains(s.id()); });
    };
    bool local = true;
    for (const ModelData::Clause& c : ModelAccess::logic(*shape.model).clauses) {
      local = local && reads_own(c.condition.expr());
      for (const ModelData::Action& action : c.actions) {
        local = local && reads_own(action.value) && reads_own(action.only_if.expr());
        if (action.kind != ModelData::Action::Kind::reset) continue;
        resets_ = true;
        if (!own.contains(action.target.id())) return false;
      }
    }
    for (const ModelData::Definition& d : ModelAccess::logic(*shape.model).definitions)
      local = local && reads_own(d.value);
    reads_others_ = reads_others_ || !local;
    return true;
  }

  /// On every surface where a cell can stay, and on two of them, it is an explicit system of the same variables.
  static bool surfaces_are_explicit(Shape& shape) {
    constexpr std::size_t most = 2;
    CompiledModel model(*shape.model);
    std::vector<Mode> stays;
    const auto add = [&](const Mode& mode) {
      if (!model.can_stay_on_surfaces(mode)) return true;
      const Structure& s = model.system(mode).structure();
      stays.push_back(mode);
      return s.explicit_ode && s.variables == static_cast<int>(shape.variables);
    };
    const Mode free = model.initial_mode();
    std::size_t surfaces = 0;
    for (int k = 0; k < static_cast<int>(shape.guards); ++k) {
      const std::size_t before = stays.size();
      Mode slide = free;
      slide.sliding = {k};
      if (shape.model->guards()[static_cast<std::size_t>(k)].slides && !add(slide)) return false;
      for (const int side : {-1, +1}) {
        Mode contact = free;
        contact.contacts = {k};
        contact.contact_sides = {side};
        if (resets_on(shape, k) && !add(contact)) return false;
      }
      surfaces += stays.size() > before;
    }
    shape.has_surfaces = surfaces > 0;
    if (surfaces > most) return false;
    // whether two guards are one is found for values of parameters, not for numbers of cells
    if (surfaces > 0 && shape.guards > 1 && shape.guards_have_numbers) return false;
    const std::vector<Mode> single = stays;
    for (const Mode& a : single)
      for (const Mode& b : single) {
        Mode both = a;
        const auto join = [](std::vector<int>& list, const std::vector<int>& more) {
          list.insert(list.end(), more.begin(), more.end());
        };
        join(both.sliding, b.sliding);
        join(both.contacts, b.contacts);
        join(both.contact_sides, b.contact_sides);
        const auto first = [](const Mode& m) { return m.sliding.empty() ? m.contacts.front() : m.sliding.front(); };
        if (first(a) < first(b) && !are_apart(shape, first(a), first(b)) && !add(both)) return false;
      }
    return true;
  }
  /// Whether two surfaces have no point in common because they are parallel planes: y > 0.5 and y < -0.5.
  static bool are_apart(const Shape& shape, int a, int b) {
    const RecordedEquations& eq = shape.code->equations();
    std::vector<Expr> both{eq.guards[static_cast<std::size_t>(a)], eq.guards[static_cast<std::size_t>(b)]};
    const GraphHandle graph = both.front().graph()->clone();  // that of the code does not grow
    rehome(both, graph);
    const std::vector<double>& values = ModelAccess::values(*shape.model).parameters;
    std::vector<std::pair<Expr, Expr>> known;
    for (std::size_t k = 0; k < values.size(); ++k)
      if (eq.data[k].graph()) known.emplace_back(Expr(graph, eq.data[k].id()), Expr(values[k]));
    const std::vector<Expr> symbols = symbols_of(both, SymbolKind::variable);
    double ratio = 0.0;
    for (const Expr& symbol : symbols) {
      const std::vector<Expr> slopes =
          substitute(std::vector{derivative(both[0], symbol), derivative(both[1], symbol)}, known);
      if (!slopes[0].is_constant() || !slopes[1].is_constant() || slopes[1].constant_value() == 0.0) return false;
      const double own = slopes[0].constant_value() / slopes[1].constant_value();
      if (ratio != 0.0 && own != ratio) return false;
      ratio = own;
      known.emplace_back(symbol, Expr(0.0));
    }
    if (ratio == 0.0) return false;
    const std::vector<Expr> offsets = substitute(both, known);
    return offsets[0].is_constant() && offsets[1].is_constant() &&
           offsets[0].constant_value() != ratio * offsets[1].constant_value();
  }
  static bool resets_on(const Shape& shape, int guard) {
    const auto& clauses = ModelAccess::logic(*shape.model).contact_clauses;
    return static_cast<std::size_t>(guard) < clauses.size() && !clauses[static_cast<std::size_t>(guard)].empty();
  }

  /// A guard belongs to one cell: it reads what the cell determines, and no other cell watches it, too.
  static bool guards_are_local(Shape& shape) {
    const RecordedEquations& eq = shape.code->equations();
    const std::unordered_set<NodeId> own = own_symbols(shape);
    for (std::size_t k = 0; k < shape.guards; ++k) {
      const GuardInfo& info = shape.model->guards()[k];
      if (info.record_touch || info.rule != SurfaceRule::filippov || info.paired) return false;
      shape.watches_time = shape.watches_time || info.time_only;
      const std::span<const Expr> function(&eq.guards[k], 1);
      const std::vector<Expr> read = symbols_of(function, SymbolKind::variable);
      if (std::ranges::any_of(read, [&](const Expr& e) { return !own.contains(e.id()); })) return false;
      const std::vector<Expr> discretes = symbols_of(function, SymbolKind::discrete);
      if (read.empty() && discretes.empty()) return false;
      const std::span<const Expr> numbers = std::span(eq.data).last(shape.numbers);
      const auto is_number = [&](const Expr& q) {
        return std::ranges::any_of(numbers, [&](const Expr& number) { return number.same(q); });
      };
      shape.guards_have_numbers = shape.guards_have_numbers || std::ranges::any_of(discretes, is_number);
      shape.guards_change =
          shape.guards_change || !std::ranges::all_of(discretes, is_number) || !locks_of(function).empty();
    }
    return true;
  }

  /// Which variables are eliminated depends on those that are fixed, and on guesses of derivatives.
  bool starts_alike(const Shape& shape, std::span<const int> declared, int k) const {
    const auto of = [&](std::span<const int> places) -> const VariableInfo& {
      return model_.variables[static_cast<std::size_t>(places[static_cast<std::size_t>(k)])];
    };
    const VariableInfo &own = of(declared), &first = of(shape.declared_of_cell(0));
    const bool eliminated = std::ranges::find(shape.eliminated, k) != shape.eliminated.end();
    return own.fixed == first.fixed && (!eliminated || (own.start != 0.0) == (first.start != 0.0));
  }

  /// Variables of the systems are those that no cell has eliminated, in the order of all variables.
  bool number_variables() {
    CellCode& c = *code_;
    std::vector<int> owner(model_.variables.size(), -1);
    std::vector<char> eliminated(model_.variables.size(), 0), discrete_owned(model_.discretes.size(), 0);
    for (Shape& shape : c.shapes_)
      for (std::size_t cell = 0; cell < shape.cells; ++cell) {
        const std::span<const int> declared = shape.declared_of_cell(cell);
        const auto take = [&](int k) {
          if (!starts_alike(shape, declared, k)) return false;
          int& taken = owner[static_cast<std::size_t>(declared[static_cast<std::size_t>(k)])];
          if (taken >= 0) return false;
          taken = static_cast<int>(shape.first_cell + cell);
          return true;
        };
        for (const int j : shape.own)
          if (!take(shape.declared_of[static_cast<std::size_t>(j)])) return false;
        for (const int k : shape.eliminated) {
          if (!take(k)) return false;
          eliminated[static_cast<std::size_t>(declared[static_cast<std::size_t>(k)])] = 1;
        }
        for (const int q : shape.discretes_of(cell))
          if (std::exchange(discrete_owned[static_cast<std::size_t>(q)], 1)) return false;
      }
    for (const Follower& follower : c.followers_) {
      const Shape& shape = follower.shape;
      const auto take = [&](int v) {
        owner[static_cast<std::size_t>(v)] = 0;
        return std::exchange(eliminated[static_cast<std::size_t>(v)], 1) == 0;
      };
      if (follower.sum.target >= 0 && !take(follower.sum.target)) return false;
      for (std::size_t cell = 0; cell < shape.cells; ++cell)
        for (const int k : shape.eliminated)
          if (!take(shape.declared_of_cell(cell)[static_cast<std::size_t>(k)])) return false;
    }
    if (std::ranges::find(owner, -1) != owner.end() || std::ranges::find(discrete_owned, 0) != discrete_owned.end())
      return false;
    c.observed_.reserve(model_.variables.size() + model_.discretes.size());
    c.observed_.assign(model_.variables.begin(), model_.variables.end());
    std::vector<int> place(owner.size(), -1);
    const auto kept = static_cast<std::size_t>(std::ranges::count(eliminated, 0));
    const bool all = kept == owner.size();
    c.owner_.reserve(kept);
    if (!all) c.observed_place_.reserve(kept);
    if (!all || !model_.discretes.empty()) c.kept_.reserve(kept);
    for (std::size_t v = 0; v < owner.size(); ++v) {
      if (eliminated[v]) continue;
      place[v] = static_cast<int>(c.owner_.size());
      c.owner_.push_back(owner[v]);
      if (!all) c.observed_place_.push_back(static_cast<int>(v));
      if (!all || !model_.discretes.empty()) c.kept_.push_back(model_.variables[v]);
    }
    for (const RepeatedModel::Discrete& q : model_.discretes)
      c.observed_.push_back({.name = q.name, .start = q.start, .details = q.details});
    for (Shape& shape : c.shapes_) {
      shape.places.resize(shape.blocks() * shape.variables * lanes);
      for (std::size_t lane = 0; lane < shape.blocks() * lanes; ++lane) {
        const std::span<const int> declared = shape.declared_of_cell(std::min(lane, shape.cells - 1));
        for (std::size_t j = 0; j < shape.variables; ++j) {
          const int v = declared[static_cast<std::size_t>(shape.declared_of[j])];
          const int p = place[static_cast<std::size_t>(v)];
          if (p < 0) return false;
          shape.places[Shape::in_lanes(lane, j, shape.variables)] = p;
        }
      }
      shape.in_row.resize(shape.blocks() * shape.variables);
      for (std::size_t k = 0; k < shape.in_row.size(); ++k) {
        const std::span<const int> in_block = std::span(shape.places).subspan(k * lanes, lanes);
        shape.in_row[k] =
            std::ranges::adjacent_find(in_block, [](int a, int b) { return b != a + 1; }) == in_block.end();
      }
    }
    return true;
  }

  void fill_structure() {
    CellCode& c = *code_;
    Structure& s = c.structure_;
    const auto n = static_cast<int>(c.owner_.size());
    s.variables = s.equations = n;
    s.explicit_ode = s.taylor = true;
    s.linear = s.constant_jacobian = s.constant_mass = true;
    s.guards_read_xp = false;
    std::vector<std::pair<int, int>> entries;
    std::size_t locks = 0, guards = 0, conditions = 0;
    for (Shape& shape : c.shapes_) {
      const Structure& one = shape.code->common();
      s.linear = s.linear && one.linear;
      s.constant_jacobian = s.constant_jacobian && one.constant_jacobian;
      s.constant_mass = s.constant_mass && one.constant_mass;
      s.scaling = one.scaling;
      shape.first_lock = std::exchange(locks, locks + shape.locks * shape.cells);
      shape.first_guard = std::exchange(guards, guards + shape.guards * shape.cells);
      shape.first_condition = std::exchange(conditions, conditions + shape.conditions * shape.cells);
      list_entries(shape);
      for (std::size_t cell = 0; cell < shape.cells; ++cell) {
        for (const Shape::Entry& e : shape.entries)
          entries.emplace_back(static_cast<int>(shape.place(cell, static_cast<std::size_t>(e.row))),
                               static_cast<int>(shape.place(cell, static_cast<std::size_t>(e.column))));
        for (const int j : one.guard_variables)
          s.guard_variables.push_back(static_cast<int>(shape.place(cell, static_cast<std::size_t>(j))));
      }
    }
    s.guards = static_cast<int>(guards);
    std::ranges::sort(s.guard_variables);
    s.guard_variables.erase(std::unique(s.guard_variables.begin(), s.guard_variables.end()), s.guard_variables.end());
    std::vector<int> position;
    s.state_pattern = make_pattern(n, n, entries, &position);
    std::size_t next = 0;
    for (Shape& shape : c.shapes_) {
      const std::size_t width = shape.entries.size();
      shape.entry_places.resize(shape.blocks() * width * lanes);
      for (std::size_t lane = 0; lane < shape.blocks() * lanes; ++lane)
        for (std::size_t k = 0; k < width; ++k)
          shape.entry_places[Shape::in_lanes(lane, k, width)] =
              position[next + std::min(lane, shape.cells - 1) * width + k];
      next += shape.cells * width;
    }
    SparsePattern& identity = s.derivative_pattern;
    identity.rows = identity.columns = n;
    identity.start.resize(static_cast<std::size_t>(n) + 1);
    identity.row.resize(static_cast<std::size_t>(n));
    for (int j = 0; j < n; ++j)
      identity.row[static_cast<std::size_t>(j)] = identity.start[static_cast<std::size_t>(j)] = j;
    identity.start.back() = n;
  }

  /// On surfaces any variable of the cell may count.
  static void list_entries(Shape& shape) {
    const auto& of_cell = shape.code->jacobians().places_of_Fx();
    for (std::size_t k = 0; k < of_cell.size(); ++k)
      if (std::ranges::binary_search(shape.own, of_cell[k].first))
        shape.entries.push_back({of_cell[k].first, of_cell[k].second, static_cast<int>(k)});
    if (!shape.has_surfaces) return;
    for (const int row : shape.own)
      for (int column = 0; column < static_cast<int>(shape.variables); ++column)
        if (std::ranges::find(of_cell, std::pair(row, column)) == of_cell.end())
          shape.entries.push_back({row, column, -1});
  }

  void name_guards() {
    CellCode& c = *code_;
    c.guards_.reserve(static_cast<std::size_t>(c.structure_.guards));
    for (const Shape& shape : c.shapes_)
      for (std::size_t cell = 0; cell < shape.cells; ++cell)
        for (const GuardInfo& info : shape.model->guards()) {
          const auto first = static_cast<int>(shape.first_guard + cell * shape.guards);
          GuardInfo& own = c.guards_.emplace_back(info);
          own.name = c.renamed(info.name, shape, cell);
          if (info.same_as >= 0) own.same_as = first + info.same_as;
        }
  }

  void find_first_mode() {
    CellCode& c = *code_;
    const Shape& last = c.shapes_.back();
    Mode& whole = c.first_mode_;
    for (const RepeatedModel::Discrete& q : model_.discretes) whole.discrete.push_back(q.start);
    whole.locks.resize(last.first_lock + last.locks * last.cells);
    whole.conditions.resize(last.first_condition + last.conditions * last.cells);
    whole.sees.resize(static_cast<std::size_t>(c.structure_.guards));
    for (const Shape& shape : c.shapes_) {
      std::map<std::vector<double>, Mode> known;  // by start values of the discrete variables
      std::vector<double> starts(shape.discretes);
      for (std::size_t cell = 0; cell < shape.cells; ++cell) {
        read_discretes(whole, shape, cell, starts);
        const auto [it, fresh] = known.try_emplace(starts);
        if (fresh) it->second = ModelAccess::first_mode(*shape.model, starts);
        write(it->second, shape, cell, whole);
      }
    }
  }

  const RepeatedModel& model_;
  const ProgramOptions& options_;
  bool resets_ = false, reads_others_ = false;  // some clauses: reset variables; read variables of other cells
  std::shared_ptr<CellCode> code_{new CellCode()};
};

std::shared_ptr<const CellCode> CellCode::make(const RepeatedModel& model, const ProgramOptions& options) {
  return Maker(model, options).make();
}

CellCode::Member CellCode::find(std::size_t number, std::size_t Shape::*first, std::size_t Shape::*count) const {
  const auto behind = std::ranges::upper_bound(shapes_, number, {}, first);
  auto shape = std::prev(behind);
  while ((*shape).*count == 0) --shape;  // shapes without any begin at the same number
  const std::size_t offset = number - (*shape).*first;
  return {&*shape, offset / ((*shape).*count), offset % ((*shape).*count)};
}

CellCode::Member CellCode::of_variable(std::size_t place) const {
  const auto number = static_cast<std::size_t>(owner_[place]);
  const Shape& shape = *std::prev(std::ranges::upper_bound(shapes_, number, {}, &Shape::first_cell));
  const std::size_t cell = number - shape.first_cell;
  for (const int j : shape.own)
    if (shape.place(cell, static_cast<std::size_t>(j)) == place) return {&shape, cell, static_cast<std::size_t>(j)};
  return {&shape, cell, 0};
}

std::vector<std::pair<std::size_t, std::size_t>> CellCode::on_surfaces(const Mode& mode) const {
  std::vector<std::pair<std::size_t, std::size_t>> cells;
  cells.reserve(mode.sliding.size() + mode.contacts.size());
  for (const std::vector<int>* list : {&mode.sliding, &mode.contacts})  // increasing, and guards run shape by shape
    for (const int guard : *list) {
      const Member m = of_guard(static_cast<std::size_t>(guard));
      cells.emplace_back(m.shape - shapes_.data(), m.cell);
    }
  std::ranges::inplace_merge(cells, cells.begin() + static_cast<std::ptrdiff_t>(mode.sliding.size()));
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  return cells;
}

void CellCode::read_discretes(const Mode& whole, const Shape& shape, std::size_t cell, std::span<double> values) {
  auto value = values.begin();
  for (const int place : shape.discretes_of(cell)) *value++ = whole.discrete[static_cast<std::size_t>(place)];
  std::ranges::copy(shape.numbers_of(cell), value);
}

void CellCode::read(const Mode& whole, const Shape& shape, std::size_t cell, Mode& mode) {
  const auto part = [&](const auto& from, std::size_t first, std::size_t count, auto& to) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first + cell * count);
    to.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  mode.discrete.resize(shape.discretes);
  read_discretes(whole, shape, cell, mode.discrete);
  part(whole.locks, shape.first_lock, shape.locks, mode.locks);
  part(whole.conditions, shape.first_condition, shape.conditions, mode.conditions);
  part(whole.sees, shape.first_guard, shape.guards, mode.sees);
  mode.sliding.clear();
  mode.contacts.clear();
  mode.contact_sides.clear();
  if (!whole.on_surfaces()) return;
  const auto first = static_cast<int>(shape.first_guard + cell * shape.guards);
  const auto behind = first + static_cast<int>(shape.guards);
  const auto begin_of = [&](const std::vector<int>& list) { return std::ranges::lower_bound(list, first); };
  for (auto it = begin_of(whole.sliding); it != whole.sliding.end() && *it < behind; ++it)
    mode.sliding.push_back(*it - first);
  for (auto it = begin_of(whole.contacts); it != whole.contacts.end() && *it < behind; ++it) {
    mode.contacts.push_back(*it - first);
    mode.contact_sides.push_back(whole.contact_sides[static_cast<std::size_t>(it - whole.contacts.begin())]);
  }
}

void CellCode::write(const Mode& mode, const Shape& shape, std::size_t cell, Mode& whole) {
  const auto part = [&](const auto& from, std::size_t first, std::size_t count, auto& to) {
    std::ranges::copy(from, to.begin() + static_cast<std::ptrdiff_t>(first + cell * count));
  };
  const std::span<const int> places = shape.discretes_of(cell);
  for (std::size_t k = 0; k < places.size(); ++k)
    whole.discrete[static_cast<std::size_t>(places[k])] = mode.discrete[k];
  part(mode.locks, shape.first_lock, shape.locks, whole.locks);
  part(mode.conditions, shape.first_condition, shape.conditions, whole.conditions);
  part(mode.sees, shape.first_guard, shape.guards, whole.sees);
}

std::string_view CellCode::clause_name(int condition) const {
  const Member m = of_condition(static_cast<std::size_t>(condition));
  const std::string_view name = m.shape->model->clause_name(static_cast<int>(m.place));
  if (m.cell == 0 && m.shape->numbers == 0) return name;
  const std::lock_guard lock(naming_);
  const auto [it, fresh] = clause_names_.try_emplace(condition);
  if (fresh) it->second = renamed(name, *m.shape, m.cell);
  return it->second;
}

std::string CellCode::renamed(std::string_view text, const Shape& shape, std::size_t cell) const {
  if (cell == 0 && shape.numbers == 0) return std::string(text);
  const auto continues = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  const auto name_in_whole = [&](std::size_t k) {
    if (k < shape.declared) return observed_[static_cast<std::size_t>(shape.declared_of_cell(cell)[k])].name;
    const std::span<const int> discretes = shape.discretes_of(cell);
    const std::size_t q = k - shape.declared;
    if (q >= discretes.size() && shape.names[k][0] != '\'') {  // of a component
      for (std::size_t j = 0; j < shape.declared; ++j) {
        const std::size_t dot = shape.names[j].find('.');
        if (dot != std::string::npos && shape.names[k].starts_with(shape.names[j].substr(0, dot + 1))) {
          const std::string& whole = observed_[static_cast<std::size_t>(shape.declared_of_cell(cell)[j])].name;
          return whole.substr(0, whole.find('.')) + shape.names[k].substr(dot);
        }
      }
    }
    return q < discretes.size() ? observed_[all_variables_ + static_cast<std::size_t>(discretes[q])].name
                                : number_text(shape.numbers_of(cell)[q - discretes.size()]);
  };
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t found = shape.names.size();
    if (i == 0 || !continues(text[i - 1]))
      for (std::size_t k = 0; k < shape.names.size(); ++k) {
        const std::string& name = shape.names[k];
        const std::size_t end = i + name.size();
        if (text.substr(i, name.size()) != name) continue;
        if (end < text.size() && (continues(text[end]) || text[end] == '[')) continue;
        found = k;
      }
    if (found < shape.names.size()) {
      result += name_in_whole(found);
      i += shape.names[found].size();
      continue;
    }
    // a parameter of a component: "wall[1].G" is that of the component whose variables stand there
    for (std::size_t k = 0; k < shape.names.size() && (i == 0 || !continues(text[i - 1])); ++k) {
      const std::string& name = shape.names[k];
      const std::size_t dot = name.find('.');
      if (dot == std::string::npos || text.substr(i, dot + 1) != std::string_view(name).substr(0, dot + 1)) continue;
      const std::string whole = name_in_whole(k);
      if (whole.find('.') == std::string::npos) continue;
      result += whole.substr(0, whole.find('.'));
      i += dot;
      break;
    }
    result += text[i++];
  }
  return result;
}

}  // namespace saltus
