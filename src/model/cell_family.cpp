#include "model/cell_family.hpp"

#include <fmt/format.h>
#include <saltus/model/compile.hpp>

#include <algorithm>
#include <limits>
#include <optional>

#include "model/mode_text.hpp"
#include "model/model_access.hpp"
#include "model/values_key.hpp"

namespace saltus {

namespace {

using Shape = CellCode::Shape;

/// What cells see of a mode. Functions that are const serve several threads.
Mode& scratch(int which = 0) {
  thread_local Mode modes[2];
  return modes[which];
}

/// Values of one cell at the present instant: its states stay, their derivatives follow.
class CellValues final : public ModeValues {
 public:
  CellValues(CompiledModel& cell, double t) : cell_(cell), t_(t) {}
  bool find(const Mode& mode, std::vector<double>& x, std::vector<double>& xp) override {
    cell_.system(mode).rhs(t_, x, xp);
    return true;
  }

 private:
  CompiledModel& cell_;
  double t_;
};

}  // namespace

/// What one run works with.
struct CellFamily::State {
  CellEvaluator evaluator;
  std::list<CellSystem> systems, free;
  std::unique_ptr<Equations> equations;
  std::vector<double> x, xp, values;  // of a cell
  Transition transition;
  std::vector<std::unique_ptr<CompiledModel>> followers;
  const CellCode& code;

  explicit State(const CellCode& all) : evaluator(all), followers(all.followers().size()), code(all) {}
  CompiledModel& follower(std::size_t number) {
    std::unique_ptr<CompiledModel>& own = followers[number];
    if (!own) own = std::make_unique<CompiledModel>(*code.followers()[number].shape.model);
    return *own;
  }
  void see(const Shape& shape, std::size_t cell, std::span<const double> whole, std::vector<double>& part) const {
    part.assign(shape.variables, 0.0);
    if (!whole.empty())
      for (std::size_t j = 0; j < shape.variables; ++j) part[j] = whole[shape.place(cell, j)];
  }
};

/// The equations of all cells as they were written.
class CellFamily::Equations final : public WrittenEquations {
 public:
  Equations(const CellCode& code, State& state) : code_(code), state_(state) {
    for (std::size_t s = 0; s < code.shapes().size(); ++s) {
      const Shape& shape = code.shapes()[s];
      CellCode::read(code.first_mode(), shape, 0, scratch());
      WrittenEquations* const of_cell = state.evaluator.model(s).written_equations(scratch());
      // behind its equations a cell says that the variables of others stand still
      const std::size_t own = of_cell ? shape.own.size() + shape.eliminated.size() + shape.copies : 0;
      first_.push_back(count_);
      own_.push_back(own);
      count_ += own * shape.cells;
    }
  }

  int count() const override { return static_cast<int>(count_); }
  std::string name(int i) const override {
    const auto number = static_cast<std::size_t>(i);
    std::size_t s = first_.size() - 1;
    while (own_[s] == 0 || first_[s] > number) --s;
    const std::size_t cell = (number - first_[s]) / own_[s], place = (number - first_[s]) % own_[s];
    CellCode::read(code_.first_mode(), code_.shapes()[s], cell, scratch());
    return code_.renamed(state_.evaluator.model(s).written_equations(scratch())->name(static_cast<int>(place)),
                         code_.shapes()[s], cell);
  }
  void residuals(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp,
                 std::span<WrittenResidual> residuals) override {
    const std::size_t variables = code_.observed().size() - code_.first_mode().discrete.size();
    std::size_t next = 0;
    for (std::size_t s = 0; s < own_.size(); ++s) {
      if (own_[s] == 0) continue;
      const Shape& shape = code_.shapes()[s];
      for (std::size_t cell = 0; cell < shape.cells; ++cell) {
        CellCode::read(mode, shape, cell, scratch());
        WrittenEquations* const of_cell = state_.evaluator.model(s).written_equations(scratch());
        if (!of_cell) {  // in contact
          std::fill_n(residuals.begin() + static_cast<std::ptrdiff_t>(next), own_[s], WrittenResidual{});
          next += own_[s];
          continue;
        }
        state_.see(shape, cell, xp, state_.xp);
        state_.values.clear();
        for (const int v : shape.declared_of_cell(cell)) state_.values.push_back(values[static_cast<std::size_t>(v)]);
        for (const int q : shape.discretes_of(cell))
          state_.values.push_back(values[variables + static_cast<std::size_t>(q)]);
        found_.resize(static_cast<std::size_t>(of_cell->count()));
        of_cell->residuals(scratch(), t, state_.values, state_.xp, found_);
        std::copy_n(found_.begin(), own_[s], residuals.begin() + static_cast<std::ptrdiff_t>(next));
        next += own_[s];
      }
    }
  }

