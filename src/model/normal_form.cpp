#include "model/normal_form.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace saltus {

namespace {

constexpr std::size_t most_terms = 64;
constexpr double most_power = 8.0;
constexpr double infinite = std::numeric_limits<double>::infinity();

double rounded_down(double value, double error) {
  return error < 0.0 ? std::nextafter(value, -infinite) : value;
}
double rounded_up(double value, double error) {
  return error > 0.0 ? std::nextafter(value, infinite) : value;
}

/// The sum, rounded outwards only where it is no number: what is exact stays exact.
Interval add_up(const Interval& a, const Interval& b) {
  const auto error = [](double x, double y, double sum) {
    const double of_y = sum - x;
    return (x - (sum - of_y)) + (y - of_y);
  };
  const double low = a.lower + b.lower, high = a.upper + b.upper;
  return {rounded_down(low, error(a.lower, b.lower, low)), rounded_up(high, error(a.upper, b.upper, high))};
}

Interval multiply(const Interval& a, const Interval& b) {
  Interval result{infinite, -infinite};
  for (const double x : {a.lower, a.upper})
    for (const double y : {b.lower, b.upper}) {
      const double product = x * y, error = std::fma(x, y, -product);
      result.lower = std::min(result.lower, rounded_down(product, error));
      result.upper = std::max(result.upper, rounded_up(product, error));
    }
  return result;
}

bool may_be_zero(const Interval& a) {
  return a.contains(0.0);
}
bool is_finite(const Interval& a) {
  return std::isfinite(a.lower) && std::isfinite(a.upper);
}
/// The sign of what is not zero.
int sign_of(const Interval& a) {
  return a.lower > 0.0 ? +1 : -1;
}

Monomial multiply(const Monomial& a, const Monomial& b) {
  Monomial result;
  auto p = a.begin(), q = b.begin();
  while (p != a.end() || q != b.end()) {
    if (q == b.end() || (p != a.end() && p->atom < q->atom)) {
      result.push_back(*p++);
    } else if (p == a.end() || q->atom < p->atom) {
      result.push_back(*q++);
    } else {
      if (p->power + q->power != 0) result.push_back({p->atom, p->power + q->power});
      ++p, ++q;
    }
  }
  return result;
}

/// Sorts, adds up what has the same monomial, and leaves out what is zero.
Polynomial collected(Polynomial terms) {
  std::ranges::stable_sort(terms, {}, &Term::monomial);
  Polynomial result;
  for (Term& term : terms) {
    if (!result.empty() && result.back().monomial == term.monomial)
      result.back().coefficient = add_up(result.back().coefficient, term.coefficient);
    else
      result.push_back(std::move(term));
  }
  std::erase_if(result, [](const Term& term) { return may_be_zero(term.coefficient); });
  return result;
}

Polynomial scaled_by(Polynomial p, const Interval& factor) {
  for (Term& term : p) term.coefficient = multiply(term.coefficient, factor);
  return p;
}

Polynomial sum_of(const Polynomial& a, Polynomial b) {
  b.insert(b.end(), a.begin(), a.end());
  return collected(std::move(b));
}

Polynomial product_of(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const Term& p : a)
    for (const Term& q : b)
      result.push_back({multiply(p.monomial, q.monomial), multiply(p.coefficient, q.coefficient)});
  return collected(std::move(result));
}

}  // namespace

Interval written_number(double value) {
  if (value == std::round(value)) return value;
  return {std::nextafter(value, -infinite), std::nextafter(value, infinite)};
}

std::optional<Polynomial> NormalForms::of(NodeId root) {
  for (const NodeId id : graph_->reachable(std::span(&root, 1), {}))
    if (!known_.contains(id)) known_.emplace(id, find(id));
  const Polynomial& p = known_.at(root);
  if (!std::ranges::all_of(p, is_finite, &Term::coefficient)) return std::nullopt;
  return p;
}

bool NormalForms::is_constant(const Polynomial& p) const {
  return std::ranges::all_of(p, [&](const Term& term) {
    return std::ranges::all_of(
        term.monomial, [&](const Power& power) { return atoms_[static_cast<std::size_t>(power.atom)].constant; });
  });
}

