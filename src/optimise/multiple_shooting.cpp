#include "optimise/multiple_shooting.hpp"

#include <fmt/format.h>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "optimise/quadratic_programme.hpp"
#include "sens/state_variables.hpp"

namespace saltus {

namespace {

using Vector = Eigen::VectorXd;
using Mat = Eigen::MatrixXd;

/// Linear in the states at the begin of a stage and its controls.
struct StageValue {
  double value = 0.0;
  Vector by_state, by_control;
};

struct Stage {
  Vector end;
  Mat by_state, by_control;
  StageValue cost;
  Mat squares;                   ///< second derivatives by state and control
  std::vector<StageValue> rows;  ///< of the last stage
};

/// The programme of a single interval: start values and the values of the controls are free.
Programme stage_programme(const Programme& programme, const std::vector<std::string>& states) {
  Programme stage{.minimise = programme.minimise, .end = programme.end};
  for (const std::string& name : states) stage.parameters.push_back({.name = name + ".start"});
  for (const Control& control : programme.controls)
    stage.controls.push_back({.input = control.input, .lower = control.lower, .upper = control.upper});
  return stage;
}

OptimiseOptions stage_options(const OptimiseOptions& options, const Transcript& whole) {
  OptimiseOptions stage = options;
  const double start = whole.simulate().start;
  stage.simulate.stop = start + (whole.simulate().stop - start) / whole.grids()[0].intervals;
  stage.homotopy.clear();
  return stage;
}

class JoinedRuns {
 public:
  JoinedRuns(const Model& model, const Programme& programme, const Transcript& whole, const OptimiseOptions& options,
             double most_runs)
      : model_(model),
        programme_(programme),
        whole_(whole),
        options_(options),
        states_(state_variables(CompiledModel(model), {})),
        stage_(model, stage_programme(programme, states_.names), stage_options(options, whole)),
        count_(whole.grids()[0].intervals),
        n_(static_cast<Eigen::Index>(states_.names.size())),
        p_(static_cast<Eigen::Index>(programme.controls.size())),
        most_stages_(most_runs * count_) {
    for (const Unknown& u : stage_.unknowns()) names_.push_back(u.name);
    for (std::size_t i = 0; i < programme.end.size(); ++i) {
      low_.push_back(programme.end[i].lower / programme.end[i].nominal);
      high_.push_back(programme.end[i].upper / programme.end[i].nominal);
    }
  }

  ShootingResult solve();

 private:
  struct Whole {
    std::vector<Stage> stages;
    Mat gap;  // by stage
    double cost = 0.0, open = 0.0;
  };
  struct Step {
    Vector controls;
    std::vector<Vector> nodes;
    double fall = 0.0;
  };

  bool begin();
  Vector line_end() const;
  void follow_slopes(Mat& nodes) const;
  std::optional<Stage> run(std::size_t k, const Vector& x, const Vector& u);
  std::optional<Stage> attempt(std::size_t k, const Vector& x, const Vector& u);
  void add_squares(const SensitivityRun& run, bool last, Stage& stage) const;
  std::optional<Whole> evaluate(const Mat& nodes, const Mat& controls);
  Step step(const Whole& at, double radius) const;
  bool passes(const Whole& t, double promised, const Whole& now, double tolerance) const;