 private:
  const CellCode& code_;
  State& state_;
  std::vector<std::size_t> first_, own_;  // by shape
  std::size_t count_ = 0;
  std::vector<WrittenResidual> found_;
};

CellFamily::CellFamily(std::shared_ptr<const CellCode> code) : code_(std::move(code)) {}
CellFamily::~CellFamily() = default;

std::unique_ptr<HybridSystem> CellFamily::instance() const {
  return std::make_unique<CellFamily>(code_);
}

CellFamily::State& CellFamily::use() {
  if (!state_) state_ = std::make_unique<State>(*code_);
  return *state_;
}

bool CellFamily::derives_variables() const {
  return variables().size() + code_->first_mode().discrete.size() != observed().size();
}

std::string CellFamily::describe(const Mode& mode) const {
  const std::size_t first = observed().size() - code_->first_mode().discrete.size();
  ModeText text(mode.discrete.size() + guards().size());
  for (std::size_t k = 0; k < mode.discrete.size() && !text.full(); ++k)
    text.add([&] {
      const VariableInfo& q = observed()[first + k];
      return q.name + " = " + value_text(*q.details, mode.discrete[k], 6);
    });
  for (const Shape& shape : code_->shapes())
    for (std::size_t cell = 0; cell < shape.cells && shape.guards > 0 && !text.full(); ++cell) {
      CellCode::read(mode, shape, cell, scratch());
      for (std::size_t k = 0; k < shape.guards; ++k)
        if (ModelAccess::shows_guard(*shape.model, scratch(), static_cast<int>(k)))
          text.add([&] {
            return code_->renamed(ModelAccess::guard_text(*shape.model, scratch(), static_cast<int>(k)), shape, cell);
          });
    }
  const auto on_surface = [&](const char* how, int guard) {
    text.add([&] {
      const CellCode::Member m = code_->of_guard(static_cast<std::size_t>(guard));
      CellCode::read(mode, *m.shape, m.cell, scratch());
      return how + code_->renamed(ModelAccess::surface_text(*m.shape->model, scratch(), static_cast<int>(m.place)),
                                  *m.shape, m.cell);
    });
  };
  for (const int guard : mode.sliding) on_surface("sliding on ", guard);
  for (const int guard : mode.contacts) on_surface("in contact with ", guard);
  return text.text();
}

System& CellFamily::system(const Mode& mode) {
  State& s = use();
  for (auto it = s.systems.begin(); it != s.systems.end(); ++it)
    if (it->fits(mode)) {
      s.systems.splice(s.systems.begin(), s.systems, it);
      return *it;
    }
  if (s.free.empty()) return s.systems.emplace_front(s.evaluator, mode);
  s.systems.splice(s.systems.begin(), s.free, s.free.begin());
  s.systems.front().set(mode);
  return s.systems.front();
}

void CellFamily::forget_systems(std::span<const System* const> kept) {
  constexpr std::size_t many = 8;
  State& s = use();
  if (s.systems.size() <= many) return;
  for (auto it = s.systems.begin(); it != s.systems.end();) {
    const auto next = std::next(it);
    if (std::ranges::find(kept, static_cast<const System*>(&*it)) == kept.end())
      s.free.splice(s.free.begin(), s.systems, it);
    it = next;
  }
}

bool CellFamily::can_stay_on_surfaces(const Mode& mode) {
  for (const auto& [number, cell] : code_->on_surfaces(mode)) {
    CellCode::read(mode, code_->shapes()[number], cell, scratch());
    if (!use().evaluator.model(number).can_stay_on_surfaces(scratch())) return false;
  }
  return true;
}

void CellFamily::exit_guards(const Mode& mode, std::vector<int>& numbers) const {
  numbers.assign(mode.sliding.size() + mode.contacts.size(), 0);
  Mode& of_cell = scratch();
  std::vector<int> exits;
  std::size_t further = guards().size();  // where those of a cell begin
  for (const auto& [number, cell] : code_->on_surfaces(mode)) {
    const Shape& shape = code_->shapes()[number];
    CellCode::read(mode, shape, cell, of_cell);
    shape.model->exit_guards(of_cell, exits);
    const auto first = static_cast<int>(shape.first_guard + cell * shape.guards);
    const auto put = [&](const std::vector<int>& all, std::size_t before, const std::vector<int>& own,
                         std::size_t from) {
      for (std::size_t k = 0; k < own.size(); ++k) {
        const auto place = static_cast<std::size_t>(std::ranges::lower_bound(all, first + own[k]) - all.begin());
        numbers[before + place] = static_cast<int>(further + static_cast<std::size_t>(exits[from + k]) - shape.guards);
      }
    };
    put(mode.sliding, 0, of_cell.sliding, 0);
    put(mode.contacts, mode.sliding.size(), of_cell.contacts, of_cell.sliding.size());
    further += ModelAccess::exit_guard_count(*shape.model, of_cell);
  }
}

template <class Same>
bool CellFamily::same_in_cells(const Mode& a, const Mode& b, Same&& same) const {
  for (const Shape& shape : code_->shapes())
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      const auto locks = [&](const Mode& m) {
        return std::span(m.locks).subspan(shape.first_lock + cell * shape.locks, shape.locks);
      };
      const bool equal =
          std::ranges::equal(locks(a), locks(b)) && std::ranges::all_of(shape.discretes_of(cell), [&](int q) {
            return a.discrete[static_cast<std::size_t>(q)] == b.discrete[static_cast<std::size_t>(q)];
          });
      if (equal) continue;
      CellCode::read(a, shape, cell, scratch(0));
      CellCode::read(b, shape, cell, scratch(1));
      if (!same(*shape.model, scratch(0), scratch(1))) return false;
    }
  return true;
}

