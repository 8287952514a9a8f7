// The matrices come from derivatives along the points of a mode: z are as many variables as it has degrees of freedom,
// and with the columns δz, δz', δy of Motion, A δz = δz' and C δz = δy. An input moves z, too, where constraints
// contain it: B = δz' - A δz and D = δy - C δz. A of explicit modes is their Jacobian.
#include <fmt/format.h>
#include <saltus/base/names.hpp>
#include <saltus/linalg/decomposition.hpp>
#include <saltus/sens/linearisation.hpp>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "sens/mode_manifold.hpp"

namespace saltus {

std::string_view to_string(Stability stability) {
  switch (stability) {
    case Stability::stable:
      return "stable";
    case Stability::unstable:
      return "unstable";
    case Stability::undecided:
      return "undecided";
  }
  return "";
}

namespace {

constexpr int largest = 2000;            // states: the matrices are dense
constexpr double least_rank = 1e-7;      // of directions, by the largest of them
constexpr double least_share = 0.1;      // of an eigenvalue's states, by the largest of them
constexpr double zero_real_part = 1e-9;  // by the largest entry of A
constexpr double poor = 1e-3;            // error of a matrix by its largest entry, above which it is none

/// Which variables are the states: those that vary most along the directions, one by one, orthogonal to the others.
/// `preferred` come first as far as they suffice.
std::vector<int> choose_states(const Matrix& moves, const std::vector<double>& sizes,
                               const std::vector<char>& preferred, int count) {
  const auto pick = [&](bool all) {
    std::vector<int> rows;
    for (int j = 0; j < moves.rows(); ++j)
      if (all || preferred[static_cast<std::size_t>(j)]) rows.push_back(j);
    Matrix scaled(moves.columns(), static_cast<int>(rows.size()));
    for (int c = 0; c < scaled.columns(); ++c)
      for (int k = 0; k < scaled.rows(); ++k)
        scaled(k, c) = moves(rows[static_cast<std::size_t>(c)], k) /
                       sizes[static_cast<std::size_t>(rows[static_cast<std::size_t>(c)])];
    const PivotedQr qr = pivoted_qr(scaled);
    std::vector<int> chosen;
    for (int k = 0; k < count && k < static_cast<int>(qr.pivots.size()); ++k)
      if (qr.pivots[static_cast<std::size_t>(k)] > least_rank * qr.pivots.front())
        chosen.push_back(rows[static_cast<std::size_t>(qr.permutation[static_cast<std::size_t>(k)])]);
    std::ranges::sort(chosen);
    return chosen;
  };
  std::vector<int> chosen = pick(false);
  return static_cast<int>(chosen.size()) == count ? chosen : pick(true);
}

/// M with M a = b, for a of full row rank.
Matrix divide(const Matrix& b, const Matrix& a) {
  if (a.rows() == 0) return Matrix(b.rows(), 0);
  return b * pseudo_inverse(svd(a, SvdForm::thin), a.rows());
}

int rank_of(const Matrix& moves, const std::vector<double>& sizes) {
  Matrix scaled = moves;
  for (int j = 0; j < moves.rows(); ++j)
    for (int c = 0; c < moves.columns(); ++c) scaled(j, c) /= sizes[static_cast<std::size_t>(j)];
  // directions have the length 1 in the sizes of the variables, or are projections of such
  const std::vector<double> s = singular_values(scaled);
  return static_cast<int>(std::ranges::count_if(s, [&](double value) { return value > least_rank * s.front(); }));
}

std::vector<Eigenvalue> eigenvalues_of(const Matrix& A, const std::vector<std::string>& states) {
  std::vector<Eigenvalue> result;
  if (A.rows() == 0) return result;
  const Eigen::EigenSolver<Eigen::MatrixXd> solver(Eigen::Map<const Eigen::MatrixXd>(A.data(), A.rows(), A.columns()));
  const Eigen::VectorXcd values = solver.eigenvalues();
  const Eigen::MatrixXcd right = solver.eigenvectors();
  const Eigen::FullPivLU<Eigen::MatrixXcd> lu(right);
  const bool diagonal = lu.rcond() > 1e-12;  // otherwise eigenvectors coincide, and their own entries have to do
  const Eigen::MatrixXcd left = diagonal ? lu.inverse() : Eigen::MatrixXcd(right.adjoint());
  for (Eigen::Index k = 0; k < values.size(); ++k) {
    Eigenvalue& e = result.emplace_back();
    e.value = values[k];
    double sum = 0.0;
    for (Eigen::Index i = 0; i < values.size(); ++i) {
      e.shares.push_back({states[static_cast<std::size_t>(i)], std::abs(right(i, k) * left(k, i))});
      sum += e.shares.back().share;
    }
    std::ranges::stable_sort(e.shares, std::ranges::greater(), &Eigenvalue::Share::share);
    for (Eigenvalue::Share& s : e.shares) s.share /= sum > 0.0 ? sum : 1.0;
    const double least = least_share * e.shares.front().share;
    std::erase_if(e.shares, [&](const Eigenvalue::Share& s) { return s.share < least; });
  }
  std::ranges::stable_sort(result, [](const Eigenvalue& a, const Eigenvalue& b) {
    return a.value.real() != b.value.real() ? a.value.real() > b.value.real() : a.value.imag() > b.value.imag();
  });
  return result;
}

/// Inputs and outputs by name.
struct Ports {
  std::vector<LinearInput> inputs;
  std::vector<int> outputs;  // places among the observed variables
};

Ports find_ports(const CompiledModel& model, const Mode& mode, const LinearisationOptions& options) {
  Ports ports;
  const std::vector<VariableInfo>& observed = model.observed();
  const std::vector<VariableInfo> parameters = model.parameter_info();
  const auto name_of = [](const VariableInfo& v) -> std::string_view { return v.name; };
  const NameTable variables(observed, name_of), names_of_parameters(parameters, name_of);
  const auto add_input = [&](const InputInfo& info) {
    const int place = info.coefficients.front();
    const VariableInfo& v = observed[static_cast<std::size_t>(info.variable)];
    const double value = mode.discrete[static_cast<std::size_t>(place)];
    ports.inputs.push_back({v.name, place, value, std::max(std::abs(value), v.nominal)});
  };
  if (options.inputs.empty())
    for (const InputInfo& info : model.inputs())
      if (observed[static_cast<std::size_t>(info.variable)].details->type == VariableType::real) add_input(info);
  for (const std::string& name : options.inputs) {
    bool found = false;
    for (const std::size_t k : variables.find_all(name))
      for (const InputInfo& info : model.inputs())
        if (info.variable == static_cast<int>(k)) {
          add_input(info);
          found = true;
        }
    for (const std::size_t k : found ? std::vector<std::size_t>() : names_of_parameters.find_all(name)) {
      const double value = parameters[k].start;
      ports.inputs.push_back({parameters[k].name, -1, value, value != 0.0 ? std::abs(value) : 1.0});
      found = true;
    }
    if (!found)
      throw UsageError(fmt::format("linearise: '{}' is no input and no parameter of the model{}", name,
                                   names_of_parameters.hint(name)));
  }
  if (options.outputs.empty()) {
    for (std::size_t k = 0; k < observed.size(); ++k)
      if (observed[k].details->causality == Causality::output) ports.outputs.push_back(static_cast<int>(k));
    if (ports.outputs.empty())
      for (const VariableInfo& v : model.variables())
        if (const auto place = variables.find(v.name)) ports.outputs.push_back(static_cast<int>(*place));
  }
  for (const std::string& name : options.outputs) {
    const std::vector<std::size_t> found = variables.find_all(name);
    if (found.empty())
      throw UsageError(fmt::format("linearise: there is no variable '{}'{}", name, variables.hint(name)));
    for (const std::size_t k : found) ports.outputs.push_back(static_cast<int>(k));
  }
  return ports;
}

/// The part of a mode around one point.
class Around {
 public:
  Around(ModeManifold& manifold, const ManifoldPoint& point) : manifold_(manifold), point_(point) {}