  const Model& model_;
  const Programme& programme_;
  const Transcript& whole_;
  const OptimiseOptions& options_;
  StateVariables states_;
  Transcript stage_;
  int count_;
  Eigen::Index n_, p_;
  double most_stages_;
  std::vector<std::string> names_;
  std::vector<double> low_, high_;
  Vector size_;         // of the states
  Mat nodes_, values_;  // states by node, controls by interval
  std::vector<std::pair<double, double>> filter_;
  std::string failure_;
  int stages_run_ = 0, nudged_ = 0;
};

/// The states at the start, and a straight line from there to what the end conditions say.
bool JoinedRuns::begin() {
  SimulateOptions s = stage_.simulate();
  s.stop = s.start + 1e-9 * (s.stop - s.start);
  const Trajectory first = simulate(stage_.model(), s);
  if (!first.status().ok()) {
    failure_ = first.status().message;
    return false;
  }
  const std::vector<double> start = first.at(s.start);
  nodes_.resize(n_, count_ + 1);
  for (Eigen::Index i = 0; i < n_; ++i) nodes_(i, 0) = start[first.index(states_.names[static_cast<std::size_t>(i)])];
  const Vector end = line_end();
  for (int k = 1; k <= count_; ++k)
    nodes_.col(k) = nodes_.col(0) + (end - nodes_.col(0)) * static_cast<double>(k) / count_;
  follow_slopes(nodes_);
  size_.resize(n_);
  for (Eigen::Index i = 0; i < n_; ++i) {
    const double largest = nodes_.row(i).cwiseAbs().maxCoeff();
    size_[i] = largest > 0.0 ? largest : first.variables()[states_.places[static_cast<std::size_t>(i)]].nominal;
  }
  values_.resize(p_, count_);
  for (std::size_t c = 0; c < whole_.controls().size(); ++c)
    for (int k = 0; k < count_; ++k) {
      const LinearForm& value = whole_.controls()[c].values[static_cast<std::size_t>(k)];
      values_(static_cast<Eigen::Index>(c), k) = whole_.unknowns()[value.unknown()].guess;
    }
  return true;
}

Vector JoinedRuns::line_end() const {
  Vector end = nodes_.col(0);
  const auto& rows = stage_.end_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != 1) continue;
    const auto state = std::ranges::find(states_.names, rows[i][0].variable);
    if (state == states_.names.end()) continue;
    const Eigen::Index k = state - states_.names.begin();
    const double weight = rows[i][0].weight;
    const EndCondition& row = programme_.end[i];
    const double low = std::min(row.lower / weight, row.upper / weight);
    const double high = std::max(row.lower / weight, row.upper / weight);
    end[k] = std::clamp(end[k], low, high);
  }
  return end;
}

/// der(x) = v: a straight line of x has this v.
void JoinedRuns::follow_slopes(Mat& nodes) const {
  const double length = whole_.simulate().stop - whole_.simulate().start;
  const ModelData& data = model_.data();
  const auto place = [&](const Expr& e, SymbolKind kind) -> Eigen::Index {
    if (!e.is_symbol()) return -1;
    const Symbol& symbol = e.graph()->symbol_of(e.id());
    if (symbol.kind != kind) return -1;
    const std::string& name = kind == SymbolKind::derivative ? e.graph()->symbol_of(symbol.base).name : symbol.name;
    const auto found = std::ranges::find(states_.names, name);
    return found == states_.names.end() ? -1 : found - states_.names.begin();
  };
  for (const ModelData::NamedEquation& named : data.equations)
    for (const bool turned : {false, true}) {
      const Expr& left = turned ? named.equation.rhs : named.equation.lhs;
      const Expr& right = turned ? named.equation.lhs : named.equation.rhs;
      const Eigen::Index x = place(left, SymbolKind::derivative), v = place(right, SymbolKind::variable);
      if (x < 0 || v < 0) continue;
      const double slope = (nodes(x, count_) - nodes(x, 0)) / length;
      for (int k = 1; k < count_; ++k) nodes(v, k) = slope;
    }
}

std::optional<Stage> JoinedRuns::run(std::size_t k, const Vector& x, const Vector& u) {
  constexpr int tries = 6;
  std::mt19937_64 random(1);
  for (int t = 0; t < tries; ++t) {
    Vector y = x;
    for (Eigen::Index i = 0; i < n_ && t > 0; ++i)  // a node on a surface has no derivative to both sides
      y[i] += std::pow(10.0, t - 9) * size_[i] * (2.0 * static_cast<double>(random() >> 11) / 9007199254740992.0 - 1.0);
    nudged_ += t > 0;
    if (auto stage = attempt(k, y, u)) return stage;
    if (stages_run_ >= most_stages_) break;
  }
  return std::nullopt;
}

