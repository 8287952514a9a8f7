#include "step/kept_factors.hpp"

#include <algorithm>
#include <utility>

namespace saltus {
namespace {

/// Errors of corrected solutions, over the solution. What they add to a step is that part of its change, as with the
/// factors of a step that is longer by as much.
constexpr double largest_error = 1e-9;

}  // namespace

bool KeptFactors::set_structure(const Structure& structure, int solutions) {
  structure_ = &structure;
  now_.matrix.allow_iteration(solutions);
  return now_.matrix.set_structure(structure);
}

bool KeptFactors::dear() const {
  constexpr double dear = 16.0;  // entries per unknown
  return now_.matrix.analysed() && !now_.matrix.iterates() && now_.matrix.fill_per_unknown() >= dear;
}

/// For how many terms corrections are cheaper than factors. They cost a solution for each term, one to try them, and a
/// vector for each term in each of the solutions of about four steps.
int KeptFactors::most_terms() const {
  constexpr double solutions = 32.0, nanoseconds = 0.7;  // of adding a number to a vector
  constexpr double most = 32.0;
  const double solution = now_.matrix.solve_cost();
  const double term = solution + solutions * nanoseconds * structure_->variables;
  return static_cast<int>(std::clamp((now_.matrix.factor_cost() - solution) / term, 0.0, most));
}

double KeptFactors::on_grid(double h) {
  constexpr double steps_per_octave = 2.0, rounding = 1e-9;
  return std::exp2(std::floor(steps_per_octave * std::log2(h) + rounding) / steps_per_octave);
}

KeptFactors::Difference KeptFactors::compare(const JacobianValues& J, std::span<const double> Fx,
                                             std::span<const double> Fxp, double c) {
  if (std::ranges::equal(Fx, J.Fx) && std::ranges::equal(Fxp, J.Fxp)) {
    change_number_ = 0;
    ++restarts_;
    return Difference::none;
  }
  if (failures_ >= most_failures || !dear()) return Difference::many;
  JacobianChange change;
  if (!change.find(*structure_, J.Fx, J.Fxp, Fx, Fxp)) return Difference::many;
  if (!low_rank_terms(change.entries(c), most_terms())) return Difference::many;
  if (change != change_) {
    change_ = std::move(change);
    ++changes_;
  }
  change_number_ = changes_;
  ++restarts_;
  return Difference::few;
}

bool KeptFactors::find(const Request& request, const JacobianValues& J, std::span<const double> weights,
                       std::span<double> room, StepStatistics& statistics) {
  if (are_for(request.h)) return true;
  if (!request.constant) return make(request, J, false, statistics);
  const bool there =
      (now_.h != 0.0 && same_step(now_.h, request.h) && now_.made_for == 0) || exchange_with_kept(request.h);
  bool regular = true;
  if (!there) {
    if (worthwhile()) keep();
    const bool on_the_grid = same_step(on_grid(std::abs(request.h)), std::abs(request.h));
    regular = make(request, J, on_the_grid && worthwhile(), statistics);
  }
  if (regular && (now_.serve(change_number_) || update(request, J, weights, room, statistics))) return true;
  if (change_number_ == 0 || now_.made_for != 0) return false;
  // the Jacobian of the mode takes the place of the other one
  ++failures_;
  change_.exchange(J.Fx, J.Fxp);
  forget();
  return make(request, J, false, statistics);
}

/// Factors for a step of this size, if there are some, come into use.
bool KeptFactors::exchange_with_kept(double h) {
  for (Factors& kept : kept_) {
    if (kept.h == 0.0 || !same_step(kept.h, h) || (kept.made_for != 0 && kept.made_for != change_number_)) continue;
    std::swap(kept, now_);
    now_.used = ++clock_;
    return true;
  }
  return false;
}

/// Others will be made: keeps those in use, instead of those that have not been used for the longest time where the
/// room is used up.
void KeptFactors::keep() {
  constexpr double most_bytes = 3e8, bytes_of_entry = 22.0;  // as measured, with orderings and patterns
  const double size = bytes_of_entry * now_.matrix.fill_per_unknown() * structure_->variables;
  if (now_.h == 0.0 || now_.made_for != 0 || !same_step(on_grid(std::abs(now_.h)), std::abs(now_.h))) return;
  if (static_cast<double>(kept_.size() + 1) * size <= most_bytes) kept_.emplace_back();
  if (kept_.empty()) return;
  Factors& oldest = *std::ranges::min_element(kept_, {}, &Factors::used);
  std::swap(oldest, now_);
  oldest.used = ++clock_;
  now_.h = 0.0;
  now_.matrix.set_structure(*structure_);
}

/// Factorises the matrix of the mode, or that of J.
bool KeptFactors::make(const Request& request, const JacobianValues& J, bool without_change,
                       StepStatistics& statistics) {
  ++statistics.factorisations;
  const bool changed = change_number_ != 0 && !without_change;
  if (changed) change_.exchange(J.Fx, J.Fxp);
  const bool regular = now_.matrix.factorise(request.c, J.Fx, J.Fxp, J.workspace);
  if (changed) change_.exchange(J.Fx, J.Fxp);
  now_.h = regular ? request.h : 0.0;
  now_.made_for = changed ? change_number_ : 0;
  now_.updated_for = 0;
  now_.update.forget();
  return regular;
}

/// Prepares corrections for the matrix of the mode. False if they are not accurate.
bool KeptFactors::update(const Request& request, const JacobianValues& J, std::span<const double> weights,
                         std::span<double> room, StepStatistics& statistics) {
  std::optional<std::vector<RankOne>> terms = low_rank_terms(change_.entries(request.c), most_terms());
  if (!terms) return false;
  const auto solve = [&](std::span<double> b) { now_.matrix.solve(b, room); };
  if (!now_.update.set_terms(structure_->variables, std::move(*terms), solve)) return false;
  now_.updated_for = change_number_;
  if (!(error_of_update(request.c, J, weights, room) <= largest_error)) return false;
  ++statistics.low_rank_updates;
  updated_ = true;
  return true;
}

/// The largest error in the solution of a system that has a known one: numbers of the sizes of the variables, with
/// signs that have no pattern, so that all terms take part.
double KeptFactors::error_of_update(double c, const JacobianValues& J, std::span<const double> weights,
                                    std::span<double> room) {
  const std::size_t n = weights.size();
  const std::span<double> x = room.first(n), b = room.subspan(n, n), workspace = room.subspan(2 * n, n);
  std::uint64_t random = 1;
  for (std::size_t j = 0; j < n; ++j) {
    random = random * 6364136223846793005u + 1442695040888963407u;  // D. E. Knuth's MMIX generator
    const double part = static_cast<double>(random >> 11) * 0x1p-53;
    x[j] = weights[j] * (part < 0.5 ? -0.5 - part : part);
  }
  std::ranges::fill(b, 0.0);
  multiply_add(structure_->state_pattern, J.Fx, x, 1.0, b);
  multiply_add(structure_->derivative_pattern, J.Fxp, x, c, b);
  now_.update.multiply_add(x, b);
  solve(b, workspace);
  double largest = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double error = std::abs(b[j] - x[j]) / weights[j];
    if (!std::isfinite(error)) return error;
    largest = std::max(largest, error);
  }
  return largest;
}

void KeptFactors::solve(std::span<double> b, std::span<double> workspace) {
  now_.matrix.solve(b, workspace);
  if (now_.made_for != change_number_) now_.update.correct(b);
}

void KeptFactors::forget() {
  kept_.clear();
  now_.h = 0.0;
  now_.update.forget();
  now_.made_for = now_.updated_for = change_number_ = 0;
  change_.clear();
  restarts_ = 0;
}

std::string KeptFactors::description() const {
  return now_.matrix.description() + (updated_ ? ", corrected behind switches" : "");
}

}  // namespace saltus
