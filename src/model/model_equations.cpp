#include "model/model_equations.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace saltus {

namespace {

struct SignedTerm {
  NodeId node;
  signed char sign;
};

/// Appends the terms of a sum.
void split(const Graph& graph, NodeId root, signed char sign, std::vector<SignedTerm>& terms) {
  std::vector<SignedTerm> open{{root, sign}};
  while (!open.empty()) {
    const SignedTerm term = open.back();
    open.pop_back();
    const Node& node = graph.node(term.node);
    const auto other = static_cast<signed char>(-term.sign);
    if (node.op == Op::add || node.op == Op::sub) {
      open.push_back({node.b, node.op == Op::add ? term.sign : other});
      open.push_back({node.a, term.sign});
    } else if (node.op == Op::neg) {
      open.push_back({node.a, other});
    } else {
      terms.push_back(term);
    }
  }
}

}  // namespace

std::string describe_equation(const ModelData::NamedEquation& equation) {
  std::string text = equation.name.empty() ? to_string(equation.equation, 70) : equation.name;
  if (equation.where.known()) text += " (" + to_string(equation.where) + ")";
  return text;
}

ModelEquations::ModelEquations(Source source) {
  using Groups = std::vector<std::vector<Expr>>;
  const auto shared = std::make_shared<Shared>();
  const auto graph = source.time.graph();
  std::unordered_map<NodeId, int> place;
  for (std::size_t k = 0; k < source.locks.size(); ++k) place.emplace(source.locks[k].id(), static_cast<int>(k));
  std::vector<Expr> outputs;
  std::vector<SignedTerm> terms;
  for (const ModelData::NamedEquation& written : source.equations) {
    shared->first_term.push_back(static_cast<int>(outputs.size()));
    terms.clear();
    signed char sign = 1;
    for (const Expr* side : {&written.equation.lhs, &written.equation.rhs}) {
      if (side->graph())
        split(*graph, side->id(), sign, terms);
      else if (side->constant_value() != 0.0)
        terms.push_back({side->in(*graph), sign});
      sign = -1;
    }
    for (const SignedTerm& term : terms) {
      outputs.emplace_back(graph, term.node);
      shared->sign.push_back(term.sign);
    }
    if (place.empty()) continue;
    std::vector<int>& locks = shared->locks.emplace_back();
    const Expr sides[] = {written.equation.lhs, written.equation.rhs};
    for (const Expr& lock : locks_of(sides)) locks.push_back(place.at(lock.id()));
  }
  shared->first_term.push_back(static_cast<int>(outputs.size()));
  shared->equations = std::move(source.equations);
  shared->lock_places = std::move(source.lock_places);
  shared->surface_locks = std::move(source.surface_locks);
  // evaluated now and then: not worth native code
  terms_program_ = RunnableProgram(Program(
      Groups{{source.time}, source.variables, source.derivatives, source.parameters, source.discretes, source.locks},
      Groups{outputs}, {.backend = Backend::interpreter}));
  terms_.resize(outputs.size());
  lock_values_.resize(source.locks.size());
  shared_ = shared;
}

/// Values of the locks, and which equations hold as they are written: those without a lock of a surface on which the
/// mode slides.
void ModelEquations::read_locks(const Mode& mode) {
  relaxed_.clear();
  for (const int guard : mode.sliding) {
    const std::vector<int>& locks = shared_->surface_locks[static_cast<std::size_t>(guard)];
    relaxed_.insert(relaxed_.end(), locks.begin(), locks.end());
  }
  std::sort(relaxed_.begin(), relaxed_.end());
  comparable_.clear();
  const std::vector<int>& places = shared_->lock_places;
  bool some_not = false;
  const auto follows = [&](int place) { return place >= 0 && !std::ranges::binary_search(relaxed_, place); };
  for (std::size_t k = 0; k < places.size(); ++k) {
    lock_values_[k] = places[k] >= 0 ? mode.locks[static_cast<std::size_t>(places[k])] : 0.0;
    some_not = some_not || !follows(places[k]);
  }
  if (!some_not) return;
  for (const std::vector<int>& locks : shared_->locks)
    comparable_.push_back(
        std::ranges::all_of(locks, [&](int k) { return follows(places[static_cast<std::size_t>(k)]); }));
}

void ModelEquations::residuals(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp,
                               std::span<WrittenResidual> residuals) {
  read_locks(mode);
  const double* in[] = {&t, values.data(), xp.data(), parameters_, mode.discrete.data(), lock_values_.data()};
  double* const out[] = {terms_.data()};
  terms_program_(in, out);
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    WrittenResidual& r = residuals[i] = {};
    if (!comparable_.empty() && !comparable_[i]) continue;
    for (auto k = static_cast<std::size_t>(shared_->first_term[i]);
         k < static_cast<std::size_t>(shared_->first_term[i + 1]); ++k) {
      r.value += shared_->sign[k] * terms_[k];
      r.terms += std::abs(terms_[k]);
    }
  }
}

}  // namespace saltus