  Linearisation find(const Ports& ports) {
    Linearisation l;
    l.t = manifold_.t();
    l.mode = manifold_.model().describe(manifold_.mode());
    for (const LinearInput& input : ports.inputs) {
      l.inputs.push_back(input.name);
      l.input_values.push_back(input.value);
    }
    const std::vector<VariableInfo>& observed = manifold_.model().observed();
    for (const int k : ports.outputs) {
      l.outputs.push_back(observed[static_cast<std::size_t>(k)].name);
      l.output_values.push_back(point_.values[static_cast<std::size_t>(k)]);
    }
    if (!find_states(l)) return l;
    find_matrices(l, ports);
    l.eigenvalues = l.ok() ? eigenvalues_of(l.A, l.states) : std::vector<Eigenvalue>();
    return l;
  }

  const std::vector<int>& states() const { return states_; }
  /// How the variables of the system move with the states.
  Matrix moves() const { return divide(motion_.x, select_rows(motion_.x, states_)); }

 private:
  bool find_states(Linearisation& l) {
    System& system = manifold_.system();
    const Structure& structure = system.structure();
    const int n = structure.variables;
    if (n > largest) {
      l.why = fmt::format("the mode has {} variables; linearisations are dense, and made up to {}", n, largest);
      return false;
    }
    const Matrix directions = manifold_.tangents(point_, l.why);
    if (!l.ok()) return false;
    motion_ = manifold_.along(point_, directions);
    for (int c = 0; c < motion_.x.columns(); ++c)
      for (int j = 0; j < n; ++j)
        if (!std::isfinite(motion_.x(j, c)) || !std::isfinite(motion_.xp(j, c))) {
          l.why = fmt::format("'{}' has no derivative here: the equations have no values beside the point",
                              system.variable_name(j));
          return false;
        }
    std::vector<double> sizes;
    std::vector<char> preferred;
    for (int j = 0; j < n; ++j) {
      sizes.push_back(manifold_.size(j, point_));
      preferred.push_back(manifold_.is_explicit() || structure.differentiated(j));
    }
    const int rank = manifold_.is_explicit() && !manifold_.on_surfaces() ? n
                     : directions.columns() == 0                         ? 0
                                                                         : rank_of(motion_.x, sizes);
    states_ = choose_states(motion_.x, sizes, preferred, rank);
    for (const int j : states_) {
      l.states.push_back(system.variable_name(j));
      l.state_values.push_back(point_.x[static_cast<std::size_t>(j)]);
      l.state_slopes.push_back(point_.xp[static_cast<std::size_t>(j)]);
    }
    return true;
  }