std::optional<Stage> JoinedRuns::attempt(std::size_t k, const Vector& x, const Vector& u) {
  ++stages_run_;
  Vector at(n_ + p_);
  at << x, u;
  SimulateOptions options = stage_.simulate();
  const double length = options.stop - options.start;
  options.start += static_cast<double>(k) * length;
  options.stop = options.start + length;
  try {
    const SensitivityRun run =
        simulate_with_sensitivities(stage_.at(std::span(at.data(), stage_.size())), names_, options);
    if (!run.trajectory().status().ok() || !run.why().empty()) {
      failure_ = run.why().empty() ? run.trajectory().status().message : run.why();
      return std::nullopt;
    }
    std::vector<std::vector<double>> by;
    for (const std::string& name : names_) by.push_back(run.final(name));
    const std::vector<double>& final = run.trajectory().final();
    const auto read = [&](const ReadTerm& term, StageValue& value) {
      const std::size_t place = run.trajectory().index(term.variable);
      value.value += term.weight * final[place];
      for (Eigen::Index i = 0; i < n_; ++i) value.by_state[i] += term.weight * by[static_cast<std::size_t>(i)][place];
      for (Eigen::Index c = 0; c < p_; ++c)
        value.by_control[c] += term.weight * by[static_cast<std::size_t>(n_ + c)][place];
    };
    const StageValue nothing{.by_state = Vector::Zero(n_), .by_control = Vector::Zero(p_)};
    Stage stage{.end = Vector(n_), .by_state = Mat(n_, n_), .by_control = Mat(n_, p_), .cost = nothing};
    for (Eigen::Index i = 0; i < n_; ++i) {
      StageValue state = nothing;
      read({.weight = 1.0, .variable = states_.names[static_cast<std::size_t>(i)]}, state);
      stage.end[i] = state.value;
      stage.by_state.row(i) = state.by_state.transpose();
      stage.by_control.row(i) = state.by_control.transpose();
    }
    const bool last = k + 1 == static_cast<std::size_t>(count_);
    const auto& kinds = programme_.minimise.terms();
    for (std::size_t i = 0; i < kinds.size(); ++i)
      if (last || kinds[i].kind == Functional::Kind::integral) read(stage_.objective()[i], stage.cost);
    for (std::size_t i = 0; last && i < stage_.end_rows().size(); ++i) {
      StageValue row = nothing;
      for (const ReadTerm& term : stage_.end_rows()[i]) read(term, row);
      const double nominal = programme_.end[i].nominal;
      stage.rows.push_back({row.value / nominal, row.by_state / nominal, row.by_control / nominal});
    }
    add_squares(run, last, stage);
    if (stage.end.allFinite() && stage.by_state.allFinite() && stage.by_control.allFinite()) return stage;
    failure_ = "a derivative is undefined";
  } catch (const Error& error) {
    failure_ = error.what();
  }
  return std::nullopt;
}

void JoinedRuns::add_squares(const SensitivityRun& run, bool last, Stage& stage) const {
  stage.squares = Mat::Zero(n_ + p_, n_ + p_);
  const double from = run.trajectory().t_start(), h = run.trajectory().t_end() - from;
  const auto add = [&](const std::vector<std::vector<double>>& tangents, std::size_t place, double factor) {
    Vector r(n_ + p_);
    for (Eigen::Index j = 0; j < n_ + p_; ++j) r[j] = tangents[static_cast<std::size_t>(j)][place];
    stage.squares += factor * r * r.transpose();
  };
  for (const SquareTerm& term : stage_.squares()) {
    const std::size_t place = run.trajectory().index(term.variable);
    if (term.integrated) {
      for (const double share : {0.5 - 0.5 / std::sqrt(3.0), 0.5 + 0.5 / std::sqrt(3.0)})
        add(run.at(from + share * h), place, term.factor * h);
    } else if (last) {
      add(run.at(run.trajectory().t_end()), place, 2.0 * term.factor);
    }
  }
}

std::optional<JoinedRuns::Whole> JoinedRuns::evaluate(const Mat& nodes, const Mat& controls) {
  Whole result;
  result.gap.resize(n_, count_);
  for (int k = 0; k < count_; ++k) {
    if (stages_run_ >= most_stages_) return std::nullopt;
    auto stage = run(static_cast<std::size_t>(k), nodes.col(k), controls.col(k));
    if (!stage) return std::nullopt;
    result.gap.col(k) = stage->end - nodes.col(k + 1);
    result.open += result.gap.col(k).cwiseQuotient(size_).cwiseAbs().sum();
    result.cost += stage->cost.value;
    result.stages.push_back(std::move(*stage));
  }
  // the last node is where the last stage ends: rows are read there
  result.open -= result.gap.col(count_ - 1).cwiseQuotient(size_).cwiseAbs().sum();
  const std::vector<StageValue>& rows = result.stages.back().rows;
  for (std::size_t i = 0; i < rows.size(); ++i)
    result.open += std::max({low_[i] - rows[i].value, rows[i].value - high_[i], 0.0});
  return result;
}

