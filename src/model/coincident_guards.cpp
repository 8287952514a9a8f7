#include "model/coincident_guards.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/program/program.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "model/rehome.hpp"

namespace saltus {

using Groups = std::vector<std::vector<Expr>>;

/// The symbols of a list, found by their nodes.
class SymbolOrder {
 public:
  void add(const std::vector<Expr>& symbols) {
    for (const Expr& symbol : symbols) {
      if (symbol.graph()) place_.try_emplace(symbol.id(), symbols_.size());
      symbols_.push_back(symbol);
    }
  }
  /// The places of those that occur in the functions, in the order of the list.
  std::vector<std::size_t> occurring(const std::vector<Expr>& functions, std::span<const SymbolKind> kinds) const {
    std::vector<std::size_t> places;
    const auto note = [&](const std::vector<Expr>& found) {
      for (const Expr& symbol : found)
        if (const auto it = place_.find(symbol.id()); it != place_.end()) places.push_back(it->second);
    };
    for (const SymbolKind kind : kinds) note(symbols_of(functions, kind));
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
  }
  std::vector<Expr> at(const std::vector<std::size_t>& places) const {
    std::vector<Expr> symbols;
    for (const std::size_t place : places) symbols.push_back(symbols_[place]);
    return symbols;
  }

 private:
  std::vector<Expr> symbols_;
  std::unordered_map<NodeId, std::size_t> place_;
};

/// A program of what occurs in the functions alone: there are as many pairs of functions as inputs. Relations inside of
/// functions are not inputs: they have the truth of the point.
struct SampledFunctions {
  SampledFunctions(std::vector<Expr> functions, const SymbolOrder& inputs, const SymbolOrder& all_parameters)
      : count(functions.size()) {
    constexpr SymbolKind moving[] = {SymbolKind::time, SymbolKind::variable, SymbolKind::derivative,
                                     SymbolKind::discrete};
    constexpr SymbolKind constant[] = {SymbolKind::parameter};
    const std::vector<std::size_t> used = inputs.occurring(functions, moving);
    size = used.size();
    for (const Expr& input : inputs.at(used))
      discrete.push_back(input.graph()->symbol_of(input.id()).kind == SymbolKind::discrete);
    switches = !locks_of(functions).empty() || std::ranges::find(discrete, 1) != discrete.end();
    parameters = all_parameters.occurring(functions, constant);
    program = Program(Groups{inputs.at(used), all_parameters.at(parameters)}, Groups{std::move(functions)},
                      {.backend = Backend::interpreter});  // native code would take longer to make than it runs
  }

  std::size_t count, size = 0;          // of functions, and of inputs
  std::vector<char> discrete;           // by input: it may be a truth value
  bool switches = false;                // the functions may agree in some positions of switches only
  std::vector<std::size_t> parameters;  // those that occur
  Program program;
};

namespace {

constexpr int points = 64, few_lines = 24, few_zeros = 4, many_lines = 400, many_zeros = 64;

/// Some functions at points of the space of all their inputs, for given values of the parameters.
class Sampler {
 public:
  Sampler(const SampledFunctions& functions, std::span<const double> parameters)
      : functions_(functions), work_(functions.program.workspace()) {
    for (const std::size_t place : functions.parameters) parameters_.push_back(parameters[place]);
  }
  std::size_t size() const { return functions_.size; }
  bool switches() const { return functions_.switches; }
  /// Magnitudes over many decades, so that thresholds of any size are met; or small ones, for exponential functions.
  std::vector<double> point(std::mt19937& dice, bool small = false) const {
    std::uniform_real_distribution<double> decade(-2.0, small ? 1.0 : 4.0), fraction(0.0, 1.0);
    std::vector<double> p(size());
    for (std::size_t j = 0; j < p.size(); ++j) {
      p[j] = (fraction(dice) < 0.5 ? -1.0 : 1.0) * std::pow(10.0, decade(dice));
      if (functions_.discrete[j] && fraction(dice) < 0.8) p[j] = fraction(dice) < 0.5 ? 0.0 : 1.0;
    }
    return p;
  }
  /// A point on a line through another one: truths are the same.
  std::vector<double> another(const std::vector<double>& from, std::mt19937& dice, bool small) const {
    std::vector<double> p = point(dice, small);
    for (std::size_t j = 0; j < p.size(); ++j)
      if (functions_.discrete[j] && (from[j] == 0.0 || from[j] == 1.0)) p[j] = from[j];
    return p;
  }
  std::vector<double> at(const std::vector<double>& p) {
    std::vector<double> g(functions_.count);
    const double* in[] = {p.data(), parameters_.data()};
    double* const out[] = {g.data()};
    functions_.program(in, out, work_);
    return g;
  }

