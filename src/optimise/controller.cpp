#include <saltus/optimise/controller.hpp>

#include <algorithm>
#include <cmath>

#include "optimise/problem.hpp"
#include "optimise/quadratic_programme.hpp"

namespace saltus {

using Vector = Eigen::VectorXd;

struct Controller::Impl {
  Impl(const Model& model, const Programme& programme, const OptimiseOptions& options, int most)
      : transcript(model, programme, options), problem(transcript, options), iterations(most) {
    if (most < 1) throw UsageError("a controller needs at least one iteration");
    if (!transcript.only_squares())
      throw UsageError("a controller needs an objective that is a sum of squares with fixed intervals and a fixed end");
    const std::vector<double> guess = transcript.guess();
    x = Eigen::Map<const Vector>(guess.data(), static_cast<Eigen::Index>(guess.size()));
  }

  /// A step of Gauss and Newton's method. Returns its size in units of the scales.
  double improve(const Evaluation& e) {
    const auto S = problem.scale.asDiagonal();
    ElasticProgramme q{.B = S * e.squares * S, .row_low = problem.row_low, .row_high = problem.row_high};
    LinearPiece piece{.f = e.f, .g = S * e.g, .c = e.c, .A = e.A * S};
    const double size = std::max(1.0, piece.g.cwiseAbs().maxCoeff());
    q.B.diagonal().array() += 1e-12 * size;
    q.penalty = 1e3 * size;
    q.pieces = {std::move(piece)};
    q.low = (problem.lower - x).cwiseQuotient(problem.scale).cwiseMin(0.0);
    q.high = (problem.upper - x).cwiseQuotient(problem.scale).cwiseMax(0.0);
    for (Eigen::Index k = 0; k < x.size(); ++k)
      if (!(q.high[k] > q.low[k])) q.high[k] = q.low[k] + 1e-15;
    const Vector d = solve(q).d;
    x = (x + problem.scale.cwiseProduct(d)).cwiseMax(problem.lower).cwiseMin(problem.upper);
    return d.cwiseAbs().maxCoeff();
  }

  /// The first interval is over.
  void move_on() {
    for (const TranscribedControl& control : transcript.controls())
      for (std::size_t k = 0; k + 1 < control.values.size() && !control.values[k].factors.empty(); ++k)
        x[static_cast<Eigen::Index>(control.values[k].unknown())] = control.values[k + 1].at(values());
  }

  std::span<const double> values() const { return {x.data(), transcript.size()}; }

  Transcript transcript;
  Problem problem;
  int iterations;
  Vector x;
  bool first = true;
};

Controller::Controller(const Model& model, const Programme& programme, const OptimiseOptions& options, int iterations)
    : impl_(std::make_unique<Impl>(model, programme, options, iterations)) {}
Controller::~Controller() = default;
Controller::Controller(Controller&&) noexcept = default;
Controller& Controller::operator=(Controller&&) noexcept = default;

ControlSample Controller::step(const std::vector<std::pair<std::string, double>>& state) {
  Impl& c = *impl_;
  if (!c.first) c.move_on();
  c.first = false;
  c.problem.more = state;
  c.transcript.at(c.values(), state);  // throws for wrong names
  ControlSample result;
  while (result.iterations < c.iterations) {
    const auto e = c.problem.evaluate(c.x);
    if (!e) {
      result.why = c.problem.failure();
      break;
    }
    result.objective = e->f;
    result.violation = e->v;
    ++result.iterations;
    constexpr double nothing = 1e-8;  // in units of the scales
    if (c.improve(*e) < nothing) break;
  }
  for (const TranscribedControl& control : c.transcript.controls())
    result.controls.push_back(control.values[0].at(c.values()));
  return result;
}

std::vector<FoundControl> Controller::plan() const {
  const Impl& c = *impl_;
  std::vector<FoundControl> result;
  for (std::size_t k = 0; k < c.transcript.controls().size(); ++k) {
    const Control& control = c.transcript.programme().controls[k];
    FoundControl made{.input = control.input, .curve = control.curve};
    for (const LinearForm& border : c.transcript.borders(c.transcript.grids()[c.transcript.controls()[k].grid]))
      made.times.push_back(border.at(c.values()));
    for (const LinearForm& value : c.transcript.controls()[k].values) made.values.push_back(value.at(c.values()));
    result.push_back(std::move(made));
  }
  return result;
}

}  // namespace saltus
