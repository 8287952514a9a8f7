#include "study/device_source.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "program/tape_text.hpp"

namespace saltus {

namespace {

std::string number_text_of(double value) {
  if (std::isnan(value)) return "(infinity - infinity)";
  if (std::isinf(value)) return value > 0 ? "infinity" : "(-infinity)";
  return fmt::format("({:a})", value);
}

/// The name of a function in the text. Throws UsageError for those that devices do not have.
std::string function_name(Op op) {
  switch (op) {
    case Op::fma:
      return "fused";
    case Op::sqrt:
      return "root";
    case Op::floor:
      return "whole";
    case Op::exp:
    case Op::log:
    case Op::sin:
    case Op::cos:
      return fmt::format("limited_{}", info(op).name);
    default:
      throw UsageError(fmt::format("the function '{}' has no text for devices", info(op).name));
  }
}

/// A tape as a function of pointers to its groups of inputs, then of outputs.
std::string function_of(const Tape& tape, const std::string& name) {
  const TapeWords words{.number = number_text_of,
                        .input = [](std::size_t group, std::uint32_t k) { return fmt::format("in{}[{}]", group, k); },
                        .output = [](std::size_t group, std::size_t k) { return fmt::format("out{}[{}]", group, k); },
                        .function = function_name};
  std::string text = "static void " + name + "(";
  auto out = std::back_inserter(text);
  for (std::size_t g = 0; g < tape.input_sizes.size(); ++g)
    fmt::format_to(out, "{}const double* in{}", g == 0 ? "" : ", ", g);
  for (std::size_t g = 0; g < tape.outputs.size(); ++g) fmt::format_to(out, ", double* out{}", g);
  return text + ") {\n" + tape_text(tape, words) + "}\n";
}

/// A table, and a function of Code that reads it.
class Writer {
 public:
  explicit Writer(const FlightTask& task) : task_(task), code_(*task.code) {}

  std::string run() {
    for (const FlightTape& tape : code_.tapes) {
      most_guards_ = std::max(most_guards_, tape.guards.size());
      most_clocks_ = std::max(most_clocks_, tape.clocks.size());
      most_data_ = std::max(most_data_, tape.data.size());
      most_bernstein_ = std::max(most_bernstein_, static_cast<std::size_t>(tape.first.back()));
    }
    tapes();
    tables();
    edges();
    return prologue + functions_ + tables_ + "struct Sizes {\n" + sizes() +
           "};\nstruct Code : Sizes, saltus::flight::FixedRooms<Sizes> {\n" + members() + "};\n" + epilogue;
  }

