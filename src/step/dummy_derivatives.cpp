#include <saltus/dae/staged_series.hpp>
#include <saltus/dae/state_choice.hpp>
#include <saltus/step/dummy_derivatives.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

namespace saltus {

namespace {

// A choice whose pivots have fallen to this part of the best ones is given up. Small systems change early, which makes their steps longer and
// costs little; large ones have many choices, each of which has to be compiled.
constexpr double poor_choice = 0.6, poor_choice_if_large = 0.1;
constexpr int small_system = 20;
// Larger systems are looked at every so many steps: an elimination costs about as much as a factorisation.
constexpr int large_system = 200, large_interval = 5;
constexpr double never_tested = 1e200;

class DummyDerivatives final : public Stepper {
 public:
  DummyDerivatives(StepOptions options, StepperMaker make) : options_(std::move(options)), make_(std::move(make)), inner_(make_(options_)) {}

  std::string_view name() const override { return inner_->name(); }
  int order() const override { return inner_->order(); }
  void start(System& system, const StartPoint& point) override;
  StepOutcome advance(double limit) override;
  double t() const override { return inner_->t(); }
  std::span<const double> x() const override { return x_; }
  std::span<const double> xp() const override { return xp_; }
  const DensePolynomial& dense() override;
  double next_step() const override { return inner_->next_step(); }
  double error() const override { return inner_->error(); }
  bool takes_hidden_constraints() const override { return true; }
  std::string linear_algebra() const override { return inner_->linear_algebra(); }

 private:
  /// What is known about a structure.
  struct Known {
    SparsePattern state, derivative;  // of the structure: another one may come to lie at its address
    std::unique_ptr<SystemJacobian> jacobian;
    std::unique_ptr<StagedSeries> series;
    std::unique_ptr<StateChoice> choice;
    std::vector<int> states;
  };
  void analyse(const Structure& structure);
  void prepare_inner(int n);
  bool find_jacobian(double t);
  bool choice_is_poor() { return form_->choice->quality(entries_, form_->states) < (n_ <= small_system ? poor_choice : poor_choice_if_large); }
  /// Begins at t, x_, xp_ with the states that fit best there.
  StepResult begin(double t, double step, bool choose);
  void take_state();