bool CellFamily::same_equations(const Mode& a, const Mode& b) const {
  if (a.on_surfaces() || b.on_surfaces()) return false;
  return same_in_cells(a, b,
                       [](const CompiledModel& c, const Mode& p, const Mode& q) { return c.same_equations(p, q); });
}
bool CellFamily::same_time_guards(const Mode& a, const Mode& b) const {
  return same_in_cells(a, b,
                       [](const CompiledModel& c, const Mode& p, const Mode& q) { return c.same_time_guards(p, q); });
}

int CellFamily::side(const Mode& mode, int guard) const {
  const CellCode::Member m = code_->of_guard(static_cast<std::size_t>(guard));
  CellCode::read(mode, *m.shape, m.cell, scratch());
  return m.shape->model->side(scratch(), static_cast<int>(m.place));
}

void CellFamily::positions(const Mode& mode, std::vector<Position>& positions) const {
  positions.resize(guards().size());
  std::vector<Position> of_cell;
  for (const Shape& shape : code_->shapes())
    for (std::size_t cell = 0; cell < shape.cells && shape.guards > 0; ++cell) {
      CellCode::read(mode, shape, cell, scratch());
      shape.model->positions(scratch(), of_cell);
      std::ranges::copy(of_cell,
                        positions.begin() + static_cast<std::ptrdiff_t>(shape.first_guard + cell * shape.guards));
    }
}

std::vector<int> CellFamily::dormant(const Mode& mode) const {
  std::vector<int> all;
  for (const Shape& shape : code_->shapes()) {
    if (!ModelAccess::guards(*shape.model).some_dormant()) continue;
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      CellCode::read(mode, shape, cell, scratch());
      for (const int k : shape.model->dormant(scratch()))
        all.push_back(static_cast<int>(shape.first_guard + cell * shape.guards) + k);
    }
  }
  return all;
}

bool CellFamily::follow(Mode& mode, int guard, double value, int side) const {
  const CellCode::Member m = code_->of_guard(static_cast<std::size_t>(guard));
  CellCode::read(mode, *m.shape, m.cell, scratch());
  const bool fresh = m.shape->model->follow(scratch(), static_cast<int>(m.place), value, side);
  CellCode::write(scratch(), *m.shape, m.cell, mode);
  return fresh;
}

void CellFamily::set_side(Mode& mode, int guard, int side) const {
  const CellCode::Member m = code_->of_guard(static_cast<std::size_t>(guard));
  CellCode::read(mode, *m.shape, m.cell, scratch());
  m.shape->model->set_side(scratch(), static_cast<int>(m.place), side);
  CellCode::write(scratch(), *m.shape, m.cell, mode);
}

