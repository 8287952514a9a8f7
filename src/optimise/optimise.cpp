#include <fmt/format.h>
#include <saltus/optimise/optimise.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "optimise/multiple_shooting.hpp"
#include "optimise/problem.hpp"
#include "optimise/search.hpp"

namespace saltus {

namespace {

using Vector = Eigen::VectorXd;
using Why = SearchEnd::Why;

/// All searches of one call.
class Optimiser {
 public:
  Optimiser(const Model& model, const Programme& programme, const OptimiseOptions& options)
      : model_(model), options_(options), transcript_(model, programme, options), problem_(transcript_, options) {}

  Optimum run();

 private:
  /// What is known of the best point.
  struct Found {
    SearchEnd end;
    OptimumStatus status = OptimumStatus::failed;
    std::string message;
  };

  Vector guess() const;
  Vector random_guess(std::mt19937_64& random) const;
  bool spent() const { return interrupted_ || problem_.runs >= options_.max_runs; }
  int until(double share) const;
  bool feasible(const SearchEnd& end) const { return end.best && end.best->v <= options_.tolerance; }
  SearchEnd look(const Vector& from, int last_run, bool keeps_order);
  void take(SearchEnd& best, SearchEnd end) const;
  SearchEnd from_guess(const Vector& from, std::mt19937_64& random);
  bool join_intervals(Vector& x);
  std::optional<Vector> probe(std::mt19937_64& random);
  bool is_dead(const Evaluation& e) const;
  double promise_nearby(const Evaluation& e) const;
  Found judge(SearchEnd end) const;
  Found judge_violated(SearchEnd end) const;
  std::string pull(const SearchEnd& end) const;
  void report(Optimum& result, const Found& found);
  void report_conditions(Optimum& result, const Found& found) const;