Polynomial NormalForms::find(NodeId id) {
  const Node n = graph_->node(id);
  const auto at = [&](NodeId operand) -> const Polynomial& { return known_.at(operand); };
  Polynomial result;
  switch (n.op) {
    case Op::constant:
      if (graph_->constant_value(id) != 0.0) result.push_back({{}, written_number(graph_->constant_value(id))});
      return result;
    case Op::add:
      result = sum_of(at(n.a), at(n.b));
      break;
    case Op::sub:
      result = sum_of(at(n.a), scaled_by(at(n.b), -1.0));
      break;
    case Op::neg:
      return scaled_by(at(n.a), -1.0);
    case Op::mul:
      if (at(n.a).size() * at(n.b).size() > most_terms) return atom(id);
      result = product_of(at(n.a), at(n.b));
      break;
    case Op::div:
      return quotient(id, n);
    case Op::pow:
      return power(id, n);
    default:
      return atom(id);
  }
  return result.size() > most_terms ? atom(id) : result;
}

/// Denominators are constants, or the quotient is an atom.
Polynomial NormalForms::quotient(NodeId id, const Node& n) {
  const Polynomial& denominator = known_.at(n.b);
  if (denominator.empty() || !is_constant(denominator)) return atom(id);
  const bool single = denominator.size() == 1;
  const Polynomial whole = single ? denominator : atom(n.b);  // p + q as one
  Monomial inverse = whole.front().monomial;
  for (Power& power : inverse) power.power = -power.power;
  Polynomial result = known_.at(n.a);
  for (Term& term : result) {
    term.monomial = multiply(term.monomial, inverse);
    const Interval& by = whole.front().coefficient;
    if (by == Interval(1.0)) continue;
    const double quotient = term.coefficient.lower / by.lower;
    const bool exact = term.coefficient.width() == 0.0 && by.width() == 0.0 &&
                       std::fma(quotient, by.lower, -term.coefficient.lower) == 0.0;
    term.coefficient = exact ? Interval(quotient) : term.coefficient / by;
  }
  return collected(std::move(result));
}

Polynomial NormalForms::power(NodeId id, const Node& n) {
  const double exponent = graph_->is_constant(n.b) ? graph_->constant_value(n.b) : 0.0;
  if (!(exponent >= 1.0 && exponent <= most_power && exponent == std::round(exponent))) return atom(id);
  const Polynomial& base = known_.at(n.a);
  Polynomial result = base;
  for (int k = 1; k < static_cast<int>(exponent); ++k) {
    if (result.size() * base.size() > most_terms) return atom(id);
    result = product_of(result, base);
  }
  return result;
}

/// The expression as something of which nothing is known, except that it is the same for the same operands.
Polynomial NormalForms::atom(NodeId id) {
  if (const auto it = atom_of_node_.find(id); it != atom_of_node_.end()) return {{{{it->second, 1}}, 1.0}};
  const Node n = graph_->node(id);
  Atom made{n.op, id, false, {}};
  const int fresh = static_cast<int>(atoms_.size());
  int place = fresh;
  if (n.op == Op::symbol) {
    made.constant = parameters_.contains(id);
  } else if (n.op != Op::external) {
    std::vector<Monomial> key;
    graph_->for_each_operand(id, [&](NodeId operand) {
      const Polynomial& argument = known_.at(operand);
      key.push_back(argument.empty() ? Monomial() : argument.front().monomial);
      made.arguments.push_back(argument);
    });
    made.constant = std::ranges::all_of(made.arguments, [&](const Polynomial& p) { return is_constant(p); });
    std::vector<int>& alike = alike_[{n.op, std::move(key)}];
    const auto same = std::ranges::find_if(
        alike, [&](int other) { return atoms_[static_cast<std::size_t>(other)].arguments == made.arguments; });
    if (same != alike.end())
      place = *same;
    else
      alike.push_back(fresh);
  }
  if (place == fresh) atoms_.push_back(std::move(made));
  atom_of_node_.emplace(id, place);
  return {{{{place, 1}}, 1.0}};
}