void CellFamily::rest(Mode& mode, int guard) const {
  const CellCode::Member m = code_->of_guard(static_cast<std::size_t>(guard));
  CellCode::read(mode, *m.shape, m.cell, scratch());
  m.shape->model->rest(scratch(), static_cast<int>(m.place));
  CellCode::write(scratch(), *m.shape, m.cell, mode);
}

bool CellFamily::rests(const Mode& mode, int guard) const {
  const CellCode::Member m = code_->of_guard(static_cast<std::size_t>(guard));
  CellCode::read(mode, *m.shape, m.cell, scratch());
  return m.shape->model->rests(scratch(), static_cast<int>(m.place));
}

double CellFamily::next_time_event(const Mode& mode, double t, int direction, std::vector<int>& fired) {
  double next = direction * std::numeric_limits<double>::infinity();
  std::vector<int> found, of_cell;
  for (std::size_t s = 0; s < code_->shapes().size(); ++s) {
    const Shape& shape = code_->shapes()[s];
    if (!shape.watches_time) continue;
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      CellCode::read(mode, shape, cell, scratch());
      of_cell.clear();
      const double when = use().evaluator.model(s).next_time_event(scratch(), t, direction, of_cell);
      if (of_cell.empty() || direction * when > direction * next) continue;
      if (when != next) found.clear();
      next = when;
      for (const int k : of_cell) found.push_back(static_cast<int>(shape.first_guard + cell * shape.guards) + k);
    }
  }
  fired.insert(fired.end(), found.begin(), found.end());
  return next;
}

template <class Round>
bool CellFamily::in_cells(const EventInput& input, Transition& transition, Round&& round) {
  State& state = use();
  bool any = false;
  for (std::size_t s = 0; s < code_->shapes().size(); ++s) {
    const Shape& shape = code_->shapes()[s];
    CompiledModel& cell_model = state.evaluator.model(s);
    if (shape.conditions == 0 && shape.discretes == 0 && ModelAccess::logic(cell_model).assertions.empty()) continue;
    CellValues values(cell_model, input.t);
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      Transition& own = state.transition;
      CellCode::read(transition.mode, shape, cell, own.mode);
      state.see(shape, cell, transition.x, own.x);
      own.reset.assign(shape.variables, 0);
      own.terminate = own.failed = own.recorded = false;
      own.message.clear();
      own.fired.clear();
      own.contradictions.clear();
      own.notes.clear();
      EventInput part = input;
      state.see(shape, cell, input.x_before, state.x);
      state.see(shape, cell, input.xp_before, state.xp);
      part.x_before = state.x;
      part.xp_before = state.xp;
      part.values = input.values ? &values : nullptr;
      const bool acted = round(cell_model, part, own);
      any = any || acted;
      CellCode::write(own.mode, shape, cell, transition.mode);
      for (const int j : shape.own)
        if (own.reset[static_cast<std::size_t>(j)]) {
          transition.reset[shape.place(cell, static_cast<std::size_t>(j))] = 1;
          transition.x[shape.place(cell, static_cast<std::size_t>(j))] = own.x[static_cast<std::size_t>(j)];
        }
      transition.recorded = transition.recorded || own.recorded;
      if ((own.terminate && !transition.terminate) || (own.failed && !transition.failed))
        transition.message = code_->renamed(own.message, shape, cell);
      transition.terminate = transition.terminate || own.terminate;
      transition.failed = transition.failed || own.failed;
      for (const std::string_view name : own.fired)
        for (std::size_t k = 0; k < shape.conditions; ++k)
          if (cell_model.clause_name(static_cast<int>(k)) == name) {
            transition.fired.push_back(
                clause_name(static_cast<int>(shape.first_condition + cell * shape.conditions + k)));
            break;
          }
      for (Contradiction& c : own.contradictions) {
        for (std::string* text : {&c.variable, &c.first, &c.second}) *text = code_->renamed(*text, shape, cell);
        transition.contradictions.push_back(std::move(c));
      }
      for (const std::string& note : own.notes) transition.notes.push_back(code_->renamed(note, shape, cell));
    }
  }
  return any;
}