 private:
  const SampledFunctions& functions_;
  std::vector<double> parameters_;
  Workspace work_;
};

/// How two functions with the same signs everywhere are related at the zeros of each.
struct Relation {
  bool coincide = false;
  int sign = 0;
  bool first_is_flat = false;  // the slope of the first one vanishes at its zeros, that of the second does not
};

/// The largest number in an expression: what is added to it and taken away again has lost the digits below.
double largest_number(const Expr& f) {
  double largest = 0.0;
  if (!f.graph()) return largest;
  const Graph& graph = *f.graph();
  const NodeId root = f.id();
  for (const NodeId id : graph.reachable(std::span(&root, 1), {}))
    if (graph.is_constant(id)) largest = std::max(largest, std::abs(graph.constant_value(id)));
  return largest;
}

std::vector<Expr> moving_symbols(const Expr& f) {
  std::vector<Expr> symbols;
  for (const SymbolKind kind : {SymbolKind::time, SymbolKind::variable, SymbolKind::derivative})
    for (const Expr& s : symbols_of(std::span(&f, 1), kind)) symbols.push_back(s);
  return symbols;
}

/// Whether the slopes of a function are constants: errors of the state then leave its time derivative alone. `home`: a
/// copy of a frozen graph, made when it is first needed.
bool is_linear(Expr f, std::shared_ptr<Graph>& home) {
  if (f.graph() && f.graph()->frozen()) {
    if (!home) home = f.graph()->clone();
    rehome(f, home);
  }
  const SparseExprMatrix slopes = jacobian(std::span(&f, 1), moving_symbols(f));
  return std::all_of(slopes.entries.begin(), slopes.entries.end(),
                     [](const auto& entry) { return moving_symbols(entry.value).empty(); });
}

Relation relate(Sampler& pair, double rounding, std::mt19937& dice) {
  Relation result;
  int found = 0, flat_first = 0;
  const int lines = pair.switches() ? many_lines : few_lines, zeros_wanted = pair.switches() ? many_zeros : few_zeros;
  for (int line = 0; line < lines && found < zeros_wanted; ++line) {
    const bool small = line % 2 == 1;
    const std::vector<double> a = pair.point(dice, small), b = pair.another(a, dice, small);
    const auto there = [&](double s) {
      std::vector<double> p(a.size());
      for (std::size_t j = 0; j < p.size(); ++j) p[j] = a[j] + s * (b[j] - a[j]);
      return pair.at(p);
    };
    for (const std::size_t who : {std::size_t{0}, std::size_t{1}}) {
      double low = 0.0, high = 1.0;
      const double first = there(low)[who], last = there(high)[who];
      if (!(first * last < 0.0)) continue;
      // down to neighbouring points: the ends of the line may be far away
      std::vector<double> below = a, above = b, middle(a.size());
      for (int k = 0; k < 200; ++k) {
        for (std::size_t j = 0; j < middle.size(); ++j) middle[j] = 0.5 * (below[j] + above[j]);
        const double s = 0.5 * (low + high);
        const bool before = pair.at(middle)[who] * first > 0.0;
        (before ? below : above) = middle;
        (before ? low : high) = s;
      }
      const double zero = 0.5 * (low + high), far = 1e-3, near = 1e-6;
      if (zero < 2.0 * far || zero > 1.0 - 2.0 * far) continue;
      const auto g = pair.at(below), left = there(zero - far), right = there(zero + far), l = there(zero - near),
                 r = there(zero + near);
      // what rounding errors of the point, and of its place on the line, explain
      std::vector<double> noise(2, rounding);
      for (const int pattern : {0x55555555, 0x33333333, -1}) {
        std::vector<double> p(a.size());
        for (std::size_t j = 0; j < p.size(); ++j)
          p[j] = below[j] * (1.0 + ((pattern >> (j % 31)) & 1 ? 4.0 : -4.0) * std::numeric_limits<double>::epsilon());
        const auto moved = pair.at(p);
        for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
          noise[k] = std::max(noise[k], 8.0 * std::abs(moved[k] - g[k]));
      }
      const auto behind = pair.at(above);
      // one function may not know the place of its zero better than this
      const double place = rounding > 0.0 ? rounding / std::max(std::abs(r[who] - l[who]) / (2.0 * near), 1e-300) : 0.0;
      const auto is_lost = [](double value) { return value == 0.0 || !std::isfinite(value); };
      if (is_lost(left[0]) || is_lost(left[1]) || is_lost(right[0]) || is_lost(right[1])) continue;
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
        if (!((left[k] < 0.0) != (right[k] < 0.0))) return result;
        if (!(std::abs(g[k]) <=
              noise[k] + 2.0 * std::abs(behind[k] - g[k]) + 4.0 * place * std::abs(r[k] - l[k]) / (2.0 * near)))
          return result;
      }
      const int sign = (left[0] > 0.0) == (left[1] > 0.0) ? +1 : -1;
      if (result.sign != 0 && sign != result.sign) return result;
      result.sign = sign;
      ++found;
      const auto slope = [&](std::size_t k) {
        return std::abs((r[k] - l[k]) / near) / std::abs((right[k] - left[k]) / far);
      };
      flat_first += slope(0) < 1e-3 && slope(1) >= 1e-3;
    }
  }
  result.coincide = found >= 2;
  result.first_is_flat = flat_first > 0;
  return result;
}

}  // namespace

