#include "flight/host_code.hpp"

#include <algorithm>
#include <utility>

#include "base/finite.hpp"

namespace saltus {

HostCode::HostCode(const FlightCode& code, ExecutorRules rules)
    : code_(code), rules_(std::move(rules)), watches_stiffness_(rules_.watches_stiffness && code.stiffness.row >= 0) {
  for (const FlightTape& tape : code.tapes) {
    variables_ = static_cast<int>(tape.n);
    most_guards_ = std::max(most_guards_, tape.guards.size());
    most_clocks_ = std::max(most_clocks_, tape.clocks.size());
    most_data_ = std::max(most_data_, tape.data.size());
    std::vector<int> places = tape.bounds.places;
    places.resize(tape.guards.size(), -1);
    bound_places_.push_back(std::move(places));
    TapeWork& work = tapes_.emplace_back();
    work.at = tape.at.workspace();
    work.guard = tape.guard.workspace();
    work.observe = tape.observe.workspace();
    if (tape.constrained()) work.project = tape.project.workspace();
    observed_.resize(std::max(observed_.size(), tape.observe.tape().outputs.front().size()));
    if (tape.bounds.empty()) continue;
    work.bounds = tape.bounds.program.workspace();
    most_bounds_ = std::max(most_bounds_, static_cast<int>(tape.bounds.program.tape().outputs.front().size()));
  }
  first_edge_.push_back(0);
  first_zero_.push_back(0);
  std::size_t set = 0;
  for (const FlightMode& mode : code.modes) {
    discretes_ = static_cast<int>(mode.mode.discrete.size());
    locks_ = static_cast<int>(mode.mode.locks.size());
    needs_proof_.push_back(code.needs_proof(mode));
    for (const FlightEdge& edge : mode.edges) {
      edges_.push_back({&edge, true, edge.act.workspace(), {}});
      if (!edge.project.empty()) edges_.back().project = edge.project.workspace();
      set = std::max(set, edge.variables.size() + edge.discretes.size());
      zeros_.insert(zeros_.end(), edge.at_zero.begin(), edge.at_zero.end());
      first_zero_.push_back(static_cast<int>(zeros_.size()));
    }
    first_edge_.push_back(static_cast<int>(edges_.size()));
  }
  set_.resize(set);
  make_room();
}

void HostCode::make_room() {
  const auto n = static_cast<std::size_t>(variables_), bounds = static_cast<std::size_t>(most_bounds_);
  for (int which = 0; which < 2; ++which) {
    points_[which].resize(2 * n + 3 * most_guards_ + 2 * most_clocks_ + static_cast<std::size_t>(discretes_ + locks_) +
                          most_data_);
    due_[which].resize(most_clocks_);
  }
  search_.resize(2 + 7 * n + 4 * bounds + most_guards_);
}

HostCode::Point::Point(HostCode& code, int which) : due(code.due_[which].data()) {
  double* next = code.points_[which].data();
  const auto take = [&](std::size_t count) { return std::exchange(next, next + count); };
  x = take(static_cast<std::size_t>(code.variables_));
  slope = take(static_cast<std::size_t>(code.variables_));
  guards = take(code.most_guards_);
  guard_slopes = take(code.most_guards_);
  guard_curves = take(code.most_guards_);
  clocks = take(code.most_clocks_);
  clock_slopes = take(code.most_clocks_);
  discretes = take(static_cast<std::size_t>(code.discretes_));
  locks = take(static_cast<std::size_t>(code.locks_));
  data = take(code.most_data_);
}

HostCode::SearchRoom::SearchRoom(HostCode& code) {
  const int n = code.variables_;
  in = code.search_.data();
  out = in + 2 + 6 * n;
  x = out + 4 * code.most_bounds_;
  values = x + n;
}

void HostCode::at(int tape, double t, const double* x, const double* data, Point& p) {
  const double* const in[] = {&t, x, data};
  double* const out[] = {p.slope, p.guards, p.guard_slopes, p.guard_curves, p.clocks, p.clock_slopes};
  tape_of(tape).at(in, out, tapes_[static_cast<std::size_t>(tape)].at);
}

void HostCode::guards(int tape, double t, const double* x, const double* data, double* values) {
  const double* const in[] = {&t, x, data};
  double* const out[] = {values};
  tape_of(tape).guard(in, out, tapes_[static_cast<std::size_t>(tape)].guard);
}

void HostCode::bounds(int tape, const double* in, const double* data, double* out) {
  const int n = variables_;
  const double* const groups[] = {
      in, in + 2, in + 2 + n, in + 2 + 2 * n, in + 2 + 3 * n, in + 2 + 4 * n, in + 2 + 5 * n, data};
  double* const outs[] = {out, out + most_bounds_, out + 2 * most_bounds_, out + 3 * most_bounds_};
  tape_of(tape).bounds.program(groups, outs, tapes_[static_cast<std::size_t>(tape)].bounds);
}

bool HostCode::act(int e, double t, const double* x, const double* parameters, const double* discretes, double* x_new,
                   double* d_new, double* l_new) {
  Edge& made = edges_[static_cast<std::size_t>(e)];
  if (!made.usable) return false;
  const FlightEdge& edge = *made.edge;
  const Mode& to = code_.modes[edge.target].mode;
  const std::size_t variables = edge.variables.size(), given = variables + edge.discretes.size();
  if (given > 0) {
    const double* const in[] = {&t, x, parameters, discretes};
    double* const out[] = {set_.data()};
    edge.act(in, out, made.work);
    if (!all_finite(std::span(set_).first(given))) return false;
    for (std::size_t k = 0; k < variables; ++k) x_new[edge.variables[k]] = set_[k];
    for (std::size_t k = 0; k < edge.discretes.size(); ++k) d_new[edge.discretes[k]] = set_[variables + k];
  }
  for (const int k : code_.deciding_discretes) {
    const double wanted = to.discrete[static_cast<std::size_t>(k)];
    if (d_new[k] != wanted && std::ranges::find(edge.discretes, k) != edge.discretes.end()) return false;
    d_new[k] = wanted;
  }
  for (const int k : code_.deciding_locks) l_new[k] = to.locks[static_cast<std::size_t>(k)];
  for (const auto& [lock, change] : edge.roundings) l_new[lock] += change;
  return true;
}

int HostCode::number_of(const FlightEdge& edge) const {
  const auto found = std::ranges::find(edges_, &edge, &Edge::edge);
  return static_cast<int>(found - edges_.begin());
}

void HostCode::project(int tape, double t, const double* x, const double* data, double* moved) {
  const double* const in[] = {&t, x, data};
  double* const out[] = {moved};
  tape_of(tape).project(in, out, tapes_[static_cast<std::size_t>(tape)].project);
}

void HostCode::project_after(int e, double t, const double* x, const double* data, double* moved) {
  const double* const in[] = {&t, x, data};
  double* const out[] = {moved};
  edge(e).project(in, out, edges_[static_cast<std::size_t>(e)].project);
}

void HostCode::gather(int mode, const double* parameters, const double* discretes, const double* locks,
                      double* data) const {
  const FlightMode& of = mode_of(mode);
  const double* const from[] = {parameters, discretes, locks, of.fixed.data()};  // in the order of FlightDatum::Kind
  for (const FlightDatum& d : code_.tapes[of.tape].data) *data++ = from[static_cast<std::size_t>(d.kind)][d.place];
}

const double* HostCode::observe(int mode, double t, const double* x, const double* data) {
  const std::size_t tape = mode_of(mode).tape;
  const double* const in[] = {&t, x, data};
  double* const out[] = {observed_.data()};
  code_.tapes[tape].observe(in, out, tapes_[tape].observe);
  return observed_.data();
}

bool begin_run(const FlightCode& code, ModeEntry& entry, HostCode::State& run, double h) {
  const FlightMode& mode = code.modes[static_cast<std::size_t>(run.mode)];
  if (!entry.look(mode, run.numbers, run.t, h, run.x(), all_guards(code.tapes[mode.tape]))) return false;
  run.slope_.assign(entry.slopes().begin(), entry.slopes().end());
  std::size_t most_data = 0;
  for (const FlightTape& tape : code.tapes) most_data = std::max(most_data, tape.data.size());
  run.data_.assign(entry.data().begin(), entry.data().end());
  run.data_.resize(most_data);
  run.arrivals_.assign(1 + run.x_.size(), {});
  run.motion.left = entry.left();
  run.motion.next_clock = entry.next_clock();
  run.due = 0;
  for (std::size_t k = 0; k < entry.due().size(); ++k)
    if (entry.due()[k]) run.due |= 1LL << k;
  return true;
}

}  // namespace saltus