  StepOptions options_;
  StepperMaker make_;
  std::unique_ptr<Stepper> inner_;
  int tolerances_for_ = -1;  // so many variables
  StepStatistics before_;    // of inner steppers that were replaced
  std::map<std::uint64_t, Known> known_;  // by Structure::id
  Known* form_ = nullptr;
  System* system_ = nullptr;
  System* extended_ = nullptr;
  int n_ = 0, direction_ = 1, steps_ = 0;
  StepResult start_ = StepResult::accepted;
  bool poor_ = false;
  std::vector<double> x_, xp_, X_, y_, yp_, size_, Fx_, Fxp_, entries_;
  DensePolynomial dense_;
  bool dense_ready_ = false;
};

void DummyDerivatives::analyse(const Structure& structure) {
  form_ = &known_[structure.id.number()];
  if (form_->series && form_->state == structure.state_pattern && form_->derivative == structure.derivative_pattern) return;
  StructuralAnalysis analysis = analyse_structure(structure);
  if (analysis.singular())
    throw UsageError("dummy derivatives: the equations do not determine the variables by their structure (" +
                     describe_singularity(analysis, *system_) + "); choose another method for this mode");
  int deepest = 0;
  for (const int d : analysis.variable_offset) deepest = std::max(deepest, d);
  std::vector<double> size;
  for (int j = 0; j < structure.variables; ++j) size.push_back(std::abs(system_->nominal(j)));
  *form_ = {structure.state_pattern, structure.derivative_pattern, std::make_unique<SystemJacobian>(structure, analysis), nullptr,
            std::make_unique<StateChoice>(structure, analysis, std::move(size)), {}};
  form_->series = std::make_unique<StagedSeries>(structure, std::move(analysis), deepest + 1);
}

/// The error test knows the variables of the original system only.
void DummyDerivatives::prepare_inner(int n) {
  if (n == tolerances_for_) return;
  const std::size_t given = options_.atol.size();
  if (given != 1 && given != static_cast<std::size_t>(n) && !(given < static_cast<std::size_t>(n) && options_.further_atol > 0.0))
    throw UsageError("StepOptions::atol has " + std::to_string(given) + " entries: give one for all variables, or " + std::to_string(n) + ", one each");
  StepOptions options = options_;
  if (options.atol.size() == 1) options.atol.assign(static_cast<std::size_t>(n), options_.atol.front());
  if (options.further_atol > 0.0)
    options.atol.resize(static_cast<std::size_t>(n), options.further_atol);
  options.further_atol = never_tested;
  before_ = statistics_;
  inner_ = make_(options);
  tolerances_for_ = n;
}

void DummyDerivatives::start(System& system, const StartPoint& point) {
  const Structure& structure = system.structure();
  if (point.x.size() != static_cast<std::size_t>(structure.variables) || point.xp.size() != point.x.size())
    throw UsageError("dummy derivatives: give values and derivatives of all variables at the start");
  system_ = &system;
  n_ = structure.variables;
  direction_ = point.direction;
  analyse(structure);
  prepare_inner(n_);
  x_.assign(point.x.begin(), point.x.end());
  xp_.assign(point.xp.begin(), point.xp.end());
  start_ = begin(point.t, point.step, form_->states.empty());
}

bool DummyDerivatives::find_jacobian(double t) {
  const Structure& s = system_->structure();
  Fx_.resize(s.state_pattern.row.size());
  Fxp_.resize(s.derivative_pattern.row.size());
  entries_.resize(form_->jacobian->pattern().row.size());
  system_->jacobian(t, x_, xp_, Fx_, Fxp_);
  form_->jacobian->assemble(Fx_, Fxp_, entries_);
  return std::ranges::all_of(entries_, [](double v) { return std::isfinite(v); });
}

StepResult DummyDerivatives::begin(double t, double step, bool choose) {
  const auto n = static_cast<std::size_t>(n_);
  StagedSeries& series = *form_->series;
  const auto &c = series.analysis().equation_offset, &d = series.analysis().variable_offset;
  X_.assign(n * static_cast<std::size_t>(series.coefficients()), 0.0);
  std::ranges::copy(x_, X_.begin());
  for (std::size_t j = 0; j < n; ++j)
    if (d[j] > 0) X_[n + j] = xp_[j];
  size_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {  // what the tolerance takes for 1: a force that vanishes has the errors of the others
    const double atol = j < options_.atol.size() ? options_.atol[j] : options_.atol.size() == 1 ? options_.atol.front() : options_.further_atol;
    const double rtol = j < options_.rtol_each.size() ? options_.rtol_each[j] : options_.rtol;
    size_[j] = std::abs(x_[j]) + std::max(std::abs(system_->nominal(static_cast<int>(j))), atol / (rtol > 0.0 ? rtol : 1e-6));
  }
  const double time = step > 0.0 ? step : 1.0;
  switch (series.project(*system_, t, X_, size_, time, 1e-3 * std::max(options_.rtol, options_.atol.front()))) {
    case StagedSeries::Result::good: break;
    case StagedSeries::Result::not_finite: return StepResult::not_finite;
    default: return StepResult::singular;
  }
  if (!series.extend(*system_, X_)) return StepResult::not_finite;
  std::copy_n(X_.begin(), n, x_.begin());
  std::copy_n(X_.begin() + n_, n, xp_.begin());
  if (!find_jacobian(t)) return StepResult::not_finite;
  if (choose || choice_is_poor()) form_->states = form_->choice->choose(entries_);
  if (form_->states.empty()) return StepResult::singular;
  extended_ = system_->differentiated({c, d, form_->states});
  if (!extended_)
    throw UsageError("dummy derivatives: this system cannot be differentiated; choose another method for this mode");
  y_ = x_;
  yp_ = xp_;
  for (std::size_t j = 0; j < n; ++j) {
    double factorial = 1.0;
    for (int q = 1; q <= d[j]; ++q) {
      factorial *= q;
      y_.push_back(factorial * X_[static_cast<std::size_t>(q) * n + j]);
      yp_.push_back(factorial * (q + 1) * X_[static_cast<std::size_t>(q + 1) * n + j]);
    }
  }
  inner_->start(*extended_, {.t = t, .x = y_, .xp = yp_, .direction = direction_, .step = step});
  poor_ = false;
  dense_ready_ = false;
  return StepResult::accepted;
}

void DummyDerivatives::take_state() {
  const auto& d = form_->series->analysis().variable_offset;
  const auto y = inner_->x(), yp = inner_->xp();
  std::copy_n(y.begin(), x_.size(), x_.begin());
  std::size_t next = x_.size();
  for (std::size_t j = 0; j < x_.size(); ++j) {
    xp_[j] = d[j] > 0 ? y[next] : yp[j];
    next += static_cast<std::size_t>(d[j]);
  }
  dense_ready_ = false;
}

StepOutcome DummyDerivatives::advance(double limit) {
  if (start_ != StepResult::accepted) return {start_};
  if (poor_ && (start_ = begin(inner_->t(), inner_->next_step(), true)) != StepResult::accepted) return {start_};
  StepOutcome outcome = inner_->advance(limit);
  statistics_ = before_;
  statistics_ += inner_->statistics();
  if (!outcome.ok()) {
    if (outcome.worst >= n_) outcome.worst = -1;
    return outcome;
  }
  take_state();
  if (n_ <= large_system || ++steps_ % large_interval == 0)
    poor_ = find_jacobian(inner_->t()) && choice_is_poor();
  return outcome;
}

const DensePolynomial& DummyDerivatives::dense() {
  if (dense_ready_) return dense_;
  const DensePolynomial& all = inner_->dense();
  dense_.t0 = all.t0;
  dense_.h = all.h;
  dense_.degree = all.degree;
  dense_.variables = n_;
  dense_.c.resize(static_cast<std::size_t>(all.degree + 1) * x_.size());
  for (int k = 0; k <= all.degree; ++k)
    std::copy_n(all.c.begin() + static_cast<std::ptrdiff_t>(k) * all.variables, x_.size(), dense_.c.begin() + static_cast<std::ptrdiff_t>(k) * n_);
  dense_ready_ = true;
  return dense_;
}

}  // namespace

std::unique_ptr<Stepper> make_dummy_derivatives(StepOptions options, StepperMaker make) {
  return std::make_unique<DummyDerivatives>(std::move(options), std::move(make));
}

}  // namespace saltus
