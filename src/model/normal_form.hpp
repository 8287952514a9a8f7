// Polynomials of what an expression is made of, as far as algebra goes: x*(y + 2) - 2*x and y*x are one.
#pragma once

#include <saltus/base/interval.hpp>
#include <saltus/expr/graph.hpp>

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace saltus {

/// atom^power; atoms are numbered by NormalForms.
struct Power {
  int atom = 0, power = 1;
  auto operator<=>(const Power&) const = default;
};
/// A product of powers, by increasing atom. Constant atoms may have negative powers.
using Monomial = std::vector<Power>;

struct Term {
  Monomial monomial;
  Interval coefficient;  ///< a number, up to the rounding of what is written
  bool operator==(const Term&) const = default;
};
/// Terms by increasing monomial.
using Polynomial = std::vector<Term>;

/// A symbol, or a function of polynomials.
struct Atom {
  Op op = Op::constant;
  NodeId node = no_node;              ///< one of the nodes that it stands for
  bool constant = false;              ///< of parameters and numbers alone
  std::vector<Polynomial> arguments;  ///< of functions
};

/// The interval of a number as it is written: an integer is itself, 0.1 may be off by the last place.
Interval written_number(double value);

/// Polynomials of expressions. sin(2*x) and sin(x + x) are one atom.
class NormalForms {
 public:
  /// `parameters`: symbols that are constant.
  NormalForms(const Graph& graph, std::unordered_set<NodeId> parameters)
      : graph_(&graph), parameters_(std::move(parameters)) {}

  const std::vector<Atom>& atoms() const { return atoms_; }
  /// Nothing: the expression is too large.
  std::optional<Polynomial> of(NodeId root);

 private:
  Polynomial find(NodeId id);
  Polynomial quotient(NodeId id, const Node& node);
  Polynomial power(NodeId id, const Node& node);
  Polynomial atom(NodeId id);
  bool is_constant(const Polynomial& p) const;

  const Graph* graph_;
  std::unordered_set<NodeId> parameters_;
  std::vector<Atom> atoms_;
  std::unordered_map<NodeId, Polynomial> known_;
  std::unordered_map<NodeId, int> atom_of_node_;
  std::map<std::pair<Op, std::vector<Monomial>>, std::vector<int>> alike_;  // functions by the first of what they have
};

/// A polynomial whose constant atoms have become numbers, with the sign and the zeros of the one it was made from, in
/// the simplest terms that can be proved: without factors of one sign, x for x + x^3, x - log(2) for exp(x) - 2.
/// Nothing: a coefficient is no number. `values`: by atom, of those that are constant.
std::optional<Polynomial> plain_zeros(const Polynomial& p, std::span<const Atom> atoms,
                                      std::span<const Interval> values);

/// +1 or -1: the first is a positive or a negative multiple of the second, within the rounding of their coefficients.
/// 0: it is no multiple.
int multiple(const Polynomial& a, const Polynomial& b);

}  // namespace saltus
