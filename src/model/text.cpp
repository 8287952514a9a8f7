// Writing a model as Base Modelica.
//
// A graph has numbers only: truth values are 0 and 1, enumerations their ordinal numbers. A text has types, so each
// expression is written for the type that its place asks for. Sums and products are written with all parentheses: the
// text is to give the same graph, and a reader may balance a chain of terms.
#include <saltus/model/text.hpp>

#include <saltus/base/error.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace saltus {

namespace {

using Kind = ModelData::Action::Kind;
using Literals = std::vector<std::string>;

constexpr std::size_t most_printed_operations = 1'000'000;

[[noreturn]] void refuse(const ModelData& m, const std::string& what) {
  throw ModelError("model '" + m.name + "' cannot be written as text: " + what);
}

/// A name between quotes.
std::string quoted(std::string_view name) {
  std::string result = "'";
  for (const char c : name) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

/// A text between double quotes.
std::string string_literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + '"';
}

/// What the place of an expression asks for.
struct Wanted {
  VariableType type = VariableType::real;
  const Literals* literals = nullptr;  ///< of an enumeration
};

/// The declared type of a symbol.
Wanted wanted_type(VariableType type, const Literals& literals) {
  return {type, type == VariableType::enumeration ? &literals : nullptr};
}

std::string causality(const VariableDetails& details) {
  return details.causality == Causality::input ? "input " : details.causality == Causality::output ? "output " : "";
}

class Writer {
 public:
  explicit Writer(const ModelData& m) : m_(m), graph_(*m.graph) {}
  std::string text(const std::string& experiment);

 private:
  /// A piece of text, or an expression that is still to be written.
  struct Item {
    std::string text;
    NodeId node = no_node;
    Wanted wanted;
  };

  bool is_implied(const ModelData::Discrete& d) const;
  void collect_symbols();
  void collect_inputs();
  void collect_enumerations();
  void declarations();
  std::string declaration(const std::string& prefix, const std::string& name, const VariableDetails& details,
                          const std::string& attributes, const std::string& value) const;
  std::string attributes(const std::string& name, double start, const VariableDetails& details) const;
  void equations(const std::vector<ModelData::NamedEquation>& list, bool with_surfaces);
  void clauses();
  void actions(const ModelData::Clause& clause);
  bool moves_input(const ModelData::Clause& clause) const;
  std::string annotation(const Expr& lhs, const Expr& rhs);

  std::string write(const Expr& e, const Wanted& wanted) const;
  std::string write(const BoolExpr& e) const { return write(e.expr(), {VariableType::boolean}); }
  void expand(NodeId id, const Wanted& wanted, std::vector<Item>& out) const;
  void expand_symbol(NodeId id, const Wanted& wanted, std::vector<Item>& out) const;
  void expand_number(double value, const Wanted& wanted, std::vector<Item>& out) const;
  void expand_truth(const Node& n, std::vector<Item>& out) const;
  bool is_truth(NodeId id) const;
  Wanted type_of(const Expr& symbol) const;
  std::string type_name(const VariableDetails& details) const;

