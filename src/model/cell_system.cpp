#include "model/cell_system.hpp"

#include <algorithm>
#include <cstring>

#include "model/model_access.hpp"

namespace saltus {

namespace {

using Shape = CellCode::Shape;
constexpr std::size_t lanes = CellCode::lanes;

/// Of a size that the compiler knows: without a call.
void copy_lanes(const double* from, double* to) {
  std::memcpy(to, from, lanes * sizeof(double));
}

/// Values of the cells of a block, variable by variable.
inline void gather(const Shape& shape, std::size_t block, const double* x, double* values) {
  const int* places = shape.places.data() + block * shape.variables * lanes;
  for (std::size_t j = 0; j < shape.variables; ++j, places += lanes, values += lanes)
    if (shape.stand_in_row(block, j))
      copy_lanes(x + *places, values);
    else
      for (std::size_t lane = 0; lane < lanes; ++lane) values[lane] = x[places[lane]];
}

/// The other way round, for the variables that the cells determine.
inline void scatter(const Shape& shape, std::size_t block, const double* values, std::span<double> x) {
  for (const int variable : shape.own) {
    const auto j = static_cast<std::size_t>(variable);
    const int* const places = shape.places.data() + (block * shape.variables + j) * lanes;
    const double* const of_cells = values + j * lanes;
    if (shape.stand_in_row(block, j))
      copy_lanes(of_cells, x.data() + *places);
    else
      for (std::size_t lane = 0; lane < lanes; ++lane) x[static_cast<std::size_t>(places[lane])] = of_cells[lane];
  }
}

/// True if all results of the first group are the constant zero.
bool gives_zeros(const Program& program) {
  const Tape& tape = program.tape();
  return std::ranges::all_of(tape.outputs.front(), [&](std::uint32_t slot) {
    return slot < tape.constants.size() && tape.constants[slot] == 0.0;
  });
}

}  // namespace

CellEvaluator::CellEvaluator(const CellCode& code) : code_(code), work_(code.shapes().size()), time_(lanes) {
  for (std::size_t s = 0; s < work_.size(); ++s) {
    const Shape& shape = code.shapes()[s];
    Work& work = work_[s];
    work.model = std::make_unique<CompiledModel>(*shape.model);
    work.x.resize(shape.variables * lanes);
    work.xp.resize(shape.variables * lanes);
    work.data.resize((code.parameters().size() + shape.discretes) * lanes);
    for (std::size_t k = 0; k < code.parameters().size(); ++k)
      std::fill_n(work.data.begin() + static_cast<std::ptrdiff_t>(k * lanes), lanes, code.parameters()[k]);
    const LockedJacobians& jacobians = shape.code->jacobians();
    work.results.resize(std::max({shape.variables, shape.guards, jacobians.Fx().size()}) * lanes);
    work.further.resize(jacobians.Fxp().size() * lanes);
  }
}

template <class Put>
void CellEvaluator::run(Which which, std::size_t number, const Values& values, double t, std::span<const double> x,
                        const double* xp, Put&& put) {
  const Shape& shape = code_.shapes()[number];
  Work& work = work_[number];
  if (!work.program[which]) {
    work.program[which] = &(shape.code->*programs[which])();
    work.memory[which] = work.program[which]->workspace(static_cast<int>(lanes));
  }
  std::ranges::fill(time_, t);
  double* const data = work.data.data() + code_.parameters().size() * lanes;
  double* const out[] = {work.results.data(), work.further.data()};
  for (std::size_t block = 0; block < shape.blocks(); ++block) {
    gather(shape, block, x.data(), work.x.data());
    if (xp) gather(shape, block, xp, work.xp.data());
    std::copy_n(values.discretes.data() + block * shape.discretes * lanes, shape.discretes * lanes, data);
    const double* const in[] = {time_.data(), work.x.data(), work.xp.data(), work.data.data(),
                                values.locks.data() + block * shape.locks * lanes};
    (*work.program[which])(in, out, work.memory[which]);
    put(block, work.results.data());
  }
}

RecordedSystem& CellEvaluator::one(std::size_t number, std::size_t cell, const Values& values) {
  const Shape& shape = code_.shapes()[number];
  std::optional<RecordedSystem>& one = work_[number].one;
  if (!one) one.emplace(ModelAccess::system(*shape.model).for_another_thread(code_.parameters()));
  std::vector<double> discretes(shape.discretes), locks(shape.locks);
  for (std::size_t k = 0; k < shape.discretes; ++k)
    discretes[k] = values.discretes[Shape::in_lanes(cell, k, shape.discretes)];
  for (std::size_t k = 0; k < shape.locks; ++k) locks[k] = values.locks[Shape::in_lanes(cell, k, shape.locks)];
  one->set_values(discretes, locks);
  return *one;
}

std::span<const double> CellEvaluator::state_of(std::size_t number, std::size_t cell, std::span<const double> X,
                                                int coefficients) {
  const Shape& shape = code_.shapes()[number];
  const auto n = static_cast<std::size_t>(code_.structure().variables);
  state_.resize(static_cast<std::size_t>(coefficients) * shape.variables);
  for (std::size_t i = 0; i < static_cast<std::size_t>(coefficients); ++i)
    for (std::size_t j = 0; j < shape.variables; ++j) state_[i * shape.variables + j] = X[i * n + shape.place(cell, j)];
  return state_;
}

const std::vector<LinearGuard>* CellEvaluator::common_linear_guards(const std::vector<Values>& values) {
  if (!linear_) {
    for (const Shape& shape : code_.shapes())
      if (shape.guards_change) return nullptr;
    find_linear_guards(values, {}, linear_.emplace());
  }
  return &linear_->guards;
}

void CellEvaluator::find_linear_guards(const std::vector<Values>& values, std::span<const Special> special,
                                       Linear& linear) {
  linear = {};
  linear.guards.reserve(static_cast<std::size_t>(code_.structure().guards) + 2 * special.size());
  std::vector<std::size_t> terms;
  std::vector<std::size_t> exits;  // guards that end stays on surfaces: they stand behind all others
  const auto add = [&](std::size_t s, std::size_t cell, const LinearGuard& guard, std::size_t further) {
    const Shape& shape = code_.shapes()[s];
    const auto k = static_cast<std::size_t>(guard.guard);
    if (k >= shape.guards) exits.push_back(linear.guards.size());
    LinearGuard& own = linear.guards.emplace_back(guard);
    own.guard =
        static_cast<int>(k < shape.guards ? shape.first_guard + cell * shape.guards + k : further + k - shape.guards);
    for (const int j : guard.variables)
      linear.variables.push_back(static_cast<int>(shape.place(cell, static_cast<std::size_t>(j))));
    linear.coefficients.insert(linear.coefficients.end(), guard.coefficients.begin(), guard.coefficients.end());
    terms.push_back(guard.variables.size());
  };
  auto next = special.begin();
  for (std::size_t s = 0; s < code_.shapes().size(); ++s) {
    const Shape& shape = code_.shapes()[s];
    if (shape.guards == 0) continue;
    const bool change = shape.code->linear_guards().change();
    std::vector<LinearGuard> of_cell;
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      if (next != special.end() && next->shape == s && next->cell == cell) {
        for (const LinearGuard& guard : next->system->linear_guards()) add(s, cell, guard, next->further);
        ++next;
        continue;
      }
      if (of_cell.empty() || change) {
        const std::span<const LinearGuard> found = one(s, cell, values[s]).linear_guards();
        of_cell.assign(found.begin(), found.end());
      }
      for (const LinearGuard& guard : of_cell) add(s, cell, guard, 0);
    }
  }
  std::size_t first = 0;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    linear.guards[k].variables = std::span(linear.variables).subspan(first, terms[k]);
    linear.guards[k].coefficients = std::span(linear.coefficients).subspan(first, terms[k]);
    first += terms[k];
  }
  if (!exits.empty()) {  // in the order of the cells, as the others: nothing is to be sorted
    std::vector<LinearGuard> behind;
    for (const std::size_t k : exits) behind.push_back(linear.guards[k]);
    const int family = code_.structure().guards;
    std::erase_if(linear.guards, [&](const LinearGuard& guard) { return guard.guard >= family; });
    linear.guards.insert(linear.guards.end(), behind.begin(), behind.end());
  }
  if (!std::ranges::is_sorted(linear.guards, {}, &LinearGuard::guard))
    std::ranges::sort(linear.guards, {}, &LinearGuard::guard);
}

