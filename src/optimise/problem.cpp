#include "optimise/problem.hpp"

#include <fmt/format.h>
#include <saltus/hybrid/simulate.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "optimise/extrema.hpp"
#include "optimise/quadratic_programme.hpp"

namespace saltus {

namespace {

using Vector = Eigen::VectorXd;

bool is_event(const Event& event, const std::string& name) {
  return std::ranges::find(event.guards, name) != event.guards.end() ||
         std::ranges::find(event.actions, name) != event.actions.end();
}

/// What the order of events is made of; changes of controls and samples are no decisions.
bool counts(const Event& event) {
  return event.kind != EventKind::time && !event.guards.empty();
}

/// Times that differ by less are one instant.
double instant_of(const Trajectory& run, double t) {
  return instant_share * std::max({std::abs(t), std::abs(run.t_start()), std::abs(run.t_end())});
}

/// A border is at the time of an event up to rounding errors only: its side is that of the event.
std::vector<std::vector<double>> tangents_at(const SensitivityRun& run, const Extremum& found) {
  if (found.at == Extremum::At::inside) return run.at(found.t);
  const Trajectory& trajectory = run.trajectory();
  const double close = instant_of(trajectory, found.t);
  const bool left = found.at == Extremum::At::left;
  double t = found.t;
  for (const Event& event : trajectory.events())
    if (std::abs(event.t - found.t) <= close) t = left ? std::min(t, event.t) : std::max(t, event.t);
  return left ? run.before(t) : run.at(t);
}

std::string name_of(const Event& event) {
  if (event.kind == EventKind::terminal) return "the end of the run";
  return event.guards.empty() ? std::string(to_string(event.kind)) : "'" + event.guards.front() + "'";
}

}  // namespace

Problem::Problem(const Transcript& transcript, const OptimiseOptions&) : transcript_(transcript) {
  const Eigen::Index n = static_cast<Eigen::Index>(transcript.size());
  lower.resize(n), upper.resize(n), scale.resize(n);
  for (Eigen::Index k = 0; k < n; ++k) {
    const Unknown& u = transcript.unknowns()[static_cast<std::size_t>(k)];
    lower[k] = u.lower, upper[k] = u.upper, scale[k] = u.scale;
    names_.push_back(u.name);
  }
  const Programme& p = transcript.programme();
  for (const EndCondition& row : p.end) rows.push_back({row.label, row.lower, row.upper, row.nominal});
  for (const PathCondition& row : p.path)
    for (const int sign : {-1, 1}) {
      if (!std::isfinite(sign < 0 ? row.lower : row.upper)) continue;
      for (std::size_t k = 0; k < transcript.path_intervals(); ++k)
        rows.push_back({fmt::format("{} in interval {}", row.label, k + 1), sign < 0 ? row.lower : -unbounded,
                        sign < 0 ? unbounded : row.upper, row.nominal});
    }
  const double length = transcript.simulate().stop - transcript.simulate().start;
  for (const ControlGrid& grid : transcript.grids())
    if (!grid.lengths.empty()) rows.push_back({"lengths of the intervals", 0.0, 0.0, length});
  row_low.resize(m()), row_high.resize(m());
  for (Eigen::Index i = 0; i < m(); ++i) {
    const Row& row = rows[static_cast<std::size_t>(i)];
    row_low[i] = row.low / row.nominal;
    row_high[i] = row.high / row.nominal;
  }
}

Vector Problem::gradient_of(const LinearForm& form) const {
  Vector result = Vector::Zero(n());
  for (const auto& [k, factor] : form.factors) result[static_cast<Eigen::Index>(k)] += factor;
  return result;
}

Trajectory Problem::run(const Vector& x) const {
  SimulateOptions options = transcript_.simulate();
  options.progress = {};  // the result of a search that was interrupted has its run
  return simulate(transcript_.at(std::span(x.data(), transcript_.size()), more), options);
}

std::optional<Evaluation> Problem::evaluate(const Vector& x) {
  constexpr int tries = 4;
  constexpr double nudge = 1e-7;  // in units of the scales; far below what conditions and objectives resolve
  std::mt19937_64 random(1);
  for (int k = 0; k < tries; ++k) {
    Vector at = x;
    for (Eigen::Index i = 0; i < n() && k > 0; ++i) {
      const double r = 2.0 * static_cast<double>(random() >> 11) / 9007199254740992.0 - 1.0;
      at[i] = std::clamp(x[i] + nudge * scale[i] * r, lower[i], upper[i]);
    }
    if (k > 0) ++nudged;
    if (auto found = attempt(x, at)) return found;
    if (cancelled_) break;
  }
  return std::nullopt;
}

std::optional<Evaluation> Problem::attempt(const Vector& x, const Vector& at) {
  ++runs;
  try {
    const CompiledModel model = transcript_.at(std::span(at.data(), transcript_.size()), more);
    const SensitivityRun run = simulate_with_sensitivities(model, names_, transcript_.simulate());
    const Status& status = run.trajectory().status();
    if (!status.ok()) {
      cancelled_ = status.code == StatusCode::cancelled;
      failure_ = fmt::format("the run ends at t = {}: {}", run.trajectory().t_end(), status.message);
      return std::nullopt;
    }
    if (!run.why().empty()) {
      failure_ = "the run has no derivative: " + run.why();
      return std::nullopt;
    }
    final_.clear();
    for (const std::string& name : names_) final_.push_back(run.final(name));
    Evaluation e{.x = x, .g = Vector::Zero(n()), .c = Vector::Zero(m())};
    e.A = Eigen::MatrixXd::Zero(m(), n());
    e.times.assign(rows.size(), not_given);
    if (!read_terms(run, transcript_.objective(), e.f, e.g) || !read_rows(run, at, e)) return std::nullopt;
    if (!std::isfinite(e.f) || !e.g.allFinite() || !e.c.allFinite() || !e.A.allFinite()) {
      failure_ = "a value or a derivative at the end of the run is not finite, or undefined";
      return std::nullopt;
    }
    e.v = violation_of(e.c, row_low, row_high);
    read_squares(run, at, e);
    read_order(run, at, e);
    read_sides(run, e);
    return e;
  } catch (const Error& error) {
    failure_ = error.what();
    return std::nullopt;
  }
}

bool Problem::read_terms(const SensitivityRun& run, const std::vector<ReadTerm>& terms, double& value,
                         Eigen::Ref<Vector> gradient) {
  const Trajectory& trajectory = run.trajectory();
  for (const ReadTerm& term : terms) {
    if (!term.variable.empty()) {
      const std::size_t place = trajectory.index(term.variable);
      value += term.weight * trajectory.final()[place];
      for (Eigen::Index k = 0; k < n(); ++k) gradient[k] += term.weight * final_[static_cast<std::size_t>(k)][place];
      continue;
    }
    int seen = 0;
    std::size_t found = trajectory.events().size();
    for (std::size_t e = 0; e < trajectory.events().size() && seen < term.number; ++e)
      if (is_event(trajectory.events()[e], term.event) && ++seen == term.number) found = e;
    if (found == trajectory.events().size()) {
      failure_ = fmt::format("the event '{}' happens {} times, not {}", term.event, seen, term.number);
      return false;
    }
    const EventSensitivity& event = run.events()[found];
    if (event.dt.empty()) {
      failure_ = fmt::format("the time of '{}' has no derivative: {}", term.event, event.text);
      return false;
    }
    value += term.weight * event.t;
    for (Eigen::Index k = 0; k < n(); ++k) gradient[k] += term.weight * event.dt[static_cast<std::size_t>(k)];
  }
  return true;
}

bool Problem::read_rows(const SensitivityRun& run, const Vector& at, Evaluation& e) {
  Eigen::Index row = 0;
  for (const auto& terms : transcript_.end_rows()) {
    Vector gradient = Vector::Zero(n());
    if (!read_terms(run, terms, e.c[row], gradient)) return false;
    e.A.row(row++) = gradient.transpose();
  }
  if (!read_path(run, at, e)) return false;
  row = m();
  const std::span<const double> x(at.data(), transcript_.size());
  for (const ControlGrid& grid : transcript_.grids()) row -= grid.lengths.empty() ? 0 : 1;
  for (const ControlGrid& grid : transcript_.grids()) {
    if (grid.lengths.empty()) continue;
    e.c[row] = -(transcript_.stop().at(x) - transcript_.simulate().start);
    e.A.row(row) = -gradient_of(transcript_.stop()).transpose();
    for (const std::size_t k : grid.lengths) {
      e.c[row] += x[k];
      e.A(row, static_cast<Eigen::Index>(k)) += 1.0;
    }
    ++row;
  }
  for (Eigen::Index i = 0; i < m(); ++i) {
    e.c[i] /= rows[static_cast<std::size_t>(i)].nominal;
    e.A.row(i) /= rows[static_cast<std::size_t>(i)].nominal;
  }
  return true;
}

/// The derivative of a largest value: that of the variable at the fixed time; at an event or border it moves along.
bool Problem::read_path(const SensitivityRun& run, const Vector& at, Evaluation& e) {
  const Trajectory& trajectory = run.trajectory();
  const std::span<const double> x(at.data(), transcript_.size());
  const std::vector<LinearForm> borders = transcript_.path_borders();
  auto row = static_cast<Eigen::Index>(transcript_.end_rows().size());
  for (std::size_t p = 0; p < transcript_.path_variables().size(); ++p) {
    const PathCondition& condition = transcript_.programme().path[p];
    const std::size_t variable = trajectory.index(transcript_.path_variables()[p]);
    for (const int sign : {-1, 1}) {
      if (!std::isfinite(sign < 0 ? condition.lower : condition.upper)) continue;
      for (std::size_t k = 0; k + 1 < borders.size(); ++k, ++row) {
        const double from = std::min(borders[k].at(x), trajectory.t_end());
        const double to = std::min(borders[k + 1].at(x), trajectory.t_end());
        if (!(to > from)) {  // the run ends before: nothing to hold
          e.c[row] = sign < 0 ? condition.lower : condition.upper;
          continue;
        }
        const Extremum found = largest(trajectory, variable, sign, from, to);
        if (!found.resolved) {
          failure_ = fmt::format(
              "'{}' is not smooth between events, so that its extrema cannot be located; if it has "
              "noEvent() or smooth() in it, write it without them",
              condition.label);
          return false;
        }
        const auto tangents = tangents_at(run, found);
        e.c[row] = sign * found.value;
        e.times[static_cast<std::size_t>(row)] = found.t;
        for (Eigen::Index j = 0; j < n(); ++j) e.A(row, j) = tangents[static_cast<std::size_t>(j)][variable];
        if (found.at == Extremum::At::inside) continue;
        const double close = instant_of(trajectory, found.t);
        const auto is_at = [&](const LinearForm& border) { return std::abs(border.at(x) - found.t) <= close; };
        if (is_at(borders[k]) || is_at(borders[k + 1])) {
          e.A.row(row) += found.slope * gradient_of(borders[is_at(borders[k]) ? k : k + 1]).transpose();
          continue;
        }
        const auto event = std::ranges::find_if(
            run.events(), [&](const EventSensitivity& s) { return std::abs(s.t - found.t) <= close; });
        if (event == run.events().end() || event->dt.empty()) {
          failure_ = fmt::format("the extremum of '{}' is at an event whose time has no derivative", condition.label);
          return false;
        }
        for (Eigen::Index j = 0; j < n(); ++j) e.A(row, j) += found.slope * event->dt[static_cast<std::size_t>(j)];
      }
    }
  }
  return true;
}

void Problem::read_squares(const SensitivityRun& run, const Vector& at, Evaluation& e) {
  e.squares = Eigen::MatrixXd::Zero(n(), n());
  const Trajectory& trajectory = run.trajectory();
  std::vector<std::pair<std::size_t, double>> integrated;
  for (const SquareTerm& term : transcript_.squares()) {
    const std::size_t place = trajectory.index(term.variable);
    if (term.integrated) {
      integrated.emplace_back(place, term.factor);
      continue;
    }
    Vector r(n());
    for (Eigen::Index k = 0; k < n(); ++k) r[k] = final_[static_cast<std::size_t>(k)][place];
    e.squares += 2.0 * term.factor * r * r.transpose();
  }
  if (integrated.empty()) return;
  // two points of Gauss on each part: exact for controls that are lines
  std::vector<double> borders;
  const std::span<const double> x(at.data(), transcript_.size());
  constexpr std::size_t least = 40;
  for (const ControlGrid& grid : transcript_.grids())
    for (const LinearForm& border : transcript_.borders(grid)) borders.push_back(border.at(x));
  if (borders.size() < least)
    for (std::size_t k = 0; k <= least; ++k)
      borders.push_back(trajectory.t_start() +
                        (trajectory.t_end() - trajectory.t_start()) * static_cast<double>(k) / least);
  std::ranges::sort(borders);
  for (std::size_t k = 0; k + 1 < borders.size(); ++k) {
    const double h = borders[k + 1] - borders[k];
    if (!(h > 0.0) || borders[k + 1] > trajectory.t_end()) continue;
    for (const double place : {0.5 - 0.5 / std::sqrt(3.0), 0.5 + 0.5 / std::sqrt(3.0)}) {
      const auto tangents = run.at(borders[k] + place * h);
      for (const auto& [variable, factor] : integrated) {
        Vector r(n());
        for (Eigen::Index j = 0; j < n(); ++j) r[j] = tangents[static_cast<std::size_t>(j)][variable];
        e.squares += factor * h * r * r.transpose();  // twice the factor, half the part
      }
    }
  }
}

void Problem::read_order(const SensitivityRun& run, const Vector& at, Evaluation& e) {
  const Trajectory& trajectory = run.trajectory();
  const auto& events = trajectory.events();
  struct Known {
    double t;
    Vector rate;
    std::string what;
  };
  std::vector<Known> known;
  for (std::size_t k = 0; k < events.size() && k < run.events().size(); ++k) {
    e.events += counts(events[k]);
    if (counts(events[k]) && events[k].kind != EventKind::terminal)
      e.piece += fmt::format("{} {} {};", to_string(events[k].kind), fmt::join(events[k].guards, ","),
                             fmt::join(events[k].direction, ","));
    const EventSensitivity& s = run.events()[k];
    if (s.dt.empty() || !(s.t > trajectory.t_start())) continue;
    known.push_back({s.t, Eigen::Map<const Vector>(s.dt.data(), n()), name_of(events[k])});
  }
  if (known.empty()) return;
  if (events.empty() || events.back().kind != EventKind::terminal) {
    const std::span<const double> x(at.data(), transcript_.size());
    known.push_back({transcript_.stop().at(x), gradient_of(transcript_.stop()), "the end of the run"});
  }
  constexpr std::size_t most = 40;  // rows of a step
  const std::size_t first = known.size() > most + 1 ? known.size() - most - 1 : 0;
  for (std::size_t k = first; k + 1 < known.size(); ++k) {
    if (known[k].rate == known[k + 1].rate) continue;
    e.order.push_back({known[k].t - known[k + 1].t, known[k].rate - known[k + 1].rate,
                       fmt::format("{} at t = {:.6g} and {} at t = {:.6g}", known[k].what, known[k].t,
                                   known[k + 1].what, known[k + 1].t)});
  }
}

void Problem::read_sides(const SensitivityRun& run, Evaluation& e) {
  const auto look = [&](const std::vector<ReadTerm>& terms) {
    for (const ReadTerm& term : terms) {
      if (term.variable.empty()) continue;
      const auto one_sided = [&](const std::string& name) {
        return run.final_smoothness(term.variable, name) != Smoothness::smooth;
      };
      const auto first = std::ranges::find_if(names_, one_sided);
      if (first == names_.end()) continue;
      const std::string& text = run.remark(*first);
      if (std::ranges::find(e.one_sided, text) == e.one_sided.end()) e.one_sided.push_back(text);
    }
  };
  look(transcript_.objective());
  for (const auto& terms : transcript_.end_rows()) look(terms);
}

}  // namespace saltus