  const ModelData& m_;
  const Graph& graph_;
  std::unordered_map<NodeId, std::string> names_;  ///< of all symbols, as they are written
  std::unordered_map<NodeId, Wanted> types_;       ///< of symbols that are not Real
  std::map<Literals, std::string> enumerations_;
  std::set<NodeId> of_inputs_;                  ///< inputs along lines, and times at which inputs change
  std::map<NodeId, std::string> before_input_;  ///< what stands for parts of pre(u)
  std::string text_;
};

// ----------------------------------------------------------------------------------------------------------
// expressions

// True if a node gives a truth value.
bool Writer::is_truth(NodeId id) const {
  const Node& n = graph_.node(id);
  if (n.op == Op::symbol) {
    const auto it = types_.find(id);
    return it != types_.end() && it->second.type == VariableType::boolean;
  }
  const OpKind kind = operators[static_cast<std::size_t>(n.op)].kind;
  return kind == OpKind::relation || kind == OpKind::logic;
}

// Items are taken from the end of a stack, so that the depth of an expression does not matter.
std::string Writer::write(const Expr& e, const Wanted& wanted) const {
  std::string result;
  std::vector<Item> stack, parts;
  std::size_t operations = 0;
  const auto push = [&] {
    for (auto it = parts.rbegin(); it != parts.rend(); ++it) stack.push_back(std::move(*it));
    parts.clear();
  };
  if (e.graph())
    stack.push_back({{}, e.id(), wanted});
  else
    expand_number(e.constant_value(), wanted, parts);
  push();
  while (!stack.empty()) {
    const Item item = std::move(stack.back());
    stack.pop_back();
    if (item.node == no_node) {
      result += item.text;
      continue;
    }
    if (++operations > most_printed_operations) refuse(m_, "an expression has more than a million operations");
    expand(item.node, item.wanted, parts);
    push();
  }
  return result;
}

void Writer::expand_number(double value, const Wanted& wanted, std::vector<Item>& out) const {
  if (!std::isfinite(value)) refuse(m_, "a number in it is not finite");
  if (wanted.type == VariableType::boolean) return out.push_back({value != 0.0 ? "true" : "false"});
  if (wanted.literals && value >= 1.0 && value <= static_cast<double>(wanted.literals->size()))
    return out.push_back(
        {enumerations_.at(*wanted.literals) + "." + quoted((*wanted.literals)[static_cast<std::size_t>(value) - 1])});
  // an Integer has no exponent
  const bool is_integer =
      wanted.type == VariableType::integer && value == std::floor(value) && std::abs(value) < 9007199254740992.0;
  const std::string digits = is_integer ? std::to_string(static_cast<long long>(value)) : number_text(value);
  out.push_back({std::signbit(value) ? "(" + digits + ")" : digits});
}

void Writer::expand_symbol(NodeId id, const Wanted& wanted, std::vector<Item>& out) const {
  const std::string& name = names_.at(id);
  const auto it = types_.find(id);
  const Wanted own = it == types_.end() ? Wanted{} : it->second;
  if (wanted.literals && (!own.literals || *own.literals != *wanted.literals)) {
    out.push_back({enumerations_.at(*wanted.literals) + "("});
    expand_symbol(id, {VariableType::integer}, out);
    return out.push_back({")"});
  }
  if (own.type == wanted.type || (own.type == VariableType::integer && wanted.type == VariableType::real))
    return out.push_back({name});
  if (wanted.type == VariableType::boolean) return out.push_back({"(" + name + " > 0 or " + name + " < 0)"});
  if (own.type == VariableType::enumeration) return out.push_back({"Integer(" + name + ")"});
  if (own.type == VariableType::boolean) return out.push_back({"(if " + name + " then 1 else 0)"});
  out.push_back({"integer(" + name + ")"});
}

// A relation or a logical operation, as a truth value.
void Writer::expand_truth(const Node& n, std::vector<Item>& out) const {
  const Wanted truth{VariableType::boolean};
  const auto relation = [&](NodeId g, const char* sign) {
    const Node& difference = graph_.node(g);
    const bool is_difference = difference.op == Op::sub;
    // a - (-b) would become a + b; a graph holds it where -b > a was turned round
    if (is_difference && graph_.node(difference.b).op == Op::neg) {
      out.push_back({"not ("});
      out.push_back({{}, difference.b, {}});
      out.push_back({std::string_view(sign) == " > " ? " >= " : " > "});
      out.push_back({{}, difference.a, {}});
      return out.push_back({")"});
    }
    out.push_back({{}, is_difference ? difference.a : g, {}});
    out.push_back({sign});
    if (is_difference)
      out.push_back({{}, difference.b, {}});
    else
      out.push_back({"0"});
  };
  const bool is_live = n.op == Op::live_positive || n.op == Op::live_nonnegative;
  out.push_back({is_live ? "noEvent(" : "("});
  switch (n.op) {
    case Op::positive:
    case Op::live_positive:
      relation(n.a, " > ");
      break;
    case Op::nonnegative:
    case Op::live_nonnegative:
      relation(n.a, " >= ");
      break;
    case Op::logical_not: {
      // not a >= b is b > a: a graph may hold the difference a - b in this form only
      const Node& inner = graph_.node(n.a);
      const bool is_strict = inner.op == Op::positive;
      if ((is_strict || inner.op == Op::nonnegative) && graph_.node(inner.a).op == Op::sub) {
        out.push_back({{}, graph_.node(inner.a).b, {}});
        out.push_back({is_strict ? " >= " : " > "});
        out.push_back({{}, graph_.node(inner.a).a, {}});
        break;
      }
      out.push_back({"not "});
      out.push_back({{}, n.a, truth});
      break;
    }
    default:
      out.push_back({{}, n.a, truth});
      out.push_back({n.op == Op::logical_and ? " and " : " or "});
      out.push_back({{}, n.b, truth});
  }
  out.push_back({")"});
}

void Writer::expand(NodeId id, const Wanted& wanted, std::vector<Item>& out) const {
  const Node& n = graph_.node(id);
  if (n.op == Op::constant) return expand_number(graph_.constant_value(id), wanted, out);
  if (n.op == Op::symbol) return expand_symbol(id, wanted, out);
  if (n.op == Op::external) refuse(m_, "it calls the foreign function '" + graph_.call_of(id).function->name + "'");
  if (is_truth(id)) {
    if (wanted.type == VariableType::boolean) return expand_truth(n, out);
    out.push_back({"(if "});
    expand_truth(n, out);
    return out.push_back({" then 1 else 0)"});
  }
  if (n.op == Op::select) {
    out.push_back({"(if "});
    out.push_back({{}, n.a, {VariableType::boolean}});
    out.push_back({" then "});
    out.push_back({{}, n.b, wanted});
    out.push_back({" else "});
    out.push_back({{}, n.c, wanted});
    return out.push_back({")"});
  }
  if (wanted.type == VariableType::boolean) {  // a number that is not zero is true
    const Expr number(m_.graph, id);
    const std::string value = write(number, {});
    return out.push_back({"(" + value + " > 0 or " + value + " < 0)"});
  }
  if (wanted.type == VariableType::enumeration) {
    out.push_back({enumerations_.at(*wanted.literals) + "("});
    out.push_back({{}, id, {VariableType::integer}});
    return out.push_back({")"});
  }
  const auto binary = [&](const char* sign, const Wanted& of) {
    out.push_back({"("});
    out.push_back({{}, n.a, of});
    out.push_back({sign});
    out.push_back({{}, n.b, of});
    out.push_back({")"});
  };
  const auto call = [&](std::string_view name) {
    out.push_back({std::string(name) + "("});
    out.push_back({{}, n.a, {}});
    if (operators[static_cast<std::size_t>(n.op)].operands > 1) {
      out.push_back({", "});
      out.push_back({{}, n.b, {}});
    }
    out.push_back({")"});
  };
  const bool is_integer = wanted.type == VariableType::integer;
  switch (n.op) {
    case Op::add:
      return binary(" + ", wanted);
    case Op::sub:
      return binary(" - ", wanted);
    case Op::mul:
      return binary("*", wanted);
    case Op::neg:
      out.push_back({"(-"});
      out.push_back({{}, n.a, wanted});
      return out.push_back({")"});
    case Op::floor:
      return call(is_integer ? "integer" : "floor");
    case Op::live_floor:
      out.push_back({"noEvent("});
      call(is_integer ? "integer" : "floor");
      return out.push_back({")"});
    default:
      break;
  }
  if (is_integer) out.push_back({"integer("});
  if (n.op == Op::div)
    binary("/", {});
  else if (n.op == Op::pow)
    binary("^", {});
  else
    call(operators[static_cast<std::size_t>(n.op)].name);
  if (is_integer) out.push_back({")"});
}

// ---------------------------------------------------------------------------------------------------------
// declarations

// True for hidden variables of samples, which the text does not declare. Other hidden ones, as those of clocks, are
// declared.
bool Writer::is_implied(const ModelData::Discrete& d) const {
  if (!d.hidden) return false;
  const auto is_own = [&](const auto& other) { return other.discrete.same(d.symbol); };
  if (std::ranges::any_of(m_.definitions, is_own)) return false;
  return std::ranges::none_of(m_.clauses, [&](const ModelData::Clause& clause) {
    return !clause.samples && !moves_input(clause) &&
           std::ranges::any_of(clause.actions, [&](const ModelData::Action& a) { return a.target.same(d.symbol); });
  });
}

void Writer::collect_symbols() {
  const auto add = [&](const Expr& symbol, const std::string& name, const VariableDetails& details) {
    names_[symbol.id()] = quoted(name);
    if (details.type != VariableType::real) types_[symbol.id()] = wanted_type(details.type, details.literals);
  };
  names_[m_.time.id()] = "time";
  names_[m_.initial_symbol.id()] = "initial()";
  names_[m_.terminal_symbol.id()] = "terminal()";
  for (const Expr& flag : {m_.initial_symbol, m_.terminal_symbol}) types_[flag.id()] = {VariableType::boolean};
  for (std::size_t k = 0; k < m_.variables.size(); ++k)
    add(m_.variables[k], m_.variable_info[k].name, *m_.variable_info[k].details);
  for (const auto& p : m_.parameters) add(p.symbol, p.name, *p.details);
  for (const auto& d : m_.discretes) {
    add(d.symbol, d.name, *d.details);
    if (d.boolean || d.pulse) types_[d.symbol.id()] = {VariableType::boolean};
    // the pulse of a sample bears the call as its name
    if (is_implied(d)) names_[d.symbol.id()] = d.name.substr(0, d.name.find(" #"));
  }
  for (const ModelData::Sample& s : m_.samples)
    if (!s.start.is_constant() || !s.interval.is_constant())
      names_[s.pulse.id()] = "sample(" + write(s.start, {}) + ", " + write(s.interval, {}) + ")";
  collect_inputs();
  for (std::size_t id = 0; id < graph_.size(); ++id) {
    const auto node = static_cast<NodeId>(id);
    if (graph_.node(node).op != Op::symbol) continue;
    const Symbol& symbol = graph_.symbol_of(node);
    if (symbol.kind == SymbolKind::derivative && names_.contains(symbol.base))
      names_[node] = "der(" + names_.at(symbol.base) + ")";
  }
  for (const auto& [symbol, before] : m_.pre_symbols) {
    const auto part = before_input_.find(symbol.id());
    names_[before.id()] = part != before_input_.end() ? part->second : "pre(" + names_.at(symbol.id()) + ")";
    if (const auto it = types_.find(symbol.id()); it != types_.end()) types_[before.id()] = it->second;
  }
}

// An input is written as its declaration. Its polynomial c_0 + c_1 (time - since) and the clauses that move it are made
// again when the text is read.
void Writer::collect_inputs() {
  const auto symbol = [&](int place) { return m_.discretes[static_cast<std::size_t>(place)].symbol.id(); };
  for (const ModelData::Input& input : m_.inputs) {
    const InputInfo& places = input.places;
    for (const int place : {places.next, places.previous}) of_inputs_.insert(symbol(place));
    if (input.held) continue;
    if (places.coefficients.size() > 2) refuse(m_, "the input '" + input.name + "' is smooth");
    const NodeId variable = m_.variables[static_cast<std::size_t>(places.variable)].id();
    of_inputs_.insert(variable);
    // pre(u) is the polynomial with the numbers from before; it is written as pre(u) + 0 (time - time)
    names_[symbol(places.coefficients[0])] = names_.at(variable);
    before_input_[symbol(places.coefficients[1])] = "0";
    before_input_[symbol(places.since)] = "time";
  }
}

void Writer::collect_enumerations() {
  const auto add = [&](const VariableDetails& details) {
    if (details.type == VariableType::enumeration && !enumerations_.contains(details.literals))
      enumerations_.emplace(details.literals, quoted("enumeration " + std::to_string(enumerations_.size() + 1)));
  };
  for (const auto& v : m_.variable_info) add(*v.details);
  for (const auto& p : m_.parameters) add(*p.details);
  for (const auto& d : m_.discretes) add(*d.details);
}

std::string Writer::type_name(const VariableDetails& details) const {
  if (details.type == VariableType::enumeration) return enumerations_.at(details.literals);
  return std::string(to_string(details.type));
}

Wanted Writer::type_of(const Expr& symbol) const {
  const auto it = types_.find(symbol.id());
  return it == types_.end() ? Wanted{} : it->second;
}

// start, min, max and unit.
std::string Writer::attributes(const std::string& name, double start, const VariableDetails& details) const {
  const Wanted type = wanted_type(details.type, details.literals);
  std::string result;
  const auto add = [&](const std::string& attribute) { result += (result.empty() ? "" : ", ") + attribute; };
  const auto expression = m_.start_values.find(name);
  if (expression != m_.start_values.end())
    add("start = " + write(expression->second, type));
  else if (std::isfinite(start))
    add("start = " + write(Expr(start), type));
  const auto bounds = m_.bound_values.find(name);
  const Expr min = bounds == m_.bound_values.end() ? Expr(details.min) : bounds->second.min;
  const Expr max = bounds == m_.bound_values.end() ? Expr(details.max) : bounds->second.max;
  if (!min.is_constant() || std::isfinite(min.constant_value())) add("min = " + write(min, type));
  if (!max.is_constant() || std::isfinite(max.constant_value())) add("max = " + write(max, type));
  if (!details.unit.empty()) add("unit = " + string_literal(details.unit));
  return result;
}

std::string Writer::declaration(const std::string& prefix, const std::string& name, const VariableDetails& details,
                                const std::string& attributes, const std::string& value) const {
  std::string line = "    " + prefix + type_name(details) + " " + quoted(name);
  if (!attributes.empty()) line += "(" + attributes + ")";
  if (!value.empty()) line += " = " + value;
  if (!details.description.empty()) line += " " + string_literal(details.description);
  return line + ";\n";
}

// In the order of the symbols, which decides how relations and sums are written down in a graph.
void Writer::declarations() {
  std::map<NodeId, std::string> lines;
  for (const auto& p : m_.parameters) {
    const std::string about = attributes("", std::numeric_limits<double>::quiet_NaN(), *p.details);
    const std::string value = write(Expr(p.value), wanted_type(p.details->type, p.details->literals));
    lines[p.symbol.id()] = declaration("parameter ", p.name, *p.details, about, value);
  }
  for (std::size_t k = 0; k < m_.variables.size(); ++k) {
    const VariableInfo& info = m_.variable_info[k];
    std::string about = attributes(info.name, info.start, *info.details);
    if (info.fixed) about += ", fixed = true";
    if (info.nominal != 1.0) about += ", nominal = " + number_text(info.nominal);
    lines[m_.variables[k].id()] = declaration(causality(*info.details), info.name, *info.details, about, "");
  }
  for (const auto& d : m_.discretes) {
    if (is_implied(d)) continue;
    VariableDetails details = *d.details;
    if (d.boolean) details.type = VariableType::boolean;
    const std::string about = attributes(d.name, d.start, details);
    lines[d.symbol.id()] = declaration("discrete " + causality(details), d.name, details, about, "");
  }
  for (const auto& [symbol, line] : lines) text_ += line;
}

// ------------------------------------------------------------------------------------------------------------
// equations

// The rule of the surfaces in an equation; it is written once for all of them.
std::string Writer::annotation(const Expr& lhs, const Expr& rhs) {
  std::vector<NodeId> roots;
  for (const Expr& side : {lhs, rhs})
    if (side.graph()) roots.push_back(side.id());
  std::string rule, nominal;
  for (const NodeId id : graph_.reachable(roots))
    for (const auto& surface : m_.surfaces) {
      if (!surface.relation.expr().graph() || surface.relation.expr().id() != id) continue;
      if (surface.nominal > 0.0)
        nominal = "__saltus_nominal = " + number_text(surface.nominal);
      else if (const std::string_view name = name_of(surface.rule); surface.rule != SurfaceRule::filippov)
        rule = "__saltus_surface = \"" + std::string(name) + "\"";
    }
  if (rule.empty() && nominal.empty()) return "";
  return " annotation(" + rule + (rule.empty() || nominal.empty() ? "" : ", ") + nominal + ")";
}

void Writer::equations(const std::vector<ModelData::NamedEquation>& list, bool with_surfaces) {
  for (const auto& [equation, name, where] : list) {
    if (equation.lhs.graph() && of_inputs_.contains(equation.lhs.id()) && name.starts_with("input ")) continue;
    text_ += "    " + write(equation.lhs, {}) + " = " + write(equation.rhs, {}) +
             (with_surfaces ? annotation(equation.lhs, equation.rhs) : "") + ";\n";
  }
}

void Writer::actions(const ModelData::Clause& clause) {
  const auto is_always = [](const ModelData::Action& action) {
    return action.only_if.expr().is_constant() && action.only_if.expr().constant_value() != 0.0;
  };
  for (auto it = clause.actions.begin(); it != clause.actions.end(); ++it) {
    const ModelData::Action& action = *it;
    const auto later = std::find_if(it + 1, clause.actions.end(), [&](const ModelData::Action& other) {
      return action.kind == Kind::reset && other.kind == Kind::reset && other.target.same(action.target);
    });
    if (later != clause.actions.end()) {  // the last reset of a variable counts, and a text has one
      if (!is_always(*later)) refuse(m_, "a clause resets " + names_.at(action.target.id()) + " twice");
      continue;
    }
    std::string line;
    switch (action.kind) {
      case Kind::reset:
        line = "reinit(" + names_.at(action.target.id()) + ", " + write(action.value, {}) + ")";
        break;
      case Kind::assign:
        line = names_.at(action.target.id()) + " = " + write(action.value, type_of(action.target));
        break;
      case Kind::terminate:
        line = "terminate(" + string_literal(action.message) + ")";
        break;
      case Kind::check:
        line = "assert(" + write(BoolExpr(action.value)) + ", " + string_literal(action.message) + ")";
        break;
      case Kind::record:
        continue;
    }
    text_ += is_always(action) ? "      " + line + ";\n"
                               : "      if " + write(action.only_if) + " then\n        " + line + ";\n      end if;\n";
  }
}

bool Writer::moves_input(const ModelData::Clause& clause) const {
  return !clause.actions.empty() && clause.actions.back().kind == Kind::assign &&
         of_inputs_.contains(clause.actions.back().target.id());
}

void Writer::clauses() {
  std::vector<std::vector<std::size_t>> followers(m_.clauses.size());
  for (std::size_t k = 0; k < m_.clauses.size(); ++k) {
    if (m_.clauses[k].touches) refuse(m_, "it records touches of a surface");
    if (m_.clauses[k].after >= 0) followers[static_cast<std::size_t>(m_.clauses[k].after)].push_back(k);
  }
  for (std::size_t k = 0; k < m_.clauses.size(); ++k) {
    if (m_.clauses[k].samples || m_.clauses[k].after >= 0 || moves_input(m_.clauses[k])) continue;
    const char* keyword = "    when ";
    for (std::size_t at = k;;) {
      text_ += keyword + write(m_.clauses[at].condition) + " then\n";
      actions(m_.clauses[at]);
      keyword = "    elsewhen ";
      if (followers[at].size() > 1) refuse(m_, "two clauses follow the same one");
      if (followers[at].empty()) break;
      at = followers[at].front();
    }
    text_ += "    end when;\n";
  }
}

std::string Writer::text(const std::string& experiment) {
  if (!m_.modes.empty()) refuse(m_, "it has the explicit mode '" + m_.modes.front().name + "'");
  if (m_.unbalanced) refuse(m_, "its equations are allowed to be unbalanced");
  if (m_.start_time) refuse(m_, "it depends on the time at which its runs begin");
  if (m_.scaling != Scaling::automatic) refuse(m_, "it says how to scale");
  if (m_.stabilisation != 0.0) refuse(m_, "it stabilises sliding");
  collect_symbols();
  collect_enumerations();
  const std::string name = quoted(m_.name);
  text_ = "//! base 0.1.0\npackage " + name + "\n";
  for (const auto& [literals, type] : enumerations_) {
    text_ += "  type " + type + " = enumeration(";
    for (std::size_t k = 0; k < literals.size(); ++k) text_ += (k > 0 ? ", " : "") + quoted(literals[k]);
    text_ += ");\n";
  }
  text_ += "  model " + name + "\n";
  declarations();
  if (!m_.initial_equations.empty()) text_ += "  initial equation\n";
  equations(m_.initial_equations, false);
  text_ += "  equation\n";
  equations(m_.equations, true);
  for (const auto& d : m_.definitions)
    text_ += "    " + names_.at(d.discrete.id()) + " = " + write(d.value, type_of(d.discrete)) +
             annotation(d.value, d.value) + ";\n";
  clauses();
  for (const auto& a : m_.assertions)
    text_ += "    assert(" + write(a.condition) + ", " + string_literal(a.message) + ");\n";
  if (!experiment.empty()) text_ += "    annotation(" + experiment + ");\n";
  return text_ + "  end " + name + ";\nend " + name + ";\n";
}

}  // namespace

std::string base_modelica(const Model& model, const std::string& annotation) {
  return Writer(model.data()).text(annotation);
}

}  // namespace saltus