void CellSystem::set(const Mode& mode) {
  mode_ = mode;
  linear_.reset();
  slots_.clear();
  values_.resize(code_.shapes().size());
  for (std::size_t s = 0; s < values_.size(); ++s) {
    const Shape& shape = code_.shapes()[s];
    CellEvaluator::Values& values = values_[s];
    values.discretes.resize(shape.blocks() * shape.discretes * lanes);
    values.locks.resize(shape.blocks() * shape.locks * lanes);
    std::vector<double> of_cell(shape.discretes);
    for (std::size_t lane = 0; lane < shape.blocks() * lanes; ++lane) {
      const std::size_t cell = std::min(lane, shape.cells - 1);
      CellCode::read_discretes(mode_, shape, cell, of_cell);
      for (std::size_t k = 0; k < shape.discretes; ++k)
        values.discretes[Shape::in_lanes(lane, k, shape.discretes)] = of_cell[k];
      for (std::size_t k = 0; k < shape.locks; ++k)
        values.locks[Shape::in_lanes(lane, k, shape.locks)] = mode_.locks[shape.first_lock + cell * shape.locks + k];
    }
  }
  find_surfaces();
}

void CellSystem::find_surfaces() {
  surfaces_.clear();
  structure_.reset();
  if (!mode_.on_surfaces()) return;
  Structure& s = structure_.emplace(code_.structure());
  std::vector<char> read(static_cast<std::size_t>(s.variables), 0);  // by guards
  for (const int j : s.guard_variables) read[static_cast<std::size_t>(j)] = 1;
  Mode of_cell, last;  // neighbours in the list are often in the same mode
  std::size_t last_shape = code_.shapes().size(), further = 0;
  System* system = nullptr;
  for (const auto& [number, cell] : code_.on_surfaces(mode_)) {
    const Shape& shape = code_.shapes()[number];
    CellCode::read(mode_, shape, cell, of_cell);
    if (number != last_shape || !(of_cell == last)) {
      system = &evaluator_.model(number).system(of_cell);
      further = ModelAccess::exit_guard_count(evaluator_.model(number), of_cell);
      last_shape = number;
      std::swap(of_cell, last);
    }
    const Structure& own = system->structure();
    surfaces_.push_back({number, cell, system, shape.guards, static_cast<std::size_t>(s.guards)});
    if (static_cast<std::size_t>(own.guards) != shape.guards + further)
      throw UsageError("a cell on surfaces has other guards than those that end its stay");
    s.guards += static_cast<int>(further);
    s.linear = s.linear && own.linear;
    s.constant_jacobian = s.constant_jacobian && own.constant_jacobian;
    for (std::size_t j = 0; j < shape.variables; ++j)
      if (own.guard_variables.empty() || std::ranges::binary_search(own.guard_variables, static_cast<int>(j)))
        read[shape.place(cell, j)] = 1;
  }
  s.guard_variables.clear();
  for (std::size_t j = 0; j < read.size(); ++j)
    if (read[j]) s.guard_variables.push_back(static_cast<int>(j));
}

