#include "modelica/flatten/clocks.hpp"

#include <limits>
#include <numeric>

namespace saltus::modelica {

using ClockKind = ClockOperator::Kind;

namespace {

[[noreturn]] void too_large() {
  throw ClockFault{"a factor or an interval of these clocks has more than 63 bits"};
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) too_large();
  return result;
}

std::int64_t total(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) too_large();
  return result;
}

std::string form(const SubClock& clock) {
  return "at ticks " + to_string(clock.first) + " + " + to_string(clock.step) + " k";
}

bool same_ticks(const SubClock& a, const SubClock& b) {
  return a.first == b.first && a.step == b.step;
}

/// to = {first + shift*step, factor*step} of from = {first, step}.
struct Relation {
  std::size_t to;
  Rational factor, shift;
};

}  // namespace

Rational::Rational(std::int64_t numerator, std::int64_t denominator) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  if (denominator == 0 || numerator == least || denominator == least) too_large();
  const std::int64_t common = std::gcd(numerator, denominator);
  const std::int64_t sign = denominator < 0 ? -1 : 1;
  numerator_ = sign * numerator / common;
  denominator_ = sign * denominator / common;
}

Rational operator+(const Rational& a, const Rational& b) {
  const std::int64_t common = std::gcd(a.denominator_, b.denominator_);
  const std::int64_t own = a.denominator_ / common, other = b.denominator_ / common;
  return {total(product(a.numerator_, other), product(b.numerator_, own)), product(a.denominator_, other)};
}

Rational operator-(const Rational& a, const Rational& b) {
  return a + Rational(-b.numerator_, b.denominator_);
}

Rational operator*(const Rational& a, const Rational& b) {
  const Rational left(a.numerator_, b.denominator_), right(b.numerator_, a.denominator_);  // in lowest terms first
  return {product(left.numerator_, right.numerator_), product(left.denominator_, right.denominator_)};
}

Rational operator/(const Rational& a, const Rational& b) {
  return a * Rational(b.denominator_, b.numerator_);
}

std::string to_string(const Rational& number) {
  const std::string text = std::to_string(number.numerator());
  return number.is_integer() ? text : text + "/" + std::to_string(number.denominator());
}

std::vector<SubClock> infer_clocks(std::span<const std::string> names, std::span<const ClockConversion> conversions,
                                   std::span<const ClockLabel> labels, bool events) {
  const std::size_t size = names.size();
  std::vector<std::vector<Relation>> near(size);
  for (const ClockConversion& c : conversions) {
    Rational factor = 1, shift = 0;
    if (c.kind == ClockKind::sub_sample || c.kind == ClockKind::super_sample) {
      if (c.factor == 0) continue;
      factor = c.kind == ClockKind::sub_sample ? Rational(c.factor) : Rational(1, c.factor);
    } else if (c.kind == ClockKind::shift_sample || c.kind == ClockKind::back_sample) {
      shift = Rational(c.kind == ClockKind::shift_sample ? c.factor : -c.factor, c.resolution);
    } else {
      continue;
    }
    near[c.from].push_back({c.to, factor, shift});
    near[c.to].push_back({c.from, Rational(1) / factor, (Rational(0) - shift) / factor});
  }
  // components with known ratios: positions by that of their first member
  std::vector<SubClock> place(size), result(size);
  std::vector<std::size_t> component(size, size);
  std::vector<std::vector<std::size_t>> members;
  for (std::size_t root = 0; root < size; ++root) {
    if (component[root] != size) continue;
    std::vector<std::size_t>& queue = members.emplace_back(1, root);
    component[root] = members.size() - 1;
    place[root] = {0, 1};
    for (std::size_t n = 0; n < queue.size(); ++n) {
      const SubClock from = place[queue[n]];
      for (const Relation& relation : near[queue[n]]) {
        const SubClock to{from.first + relation.shift * from.step, relation.factor * from.step};
        if (component[relation.to] == size) {
          component[relation.to] = members.size() - 1;
          place[relation.to] = to;
          queue.push_back(relation.to);
        } else if (!same_ticks(place[relation.to], to)) {
          throw ClockFault{"clocks contradict each other: " + names[relation.to] + " would tick " + form(to) + " and " +
                           form(place[relation.to])};
        }
      }
    }
  }
  std::vector<char> known(members.size(), 0);
  const auto fix = [&](std::size_t part, const SubClock& clock) {
    const std::size_t c = component[part];
    const Rational scale = clock.step / place[part].step;
    for (const std::size_t q : members[c])
      result[q] = {clock.first + (place[q].first - place[part].first) * scale, place[q].step * scale};
    known[c] = 1;
  };
  for (const ClockLabel& label : labels) {
    const SubClock clock{0, label.step};
    if (!known[component[label.part]])
      fix(label.part, clock);
    else if (!same_ticks(result[label.part], clock))
      throw ClockFault{"clocks contradict each other: " + names[label.part] + " would tick " +
                       form(result[label.part]) + " and " + form(clock)};
  }
  if (labels.empty() && size > 0) {
    std::size_t largest = 0;
    for (std::size_t c = 1; c < members.size(); ++c)
      if (members[c].size() > members[largest].size()) largest = c;
    std::size_t fastest = members[largest].front();
    for (const std::size_t q : members[largest])
      if (place[q].step.value() < place[fastest].step.value()) fastest = q;
    fix(fastest, {0, 1});
  }
  for (std::size_t part = 0; part < size; ++part)
    if (!known[component[part]]) throw ClockFault{"no clock can be found for " + names[part]};
  for (const ClockConversion& c : conversions) {
    if (c.factor != 0 || (c.kind != ClockKind::sub_sample && c.kind != ClockKind::super_sample)) continue;
    const bool slower = c.kind == ClockKind::sub_sample;
    const Rational ratio = slower ? result[c.to].step / result[c.from].step : result[c.from].step / result[c.to].step;
    if (!ratio.is_integer() || ratio.numerator() < 1 || !(result[c.from].first == result[c.to].first))
      throw ClockFault{std::string("the factor of ") + (slower ? "subSample" : "superSample") + " would be " +
                       to_string(ratio) + ": " + names[c.to] + " ticks " + form(result[c.to]) + ", " + names[c.from] +
                       " ticks " + form(result[c.from])};
  }
  for (std::size_t part = 0; part < size; ++part) {
    if (result[part].first.numerator() < 0) throw ClockFault{names[part] + " would tick before its base clock begins"};
    if (events && !(result[part].first.is_integer() && result[part].step.is_integer()))
      throw ClockFault{names[part] + " would tick between the ticks of an event clock (" + form(result[part]) + ")"};
  }
  return result;
}

}  // namespace saltus::modelica