namespace {

/// A strictly increasing function and its inverse.
struct Increasing {
  Op op;
  bool odd;
  Interval range;  // open
  Interval (*inverse)(Interval);
};

constexpr double right_angle = std::numbers::pi / 2.0;

const Increasing* increasing_function(Op op) {
  static const Increasing table[] = {
      {Op::exp, false, {0.0, infinite}, log},
      {Op::log, false, {-infinite, infinite}, exp},
      {Op::sqrt, false, {0.0, infinite}, sqr},
      {Op::sinh, true, {-infinite, infinite}, asinh},
      {Op::asinh, true, {-infinite, infinite}, sinh},
      {Op::tanh, true, {-1.0, 1.0}, atanh},
      {Op::atanh, true, {-infinite, infinite}, tanh},
      {Op::atan, true, {-right_angle, right_angle}, tan},
      {Op::asin, true, {-right_angle, right_angle}, sin},
  };
  const auto found = std::ranges::find(table, op, &Increasing::op);
  return found == std::end(table) ? nullptr : &*found;
}

bool is_positive(const Atom& atom) {
  return atom.op == Op::exp || atom.op == Op::cosh;
}

class PlainZeros {
 public:
  PlainZeros(std::span<const Atom> atoms, std::span<const Interval> values) : atoms_(atoms), values_(values) {}

  std::optional<Polynomial> of(const Polynomial& p) {
    std::optional<Polynomial> result = with_numbers(p);
    while (result && simplify(*result))
      if (!std::ranges::all_of(*result, is_finite, &Term::coefficient)) return std::nullopt;
    return result;
  }

 private:
  const Atom& atom(int k) const { return atoms_[static_cast<std::size_t>(k)]; }

  std::optional<Polynomial> with_numbers(const Polynomial& p) const {
    Polynomial result;
    for (const Term& term : p) {
      Term moving{{}, term.coefficient};
      for (const Power& power : term.monomial) {
        if (!atom(power.atom).constant) {
          moving.monomial.push_back(power);
          continue;
        }
        const Interval& value = values_[static_cast<std::size_t>(power.atom)];
        for (int k = 0; k < power.power; ++k) moving.coefficient = multiply(moving.coefficient, value);
        for (int k = 0; k > power.power; --k) moving.coefficient = moving.coefficient / value;
      }
      if (!is_finite(moving.coefficient)) return std::nullopt;
      result.push_back(std::move(moving));
    }
    return collected(std::move(result));
  }

  /// One step; returns whether there was one.
  bool simplify(Polynomial& p) {
    if (p.empty() || (p.size() == 1 && p.front().monomial.empty())) return false;  // a number
    return leave_out_factors(p) || undo_function(p) || undo_odd_functions(p);
  }

  /// The powers that all terms have, with their sign in mind: x for x^3, x^2 for x^4, nothing for exp(x).
  bool leave_out_factors(Polynomial& p) {
    Monomial common = p.front().monomial;
    for (const Term& term : p) {
      Monomial shared;
      for (const Power& power : common) {
        const auto found = std::ranges::find(term.monomial, power.atom, &Power::atom);
        if (found != term.monomial.end()) shared.push_back({power.atom, std::min(power.power, found->power)});
      }
      common = std::move(shared);
    }
    Monomial kept, inverse;
    for (const Power& power : common) {
      inverse.push_back({power.atom, -power.power});
      if (!is_positive(atom(power.atom))) kept.push_back({power.atom, power.power % 2 == 0 ? 2 : 1});
    }
    Polynomial rest = p;
    for (Term& term : rest) term.monomial = multiply(term.monomial, inverse);
    if (p.size() > 1 && !kept.empty() && has_one_sign(rest))
      rest = {{{}, sign_of(rest.front().coefficient) > 0 ? 1.0 : -1.0}};
    for (Term& term : rest) term.monomial = multiply(term.monomial, kept);
    rest = collected(std::move(rest));
    const bool changed = rest.size() != p.size() || kept != common;
    p = std::move(rest);
    return changed;
  }