  const Model& model_;
  const OptimiseOptions& options_;
  Transcript transcript_;
  Problem problem_;
  std::vector<OptimiseIteration> history_;
  std::string doing_;
  std::vector<std::string> notes_;
  int iterations_ = 0;
  bool interrupted_ = false;
  std::string last_failure_;
};

Vector Optimiser::guess() const {
  const std::vector<double> x = transcript_.guess();
  return Eigen::Map<const Vector>(x.data(), static_cast<Eigen::Index>(x.size()));
}

Vector Optimiser::random_guess(std::mt19937_64& random) const {
  Vector x = guess();
  for (Eigen::Index k = 0; k < x.size(); ++k) {
    const double share = static_cast<double>(random() >> 11) / 9007199254740992.0;
    const double low = std::isfinite(problem_.lower[k]) ? problem_.lower[k] : x[k] - problem_.scale[k];
    const double high = std::isfinite(problem_.upper[k]) ? problem_.upper[k] : x[k] + problem_.scale[k];
    x[k] = low + share * (high - low);
  }
  // lengths of intervals add up to the length of the run
  const std::span<const double> values(x.data(), transcript_.size());
  for (const ControlGrid& grid : transcript_.grids()) {
    double sum = 0.0;
    for (const std::size_t k : grid.lengths) sum += x[static_cast<Eigen::Index>(k)];
    const double length = transcript_.stop().at(values) - transcript_.simulate().start;
    for (const std::size_t k : grid.lengths) x[static_cast<Eigen::Index>(k)] *= length / sum;
  }
  return x.cwiseMax(problem_.lower).cwiseMin(problem_.upper);
}

/// The number of runs after which a share of those that are left is spent.
int Optimiser::until(double share) const {
  return problem_.runs + static_cast<int>(std::ceil(share * (options_.max_runs - problem_.runs)));
}

SearchEnd Optimiser::look(const Vector& from, int last_run, bool keeps_order) {
  SearchOptions o{.tolerance = options_.tolerance, .last_run = std::min(last_run, options_.max_runs)};
  o.keeps_order = keeps_order;
  o.exact = transcript_.only_squares();
  o.progress = [&](const OptimiseIteration& i) {
    ++iterations_;
    history_.push_back(i);
    if (!options_.progress) return true;
    return options_.progress({.doing = doing_,
                              .iteration = iterations_,
                              .runs = i.runs,
                              .max_runs = options_.max_runs,
                              .objective = i.objective,
                              .violation = i.violation,
                              .radius = i.radius,
                              .events = i.events,
                              .step = i.step});
  };
  SearchEnd end = search(problem_, from, o);
  interrupted_ = interrupted_ || end.why == Why::interrupted;
  if (!end.best) last_failure_ = problem_.failure();
  return end;
}

/// The better of two ends; of two that are as good, the one that says more.
void Optimiser::take(SearchEnd& best, SearchEnd end) const {
  if (!end.best) return;
  if (!best.best) {
    best = std::move(end);
    return;
  }
  const auto says = [](const SearchEnd& e) { return e.why == Why::stationary ? 2 : e.why == Why::at_kink ? 1 : 0; };
  const double difference = std::abs(end.best->f - best.best->f);
  const bool same = feasible(end) && feasible(best) && difference <= 1e-6 * (1e-3 + std::abs(best.best->f));
  if (same ? says(end) > says(best) : better(*end.best, *best.best, options_.tolerance)) best = std::move(end);
}

/// True if controls were found.
bool Optimiser::join_intervals(Vector& x) {
  const std::string refusal = refuse_multiple_shooting(model_, transcript_.programme(), transcript_);
  if (!refusal.empty()) {
    if (options_.shooting == Shooting::multiple) throw UsageError("multiple shooting is not possible: " + refusal);
    return false;
  }
  doing_ = "multiple shooting";
  constexpr double share = 0.7;
  const ShootingResult joined = multiple_shooting(model_, transcript_.programme(), transcript_, options_,
                                                  share * (options_.max_runs - problem_.runs));
  problem_.runs += static_cast<int>(std::ceil(joined.runs));
  problem_.nudged += joined.nudged;
  iterations_ += joined.iterations;
  interrupted_ = interrupted_ || joined.interrupted;
  if (!joined.controls) {
    notes_.push_back("multiple shooting found nothing: " + joined.why);
    return false;
  }
  notes_.push_back(fmt::format("multiple shooting: {} iterations, {:.0f} runs, {:.1e} open in the end",
                               joined.iterations, std::ceil(joined.runs), joined.gap));
  x = joined.controls->cwiseMax(problem_.lower).cwiseMin(problem_.upper);
  return true;
}

/// The least violated of some random points.
std::optional<Vector> Optimiser::probe(std::mt19937_64& random) {
  constexpr int probes = 8;
  std::optional<Evaluation> best;
  for (int k = 0; k < probes && !spent(); ++k) {
    auto e = problem_.evaluate(random_guess(random));
    if (e && (!best || better(*e, *best, options_.tolerance))) best = std::move(e);
  }
  return best ? std::optional(best->x) : std::nullopt;
}

SearchEnd Optimiser::from_guess(const Vector& from, std::mt19937_64& random) {
  Vector x = from;
  SearchEnd best;
  bool joined = false;
  if (!options_.homotopy.empty()) {
    problem_.more = {{options_.homotopy, 0.0}};
    const SearchEnd easy = look(x, until(0.3), true);
    problem_.more.clear();
    if (easy.best) x = easy.best->x;
  }
  if (options_.shooting == Shooting::multiple) joined = join_intervals(x);
  const bool from_here = joined || !options_.homotopy.empty();
  take(best, look(x, until(0.4), true));
  const auto leaves = [&] {  // an end that a better start would not have
    return !feasible(best) || (best.why == Why::stationary && best.iterations == 1 && !from_here);
  };
  // a guess that says nothing: intervals are joined, and random points looked at, whichever comes out better
  const bool blind = leaves();
  if (blind && !joined && !spent() && options_.shooting == Shooting::automatic && join_intervals(x))
    take(best, look(x, until(0.5), true));
  constexpr int most_probes = 6;
  for (int k = 0; k < most_probes && !spent() && (k == 0 ? blind : leaves()); ++k) {
    const auto start = probe(random);
    if (start && !spent()) take(best, look(*start, until(0.5), true));
  }
  if (!best.best || spent() || best.why == Why::stationary) return best;
  take(best, look(best.best->x, problem_.runs + options_.max_runs / 7, false));
  if (!spent() && best.why != Why::stationary) take(best, look(best.best->x, options_.max_runs, true));
  return best;
}

/// Whether no violated row has a derivative.
bool Optimiser::is_dead(const Evaluation& e) const {
  bool violated = false;
  for (Eigen::Index i = 0; i < problem_.m(); ++i) {
    if (problem_.row_low[i] - e.c[i] <= options_.tolerance && e.c[i] - problem_.row_high[i] <= options_.tolerance)
      continue;
    violated = true;
    if (e.A.row(i).transpose().cwiseProduct(problem_.scale).cwiseAbs().maxCoeff() > 1e-9) return false;
  }
  return violated;
}

/// What the linear model promises within a small region, in units of the objective.
double Optimiser::promise_nearby(const Evaluation& e) const {
  constexpr double radius = 1e-3;
  ElasticProgramme q{.B = 1e-12 * Eigen::MatrixXd::Identity(problem_.n(), problem_.n())};
  q.pieces = {{.f = 0.0, .g = e.g.cwiseProduct(problem_.scale), .c = e.c, .A = e.A * problem_.scale.asDiagonal()}};
  q.row_low = problem_.row_low, q.row_high = problem_.row_high;
  q.penalty = 1e3 * std::max(1.0, q.pieces[0].g.cwiseAbs().maxCoeff());
  q.low = (problem_.lower - e.x).cwiseQuotient(problem_.scale).cwiseMax(-radius).cwiseMin(0.0);
  q.high = (problem_.upper - e.x)
               .cwiseQuotient(problem_.scale)
               .cwiseMin(radius)
               .cwiseMax(q.low.array().matrix() + Vector::Constant(problem_.n(), 1e-15));
  const ElasticStep step = solve(q);
  return -q.pieces[0].g.dot(step.d) / (radius * (1.0 + std::abs(e.f)));
}

Optimiser::Found Optimiser::judge(SearchEnd end) const {
  if (!end.best)
    return {.end = std::move(end),
            .status = interrupted_ ? OptimumStatus::interrupted : OptimumStatus::failed,
            .message = "no run with derivatives from any guess: " + last_failure_};
  if (interrupted_)
    return {
        .end = std::move(end), .status = OptimumStatus::interrupted, .message = "interrupted: the best point so far"};
  if (!feasible(end)) return judge_violated(std::move(end));
  const Evaluation& e = *end.best;
  Found found;
  if (end.why == Why::stationary && e.one_sided.empty()) {
    found.status = OptimumStatus::optimal;
  } else if (end.why == Why::stationary) {
    found.status = OptimumStatus::optimal_at_kink;
    found.message = "derivatives at the optimum are one-sided: " + e.one_sided.front();
  } else if (end.why == Why::at_kink) {
    found.status = OptimumStatus::optimal_at_kink;
    found.message = "the optimum lies where " + end.kink + " meet: what is behind was tried and is no better";
  } else if (end.why != Why::budget && promise_nearby(e) <= 1e-4) {
    found.status = OptimumStatus::optimal;
    found.message = "steps have become too short to change anything, and derivatives promise next to nothing";
  } else if (end.why == Why::no_step && !end.kink.empty()) {
    found.status = OptimumStatus::optimal_at_kink;
    found.message =
        "no step lowers the objective, although derivatives promise it: a kink is near, where " + end.kink + " meet";
  } else {
    found.status = OptimumStatus::not_converged;
    found.message =
        end.why == Why::budget
            ? fmt::format("{} runs were not enough; the point is feasible: try more (max_runs)", options_.max_runs)
            : "no step lowers the objective, although derivatives promise it: try smaller tolerances of "
              "the runs, or another guess";
  }
  found.end = std::move(end);
  return found;
}

Optimiser::Found Optimiser::judge_violated(SearchEnd end) const {
  Found found;
  const Evaluation& e = *end.best;
  if (is_dead(e)) {
    std::string names;
    for (Eigen::Index i = 0; i < problem_.m(); ++i)
      if (violation_of(e.c.segment(i, 1), problem_.row_low.segment(i, 1), problem_.row_high.segment(i, 1)) >
          options_.tolerance)
        names += (names.empty() ? "'" : ", '") + problem_.rows[static_cast<std::size_t>(i)].label + "'";
    found.status = OptimumStatus::dead;
    found.message = fmt::format(
        "nothing that is free moves {}: the model rests, or has ended, whatever the controls are near the guess; try "
        "another guess, several starts, or a homotopy in the parameter that holds it (a friction, a threshold)",
        names);
  } else if (end.why == Why::budget || end.why == Why::no_run) {
    found.status = OptimumStatus::not_converged;
    found.message = fmt::format("{} runs were not enough to hold all conditions: {}", options_.max_runs, pull(end));
  } else {
    found.status = OptimumStatus::infeasible;
    found.message = "the conditions cannot all hold near the point with the least violation: " + pull(end);
  }
  found.end = std::move(end);
  return found;
}

/// Which conditions are violated, and which ones hold the search back from them.
std::string Optimiser::pull(const SearchEnd& end) const {
  std::string violated, holding;
  const Evaluation& e = *end.best;
  for (Eigen::Index i = 0; i < problem_.m(); ++i) {
    const Row& row = problem_.rows[static_cast<std::size_t>(i)];
    const double amount =
        violation_of(e.c.segment(i, 1), problem_.row_low.segment(i, 1), problem_.row_high.segment(i, 1));
    if (amount > options_.tolerance)
      violated += fmt::format("{}'{}' = {:.6g}", violated.empty() ? "" : ", ", row.label, e.c[i] * row.nominal);
    else if (end.multipliers.size() > i && std::abs(end.multipliers[i]) > 1e-6)
      holding += fmt::format("{}'{}'", holding.empty() ? "" : ", ", row.label);
  }
  int bounds = 0;
  for (Eigen::Index k = 0; k < problem_.n(); ++k)
    bounds += e.x[k] - problem_.lower[k] <= 1e-9 * problem_.scale[k] ||
              problem_.upper[k] - e.x[k] <= 1e-9 * problem_.scale[k];
  std::string text = "violated: " + violated;
  if (!holding.empty()) text += "; held back by " + holding;
  if (bounds > 0) text += fmt::format("; {} of {} free values are at their bounds", bounds, problem_.n());
  return text;
}

void Optimiser::report_conditions(Optimum& result, const Found& found) const {
  const Evaluation& e = *found.end.best;
  for (Eigen::Index i = 0; i < problem_.m(); ++i) {
    const Row& row = problem_.rows[static_cast<std::size_t>(i)];
    FoundCondition c{.label = row.label, .value = e.c[i] * row.nominal, .lower = row.low, .upper = row.high};
    c.violation = violation_of(e.c.segment(i, 1), problem_.row_low.segment(i, 1), problem_.row_high.segment(i, 1));
    c.t = e.times[static_cast<std::size_t>(i)];
    if (found.end.multipliers.size() > i && result.ok()) c.multiplier = -found.end.multipliers[i] / row.nominal;
    result.conditions.push_back(std::move(c));
  }
}

void Optimiser::report(Optimum& result, const Found& found) {
  result.status = found.status;
  result.message = found.message;
  result.iterations = iterations_;
  result.history = history_;
  if (!found.end.best) return;
  const Evaluation& e = *found.end.best;
  result.objective = e.f;
  result.violation = e.v;
  const std::span<const double> x(e.x.data(), transcript_.size());
  for (std::size_t k = 0; k < transcript_.size(); ++k) {
    const Unknown& u = transcript_.unknowns()[k];
    const double near = 1e-8 * u.scale;
    result.values.push_back({.name = u.name,
                             .value = x[k],
                             .lower = u.lower,
                             .upper = u.upper,
                             .at_bound = x[k] - u.lower <= near || u.upper - x[k] <= near});
  }
  for (std::size_t c = 0; c < transcript_.controls().size(); ++c) {
    const Control& control = transcript_.programme().controls[c];
    FoundControl made{.input = control.input, .curve = control.curve};
    for (const LinearForm& border : transcript_.borders(transcript_.grids()[transcript_.controls()[c].grid]))
      made.times.push_back(border.at(x));
    for (const LinearForm& value : transcript_.controls()[c].values) made.values.push_back(value.at(x));
    result.controls.push_back(std::move(made));
  }
  result.stop = transcript_.stop().at(x);
  report_conditions(result, found);
  result.run = problem_.run(e.x);
  for (const std::string& text : e.one_sided) notes_.push_back("one-sided: " + text);
}

Optimum Optimiser::run() {
  Optimum result;
  std::mt19937_64 random(options_.seed);
  SearchEnd best;
  const int starts = std::max(1, options_.starts);
  for (int k = 0; k < starts && (k == 0 || !spent()); ++k) {
    doing_ = starts > 1 ? fmt::format("start {} of {}", k + 1, starts) : "search";
    SearchEnd end = from_guess(k == 0 ? guess() : random_guess(random), random);
    const Found found = judge(end);
    if (found.end.best)
      result.tries.push_back({.status = found.status,
                              .text = k == 0 ? "from the guess" : fmt::format("from random guess {}", k),
                              .objective = found.end.best->f,
                              .violation = found.end.best->v});
    take(best, std::move(end));
  }
  report(result, judge(std::move(best)));
  result.runs = problem_.runs;
  result.nudged = problem_.nudged;
  if (result.nudged > 0)
    notes_.push_back(fmt::format("{} runs were made beside points without derivatives", result.nudged));
  notes_.insert(notes_.end(), problem_.notes.begin(), problem_.notes.end());
  result.notes = std::move(notes_);
  return result;
}

}  // namespace

std::string_view to_string(OptimumStatus status) {
  switch (status) {
    case OptimumStatus::optimal:
      return "optimal";
    case OptimumStatus::optimal_at_kink:
      return "optimal_at_kink";
    case OptimumStatus::infeasible:
      return "infeasible";
    case OptimumStatus::dead:
      return "dead";
    case OptimumStatus::not_converged:
      return "not_converged";
    case OptimumStatus::interrupted:
      return "interrupted";
    case OptimumStatus::failed:
      break;
  }
  return "failed";
}

InputSignal FoundControl::signal() const {
  if (curve == ControlCurve::linear) return InputSignal::table(times, values, InputSignal::Between::lines);
  std::vector<double> rows = values;
  rows.push_back(values.back());
  return InputSignal::table(times, rows, InputSignal::Between::steps);
}

Optimum optimise(const Model& model, const Programme& programme, const OptimiseOptions& options) {
  if (!(options.tolerance > 0.0)) throw UsageError("the tolerance of conditions must be positive");
  if (options.max_runs < 1) throw UsageError("a search needs at least one run");
  return Optimiser(model, programme, options).run();
}

}  // namespace saltus
