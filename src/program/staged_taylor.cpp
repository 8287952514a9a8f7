// Every node has two offsets: what its users need (the largest c_i of the residuals that it reaches) and what its operands have
// (the smallest d_j of the variables, d_j - 1 of the derivatives, on which it depends). Stage k computes coefficient `need` + k.
// Where both agree, that coefficient contains the unknowns of the stage, linearly from order 1 on, and their final values are
// added later; otherwise it is final at once.
#include <saltus/program/staged_taylor.hpp>

#include <algorithm>
#include <limits>

#include "program/taylor_recurrences.hpp"

namespace saltus {

namespace {
constexpr int unlimited = std::numeric_limits<int>::max() / 2, unused = -unlimited;
constexpr std::uint32_t one = 0;  // the slot of the constant 1
}  // namespace

struct StagedTaylor::Step {
  TaylorInstruction instruction;
  int offset;           // the coefficient that stage 0 computes
  bool from_a, from_b;  // whether unknowns of the stage reach the node through this operand
};

struct StagedTaylor::Steps {
  std::vector<Step> all, settled;  // those of each stage; those that contain its unknowns
  int deepest = 0;                 // largest offset
};

StagedTaylor::StagedTaylor(TaylorProgram program) : program_(std::move(program)) {}

bool StagedTaylor::prepare(std::span<const int> c, std::span<const int> d,
                           std::span<const std::span<const double>> constants) {
  const auto& r = program_.recurrences();
  c_.assign(c.begin(), c.end());
  d_.assign(d.begin(), d.end());
  const std::uint32_t time = r.group_start[0], x = r.group_start[1], xp = r.group_start[2], rest = r.group_start[3];
  constants_.assign(r.slots, 0.0);
  std::copy(r.constants.begin(), r.constants.end(), constants_.begin());
  for (std::size_t g = 0; g < constants.size(); ++g)
    std::copy(constants[g].begin(), constants[g].end(), constants_.begin() + r.group_start[3 + g]);
  std::vector<char> varies(r.slots, 0);
  std::fill(varies.begin() + time, varies.begin() + rest, 1);
  std::vector<TaylorInstruction> code;
  for (TaylorInstruction i : r.code) {
    if (!varies[i.a] && !varies[i.b] && !varies[i.c] && i.op == TaylorOp::once) {
      constants_[i.result] = first_coefficient(i, constants_[i.a], constants_[i.b], constants_[i.c]);
      continue;
    }
    if (i.op == TaylorOp::scale && !varies[i.b] && constants_[i.b] == 0.0) continue;  // zero, whatever the other factor is
    if (i.op == TaylorOp::select && !varies[i.a])
      i = {TaylorOp::scale, Op::mul, i.result, constants_[i.a] != 0.0 ? i.b : i.c, one, one};
    varies[i.result] = 1;
    code.push_back(i);
  }

  std::vector<int> has(r.slots, unlimited), need(r.slots, unused);
  for (std::size_t j = 0; j < d_.size(); ++j) {
    has[x + j] = d_[j];
    has[xp + j] = d_[j] - 1;
  }
  for (std::size_t i = 0; i < c_.size(); ++i) need[r.outputs[0][i]] = std::max(need[r.outputs[0][i]], c_[i]);
  // some nodes use others that come later (sine and cosine): until nothing changes
  for (bool again = true; again;) {
    again = false;
    for (auto i = code.rbegin(); i != code.rend(); ++i)
      for (const std::uint32_t operand : {i->a, i->b, i->c})
        if (need[operand] < need[i->result]) need[operand] = need[i->result], again = true;
    for (const TaylorInstruction& i : code) {
      const int least = std::min({has[i.a], has[i.b], has[i.c]});
      if (least < has[i.result]) has[i.result] = least, again = true;
    }
  }

  auto steps = std::make_shared<Steps>();
  for (const int offset : d_) steps->deepest = std::max(steps->deepest, offset);
  for (std::uint32_t slot = 0; slot < r.slots; ++slot) {
    if (varies[slot] && need[slot] > has[slot]) return false;
    if (varies[slot] && slot >= rest) steps->deepest = std::max(steps->deepest, need[slot]);
  }
  for (const TaylorInstruction& i : code) {
    if (need[i.result] == unused) continue;
    const bool open = need[i.result] == has[i.result] && i.op != TaylorOp::once;
    steps->all.push_back({i, need[i.result], open && has[i.a] == has[i.result], open && has[i.b] == has[i.result]});
    if (open) steps->settled.push_back(steps->all.back());
  }
  steps_ = std::move(steps);
  stride_ = 0;
  return true;
}

void StagedTaylor::start(double t, int last) {
  const auto& r = program_.recurrences();
  const std::size_t stride = static_cast<std::size_t>(steps_->deepest + std::max(last, 0)) + 1;
  if (stride != stride_) {
    stride_ = stride;
    series_.assign(stride * r.slots, 0.0);
    change_.assign(r.slots, 0.0);
    for (std::size_t slot = 0; slot < r.slots; ++slot) series_[slot * stride] = constants_[slot];
  }
  series_[r.group_start[0] * stride] = t;
  if (stride > 1) series_[r.group_start[0] * stride + 1] = 1.0;
}

void StagedTaylor::residual(int stage, std::span<const double> X, std::span<double> F) {
  const auto& r = program_.recurrences();
  double* const s = series_.data();
  const std::size_t n = d_.size();
  const auto row = [s, stride = stride_](std::uint32_t slot) { return s + slot * stride; };
  for (std::size_t j = 0; j < n; ++j) {
    const int q = d_[j] + stage;
    if (q < 0) continue;
    const double value = X[static_cast<std::size_t>(q) * n + j];
    const auto slot = static_cast<std::uint32_t>(j);
    row(r.group_start[1] + slot)[q] = value;
    if (q > 0) row(r.group_start[2] + slot)[q - 1] = q * value;
  }
  for (const Step& step : steps_->all) {
    const int k = step.offset + stage;
    if (k < 0) continue;
    const TaylorInstruction& i = step.instruction;
    double* const y = row(i.result);
    if (k == 0)
      y[0] = first_coefficient(i, *row(i.a), *row(i.b), *row(i.c));
    else
      y[k] = coefficient<double>(i.op, k, y, row(i.a), row(i.b), row(i.c));
  }
  for (std::size_t i = 0; i < c_.size(); ++i) {
    const int k = c_[i] + stage;
    F[i] = k < 0 ? 0.0 : row(r.outputs[0][i])[k];
  }
}

void StagedTaylor::settle(int stage, std::span<const double> X) {
  const auto& r = program_.recurrences();
  double* const s = series_.data();
  const std::size_t n = d_.size();
  const auto row = [s, stride = stride_](std::uint32_t slot) { return s + slot * stride; };
  for (std::size_t j = 0; j < n; ++j) {
    const int q = d_[j] + stage;
    const double value = X[static_cast<std::size_t>(q) * n + j];
    const std::uint32_t x = r.group_start[1] + static_cast<std::uint32_t>(j), xp = r.group_start[2] + static_cast<std::uint32_t>(j);
    row(x)[q] = change_[x] = value;
    if (q > 0) row(xp)[q - 1] = change_[xp] = q * value;
  }
  for (const Step& step : steps_->settled) {
    const TaylorInstruction& i = step.instruction;
    double* const y = row(i.result);
    const int k = step.offset + stage;
    double& by = change_[i.result];
    if (i.op == TaylorOp::select)
      by = coefficient<double>(i.op, k, y, row(i.a), row(i.b), row(i.c)) - y[k];
    else
      by = change(i.op, *y, *row(i.a), *row(i.b), *row(i.c), step.from_a ? change_[i.a] : 0.0, step.from_b ? change_[i.b] : 0.0);
    y[k] += by;
  }
}

}  // namespace saltus
