#include "model/coincident_guards.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/program/program.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "model/normal_form.hpp"

namespace saltus {

struct CoincidentGuards::Functions {
  std::vector<Atom> atoms;
  std::vector<std::optional<Polynomial>> polynomials;  // by function
  std::vector<char> affine;                            // by function: in symbols
  std::vector<std::pair<int, std::size_t>> given;      // atoms that are parameters
  std::vector<int> computed;                           // atoms that are functions of them
  Program program;                                     // their values

  std::vector<Interval> values_of_atoms(std::span<const double> parameters) const {
    std::vector<Interval> result(atoms.size());
    std::vector<Interval> in;
    for (const auto& [atom, place] : given)
      in.push_back(result[static_cast<std::size_t>(atom)] = written_number(parameters[place]));
    if (computed.empty()) return result;
    const std::vector<Interval> values = program.enclose(std::span(&in, 1)).front();
    for (std::size_t k = 0; k < computed.size(); ++k) result[static_cast<std::size_t>(computed[k])] = values[k];
    return result;
  }
};

namespace {

bool is_affine(const Polynomial& p, const std::vector<Atom>& atoms) {
  return std::ranges::all_of(p, [&](const Term& term) {
    int degree = 0;
    for (const Power& power : term.monomial) {
      const Atom& atom = atoms[static_cast<std::size_t>(power.atom)];
      if (!atom.constant) degree += atom.op == Op::symbol ? power.power : 2;
    }
    return degree <= 1;
  });
}

/// The ratio of the last coefficient to the first: the same for multiples, up to rounding errors.
double ratio_of_ends(const Polynomial& p) {
  return p.back().coefficient.lower / p.front().coefficient.lower;
}

/// Functions with the same monomials, by increasing ratio: those that are multiples of each other are neighbours.
std::vector<std::vector<std::size_t>> groups_of_multiples(std::vector<std::size_t> members,
                                                          const std::vector<std::optional<Polynomial>>& p) {
  constexpr double far = 1e-9;  // rounding errors are far below
  std::ranges::stable_sort(members, {}, [&](std::size_t i) { return ratio_of_ends(*p[i]); });
  std::vector<std::vector<std::size_t>> groups;
  std::size_t near = 0;
  for (const std::size_t i : members) {
    const double own = ratio_of_ends(*p[i]);
    while (near < groups.size() && ratio_of_ends(*p[groups[near].front()]) < own - far * std::abs(own)) ++near;
    std::size_t k = near;
    while (k < groups.size() && multiple(*p[groups[k].front()], *p[i]) == 0) ++k;
    if (k == groups.size()) groups.emplace_back();
    groups[k].push_back(i);
  }
  return groups;
}

}  // namespace

CoincidentGuards::CoincidentGuards(const std::vector<Expr>& functions, const std::vector<Expr>& parameters,
                                   std::span<const double> values)
    : found_(functions.size()) {
  if (functions.size() < 2) return;
  const std::shared_ptr<Graph> graph = common_graph(functions);
  std::unordered_map<NodeId, std::size_t> place_of_parameter;
  std::unordered_set<NodeId> constant;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    if (!parameters[k].graph()) continue;
    place_of_parameter.emplace(parameters[k].id(), k);
    constant.insert(parameters[k].id());
  }
  NormalForms forms(*graph, std::move(constant));
  auto all = std::make_shared<Functions>();
  for (const Expr& f : functions) all->polynomials.push_back(forms.of(f.in(*graph)));
  all->atoms = forms.atoms();
  for (const auto& p : all->polynomials) all->affine.push_back(p && is_affine(*p, all->atoms));
  std::vector<Expr> given, computed;
  for (std::size_t k = 0; k < all->atoms.size(); ++k) {
    const Atom& atom = all->atoms[k];
    if (!atom.constant) continue;
    if (const auto parameter = place_of_parameter.find(atom.node); parameter != place_of_parameter.end()) {
      all->given.emplace_back(static_cast<int>(k), parameter->second);
      given.emplace_back(graph, atom.node);
    } else {
      all->computed.push_back(static_cast<int>(k));
      computed.emplace_back(graph, atom.node);
    }
  }
  if (!computed.empty())
    all->program = Program(std::vector<std::vector<Expr>>{given}, std::vector<std::vector<Expr>>{computed},
                           {.backend = Backend::interpreter});
  functions_ = all;
  found_ = find(values);
  find_deciding(functions, place_of_parameter);
  if (deciding_.empty()) functions_.reset();
}

void CoincidentGuards::find_deciding(const std::vector<Expr>& functions,
                                     const std::unordered_map<NodeId, std::size_t>& place_of_parameter) {
  std::unordered_map<NodeId, std::vector<std::size_t>> users;  // by what moves: functions
  for (std::size_t i = 0; i < functions.size(); ++i)
    for (const SymbolKind kind : {SymbolKind::time, SymbolKind::variable, SymbolKind::derivative})
      for (const Expr& symbol : symbols_of(std::span(&functions[i], 1), kind)) users[symbol.id()].push_back(i);
  std::vector<Expr> in_common;
  for (const auto& [symbol, list] : users)
    if (list.size() > 1)
      for (const std::size_t i : list) in_common.push_back(functions[i]);
  if (in_common.empty()) return;
  for (const Expr& symbol : symbols_of(in_common, SymbolKind::parameter))
    if (const auto it = place_of_parameter.find(symbol.id()); it != place_of_parameter.end())
      deciding_.push_back(it->second);
}

bool CoincidentGuards::same_for(std::span<const double> before, std::span<const double> values) const {
  return std::ranges::all_of(deciding_, [&](std::size_t k) { return before[k] == values[k]; }) ||
         find(values) == found_;
}

std::vector<Coincidence> CoincidentGuards::find(std::span<const double> values) const {
  std::vector<Coincidence> result(functions_->polynomials.size());
  const std::vector<Interval> of_atoms = functions_->values_of_atoms(values);
  std::vector<std::optional<Polynomial>> plain(result.size());
  std::map<std::vector<Monomial>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (!functions_->polynomials[i]) continue;
    plain[i] = plain_zeros(*functions_->polynomials[i], functions_->atoms, of_atoms);
    if (!plain[i] || plain[i]->empty() || plain[i]->back().monomial.empty()) continue;  // a number
    std::vector<Monomial> monomials;
    for (const Term& term : *plain[i]) monomials.push_back(term.monomial);
    alike[std::move(monomials)].push_back(i);
  }
  for (auto& [monomials, members] : alike) {
    if (members.size() < 2) continue;
    for (std::vector<std::size_t>& group : groups_of_multiples(std::move(members), plain)) {
      const auto is_affine_one = [&](std::size_t i) { return functions_->affine[i] != 0; };
      std::ranges::sort(group);
      const auto affine = std::ranges::find_if(group, is_affine_one);
      const std::size_t leader = affine == group.end() ? group.front() : *affine;
      for (const std::size_t i : group)
        if (i != leader) result[i] = {static_cast<int>(leader), multiple(*plain[leader], *plain[i])};
    }
  }
  return result;
}

}  // namespace saltus
