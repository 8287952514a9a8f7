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
  std::vector<char> constant;      // slots that do not vary, of instructions
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
  std::vector<char> varies(r.slots, 0), constant(r.slots, 0);
  std::fill(varies.begin() + time, varies.begin() + rest, 1);
  std::vector<TaylorInstruction> code;
  choices_.clear();
  for (TaylorInstruction i : r.code) {
    if (!varies[i.a] && !varies[i.b] && !varies[i.c] && i.op == TaylorOp::once) {
      constant[i.result] = 1;
      constants_[i.result] = first_coefficient(i, constants_[i.a], constants_[i.b], constants_[i.c]);
      continue;
    }
    const bool zero = i.op == TaylorOp::scale && !varies[i.b] && constants_[i.b] == 0.0;
    const bool chosen = i.op == TaylorOp::select && !varies[i.a];
    if (i.op == TaylorOp::scale || chosen) choices_.push_back(zero || (chosen && constants_[i.a] != 0.0));
    if (zero) continue;  // whatever the other factor is
    if (chosen) i = {TaylorOp::scale, Op::mul, i.result, constants_[i.a] != 0.0 ? i.b : i.c, one, one};
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
  steps->constant = std::move(constant);
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

std::size_t StagedTaylor::operations(int order) const {
  const auto n = d_.size();
  std::size_t total = 0;
  for (const Step& step : steps_->all) {
    const auto k = static_cast<std::size_t>(std::max(0, order + step.offset));
    switch (step.instruction.op) {
      case TaylorOp::add:
      case TaylorOp::sub:
      case TaylorOp::neg:
      case TaylorOp::scale:
      case TaylorOp::divide_by:
      case TaylorOp::select: total += 2 * k; break;
      default: total += k * (k + 3) / 2 + 3 * k;
    }
  }
  return total + static_cast<std::size_t>(order) * n * n;
}

/// The stages with expressions in place of numbers.
class StagedTaylor::Recorder {
 public:
  Recorder(const StagedTaylor& staged, const Symbols& symbols, int last)
      : staged_(staged),
        symbols_(symbols),
        graph_(symbols.time.graph()),
        stride_(static_cast<std::size_t>(staged.steps_->deepest + last) + 1),
        n_(staged.d_.size()) {
    const auto& r = staged.program_.recurrences();
    series_.assign(stride_ * r.slots, Expr(0.0));
    change_.assign(r.slots, Expr(0.0));
    for (std::size_t k = 0; k < r.constants.size(); ++k) series_[k * stride_] = r.constants[k];
    series_[r.group_start[0] * stride_] = symbols.time;
    if (stride_ > 1) series_[r.group_start[0] * stride_ + 1] = 1.0;
    for (std::size_t g = 0; g < symbols.constants.size(); ++g)
      for (std::size_t k = 0; k < symbols.constants[g].size(); ++k)
        series_[(r.group_start[3 + g] + k) * stride_] = symbols.constants[g][k];
    for (const TaylorInstruction& i : r.code)
      if (staged.steps_->constant[i.result]) *row(i.result) = first(i);
  }

  void set(int stage, std::size_t j, const Expr& value) {
    const auto& r = staged_.program_.recurrences();
    const int q = staged_.d_[j] + stage;
    const auto slot = static_cast<std::uint32_t>(j);
    row(r.group_start[1] + slot)[q] = change_[r.group_start[1] + slot] = value;
    if (q > 0)
      row(r.group_start[2] + slot)[q - 1] = change_[r.group_start[2] + slot] = static_cast<double>(q) * value;
  }

  void evaluate(int stage) {
    for (const Step& step : staged_.steps_->all) {
      const int k = step.offset + stage;
      if (k < 0) continue;
      const TaylorInstruction& i = step.instruction;
      row(i.result)[k] = k == 0 ? first(i) : coefficient<Expr>(i.op, k, row(i.result), row(i.a), row(i.b), row(i.c));
    }
  }

  void settle(int stage) {
    for (const Step& step : staged_.steps_->settled) {
      const TaylorInstruction& i = step.instruction;
      const int k = step.offset + stage;
      Expr* const y = row(i.result);
      if (i.op == TaylorOp::select) {
        const Expr now = coefficient<Expr>(i.op, k, y, row(i.a), row(i.b), row(i.c));
        change_[i.result] = now - y[k];
        y[k] = now;
        continue;
      }
      change_[i.result] = change(i.op, *y, *row(i.a), *row(i.b), *row(i.c), step.from_a ? change_[i.a] : Expr(0.0),
                                 step.from_b ? change_[i.b] : Expr(0.0));
      y[k] = y[k] + change_[i.result];
    }
  }

  /// What must be subtracted from the unknowns of the stage.
  std::vector<Expr> correction(int stage, std::span<const Expr> inverse) {
    const auto& r = staged_.program_.recurrences();
    std::vector<Expr> sum(n_, Expr(0.0));
    for (std::size_t i = 0; i < n_; ++i) {
      const int k = staged_.c_[i] + stage;
      if (k < 0) continue;
      const Expr residual = symbols_.factor(staged_.c_[i], stage) * row(r.outputs[0][i])[k];
      for (std::size_t j = 0; j < n_; ++j)
        if (staged_.d_[j] + stage >= 0) sum[j] = sum[j] + inverse[i * n_ + j] * residual;
    }
    for (std::size_t j = 0; j < n_; ++j)
      if (staged_.d_[j] + stage >= 0) sum[j] = (1.0 / symbols_.factor(staged_.d_[j], stage)) * sum[j];
    return sum;
  }

 private:
  Expr* row(std::uint32_t slot) { return series_.data() + slot * stride_; }
  Expr first(const TaylorInstruction& i) {
    const Expr a = *row(i.a), b = *row(i.b), c = *row(i.c);
    if (i.op == TaylorOp::one_plus_square) return 1.0 + a * a;
    if (i.op == TaylorOp::one_minus_square) return 1.0 - a * a;
    return Expr(graph_, graph_->make(i.first, a.in(*graph_), b.in(*graph_), c.in(*graph_)));
  }

  const StagedTaylor& staged_;
  const Symbols& symbols_;
  std::shared_ptr<Graph> graph_;
  std::size_t stride_, n_;
  std::vector<Expr> series_, change_;
};

std::vector<Expr> StagedTaylor::record_correction(const Symbols& symbols,
                                                  std::span<const std::vector<Expr>> inverses) const {
  Recorder recorder(*this, symbols, 0);
  const std::size_t n = d_.size();
  const int deepest = d_.empty() ? 0 : *std::max_element(d_.begin(), d_.end());
  std::vector<Expr> X(symbols.X.size(), Expr(0.0));
  for (int stage = -deepest; stage <= 0; ++stage) {
    const auto place = [&](std::size_t j) { return static_cast<std::size_t>(d_[j] + stage) * n + j; };
    for (std::size_t j = 0; j < n; ++j)
      if (d_[j] + stage >= 0) recorder.set(stage, j, symbols.X[place(j)]);
    recorder.evaluate(stage);
    const auto number = static_cast<std::size_t>(deepest + stage);
    const bool own = number < inverses.size() && !inverses[number].empty();
    const std::vector<Expr> correction = recorder.correction(stage, own ? inverses[number] : symbols.inverse);
    for (std::size_t j = 0; j < n; ++j) {
      if (d_[j] + stage < 0) continue;
      X[place(j)] = symbols.X[place(j)] - correction[j];
      recorder.set(stage, j, X[place(j)]);
    }
    recorder.evaluate(stage);
  }
  return X;
}

std::vector<Expr> StagedTaylor::record_extension(const Symbols& symbols, int order) const {
  const std::size_t n = d_.size();
  const int deepest = *std::max_element(d_.begin(), d_.end());
  const int last = std::max(0, order - *std::min_element(d_.begin(), d_.end()));
  Recorder recorder(*this, symbols, last);
  std::vector<Expr> X(n * static_cast<std::size_t>(std::max(order, deepest) + last + 1), Expr(0.0));
  std::copy(symbols.X.begin(), symbols.X.end(), X.begin());
  for (int stage = -deepest; stage <= last; ++stage) {
    const auto place = [&](std::size_t j) { return static_cast<std::size_t>(d_[j] + stage) * n + j; };
    for (std::size_t j = 0; j < n; ++j)
      if (d_[j] + stage >= 0) recorder.set(stage, j, X[place(j)]);
    recorder.evaluate(stage);
    if (stage <= 0) continue;
    const std::vector<Expr> correction = recorder.correction(stage, symbols.inverse);
    for (std::size_t j = 0; j < n; ++j) {
      X[place(j)] = -correction[j];
      recorder.set(stage, j, X[place(j)]);
    }
    recorder.settle(stage);
  }
  return {X.begin() + static_cast<std::ptrdiff_t>(n), X.begin() + static_cast<std::ptrdiff_t>(n * static_cast<std::size_t>(order + 1))};
}

}  // namespace saltus