std::size_t CellSystem::guard_place(const OnSurfaces& on, std::size_t k) const {
  const Shape& shape = code_.shapes()[on.shape];
  return k < on.guards ? shape.first_guard + on.cell * shape.guards + k : on.further + k - on.guards;
}

const CellSystem::OnSurfaces* CellSystem::surfaces_of(std::size_t shape, std::size_t cell) const {
  const auto key = [](const OnSurfaces& on) { return std::pair(on.shape, on.cell); };
  const auto it = std::ranges::lower_bound(surfaces_, std::pair(shape, cell), {}, key);
  return it != surfaces_.end() && key(*it) == std::pair(shape, cell) ? &*it : nullptr;
}

std::string CellSystem::equation_name(int i) const {
  const CellCode::Member member = code_.of_variable(static_cast<std::size_t>(i));
  return code_.renamed(member.shape->code->equations().equation_names[member.place], *member.shape, member.cell);
}

std::string CellSystem::undefined_part(int i, double t, std::span<const double> x, std::span<const double> xp) const {
  const CellCode::Member member = code_.of_variable(static_cast<std::size_t>(i));
  const std::size_t s = number_of(*member.shape);
  RecordedSystem& one = evaluator_.one(s, member.cell, values_[s]);
  const std::span<const double> state = evaluator_.state_of(s, member.cell, xp, 1);
  const std::vector<double> derivatives(state.begin(), state.end());
  const std::string part =
      one.undefined_part(static_cast<int>(member.place), t, evaluator_.state_of(s, member.cell, x, 1), derivatives);
  const std::size_t line = std::min(part.find('\n'), part.size());  // the advice after it names no variables
  return code_.renamed(part.substr(0, line), *member.shape, member.cell) + part.substr(line);
}

