#include <saltus/program/taylor_enclosure.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/finite.hpp"
#include "program/interpreter.hpp"
#include "program/taylor_recurrences.hpp"

namespace saltus {
namespace {

/// True for operations whose results jump from one number to another.
bool jumps(Op op) {
  return is_lock(op) || op == Op::live_positive || op == Op::live_nonnegative || op == Op::live_floor ||
         op == Op::logical_and || op == Op::logical_or || op == Op::logical_not;
}

Interval first(const TaylorInstruction& i, Interval a, Interval b, Interval c) {
  if (i.op == TaylorOp::one_plus_square) return Interval(1.0) + sqr(a);
  if (i.op == TaylorOp::one_minus_square) return Interval(1.0) - sqr(a);
  return enclose(i.first, a, b, c, i.a == i.b);
}

/// e - n, exactly where e is an integer: powers of bases that may be zero need that.
Interval less(Interval e, double n) {
  const bool integer = e.lower == e.upper && e.lower == std::floor(e.lower);
  return integer ? Interval(e.lower - n) : e - Interval(n);
}

/// Coefficient k of a^b for constant b. The recurrence divides by a, which may contain zero; the first two coefficients
/// are known without a division: b a^(b-1) a_1, and b a^(b-1) a_2 + b (b-1)/2 a^(b-2) a_1^2.
Interval power(int k, const Interval* y, const Interval* a, const Interval* b) {
  const Interval e = b[0];
  if (k > 2) return coefficient<Interval>(TaylorOp::power, k, y, a, b, b);
  const Interval slope = e * pow(a[0], less(e, 1.0));
  if (k == 1) return slope * a[1];
  return slope * a[2] + Interval(0.5) * e * less(e, 1.0) * pow(a[0], less(e, 2.0)) * sqr(a[1]);
}

/// True if the second operand is a function of the first one, of lower order: it may be computed later.
bool chained(TaylorOp op) {
  return op == TaylorOp::chain || op == TaylorOp::chain_minus || op == TaylorOp::chain_quotient ||
         op == TaylorOp::chain_quotient_minus;
}

bool unbounded(Interval a) {
  return a.lower == -inf && a.upper == inf;
}

/// Coefficient k > 0. What the recurrences take for constant (`once`) may jump within the piece; then nothing is known,
/// nor about what depends on it.
Interval higher(const TaylorInstruction& i, int k, const Interval* y, const Interval* a, const Interval* b,
                const Interval* c) {
  if (jumps(i.first)) return y->lower == y->upper ? Interval(0.0) : Interval(-inf, inf);
  if (i.first == Op::select) return choose(a[0], b[k], c[k]);
  if (unbounded(a[k]) || (!chained(i.op) && unbounded(b[k]))) return {-inf, inf};
  return i.op == TaylorOp::power ? power(k, y, a, b) : coefficient<Interval>(i.op, k, y, a, b, c);
}

}  // namespace

TaylorEnclosure::TaylorEnclosure(TaylorProgram program) : program_(std::move(program)) {
  needed_.resize(program_.recurrences().code.size());
  std::iota(needed_.begin(), needed_.end(), 0u);
}

void TaylorEnclosure::select(std::span<const int> outputs) {
  if (!all_ && std::equal(outputs.begin(), outputs.end(), selected_.begin(), selected_.end())) return;
  all_ = false;
  selected_.assign(outputs.begin(), outputs.end());
  const auto& r = program_.recurrences();
  used_.assign(r.slots, 0);
  auto& used = used_;
  for (const int k : outputs) used[r.outputs[0][static_cast<std::size_t>(k)]] = 1;
  needed_.clear();
  // Backwards from the outputs. The sine and the cosine need each other: the second pass completes such pairs.
  for (int pass = 0; pass < 2; ++pass)
    for (auto i = r.code.rbegin(); i != r.code.rend(); ++i)
      if (used[i->result]) used[i->a] = used[i->b] = used[i->c] = 1;
  for (std::uint32_t i = 0; i < r.code.size(); ++i)
    if (used[r.code[i].result]) needed_.push_back(i);
}

void TaylorEnclosure::start(int order) {
  if (order <= order_) return;
  const auto& r = program_.recurrences();
  order_ = order;
  series_.assign(static_cast<std::size_t>(order + 1) * r.slots, Interval(0.0));
  for (std::size_t k = 0; k < r.constants.size(); ++k) *row(k, 0) = r.constants[k];
}

std::size_t TaylorEnclosure::first_input(int group) const {
  return program_.recurrences().group_start[static_cast<std::size_t>(group)];
}

void TaylorEnclosure::advance(int k) {
  for (const std::uint32_t index : needed_) {
    const TaylorInstruction& i = program_.recurrences().code[index];
    Interval* const y = row(i.result, 0);
    const Interval *const a = row(i.a, 0), *const b = row(i.b, 0), *const c = row(i.c, 0);
    if (k == 0)
      *y = first(i, *a, *b, *c);
    else
      y[k] = higher(i, k, y, a, b, c);
  }
}

Interval TaylorEnclosure::get(int group, int index, int k) const {
  const auto& outputs = program_.recurrences().outputs[static_cast<std::size_t>(group)];
  const std::size_t slot = outputs[static_cast<std::size_t>(index)];
  return series_[slot * static_cast<std::size_t>(order_ + 1) + static_cast<std::size_t>(k)];
}

}  // namespace saltus