  /// Even powers, and a number, all with the same sign.
  bool has_one_sign(const Polynomial& p) const {
    const auto never_negative = [&](const Power& power) {
      return power.power % 2 == 0 || is_positive(atom(power.atom));
    };
    return std::ranges::any_of(p, [](const Term& term) { return term.monomial.empty(); }) &&
           std::ranges::all_of(p, [&](const Term& term) {
             return sign_of(term.coefficient) == sign_of(p.front().coefficient) &&
                    std::ranges::all_of(term.monomial, never_negative);
           });
  }

  /// a f(u)^k + c, f increasing: the sign is that of a (u - f^-1((-c/a)^(1/k))).
  bool undo_function(Polynomial& p) const {
    const std::size_t numbers = p.front().monomial.empty() ? 1 : 0;
    if (p.size() != numbers + 1 || p.back().monomial.size() != 1) return false;
    const Power power = p.back().monomial.front();
    const Increasing* const f = increasing_function(atom(power.atom).op);
    if (power.power % 2 == 0 || (!f && power.power == 1)) return false;
    const Interval& factor = p.back().coefficient;
    Interval value = numbers == 0 ? Interval(0.0) : -p.front().coefficient / factor;
    if (power.power > 1 && !may_be_zero(value)) {
      const Interval size = sign_of(value) > 0 ? value : -value, root = pow(size, Interval(1.0) / double(power.power));
      value = sign_of(value) > 0 ? root : -root;
    }
    const double direction = sign_of(factor) > 0 ? 1.0 : -1.0;
    if (!f) {
      p = collected({{{}, multiply(value, -direction)}, {{{power.atom, 1}}, direction}});
      return true;
    }
    if (!(value.lower > f->range.lower && value.upper < f->range.upper)) return false;
    const std::optional<Polynomial> argument = with_numbers(atom(power.atom).arguments.front());
    if (!argument) return false;
    const bool at_zero = f->odd && numbers == 0;
    Polynomial result = *argument;
    if (!at_zero) result = sum_of(result, {{{}, -f->inverse(value)}});
    p = scaled_by(std::move(result), direction);
    return true;
  }

  /// x + 2*tanh(x) + sinh(3*x)^3: odd increasing functions of multiples of one argument vanish where it does.
  bool undo_odd_functions(Polynomial& p) const {
    if (p.size() < 2) return false;
    std::optional<Polynomial> argument;
    bool functions = false;
    for (const Term& term : p) {
      if (term.monomial.size() != 1 || term.monomial.front().power % 2 == 0 ||
          sign_of(term.coefficient) != sign_of(p.front().coefficient))
        return false;
      const Atom& base = atom(term.monomial.front().atom);
      const Increasing* const f = increasing_function(base.op);
      const bool odd = f && f->odd;
      functions = functions || odd;
      const std::optional<Polynomial> own =
          odd ? with_numbers(base.arguments.front()) : Polynomial{{{{term.monomial.front().atom, 1}}, 1.0}};
      if (!own || own->empty() || own->front().monomial.empty()) return false;
      if (!argument) argument = own;
      if (multiple(*own, *argument) <= 0) return false;
    }
    if (!functions) return false;
    p = scaled_by(*argument, sign_of(p.front().coefficient) > 0 ? 1.0 : -1.0);
    return true;
  }

  std::span<const Atom> atoms_;
  std::span<const Interval> values_;
};

}  // namespace

std::optional<Polynomial> plain_zeros(const Polynomial& p, std::span<const Atom> atoms,
                                      std::span<const Interval> values) {
  return PlainZeros(atoms, values).of(p);
}

int multiple(const Polynomial& a, const Polynomial& b) {
  if (a.size() != b.size() || a.empty()) return 0;
  const Interval &first = a.front().coefficient, &second = b.front().coefficient;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].monomial != b[k].monomial) return 0;
    const Interval p = multiply(a[k].coefficient, second), q = multiply(b[k].coefficient, first);
    if (p.upper < q.lower || q.upper < p.lower) return 0;
  }
  return sign_of(first) * sign_of(second);
}

}  // namespace saltus
