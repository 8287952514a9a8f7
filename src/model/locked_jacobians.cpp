#include "model/locked_jacobians.hpp"

#include <algorithm>
#include <iterator>

namespace saltus {

LockedJacobians::Entries::Entries(SparseExprMatrix m) {
  m.sort_by_columns();
  places = m.places();
  values = m.values();
}

LockedJacobians::LockedJacobians(const RecordedEquations& eq, const std::vector<Expr>& derivatives, bool explicit_system)
    : jx_(jacobian(eq.equations, eq.variables)), jxp_(jacobian(eq.equations, derivatives)), locks_(eq.locks.size()) {
  std::vector<Expr> switches = eq.locks;
  for (std::size_t k = 0; k < eq.data.size(); ++k)
    if (!symbols_of({&eq.data[k], 1}, SymbolKind::discrete).empty()) {
      discrete_data_.push_back(static_cast<int>(k));
      switches.push_back(eq.data[k]);
    }
  zeros_x_ = LockStructure(jx_.values, switches);
  zeros_xp_ = LockStructure(jxp_.values, switches);
  std::set_union(zeros_x_.structural_locks().begin(), zeros_x_.structural_locks().end(), zeros_xp_.structural_locks().begin(),
                 zeros_xp_.structural_locks().end(), std::back_inserter(structural_switches_));
  constexpr std::size_t many = 32;  // their patterns cannot all be kept
  if (explicit_system && structural_switches_.size() > many) {
    zeros_x_ = LockStructure(jx_.values, {});
    zeros_xp_ = LockStructure(jxp_.values, {});
    structural_switches_.clear();
  }
  for (const int k : structural_switches_)
    if (k < static_cast<int>(locks_)) structural_locks_.push_back(k);
}

void LockedJacobians::mark_structural(std::vector<char>& data, std::vector<char>& locks) const {
  for (const int k : structural_switches_) {
    const auto place = static_cast<std::size_t>(k);
    if (place < locks_)
      locks[place] = 1;
    else
      data[static_cast<std::size_t>(discrete_data_[place - locks_])] = 1;
  }
}

const LockedJacobians::Locked& LockedJacobians::select(const Structure& common, std::span<const double> data,
                                                       std::span<const double> locks) {
  std::vector<double> values(locks.begin(), locks.end()), key;
  for (const int k : discrete_data_) values.push_back(data[static_cast<std::size_t>(k)]);
  for (const int k : structural_switches_) key.push_back(values[static_cast<std::size_t>(k)]);
  const auto [it, fresh] = structures_.try_emplace(std::move(key));
  Locked& s = it->second;
  if (!fresh) return s;
  s.structure = common;
  s.number = static_cast<int>(structures_.size()) - 1;
  const auto reduce = [&](const Entries& entries, const LockStructure& zeros, SparsePattern& pattern, std::vector<int>& keep) {
    const std::vector<char> vanishing = zeros.vanishing(values);
    std::vector<std::pair<int, int>> places;
    for (std::size_t k = 0; k < entries.values.size(); ++k)
      if (vanishing.empty() || !vanishing[k]) {
        keep.push_back(static_cast<int>(k));
        places.push_back(entries.places[k]);
      }
    pattern = make_pattern(common.equations, common.variables, places);
  };
  reduce(jx_, zeros_x_, s.structure.state_pattern, s.keep_x);
  reduce(jxp_, zeros_xp_, s.structure.derivative_pattern, s.keep_xp);
  return s;
}

}  // namespace saltus