  void find_matrices(Linearisation& l, const Ports& ports) {
    const Matrix z = select_rows(motion_.x, states_), zp = select_rows(motion_.xp, states_);
    const Matrix y = select_rows(motion_.values, ports.outputs);
    l.A = divide(zp, z);
    l.C = divide(y, z);
    bool exact = false;
    if (manifold_.is_explicit() && !manifold_.on_surfaces()) {
      read_jacobian(l.A);
      exact = true;
    }
    const ModeManifold::Motion by_input = manifold_.with(point_, ports.inputs);
    const Matrix zu = select_rows(by_input.x, states_), zpu = select_rows(by_input.xp, states_);
    l.B = zpu - l.A * zu;
    l.D = select_rows(by_input.values, ports.outputs) - l.C * zu;
    double error = 0.0;
    if (!exact || !ports.outputs.empty())
      for (const double e : motion_.errors) error = std::max(error, e);
    for (const double e : by_input.errors) error = std::max(error, e);
    l.error = error;
    if (!exact) drop_noise(l.A);
    for (Matrix* m : {&l.B, &l.C, &l.D}) drop_noise(*m);
    for (const Matrix* m : {&l.A, &l.B, &l.C, &l.D})
      for (int j = 0; j < m->columns(); ++j)
        for (const double value : m->column(j))
          if (!std::isfinite(value)) l.why = "the equations have no derivative at this point";
    if (l.ok() && !(l.error <= poor))
      l.why = fmt::format(
          "the derivatives are not clear at this point: they differ by {:.1g} with the step of the differences",
          l.error);
  }

  /// Entries of differences that are rounding errors of others.
  static void drop_noise(Matrix& m) {
    constexpr double noise = 1e-13;
    if (m.empty()) return;
    const double least = noise * max_norm(m);
    for (int j = 0; j < m.columns(); ++j)
      for (double& value : m.column(j))
        if (std::abs(value) < least) value = 0.0;
  }