 private:
  static constexpr const char* prologue = R"(#include "base/inline_functions.hpp"
#include "study/device_driver.hpp"

#ifdef __CUDACC_RTC__
#define SALTUS_TABLE __constant__ const
#else
#define SALTUS_TABLE static const
#endif

namespace {

using saltus::flight::infinity;

inline double fused(double a, double b, double c) { return saltus::arithmetic::Kind<double>::fma(a, b, c); }
#ifdef __CUDACC_RTC__
inline double root(double x) { return ::sqrt(x); }
inline double whole(double x) { return ::floor(x); }
#else
inline double root(double x) { return __builtin_sqrt(x); }
inline double whole(double x) { return __builtin_floor(x); }
#endif
// beyond their limits the functions have no value here: lanes fly the member
inline double limited_sin(double x) {
  return saltus::flight::size_of(x) <= saltus::arithmetic::angle_limit ? saltus::arithmetic::sin(x)
                                                                         : infinity - infinity;
}
inline double limited_cos(double x) {
  return saltus::flight::size_of(x) <= saltus::arithmetic::angle_limit ? saltus::arithmetic::cos(x)
                                                                         : infinity - infinity;
}
inline double limited_exp(double x) {
  if (x < -750.0) return 0.0;  // below the smallest number
  return saltus::flight::size_of(x) <= saltus::arithmetic::exponent_limit ? saltus::arithmetic::exp(x)
                                                                           : infinity - infinity;
}
inline double limited_log(double x) {
  return x <= saltus::arithmetic::logarithm_limit && x >= 1.0 / saltus::arithmetic::logarithm_limit
             ? saltus::arithmetic::log(x)
             : infinity - infinity;
}

)";
  static constexpr const char* epilogue = R"(
}  // namespace

#ifdef __CUDACC_RTC__
extern "C" __global__ void fly_members(saltus::flight::DeviceArrays arrays) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < arrays.count) saltus::flight::DeviceMember<Code>(arrays, i).run();
}
#else
extern "C" void fly_members(const saltus::flight::DeviceArrays& arrays) {
  for (long long i = 0; i < arrays.count; ++i) saltus::flight::DeviceMember<Code>(arrays, i).run();
}
#endif
)";

  /// The bounds of a tape whose guards are all affine.
  static std::string no_bounds(std::size_t tape) {
    std::string text = fmt::format("static void bounds_{}(", tape);
    for (int k = 0; k < 8; ++k) text += "const double*, ";
    return text + "double*, double*, double*, double*) {}\n";
  }

  void tapes() {
    for (std::size_t k = 0; k < code_.tapes.size(); ++k) {
      const FlightTape& tape = code_.tapes[k];
      functions_ += function_of(tape.step.tape(), fmt::format("step_{}", k));
      functions_ += function_of(tape.at.tape(), fmt::format("at_{}", k));
      functions_ += function_of(tape.guard.tape(), fmt::format("guards_{}", k));
      functions_ += function_of(tape.observe.tape(), fmt::format("observe_{}", k));
      functions_ +=
          tape.bounds.empty() ? no_bounds(k) : function_of(tape.bounds.program.tape(), fmt::format("bounds_{}", k));
      if (tape.constrained()) functions_ += function_of(tape.project.tape(), fmt::format("project_{}", k));
      if (!tape.bounds.empty())
        most_bounds_ = std::max(most_bounds_, tape.bounds.program.tape().outputs.front().size());
    }
  }

  template <class Values>
  void table(const char* type, const std::string& name, const Values& values) {
    tables_ += fmt::format("SALTUS_TABLE {} table_{}[] = {{", type, name);
    for (const auto& v : values) tables_ += text_of(v) + ", ";
    tables_ += "0};\n";
  }
  static std::string text_of(double v) { return number_text_of(v); }
  static std::string text_of(int v) { return std::to_string(v); }
  static std::string text_of(long long v) { return std::to_string(v) + "LL"; }
  static std::string text_of(signed char v) { return std::to_string(static_cast<int>(v)); }
  static std::string text_of(unsigned char v) { return std::to_string(static_cast<int>(v)); }

  /// Rows of the same length.
  template <class T>
  static void add_row(std::vector<T>& all, const std::vector<T>& row, std::size_t length) {
    all.insert(all.end(), row.begin(), row.end());
    all.resize(all.size() + length - row.size());
  }

  void tables() {
    std::vector<int> mode_tape, guard_count, clock_count, data_count, first, needs_proof, bound_place;
    std::vector<signed char> sides, clock_sides;
    std::vector<unsigned char> affine, differentiated;
    std::vector<int> constrained;
    for (const FlightTape& tape : code_.tapes) {
      constrained.push_back(tape.constrained());
      add_row(differentiated, tape.state, tape.n);
      guard_count.push_back(static_cast<int>(tape.guards.size()));
      clock_count.push_back(static_cast<int>(tape.clocks.size()));
      data_count.push_back(static_cast<int>(tape.data.size()));
      add_row(first, tape.first, most_guards_ + 1);
      add_row(affine, tape.affine, most_guards_ + 1);
      add_row(bound_place, tape.bounds.places, most_guards_ + 1);
    }
    for (const FlightMode& mode : code_.modes) {
      mode_tape.push_back(static_cast<int>(mode.tape));
      needs_proof.push_back(code_.needs_proof(mode));
      add_row(sides, mode.sides, most_guards_ + 1);
      add_row(clock_sides, mode.clock_sides, most_clocks_ + 1);
    }
    table("int", "mode_tape", mode_tape);
    table("int", "needs_proof", needs_proof);
    table("int", "guard_count", guard_count);
    table("int", "clock_count", clock_count);
    table("int", "data_count", data_count);
    table("int", "first", first);
    table("int", "bound_place", bound_place);
    table("signed char", "sides", sides);
    table("signed char", "clock_sides", clock_sides);
    table("unsigned char", "affine", affine);
    table("unsigned char", "differentiated", differentiated);
    table("int", "constrained", constrained);
    table("int", "counter", task_.counters);
    const FlightMethod& method = code_.method;
    table("double", "weights",
          std::vector<double>(code_.stiffness.weights, code_.stiffness.weights + method.all_stages()));
    table("double", "atol", task_.rules.atol);
    const flight::WindowRule rule = window_rule(method.dense_degree());
    table("double", "window_node", std::vector<double>(rule.nodes, rule.nodes + rule.count));
    table("double", "window_weight", std::vector<double>(rule.weights, rule.weights + rule.count));
  }

  void edges() {
    std::vector<int> first_edge{0}, guard, target, projects, first_zero{0}, zeros;
    std::vector<long long> clocks;
    for (const FlightMode& mode : code_.modes) {
      for (const FlightEdge& edge : mode.edges) {
        acts_ += act_case(static_cast<int>(guard.size()), edge);
        projects.push_back(!edge.project.empty());
        if (projects.back()) {
          const std::string name = fmt::format("project_after_{}", guard.size());
          functions_ += function_of(edge.project.tape(), name);
          projections_ += fmt::format("      case {}: {}(&t, x, data, moved); break;\n", guard.size(), name);
        }
        guard.push_back(edge.guard);
        clocks.push_back(edge.clocks);
        target.push_back(static_cast<int>(edge.target));
        zeros.insert(zeros.end(), edge.at_zero.begin(), edge.at_zero.end());
        first_zero.push_back(static_cast<int>(zeros.size()));
      }
      first_edge.push_back(static_cast<int>(guard.size()));
    }
    table("int", "first_edge", first_edge);
    table("int", "edge_guard", guard);
    table("long long", "edge_clocks", clocks);
    table("int", "edge_target", target);
    table("int", "edge_projects", projects);
    table("int", "first_zero", first_zero);
    table("int", "edge_zeros", zeros);
  }

  /// What an edge does to the numbers of a member: the actions, then what the target has in common.
  std::string act_case(int number_of_edge, const FlightEdge& edge) {
    const FlightMode& to = code_.modes[edge.target];
    const std::string name = fmt::format("act_{}", number_of_edge);
    std::string text = fmt::format("      case {}: {{\n", number_of_edge);
    auto out = std::back_inserter(text);
    if (!edge.variables.empty() || !edge.discretes.empty()) {
      functions_ += function_of(edge.act.tape(), name);
      fmt::format_to(out, "        double set[{}];\n        {}(&t, x, parameters, discretes, set);\n",
                     edge.variables.size() + edge.discretes.size(), name);
      fmt::format_to(out,
                     "        for (const double v : set)\n          if (!(saltus::flight::size_of(v) < infinity)) "
                     "return false;\n");
      for (std::size_t k = 0; k < edge.variables.size(); ++k)
        fmt::format_to(out, "        x_new[{}] = set[{}];\n", edge.variables[k], k);
      for (std::size_t k = 0; k < edge.discretes.size(); ++k)
        fmt::format_to(out, "        d_new[{}] = set[{}];\n", edge.discretes[k], edge.variables.size() + k);
    }
    for (const int k : code_.deciding_discretes) {
      const std::string wanted = number_text_of(to.mode.discrete[static_cast<std::size_t>(k)]);
      if (std::ranges::find(edge.discretes, k) != edge.discretes.end())
        fmt::format_to(out, "        if (d_new[{}] != {}) return false;\n", k, wanted);
      fmt::format_to(out, "        d_new[{}] = {};\n", k, wanted);
    }
    for (const int k : code_.deciding_locks)
      fmt::format_to(out, "        l_new[{}] = {};\n", k, number_text_of(to.mode.locks[static_cast<std::size_t>(k)]));
    for (const auto& [lock, change] : edge.roundings)
      fmt::format_to(out, "        l_new[{}] += {};\n", lock, number_text_of(change));
    return text + "        return true;\n      }\n";
  }

  /// Constants of the study, for arrays of fixed sizes.
  std::string sizes() const {
    std::string text;
    auto out = std::back_inserter(text);
    const auto whole = [&](const char* name, auto value) {
      fmt::format_to(out, "  static constexpr int {} = {};\n", name, static_cast<int>(value));
    };
    whole("n", code_.tapes.front().n);
    whole("parameters", task_.parameters);
    whole("discretes", code_.modes.front().mode.discrete.size());
    whole("locks", code_.modes.front().mode.locks.size());
    whole("counted", task_.counters.size());
    whole("kept_values", task_.kept.size());
    whole("dense_values", task_.dense.size());
    whole("window_nodes", window_rule(code_.method.dense_degree()).count);
    whole("most_guards", std::max<std::size_t>(1, most_guards_));
    whole("most_bounds", std::max<std::size_t>(1, most_bounds_));
    whole("most_clocks", std::max<std::size_t>(1, most_clocks_));
    whole("most_data", std::max<std::size_t>(1, most_data_));
    return text;
  }

  /// What the executor and the sink ask for: see HostCode and HostTask.
  std::string members() {
    const FlightMethod& method = code_.method;
    const std::size_t n = code_.tapes.front().n;
    std::string text;
    auto out = std::back_inserter(text);
    const auto gives = [&](const char* type, const char* name, const std::string& value) {
      fmt::format_to(out, "  static constexpr {} {}() {{ return {}; }}\n", type, name, value);
    };
    const auto whole = [&](const char* name, auto value) { gives("int", name, std::to_string(value)); };
    whole("variables", n);
    whole("discrete_numbers", code_.modes.front().mode.discrete.size());
    whole("lock_numbers", code_.modes.front().mode.locks.size());
    whole("counters", task_.counters.size());
    whole("kept", task_.kept.size());
    whole("dense", task_.dense.size());
    whole("section", task_.section);
    whole("stages", method.stages());
    whole("degree", method.dense_degree());
    whole("bound_stride", std::max<std::size_t>(1, most_bounds_));
    gives("long long", "transient", std::to_string(task_.transient));
    gives("long long", "keep", std::to_string(task_.keep));
    const ExecutorRules& rules = task_.rules;
    gives("bool", "watches_stiffness", rules.watches_stiffness && code_.stiffness.row >= 0 ? "true" : "false");
    gives("bool", "leaves_if_stiff", rules.leaves_if_stiff ? "true" : "false");
    gives("double", "max_step", number_text_of(rules.max_step));
    gives("double", "rtol", number_text_of(rules.rtol));
    fmt::format_to(out, "  static saltus::flight::Control control() {{ return {{{}, {}, {}, {}, {}}}; }}\n",
                   number_text_of(code_.control.success_power), number_text_of(code_.control.rejection_power),
                   number_text_of(code_.control.beta), number_text_of(code_.control.shrink),
                   number_text_of(code_.control.growth));
    fmt::format_to(out, "  static saltus::flight::Stiffness stiffness() {{ return {{table_weights, {}, {}, {}}}; }}\n",
                   code_.stiffness.row, code_.stiffness.last, number_text_of(code_.stiffness.limit));
    for (const char* name : {"mode_tape", "needs_proof", "guard_count", "clock_count", "data_count", "first_edge",
                             "edge_guard", "edge_target", "edge_projects", "constrained", "first_zero", "counter"})
      fmt::format_to(out, "  static int {0}(int k) {{ return table_{0}[k]; }}\n", name);
    text +=
        "  static long long edge_clocks(int k) { return table_edge_clocks[k]; }\n"
        "  static const int* edge_zeros() { return table_edge_zeros; }\n"
        "  static const double* atol() { return table_atol; }\n"
        "  static saltus::flight::WindowRule window_rule() {\n"
        "    return {table_window_node, table_window_weight, window_nodes};\n  }\n"
        "  template <class... Any>\n  static bool enclose(const Any&...) { return false; }\n";
    const auto row = [&](const char* type, const char* name, std::size_t length) {
      fmt::format_to(out, "  static const {0}* {1}(int k) {{ return table_{1} + k * {2}; }}\n", type, name, length);
    };
    row("int", "first", most_guards_ + 1);
    row("int", "bound_place", most_guards_ + 1);
    row("signed char", "sides", most_guards_ + 1);
    row("signed char", "clock_sides", most_clocks_ + 1);
    row("unsigned char", "affine", most_guards_ + 1);
    row("unsigned char", "differentiated", n);
    fmt::format_to(
        out,
        "  struct Step {{\n    double x[{0}], slopes[{1}], error, dense[{2}], guards[{3}], lower[{3}], upper[{3}], "
        "bernstein[{4}],\n        scale[{3}], finite;\n  }};\n",
        n, static_cast<std::size_t>(method.all_stages() - 1) * n, static_cast<std::size_t>(method.dense_degree()) * n,
        std::max<std::size_t>(1, most_guards_), std::max<std::size_t>(1, most_bernstein_));
    text +=
        "  static void step(int tape, double t, double h, double end, const double* x, const double* slope,\n"
        "                   const double* data, Step& s) {\n    const double tolerance = rtol();\n";
    text += choose(
        "step_{}(&t, &h, &end, x, slope, data, &tolerance, table_atol, s.x, s.slopes, &s.error, s.dense, s.guards, "
        "s.lower, s.upper, s.bernstein, s.scale, &s.finite)");
    text += "  static void at(int tape, double t, const double* x, const double* data, Point& p) {\n";
    text += choose("at_{}(&t, x, data, p.slope, p.guards, p.guard_slopes, p.guard_curves, p.clocks, p.clock_slopes)");
    text += "  static void bounds(int tape, const double* in, const double* data, double* out) {\n";
    text += choose(
        "bounds_{}(in, in + 2, in + 2 + n, in + 2 + 2 * n, in + 2 + 3 * n, in + 2 + 4 * n, in + 2 + 5 * n, data, out, "
        "out + bound_stride(), out + 2 * bound_stride(), out + 3 * bound_stride())");
    text += "  static void guards(int tape, double t, const double* x, const double* data, double* g) {\n";
    text += choose("guards_{}(&t, x, data, g)");
    text += projections();
    text += gather();
    text += observe("observe", task_.kept);
    text += observe("observe_dense", task_.dense);
    text +=
        "  static bool act(int edge, double t, const double* x, const double* parameters, const double* discretes,\n"
        "                  double* x_new, double* d_new, double* l_new) {\n    switch (edge) {\n" +
        acts_ + "    }\n    return false;\n  }\n";
    return text;
  }

  /// Of modes with constraints.
  std::string projections() const {
    std::string text =
        "  static void project(int tape, double t, const double* x, const double* data, double* moved) {\n"
        "    switch (tape) {\n";
    for (std::size_t k = 0; k < code_.tapes.size(); ++k)
      if (code_.tapes[k].constrained())
        text += fmt::format("      case {0}: project_{0}(&t, x, data, moved); break;\n", k);
    return text +
           "    }\n    (void)t;\n    (void)x;\n    (void)data;\n    (void)moved;\n  }\n"
           "  static void project_after(int edge, double t, const double* x, const double* data, double* moved) {\n"
           "    switch (edge) {\n" +
           projections_ + "    }\n    (void)t;\n    (void)x;\n    (void)data;\n    (void)moved;\n  }\n";
  }

  /// A call by tape, and the end of the function.
  std::string choose(const std::string& call) const {
    std::string text = "    switch (tape) {\n";
    for (std::size_t k = 0; k < code_.tapes.size(); ++k)
      text += fmt::format("      case {}: {}; break;\n", k, fmt::format(fmt::runtime(call), k));
    return text + "    }\n  }\n";
  }

  std::string gather() const {
    std::string text =
        "  static void gather(int mode, const double* parameters, const double* discretes, const double* locks, "
        "double* data) {\n"
        "    switch (mode) {\n";
    for (std::size_t m = 0; m < code_.modes.size(); ++m) {
      const FlightMode& mode = code_.modes[m];
      text += fmt::format("      case {}:\n", m);
      const auto& data = code_.tapes[mode.tape].data;
      for (std::size_t k = 0; k < data.size(); ++k) {
        using Kind = FlightDatum::Kind;
        const Kind kind = data[k].kind;
        text += fmt::format("        data[{}] = {};\n", k,
                            kind == Kind::parameter  ? fmt::format("parameters[{}]", data[k].place)
                            : kind == Kind::discrete ? fmt::format("discretes[{}]", data[k].place)
                            : kind == Kind::lock     ? fmt::format("locks[{}]", data[k].place)
                                                     : number_text_of(mode.fixed[data[k].place]));
      }
      text += "        break;\n";
    }
    return text + "    }\n  }\n";
  }

  /// A function that puts the values at some places into an array.
  std::string observe(const char* name, const std::vector<ObservedPlace>& places) const {
    std::size_t eliminated = 1;
    for (const FlightTape& tape : code_.tapes)
      eliminated = std::max(eliminated, tape.observe.tape().outputs.front().size());
    std::string text = fmt::format(
        "  static void {}(int mode, double t, const double* x, const double* data, const double* discretes,\n"
        "                      double* values) {{\n    double eliminated[{}];\n    switch (mode_tape(mode)) {{\n",
        name, eliminated);
    for (std::size_t k = 0; k < code_.tapes.size(); ++k)
      text += fmt::format("      case {0}: observe_{0}(&t, x, data, eliminated); break;\n", k);
    text += "    }\n    (void)eliminated;\n    (void)discretes;\n    (void)values;\n";
    for (std::size_t k = 0; k < places.size(); ++k) {
      using Kind = ObservedPlace::Kind;
      const char* const list = places[k].kind == Kind::state      ? "x"
                               : places[k].kind == Kind::discrete ? "discretes"
                                                                  : "eliminated";
      text += fmt::format("    values[{}] = {}[{}];\n", k, list, places[k].place);
    }
    return text + "  }\n";
  }

  const FlightTask& task_;
  const FlightCode& code_;
  std::size_t most_guards_ = 0, most_clocks_ = 0, most_data_ = 0, most_bernstein_ = 0, most_bounds_ = 0;
  std::string functions_, tables_, acts_, projections_;
};

}  // namespace

std::string device_source(const FlightTask& task) {
  return Writer(task).run();
}

}  // namespace saltus