bool CellFamily::transition(const EventInput& input, Transition& transition) {
  return in_cells(input, transition,
                  [](CompiledModel& cell, const EventInput& in, Transition& out) { return cell.transition(in, out); });
}

void CellFamily::end_instant(const EventInput& input, Transition& transition) {
  in_cells(input, transition, [](CompiledModel& cell, const EventInput& in, Transition& out) {
    cell.end_instant(in, out);
    return false;
  });
}

void CellFamily::observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
                         std::span<double> values) {
  for (std::size_t k = 0; k < x.size(); ++k) values[code_->observed_place(k)] = x[k];
  std::ranges::copy(mode.discrete, values.end() - static_cast<std::ptrdiff_t>(mode.discrete.size()));
  if (!derives_variables()) return;
  State& state = use();
  for (std::size_t s = 0; s < code_->shapes().size(); ++s) {
    const Shape& shape = code_->shapes()[s];
    if (shape.eliminated.empty()) continue;
    state.values.resize(shape.declared + shape.discretes - shape.numbers);
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      CellCode::read(mode, shape, cell, scratch());
      state.see(shape, cell, x, state.x);
      state.see(shape, cell, xp, state.xp);
      state.evaluator.model(s).observe(scratch(), t, state.x, state.xp, state.values);
      const std::span<const int> places = shape.declared_of_cell(cell);
      for (const int k : shape.eliminated)
        values[static_cast<std::size_t>(places[static_cast<std::size_t>(k)])] =
            state.values[static_cast<std::size_t>(k)];
    }
  }
  observe_followers(t, values);
}

void CellFamily::observe_followers(double t, std::span<double> values) {
  State& state = use();
  const auto value = [&](int place) -> double& { return values[static_cast<std::size_t>(place)]; };
  for (std::size_t f = 0; f < code_->followers().size(); ++f) {
    const CellCode::Follower& follower = code_->followers()[f];
    if (const int target = follower.sum.target; target >= 0) {
      double others = 0.0, factor = 1.0;
      for (const RepeatedModel::Sum::Term& term : follower.sum.terms)
        if (term.variable == target)
          factor = term.factor;
        else
          others += term.factor * value(term.variable);
      value(target) = -others / factor;
      continue;
    }
    const Shape& shape = follower.shape;
    CompiledModel& model = state.follower(f);
    Mode mode = model.initial_mode();
    state.values.resize(shape.declared + mode.discrete.size());
    state.x.resize(shape.variables);
    state.xp.assign(shape.variables, 0.0);
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      const std::span<const int> places = shape.declared_of_cell(cell);
      std::ranges::copy(shape.numbers_of(cell), mode.discrete.begin());
      for (std::size_t j = 0; j < shape.variables; ++j)
        state.x[j] = value(places[static_cast<std::size_t>(shape.declared_of[j])]);
      model.observe(mode, t, state.x, state.xp, state.values);
      for (const int k : shape.eliminated)
        value(places[static_cast<std::size_t>(k)]) = state.values[static_cast<std::size_t>(k)];
    }
  }
}

std::uint64_t CellFamily::values_key() const {
  std::uint64_t key = code_->shapes().front().model->values_key();
  for (const Shape& shape : code_->shapes()) key = saltus::values_key(shape.number_values, key);
  return key;
}

std::shared_ptr<const FamilyParts> CellFamily::parts(int degree) const {
  return make_cell_parts(code_, degree);
}

WrittenEquations* CellFamily::written_equations(const Mode& /*mode*/) {
  State& state = use();
  if (!state.equations) state.equations = std::make_unique<Equations>(*code_, state);
  return state.equations.get();
}

std::shared_ptr<HybridSystem> compile(const Model& model, const ProgramOptions& options) {
  if (const std::shared_ptr<const RepeatedModel> loops = model.content().loops())
    if (std::shared_ptr<const CellCode> code = CellCode::make(*loops, options))
      return std::make_shared<CellFamily>(std::move(code));
  return std::make_shared<CompiledModel>(model, options);
}

std::vector<VariableInfo> parameter_info(const HybridSystem& system) {
  if (const auto* model = dynamic_cast<const CompiledModel*>(&system)) return model->parameter_info();
  const auto* cells = dynamic_cast<const CellFamily*>(&system);
  return cells ? cells->code()->parameter_info() : std::vector<VariableInfo>{};
}

}  // namespace saltus