  void read_jacobian(Matrix& A) {
    System& system = manifold_.system();
    const Structure& s = system.structure();
    std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
    system.jacobian(manifold_.t(), point_.x, point_.xp, Fx, Fxp);
    Matrix full(s.equations, s.variables);
    for (int j = 0; j < s.variables; ++j)
      for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
        full(s.state_pattern.row[k], j) = -Fx[static_cast<std::size_t>(k)];
    A = std::move(full);
  }

  ModeManifold& manifold_;
  const ManifoldPoint& point_;
  ModeManifold::Motion motion_;
  std::vector<int> states_;
};

/// Names of relations that do not hold at a point as the mode says, and of surfaces that would be left.
std::vector<std::string> violated_guards(ModeManifold& manifold, const ManifoldPoint& point) {
  CompiledModel& model = manifold.model();
  System& system = manifold.system();
  std::vector<double> g(static_cast<std::size_t>(system.structure().guards));
  system.guards(manifold.t(), point.x, point.xp, g);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < model.guards().size() && k < g.size(); ++k) {
    const GuardInfo& guard = model.guards()[k];
    if (guard.time_only || guard.same_as >= 0) continue;
    const int side = model.side(manifold.mode(), static_cast<int>(k));
    if (side != 0 && side * g[k] < 0.0) names.push_back(guard.name);
  }
  std::vector<int> exits;
  model.exit_guards(manifold.mode(), exits);
  const Mode& mode = manifold.mode();
  for (std::size_t k = 0; k < exits.size(); ++k) {
    const bool slide = k < mode.sliding.size();
    const int guard = slide ? mode.sliding[k] : mode.contacts[k - mode.sliding.size()];
    const auto place = static_cast<std::size_t>(exits[k]);
    if (g[place] < 0.0 || (slide && g[place + 1] < 0.0))
      names.push_back(model.guards()[static_cast<std::size_t>(guard)].name);
  }
  return names;
}

}  // namespace

Linearisation linearise(const Cycle& cycle) {
  Linearisation l;
  l.period = cycle.period;
  l.states = cycle.variables;
  l.state_values = cycle.start;
  if (!cycle.ok()) {
    l.why = std::string(to_string(cycle.status)) + (cycle.message.empty() ? "" : ": " + cycle.message);
    return l;
  }
  l.A = cycle.monodromy;
  l.trivial_left_out = static_cast<int>(cycle.multipliers.size()) < l.A.rows();
  l.eigenvalues = eigenvalues_of(l.A, l.states);
  std::ranges::stable_sort(
      l.eigenvalues, [](const Eigenvalue& a, const Eigenvalue& b) { return std::abs(a.value) > std::abs(b.value); });
  return l;
}

Stability Linearisation::stability() const {
  if (period > 0.0) {
    constexpr double margin = 1e-6;  // of multipliers, which have errors of the runs
    std::size_t trivial = eigenvalues.size();
    for (std::size_t k = 0; k < eigenvalues.size(); ++k)
      if (trivial_left_out && (trivial == eigenvalues.size() ||
                               std::abs(eigenvalues[k].value - 1.0) < std::abs(eigenvalues[trivial].value - 1.0)))
        trivial = k;
    double most = 0.0;
    for (std::size_t k = 0; k < eigenvalues.size(); ++k)
      if (k != trivial) most = std::max(most, std::abs(eigenvalues[k].value));
    return most < 1.0 - margin ? Stability::stable : most > 1.0 + margin ? Stability::unstable : Stability::undecided;
  }
  const double zero = zero_real_part * (A.empty() ? 0.0 : max_norm(A)) + error * (A.empty() ? 0.0 : max_norm(A));
  double largest_part = -std::numeric_limits<double>::infinity();
  for (const Eigenvalue& e : eigenvalues) largest_part = std::max(largest_part, e.value.real());
  return largest_part < -zero ? Stability::stable : largest_part > zero ? Stability::unstable : Stability::undecided;
}

Linearisation linearise(const CompiledModel& model, const SimulatorState& at, const LinearisationOptions& options) {
  ModeManifold manifold(model, at);
  const Ports ports = find_ports(model, at.mode, options);
  Linearisation none;
  const std::optional<ManifoldPoint> point = manifold.start(none.why);
  if (!point) {
    none.t = at.t;
    none.mode = manifold.model().describe(at.mode);
    return none;
  }
  return Around(manifold, *point).find(ports);
}

