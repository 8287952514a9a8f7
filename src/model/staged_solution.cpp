#include "model/staged_solution.hpp"

#include <saltus/dae/staged_series.hpp>

#include <algorithm>

namespace saltus {

namespace {
// Recording and compiling takes as long as some hundred expansions, about 2 ms at this limit. The choice depends on the
// system and the order alone: the same question always gets the same bits.
constexpr std::size_t most_operations = 6000;
}  // namespace

StagedSolution::StagedSolution(TaylorProgram residual, std::size_t variables, std::size_t data, std::size_t locks,
                               ProgramOptions options, std::shared_ptr<StagedPrograms> programs)
    : stages_(std::move(residual)),
      n_(variables),
      data_(data),
      locks_(locks),
      options_(options),
      shared_programs_(std::move(programs)) {}

const StagedPrograms::Pair& StagedPrograms::get(std::vector<int> key, const std::function<Pair()>& make) {
  const std::lock_guard lock(making_);
  const auto [it, fresh] = programs_.try_emplace(std::move(key));
  if (fresh) it->second = make();
  return it->second;
}

bool StagedSolution::start(double t, std::span<const int> c, std::span<const int> d, int last, std::span<const double> data,
                           std::span<const double> locks) {
  t_ = t;
  if (!prepared_ || !std::ranges::equal(c, c_) || !std::ranges::equal(d, d_)) {
    c_.assign(c.begin(), c.end());
    d_.assign(d.begin(), d.end());
    const std::span<const double> constants[] = {data, locks};
    possible_ = stages_.prepare(c, d, constants);
    prepared_ = true;
    last_ = -1;
  }
  if (!possible_) {
    native_ = nullptr;
    return false;
  }
  if (last != last_) choose_native(last);
  stages_.start(t, last);
  return true;
}

void StagedSolution::choose_native(int last) {
  last_ = last;
  native_ = nullptr;
  if (c_.size() != n_ || n_ == 0 || options_.backend == Backend::interpreter) return;
  const int order = last + *std::ranges::min_element(d_);
  if (stages_.operations(order) > most_operations) return;
  std::vector<int> key(c_);
  key.insert(key.end(), d_.begin(), d_.end());
  key.push_back(last);
  key.insert(key.end(), stages_.choices().begin(), stages_.choices().end());
  X_.resize(n_ * static_cast<std::size_t>(*std::ranges::max_element(d_) + 1));
  const auto [it, fresh] = programs_.try_emplace(key);
  Native& native = it->second;
  if (fresh) {
    const StagedPrograms::Pair& made = shared_programs_->get(std::move(key), [&] { return compile(order); });
    native = {RunnableProgram(made.correction), RunnableProgram(made.extension)};
  }
  if (!native.extension.empty()) native_ = &native;
}

// In a graph of its own, which ends here: that of the model would grow with every system that is made from it.
StagedPrograms::Pair StagedSolution::compile(int order) const {
  const auto graph = std::make_shared<Graph>();
  const auto symbols = [&](std::size_t count) {
    std::vector<Expr> list;
    while (list.size() < count) list.emplace_back(graph, graph->symbol("s", SymbolKind::parameter));
    return list;
  };
  const StagedTaylor::Symbols s{.time = symbols(1).front(),
                                .X = symbols(X_.size()),
                                .inverse = symbols(n_ * n_),
                                .constants = {symbols(data_), symbols(locks_)},
                                .factor = &stage_factor};
  const std::vector<std::vector<Expr>> inputs{{s.time}, s.X, s.inverse, s.constants[0], s.constants[1]};
  Program correction(inputs, std::vector<std::vector<Expr>>{stages_.record_correction(s)}, options_);
  if (correction.backend() != Backend::native) return {};  // the recurrences are faster than interpreted code
  return {std::move(correction),
          Program(inputs, std::vector<std::vector<Expr>>{stages_.record_extension(s, order)}, options_)};
}

void StagedSolution::run(RunnableProgram& program, std::span<const double> inverse, double* out,
                         std::span<const double> X, std::span<const double> data, std::span<const double> locks) {
  std::copy_n(X.begin(), X_.size(), X_.begin());
  const double* in[] = {&t_, X_.data(), inverse.data(), data.data(), locks.data()};
  double* const to[] = {out};
  program(in, to);
}

bool StagedSolution::correct(std::span<const double> inverse, std::span<double> X, std::span<const double> data,
                             std::span<const double> locks) {
  if (!native_) return false;
  run(native_->correction, inverse, X.data(), X, data, locks);
  return true;
}

bool StagedSolution::extend(std::span<const double> inverse, int order, std::span<double> X, std::span<const double> data,
                            std::span<const double> locks) {
  if (!native_ || order != last_ + *std::ranges::min_element(d_)) return false;
  run(native_->extension, inverse, X.data() + n_, X, data, locks);
  return true;
}

}  // namespace saltus