CoincidentGuards::CoincidentGuards(std::vector<Expr> functions, Groups inputs, std::vector<Expr> parameters,
                                   std::span<const double> values)
    : functions_(std::move(functions)), inputs_(std::move(inputs)), parameters_(std::move(parameters)) {
  if (functions_.size() > 1) all_ = std::make_shared<SampledFunctions>(functions_, input_order(), parameter_order());
  found_ = find(values);
  find_deciding();
  if (!deciding_.empty()) return;
  all_.reset();
  functions_.clear();
  inputs_.clear();
  parameters_.clear();
}

SymbolOrder CoincidentGuards::input_order() const {
  SymbolOrder order;
  for (const std::vector<Expr>& group : inputs_) order.add(group);
  return order;
}

SymbolOrder CoincidentGuards::parameter_order() const {
  SymbolOrder order;
  order.add(parameters_);
  return order;
}

void CoincidentGuards::find_deciding() {
  std::unordered_map<NodeId, std::vector<std::size_t>> users;  // by what moves: functions
  for (std::size_t i = 0; i < functions_.size(); ++i)
    for (const Expr& symbol : moving_symbols(functions_[i])) users[symbol.id()].push_back(i);
  std::vector<Expr> in_common;
  for (const auto& [symbol, list] : users)
    if (list.size() > 1)
      for (const std::size_t i : list) in_common.push_back(functions_[i]);
  if (in_common.empty()) return;
  std::unordered_set<NodeId> occurring;
  for (const Expr& symbol : symbols_of(in_common, SymbolKind::parameter)) occurring.insert(symbol.id());
  for (std::size_t k = 0; k < parameters_.size(); ++k)
    if (occurring.contains(parameters_[k].id())) deciding_.push_back(static_cast<int>(k));
}

bool CoincidentGuards::same_for(std::span<const double> before, std::span<const double> values) const {
  const auto same = [&](int k) { return before[static_cast<std::size_t>(k)] == values[static_cast<std::size_t>(k)]; };
  return std::all_of(deciding_.begin(), deciding_.end(), same) || find(values) == found_;
}

std::vector<Coincidence> CoincidentGuards::find(std::span<const double> values) const {
  const std::vector<Expr>& functions = functions_;
  std::vector<Coincidence> result(functions.size());
  if (!all_) return result;
  const SymbolOrder inputs = input_order(), parameters = parameter_order();
  std::shared_ptr<Graph> home;
  std::mt19937 dice(20011);  // the same points in every run
  Sampler all(*all_, values);
  std::vector<std::uint64_t> signs(functions.size(), 0);
  for (int k = 0; k < points; ++k) {
    std::vector<double> p = all.point(dice);
    const std::vector<double> g = all.at(p);
    for (double& value : p)
      if (value != 0.0 && value != 1.0) value = std::copysign(std::log1p(std::abs(value)), value);
    const std::vector<double> nearer = all.at(p);  // where a value is lost, in exp(-1000) for example
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double value = g[i] != 0.0 && !std::isnan(g[i]) ? g[i] : nearer[i];
      signs[i] |= static_cast<std::uint64_t>(value > 0.0) << k;
    }
  }
  std::map<std::uint64_t, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < signs.size(); ++i) alike[signs[i] & 1 ? ~signs[i] : signs[i]].push_back(i);
  constexpr std::size_t too_many = 200;  // functions whose signs never change: far thresholds of many cells
  for (const auto& [signature, members] : alike) {
    if (members.size() < 2 || members.size() > too_many) continue;
    std::vector<std::size_t> leaders;
    for (const std::size_t i : members) {
      bool joined = false;
      for (std::size_t& leader : leaders) {
        const std::vector<Expr> two{functions[leader], functions[i]};
        const auto shared = [&](SymbolKind kind) {
          const auto p = symbols_of(std::span(two).first(1), kind), q = symbols_of(std::span(two).last(1), kind);
          return std::any_of(p.begin(), p.end(), [&](const Expr& s) {
            return std::any_of(q.begin(), q.end(), [&](const Expr& o) { return o.same(s); });
          });
        };
        if (!shared(SymbolKind::variable) && !shared(SymbolKind::time) && !shared(SymbolKind::derivative)) continue;
        const SampledFunctions both(two, inputs, parameters);
        Sampler pair(both, values);
        double largest = 0.0;
        for (const Expr& f : two) largest = std::max(largest, largest_number(f));
        const Relation relation = relate(pair, 4.0 * std::numeric_limits<double>::epsilon() * largest, dice);
        if (!relation.coincide) continue;
        joined = true;
        // the one with a slope leads, or else the simpler one
        if (relation.first_is_flat || (!is_linear(functions[leader], home) && is_linear(functions[i], home))) {
          for (Coincidence& c : result)
            if (c.with == static_cast<int>(leader)) c = {static_cast<int>(i), c.sign * relation.sign};
          result[leader] = {static_cast<int>(i), relation.sign};
          leader = i;
        } else {
          result[i] = {static_cast<int>(leader), relation.sign};
        }
        break;
      }
      if (!joined) leaders.push_back(i);
    }
  }
  return result;
}

}  // namespace saltus