/// States are eliminated from front to back, so that a programme in the controls alone is left.
JoinedRuns::Step JoinedRuns::step(const Whole& at, double radius) const {
  const Eigen::Index all = p_ * count_;
  Mat G = Mat::Zero(n_, all), H = Mat::Zero(all, all);
  Vector r = Vector::Zero(n_), gradient = Vector::Zero(all);
  std::vector<std::pair<Mat, Vector>> nodes;
  LinearPiece piece;
  const auto rows = static_cast<Eigen::Index>(low_.size());
  piece.c.resize(rows);
  piece.A.resize(rows, all);
  for (int k = 0; k < count_; ++k) {
    const Stage& stage = at.stages[static_cast<std::size_t>(k)];
    nodes.emplace_back(G, r);
    Mat both = Mat::Zero(n_ + p_, all);
    both.topRows(n_) = G;
    both.block(n_, k * p_, p_, p_).setIdentity();
    Vector offset = Vector::Zero(n_ + p_);
    offset.head(n_) = r;
    gradient += G.transpose() * stage.cost.by_state + both.transpose() * (stage.squares * offset);
    gradient.segment(k * p_, p_) += stage.cost.by_control;
    H += both.transpose() * stage.squares * both;
    if (k + 1 == count_)
      for (Eigen::Index i = 0; i < rows; ++i) {
        const StageValue& row = stage.rows[static_cast<std::size_t>(i)];
        piece.c[i] = row.value + row.by_state.dot(r);
        piece.A.row(i) = row.by_state.transpose() * G;
        piece.A.row(i).segment(k * p_, p_) += row.by_control.transpose();
      }
    G = (stage.by_state * G).eval();
    G.middleCols(k * p_, p_) += stage.by_control;
    r = (stage.by_state * r + at.gap.col(k)).eval();
  }
  nodes.emplace_back(G, r);
  piece.g = gradient;
  const double size = std::max(1.0, gradient.cwiseAbs().maxCoeff());
  if (stage_.squares().empty()) H.diagonal().array() += size;
  ElasticProgramme q{.B = H + 1e-9 * size * Mat::Identity(all, all), .pieces = {piece}, .penalty = 1e3 * size};
  q.row_low = Eigen::Map<const Vector>(low_.data(), rows);
  q.row_high = Eigen::Map<const Vector>(high_.data(), rows);
  q.low.resize(all), q.high.resize(all);
  for (int k = 0; k < count_; ++k)
    for (Eigen::Index c = 0; c < p_; ++c) {
      const Control& control = programme_.controls[static_cast<std::size_t>(c)];
      const double scale = whole_.unknowns()[whole_.controls()[static_cast<std::size_t>(c)].values[0].unknown()].scale;
      q.low[k * p_ + c] = std::min(std::max(control.lower - values_(c, k), -radius * scale), 0.0);
      q.high[k * p_ + c] =
          std::max({std::min(control.upper - values_(c, k), radius * scale), 0.0, q.low[k * p_ + c] + 1e-15});
    }
  Step result{.controls = saltus::solve(q).d};
  for (const auto& [by, offset] : nodes) result.nodes.push_back(by * result.controls + offset);
  result.fall = -(gradient.dot(result.controls) + 0.5 * result.controls.dot(H * result.controls));
  return result;
}

bool JoinedRuns::passes(const Whole& t, double promised, const Whole& now, double tolerance) const {
  const bool closed = t.open <= 10.0 * tolerance && now.open <= 10.0 * tolerance;
  const bool better =
      t.open <= 0.99 * now.open ||
      (t.cost <= now.cost - 1e-4 * std::max(promised, 0.0) && t.open <= std::max(now.open, tolerance)) ||
      (closed && t.cost <= now.cost - 1e-4 * std::max(promised, 0.0) + 1e-12);
  return better && std::ranges::all_of(filter_, [&](const std::pair<double, double>& entry) {
           return t.open <= 0.999 * entry.first || t.cost <= entry.second;
         });
}