std::vector<SimulatorState> states_at_entries(const CompiledModel& model, const SimulateOptions& options,
                                              std::size_t most) {
  Simulator run(std::make_shared<CompiledModel>(model), options);
  std::vector<SimulatorState> entries;
  const auto look = [&] {
    const Mode& mode = run.mode();
    const bool known = std::ranges::any_of(entries, [&](const SimulatorState& e) {
      return e.mode.automaton == mode.automaton && e.mode.sliding == mode.sliding && e.mode.contacts == mode.contacts &&
             model.same_equations(e.mode, mode);
    });
    if (!known && entries.size() < most) entries.push_back(run.state());
  };
  look();
  while (run.step()) look();
  if (!run.status().ok())
    throw UsageError(fmt::format("the run that enters the modes fails: {} at t = {:.9g}: {}",
                                 to_string(run.status().code), run.status().t, run.status().message));
  return entries;
}

// z moves by -A⁺ z', all other variables follow, and the consistent point beside them is the next one. A step that does
// not make z' smaller is halved.
Equilibrium find_equilibrium(const CompiledModel& model, const SimulatorState& near,
                             const LinearisationOptions& options) {
  ModeManifold manifold(model, near);
  const Ports ports = find_ports(model, near.mode, options);
  Equilibrium result;
  result.pseudo = !near.mode.sliding.empty();
  for (const VariableInfo& v : model.observed()) result.variables.push_back(v.name);
  std::optional<ManifoldPoint> point = manifold.start(result.message);
  if (!point) return result;
  constexpr int most = 50, most_halvings = 12;
  constexpr double enough = 1e-10;
  const auto slope = [&](const ManifoldPoint& p, const std::vector<int>& states) {
    double sum = 0.0;
    for (const int j : states) sum += std::pow(p.xp[static_cast<std::size_t>(j)] / manifold.size(j, *point), 2);
    return std::sqrt(sum);
  };
  for (int iteration = 0; iteration < most; ++iteration) {
    Around around(manifold, *point);
    result.linearisation = around.find(ports);
    const Linearisation& l = result.linearisation;
    if (!l.ok()) {
      result.message = l.why;
      return result;
    }
    const double speed = slope(*point, around.states());
    const double rate = std::max(max_norm(l.A), 1e-300);
    LeastSquares inverse(l.A);
    int rank = 0;
    for (const double pivot : inverse.pivots()) rank += pivot > 1e-9 * inverse.pivots().front();
    if (l.states.empty() || speed <= enough * rate) {
      result.found = true;
      break;
    }
    inverse.truncate(rank);
    const std::vector<double> step = inverse.solve(l.state_slopes);
    const std::vector<double> move = times(around.moves(), step);
    std::optional<ManifoldPoint> next;
    double share = 1.0;
    for (int k = 0; k < most_halvings; ++k, share *= 0.5) {
      std::vector<double> x = point->x;
      for (std::size_t j = 0; j < x.size(); ++j) x[j] -= share * move[j];
      next = manifold.point(std::move(x), point->xp);
      if (next && slope(*next, around.states()) < speed) break;
      next.reset();
    }
    if (!next) {
      result.message =
          speed <= 1e-6 * rate ? "" : "no equilibrium near this point: no step makes the derivatives smaller";
      result.found = result.message.empty();
      break;
    }
    point = std::move(next);
  }
  if (!result.found && result.message.empty())
    result.message = fmt::format("no equilibrium after {} iterations; try another starting point", most);
  result.values = point->values;
  result.violated = violated_guards(manifold, *point);
  result.admissible = result.found && result.violated.empty();
  System& system = manifold.system();
  std::vector<double> Ft(static_cast<std::size_t>(system.structure().equations));
  system.time_derivative(manifold.t(), point->x, point->xp, Ft);
  if (result.found && std::ranges::any_of(Ft, [](double v) { return std::abs(v) > 1e-9; }))
    result.message =
        fmt::format("the equations depend on time: it is an equilibrium of those at t = {:.9g}", manifold.t());
  return result;
}

}  // namespace saltus