void CellSystem::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) {
  rhs(t, x, F);
  for (std::size_t i = 0; i < F.size(); ++i) F[i] = xp[i] - F[i];
}

void CellSystem::rhs(double t, std::span<const double> x, std::span<double> xp) {
  for (std::size_t s = 0; s < values_.size(); ++s) {
    const Shape& shape = code_.shapes()[s];
    evaluator_.run(CellEvaluator::rhs, s, values_[s], t, x, nullptr,
                   [&](std::size_t block, const double* f) { scatter(shape, block, f, xp); });
  }
  for (const OnSurfaces& on : surfaces_) {
    const Shape& shape = code_.shapes()[on.shape];
    cell_xp_.resize(shape.variables);
    on.system->rhs(t, evaluator_.state_of(on.shape, on.cell, x, 1), cell_xp_);
    for (const int j : shape.own)
      xp[shape.place(on.cell, static_cast<std::size_t>(j))] = cell_xp_[static_cast<std::size_t>(j)];
  }
}

void CellSystem::jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                          std::span<double> Fxp) {
  for (std::size_t s = 0; s < values_.size(); ++s) {
    const Shape& shape = code_.shapes()[s];
    const std::size_t width = shape.entries.size();
    evaluator_.run(CellEvaluator::jacobian, s, values_[s], t, x, xp.data(), [&](std::size_t block, const double* all) {
      const int* places = shape.entry_places.data() + block * width * lanes;
      for (const Shape::Entry& entry : shape.entries)
        for (std::size_t lane = 0; lane < lanes; ++lane)
          Fx[static_cast<std::size_t>(*places++)] =
              entry.source < 0 ? 0.0 : all[static_cast<std::size_t>(entry.source) * lanes + lane];
    });
  }
  for (const OnSurfaces& on : surfaces_) {
    const Shape& shape = code_.shapes()[on.shape];
    const SparsePattern& pattern = on.system->structure().state_pattern;
    std::span<const double> seen = evaluator_.state_of(on.shape, on.cell, xp, 1);
    cell_xp_.assign(seen.begin(), seen.end());
    cell_values_.resize(pattern.row.size());
    std::vector<double> of_derivatives(on.system->structure().derivative_pattern.row.size());
    on.system->jacobian(t, evaluator_.state_of(on.shape, on.cell, x, 1), cell_xp_, cell_values_, of_derivatives);
    for (std::size_t k = 0; k < shape.entries.size(); ++k) {
      const Shape::Entry& entry = shape.entries[k];
      const auto begin = pattern.row.begin() + pattern.start[static_cast<std::size_t>(entry.column)],
                 end = pattern.row.begin() + pattern.start[static_cast<std::size_t>(entry.column) + 1];
      const auto found = std::find(begin, end, entry.row);
      Fx[static_cast<std::size_t>(shape.entry_places[Shape::in_lanes(on.cell, k, shape.entries.size())])] =
          found == end ? 0.0 : cell_values_[static_cast<std::size_t>(found - pattern.row.begin())];
    }
  }
  std::ranges::fill(Fxp, 1.0);
}

void CellSystem::time_derivative(double t, std::span<const double> x, std::span<const double> xp,
                                 std::span<double> Ft) {
  std::ranges::fill(Ft, 0.0);
  for (std::size_t s = 0; s < values_.size(); ++s) {
    const Shape& shape = code_.shapes()[s];
    if (!gives_zeros(shape.code->time_derivative()))
      evaluator_.run(CellEvaluator::time_derivative, s, values_[s], t, x, xp.data(),
                     [&](std::size_t block, const double* f) { scatter(shape, block, f, Ft); });
  }
  for (const OnSurfaces& on : surfaces_) {
    const Shape& shape = code_.shapes()[on.shape];
    const std::span<const double> seen = evaluator_.state_of(on.shape, on.cell, xp, 1);
    cell_xp_.assign(seen.begin(), seen.end());
    cell_values_.resize(shape.variables);
    on.system->time_derivative(t, evaluator_.state_of(on.shape, on.cell, x, 1), cell_xp_, cell_values_);
    for (const int j : shape.own)
      Ft[shape.place(on.cell, static_cast<std::size_t>(j))] = cell_values_[static_cast<std::size_t>(j)];
  }
}