ShootingResult JoinedRuns::solve() {
  constexpr int most = 60;
  const double tolerance = 0.01 * options_.tolerance;
  ShootingResult result;
  std::optional<Whole> now;
  if (begin()) now = evaluate(nodes_, values_);
  double radius = 1.0;
  while (now && result.iterations < most) {
    ++result.iterations;
    bool moved = false;
    Step best;
    while (!moved && radius > 1e-8 && stages_run_ < most_stages_) {
      best = step(*now, radius);
      Mat nodes = nodes_, values = values_;
      for (int k = 0; k <= count_; ++k) nodes.col(k) += best.nodes[static_cast<std::size_t>(k)];
      for (int k = 0; k < count_; ++k) values.col(k) += best.controls.segment(k * p_, p_);
      auto t = evaluate(nodes, values);
      if (!t || !passes(*t, best.fall, *now, tolerance)) {
        radius *= 0.3;
        continue;
      }
      if (now->open > tolerance) filter_.emplace_back(now->open, now->cost);
      moved = true;
      now = std::move(t);
      nodes_ = nodes;
      values_ = values;
    }
    if (options_.progress && !options_.progress({.doing = "multiple shooting",
                                                 .iteration = result.iterations,
                                                 .runs = stages_run_ / count_,
                                                 .max_runs = options_.max_runs,
                                                 .objective = now->cost,
                                                 .violation = now->open,
                                                 .radius = radius,
                                                 .step = moved ? "joined" : ""})) {
      result.interrupted = true;
      break;
    }
    if (!moved) break;
    const double size = best.controls.cwiseAbs().maxCoeff();
    if (size > 0.8 * radius) radius *= 2.0;
    if (now->open < tolerance && (size < 1e-7 || best.fall < 1e-10 * (1.0 + std::abs(now->cost)))) break;
  }
  result.runs = static_cast<double>(stages_run_) / count_;
  result.nudged = nudged_;
  if (!now) {
    result.why = failure_;
    return result;
  }
  result.gap = now->open;
  Vector x(static_cast<Eigen::Index>(whole_.size()));
  for (std::size_t k = 0; k < whole_.size(); ++k) x[static_cast<Eigen::Index>(k)] = whole_.unknowns()[k].guess;
  for (std::size_t c = 0; c < whole_.controls().size(); ++c)
    for (int k = 0; k < count_; ++k) {
      const LinearForm& value = whole_.controls()[c].values[static_cast<std::size_t>(k)];
      x[static_cast<Eigen::Index>(value.unknown())] = values_(static_cast<Eigen::Index>(c), k);
    }
  result.controls = std::move(x);
  return result;
}

}  // namespace

std::string refuse_multiple_shooting(const Model& model, const Programme& programme, const Transcript& whole) {
  if (programme.controls.empty()) return "there are no controls";
  if (!programme.parameters.empty()) return "parameters or start values are free";
  if (programme.stop) return "the end of the run is free";
  if (whole.grids().size() != 1 || !whole.grids()[0].lengths.empty())
    return "the controls have different or free intervals";
  if (whole.grids()[0].intervals < 2) return "there is one interval only";
  for (const Control& control : programme.controls)
    if (control.fixed_values || control.curve != ControlCurve::constant)
      return "a control is not constant on its intervals";
  const ModelData& data = model.data();
  for (const ModelData::Discrete& d : data.discretes)
    if (!d.hidden) return fmt::format("the model remembers '{}' between intervals", d.name);
  if (data.modes.size() > 1) return "the model has explicit modes";
  const auto reads_event = [](const Functional& f) {
    return std::ranges::any_of(f.terms(), [](const Functional::Term& t) { return !t.event.empty(); });
  };
  if (reads_event(programme.minimise)) return "the objective reads the time of an event";
  for (const EndCondition& row : programme.end) {
    if (reads_event(row.value)) return "a condition reads the time of an event";
    for (const Functional::Term& term : row.value.terms())
      if (term.kind == Functional::Kind::integral) return "a condition reads an integral";
  }
  return "";
}

ShootingResult multiple_shooting(const Model& model, const Programme& programme, const Transcript& whole,
                                 const OptimiseOptions& options, double most_runs) {
  try {
    return JoinedRuns(model, programme, whole, options, most_runs).solve();
  } catch (const UsageError& error) {  // a start value that cannot be given, for example
    return {.why = error.what()};
  }
}

}  // namespace saltus