void CellSystem::taylor(double t, int level, std::span<const double> X, std::span<double> F) {
  const auto n = static_cast<std::size_t>(code_.structure().variables);
  for (std::size_t s = 0; s < values_.size(); ++s) {
    const Shape& shape = code_.shapes()[s];
    series_.resize(static_cast<std::size_t>(level + 1) * shape.variables);
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      const OnSurfaces* const on = surfaces_of(s, cell);
      System& system = on ? *on->system : evaluator_.one(s, cell, values_[s]);
      system.taylor(t, level, evaluator_.state_of(s, cell, X, level + 2), series_);
      for (std::size_t i = 0; i <= static_cast<std::size_t>(level); ++i)
        for (const int j : shape.own)
          F[i * n + shape.place(cell, static_cast<std::size_t>(j))] =
              series_[i * shape.variables + static_cast<std::size_t>(j)];
    }
  }
}

void CellSystem::solution_taylor(double t, int order, std::span<double> X) {
  const auto n = static_cast<std::size_t>(code_.structure().variables);
  std::vector<double> F(static_cast<std::size_t>(order) * n);
  std::ranges::fill(X.subspan(n), 0.0);
  for (int k = 0; k < order; ++k) {  // of F = x' - f the coefficient k is that of -f, as long as x_[k+1] is zero
    const std::size_t last = static_cast<std::size_t>(k) * n;
    taylor(t, k, X, F);
    for (std::size_t j = 0; j < n; ++j) X[last + n + j] = -F[last + j] / (k + 1);
  }
}

bool CellSystem::project(double t, std::span<double> x) {
  bool changed = false;
  for (const OnSurfaces& on : surfaces_) {
    const Shape& shape = code_.shapes()[on.shape];
    const std::span<const double> seen = evaluator_.state_of(on.shape, on.cell, x, 1);
    cell_x_.assign(seen.begin(), seen.end());
    if (!on.system->project(t, cell_x_)) continue;
    changed = true;
    for (const int j : shape.own)
      x[shape.place(on.cell, static_cast<std::size_t>(j))] = cell_x_[static_cast<std::size_t>(j)];
  }
  return changed;
}

void CellSystem::guards(double t, std::span<const double> x, std::span<const double> xp, std::span<double> g) {
  for (std::size_t s = 0; s < values_.size(); ++s) {
    const Shape& shape = code_.shapes()[s];
    if (shape.guards == 0) continue;
    evaluator_.run(CellEvaluator::guards, s, values_[s], t, x, xp.empty() ? nullptr : xp.data(),
                   [&](std::size_t block, const double* values) {
                     const std::size_t first = block * lanes;
                     for (std::size_t cell = first; cell < std::min(first + lanes, shape.cells); ++cell)
                       for (std::size_t k = 0; k < shape.guards; ++k)
                         g[shape.first_guard + cell * shape.guards + k] = values[k * lanes + cell - first];
                   });
  }
  for (const OnSurfaces& on : surfaces_) {
    const std::span<const double> seen = evaluator_.state_of(on.shape, on.cell, x, 1);
    cell_x_.assign(seen.begin(), seen.end());
    cell_xp_.assign(cell_x_.size(), 0.0);
    if (!xp.empty()) {
      const std::span<const double> derivatives = evaluator_.state_of(on.shape, on.cell, xp, 1);
      cell_xp_.assign(derivatives.begin(), derivatives.end());
    }
    cell_values_.resize(static_cast<std::size_t>(on.system->structure().guards));
    on.system->guards(t, cell_x_, cell_xp_, cell_values_);
    for (std::size_t k = 0; k < cell_values_.size(); ++k) g[guard_place(on, k)] = cell_values_[k];
  }
}

void CellSystem::guards_taylor(double t, int order, std::span<const double> X, std::span<double> G) {
  const auto all = static_cast<std::size_t>(structure().guards);
  for (const OnSurfaces& on : surfaces_) {
    const auto count = static_cast<std::size_t>(on.system->structure().guards);
    cell_values_.resize(static_cast<std::size_t>(order + 1) * count);
    on.system->guards_taylor(t, order, evaluator_.state_of(on.shape, on.cell, X, order + 1), cell_values_);
    for (std::size_t i = 0; i <= static_cast<std::size_t>(order); ++i)
      for (std::size_t k = 0; k < count; ++k) G[i * all + guard_place(on, k)] = cell_values_[i * count + k];
  }
  for (std::size_t s = 0; s < values_.size(); ++s) {
    const Shape& shape = code_.shapes()[s];
    if (shape.guards == 0) continue;
    series_.resize(static_cast<std::size_t>(order + 1) * shape.guards);
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      if (surfaces_of(s, cell)) continue;
      const std::span<const double> state = evaluator_.state_of(s, cell, X, order + 1);
      evaluator_.one(s, cell, values_[s]).guards_taylor(t, order, state, series_);
      for (std::size_t i = 0; i <= static_cast<std::size_t>(order); ++i)
        for (std::size_t k = 0; k < shape.guards; ++k)
          G[i * all + shape.first_guard + cell * shape.guards + k] = series_[i * shape.guards + k];
    }
  }
}

bool CellSystem::enclose_guards(Interval t, int order, std::span<const Interval> X, std::span<const int> which,
                                std::span<Interval> G) {
  const Structure& s = structure();
  if (slots_.empty()) {
    slots_.assign(static_cast<std::size_t>(s.variables), -1);
    for (std::size_t k = 0; k < s.guard_variables.size(); ++k)
      slots_[static_cast<std::size_t>(s.guard_variables[k])] = static_cast<int>(k);
  }
  const std::size_t width = s.guard_variables.size(), all = static_cast<std::size_t>(s.guards);
  const auto rows = static_cast<std::size_t>(order + 1);  // guards do not read x'
  const auto family = static_cast<std::size_t>(code_.structure().guards);
  std::vector<int> of_cell;
  for (std::size_t first = 0; first < which.size();) {
    const auto guard = static_cast<std::size_t>(which[first]);
    const OnSurfaces* on = nullptr;
    std::size_t number = 0, cell = 0, begin = 0, behind = 0;
    if (guard < family) {
      const CellCode::Member member = code_.of_guard(guard);
      number = number_of(*member.shape);
      cell = member.cell;
      on = surfaces_of(number, cell);
      begin = guard - member.place;
      behind = begin + member.shape->guards;
    } else {  // one that ends a stay
      on = &*std::prev(std::ranges::upper_bound(surfaces_, guard, {}, &OnSurfaces::further));
      number = on->shape;
      cell = on->cell;
      begin = on->further - on->guards;  // in the cell they stand behind its guards
      behind = begin + static_cast<std::size_t>(on->system->structure().guards);
    }
    of_cell.clear();
    while (first < which.size() && static_cast<std::size_t>(which[first]) < behind)
      of_cell.push_back(static_cast<int>(static_cast<std::size_t>(which[first++]) - begin));
    const Shape& shape = code_.shapes()[number];
    System& system = on ? *on->system : evaluator_.one(number, cell, values_[number]);
    const std::vector<int>& read = system.structure().guard_variables;
    const std::size_t count = read.empty() ? shape.variables : read.size();
    enclosed_.assign((rows + 1) * count, Interval{});
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t place = shape.place(cell, read.empty() ? k : static_cast<std::size_t>(read[k]));
        if (slots_[place] >= 0) enclosed_[i * count + k] = X[i * width + static_cast<std::size_t>(slots_[place])];
      }
    const auto guards = static_cast<std::size_t>(system.structure().guards);
    enclosed_guards_.assign(rows * guards, Interval{});
    if (!system.enclose_guards(t, order, enclosed_, of_cell, enclosed_guards_)) return false;
    for (std::size_t i = 0; i < rows; ++i)
      for (const int k : of_cell)
        G[i * all + begin + static_cast<std::size_t>(k)] = enclosed_guards_[i * guards + static_cast<std::size_t>(k)];
  }
  return true;
}

std::span<const LinearGuard> CellSystem::linear_guards() {
  if (code_.structure().guards == 0) return {};
  if (surfaces_.empty())
    if (const std::vector<LinearGuard>* common = evaluator_.common_linear_guards(values_)) return *common;
  if (!linear_) {
    std::vector<CellEvaluator::Special> special;
    for (const OnSurfaces& on : surfaces_) special.push_back({on.shape, on.cell, on.system, on.further});
    evaluator_.find_linear_guards(values_, special, linear_.emplace());
  }
  return linear_->guards;
}

}  // namespace saltus
