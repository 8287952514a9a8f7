// Models: recorded in Python, or read from Modelica text; and compiled ones, whose values can be changed.
#include <pybind11/stl.h>
#include <saltus/model/text.hpp>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/study/study.hpp>

#include <limits>

#include "bindings.hpp"
#include "descriptions.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

VariableOptions attributes(bool fixed, double nominal, double min, double max, const std::string& unit,
                           const std::string& description) {
  return {.fixed = fixed, .nominal = nominal, .min = min, .max = max, .unit = unit, .description = description};
}

InputCurve input_curve(const std::string& name) {
  if (name == "held") return InputCurve::held;
  if (name == "line") return InputCurve::line;
  if (name == "smooth") return InputCurve::smooth;
  throw UsageError("the curve of an input is \"held\", \"line\" or \"smooth\", not \"" + name + "\"");
}

Scaling scaling_named(const std::string& word) {
  if (word == "automatic") return Scaling::automatic;
  if (word == "nominal") return Scaling::nominal;
  if (word == "off") return Scaling::off;
  throw UsageError("scaling is \"automatic\", \"nominal\" or \"off\", not \"" + word + "\"");
}

SurfaceRule rule_named(const std::string& name) {
  if (const auto rule = surface_rule(name)) return *rule;
  throw UsageError("the rule of a surface is \"filippov\", \"stay\", \"crossing\" or \"stop\", not \"" + name + "\"");
}

std::vector<std::string> names_of_variables(const Model& model) {
  std::vector<std::string> names;
  for (const VariableInfo& v : model.data().variable_info) names.push_back(v.name);
  for (const auto& d : model.data().discretes)
    if (!d.hidden && !d.pulse) names.push_back(d.name);
  return names;
}

void add_clauses(py::module_& m) {
  py::class_<When>(m, "When")
      .def(
          "reset",
          [](When& w, const Expr& x, const Expr& value, const BoolExpr& only_if) { return w.reset(x, value, only_if); },
          py::arg("x"), py::arg("value"), py::arg("only_if") = true)
      .def(
          "assign", [](When& w, const Expr& x, const Expr& value) { return w.assign(x, value); }, py::arg("discrete"),
          py::arg("value"))
      .def(
          "assign", [](When& w, const BoolExpr& x, const BoolExpr& value) { return w.assign(x, value); },
          py::arg("discrete"), py::arg("value"))
      .def(
          "terminate",
          [](When& w, const std::string& text, const BoolExpr& only_if) { return w.terminate(text, only_if); },
          py::arg("message") = "", py::arg("only_if") = true)
      .def(
          "assertion",
          [](When& w, const BoolExpr& condition, const std::string& message) {
            return w.assertion(condition, message);
          },
          py::arg("condition"), py::arg("message"))
      .def("record", [](When& w) { return w.record(); })
      .def("record_touches", [](When& w) { return w.record_touches(); })
      .def(
          "otherwise_when", [](When& w, const BoolExpr& condition) { return w.otherwise_when(condition); },
          py::arg("condition"));
  py::class_<ModeTransition>(m, "ModeTransition")
      .def(
          "to", [](ModeTransition& t, const ExplicitMode& mode) { return t.to(mode); }, py::arg("mode"))
      .def(
          "reset", [](ModeTransition& t, const Expr& x, const Expr& value) { return t.reset(x, value); }, py::arg("x"),
          py::arg("value"))
      .def(
          "assign", [](ModeTransition& t, const Expr& x, const Expr& value) { return t.assign(x, value); },
          py::arg("discrete"), py::arg("value"));
  py::class_<ExplicitMode>(m, "ExplicitMode")
      .def_property_readonly("name", &ExplicitMode::name)
      .def(
          "equation", [](ExplicitMode& s, const Equation& e, const std::string& name) { s.equation(e, name); },
          py::arg("equation"), py::arg("name") = "")
      .def(
          "transition", [](ExplicitMode& s, const BoolExpr& condition) { return s.transition(condition); },
          py::arg("condition"));
}

void add_model(py::module_& m) {
  py::class_<Model> recorded(m, "Model");
  recorded.def(py::init<std::string>(), py::arg("name") = "model")
      .def(py::init([](const Model& model) { return Model(model); }), py::arg("model"))
      .def(
          "text", [](const Model& s) { return base_modelica(s); },
          "The model in Base Modelica, which loads reads back. Raises ModelError for what such a text cannot hold.")
      .def("copy", &Model::copy, "A model of its own, which can be extended without changing this one.")
      .def_property_readonly("name", &Model::name)
      .def_property_readonly("time", &Model::time)
      .def(
          "variable",
          [](Model& s, const std::string& name, double start, bool fixed, double nominal, double min, double max,
             const std::string& unit, const std::string& description) {
            return s.variable(name, start, attributes(fixed, nominal, min, max, unit, description));
          },
          py::arg("name"), py::arg("start") = 0.0, py::kw_only(), py::arg("fixed") = false, py::arg("nominal") = 1.0,
          py::arg("min") = -infinity, py::arg("max") = infinity, py::arg("unit") = "", py::arg("description") = "")
      .def(
          "parameter",
          [](Model& s, const std::string& name, double value, const std::string& unit, const std::string& description) {
            return s.parameter(name, value, attributes(false, 1.0, -infinity, infinity, unit, description));
          },
          py::arg("name"), py::arg("value"), py::kw_only(), py::arg("unit") = "", py::arg("description") = "")
      .def(
          "discrete", [](Model& s, const std::string& name, bool start) { return s.discrete(name, start); },
          py::arg("name"), py::arg("start").noconvert())
      .def(
          "discrete", [](Model& s, const std::string& name, double start) { return s.discrete(name, start); },
          py::arg("name"), py::arg("start") = 0.0)
      .def(
          "input", [](Model& s, const std::string& name, bool start) { return s.input(name, start); }, py::arg("name"),
          py::arg("start").noconvert(), "An input that is true or false.")
      .def(
          "input",
          [](Model& s, const std::string& name, double start, const std::string& curve, double nominal, double min,
             double max, const std::string& unit, const std::string& description) {
            return s.input(name, start, input_curve(curve), attributes(false, nominal, min, max, unit, description));
          },
          py::arg("name"), py::arg("start") = 0.0, py::kw_only(), py::arg("curve") = "line", py::arg("nominal") = 1.0,
          py::arg("min") = -infinity, py::arg("max") = infinity, py::arg("unit") = "", py::arg("description") = "",
          "A variable whose values come from outside: simulate(inputs=…), Simulator.set_input. `curve` says how it may "
          "move between changes: \"held\", \"line\", or \"smooth\" for functions of time.")
      .def(
          "equation", [](Model& s, const Equation& e, const std::string& name) { s.equation(e, name); },
          py::arg("equation"), py::arg("name") = "")
      .def(
          "initial_equation", [](Model& s, const Equation& e) { s.initial_equation(e); }, py::arg("equation"))
      .def(
          "define", [](Model& s, const Expr& q, const Expr& value) { s.define(q, value); }, py::arg("discrete"),
          py::arg("value"))
      .def(
          "define", [](Model& s, const BoolExpr& q, const BoolExpr& value) { s.define(q.expr(), value.expr()); },
          py::arg("discrete"), py::arg("value"))
      .def(
          "surface",
          [](Model& s, const BoolExpr& relation, const std::string& rule) { s.surface(relation, rule_named(rule)); },
          py::arg("relation"), py::arg("rule"),
          "What happens where both sides of the surface of a relation push towards it: \"filippov\" (it slides, the "
          "default), \"stay\" (it slides, and stays where both sides push away), \"crossing\" (the run ends if it "
          "cannot cross) or \"stop\" (the run ends).")
      .def(
          "guard_nominal",
          [](Model& s, const BoolExpr& relation, double nominal) { s.guard_nominal(relation, nominal); },
          py::arg("relation"), py::arg("nominal"),
          "Errors of the guard of a relation count in steps: more than rtol |g| + atol nominal is too much.")
      .def("stabilise_sliding", &Model::stabilise_sliding, py::arg("strength"),
           "Slides by a field that pulls towards the surface, instead of moving the state back onto it.")
      .def(
          "scaling", [](Model& s, const std::string& word) { s.scaling(scaling_named(word)); }, py::arg("word"),
          "How ranks are decided: \"automatic\", \"nominal\" (variables by their nominal values alone) or \"off\".")
      .def("allow_unbalanced", &Model::allow_unbalanced,
           "Allows numbers of equations and variables that differ; contradictory equations are satisfied in the sense "
           "of least squares.")
      .def("initial", &Model::initial, "True while the run is being initialised.")
      .def("terminal", &Model::terminal, "True in the last instant of a run.")
      .def("start", &Model::start, py::arg("symbol"), py::arg("value"),
           "The start value of a variable is an expression of parameters.")
      .def(
          "when", [](Model& s, const BoolExpr& condition) { return s.when(condition); }, py::arg("condition"))
      .def("sample", &Model::sample, py::arg("start"), py::arg("interval"))
      .def(
          "pre", [](Model& s, const Expr& x) { return s.pre(x); }, py::arg("x"))
      .def(
          "pre", [](Model& s, const BoolExpr& x) { return s.pre(x); }, py::arg("x"))
      .def(
          "assertion",
          [](Model& s, const BoolExpr& condition, const std::string& message) { s.assertion(condition, message); },
          py::arg("condition"), py::arg("message"))
      .def("mode", &Model::mode, py::arg("name"))
      .def(
          "count_crossings",
          [](Model& s, const BoolExpr& condition, const std::string& name) { count_crossings(s, condition, name); },
          py::arg("condition"), py::arg("name"),
          "A discrete variable of this name grows by one whenever the condition becomes true.")
      .def_property_readonly("variable_names", &names_of_variables, "Variables, and discrete variables after them.")
      .def_property_readonly("parameter_names",
                             [](const Model& s) {
                               std::vector<std::string> names;
                               for (const auto& p : s.data().parameters) names.push_back(p.name);
                               return names;
                             })
      .def("start_in", &Model::start_in, py::arg("mode"))
      .def("set", &Model::set, py::arg("name"), py::arg("value"))
      .def("__getitem__", &Model::symbol, py::arg("name"));
  add_array_models(m, recorded);
}

py::dict describe(const std::vector<VariableInfo>& variables) {
  py::dict all;
  for (const VariableInfo& v : variables) {
    py::dict one;
    one["start"] = v.start;
    one["fixed"] = v.fixed;
    one["nominal"] = v.nominal;
    one["unit"] = v.details->unit;
    one["description"] = v.details->description;
    all[py::str(v.name)] = one;
  }
  return all;
}

}  // namespace

void add_models(py::module_& m) {
  add_clauses(m);
  py::class_<HybridSystem, std::shared_ptr<HybridSystem>>(m, "HybridSystem", "What can be run.")
      .def_property_readonly("name", [](const HybridSystem& s) { return s.name(); })
      .def_property_readonly("variables", [](const HybridSystem& s) { return describe(s.observed()); })
      .def_property_readonly("inputs", [](const HybridSystem& s) {
        std::vector<std::string> names;
        for (const InputInfo& input : s.inputs())
          names.push_back(s.observed()[static_cast<std::size_t>(input.variable)].name);
        return names;
      });
  add_model(m);
  using Values = std::vector<std::pair<std::string, double>>;
  py::class_<CompiledModel, HybridSystem, std::shared_ptr<CompiledModel>>(m, "CompiledModel",
                                                                          py::multiple_inheritance())
      .def(py::init([](const Model& model) { return std::make_shared<CompiledModel>(model); }), py::arg("model"))
      .def(
          "__reduce__",
          [](const CompiledModel& c) -> py::object {
            throw py::type_error("'" + c.name() + "' is compiled: pickle the model, and compile it where it is needed");
          })
      .def_property_readonly("parameters",
                             [](const CompiledModel& c) {
                               py::dict all;
                               for (const auto& [name, value] : c.parameters()) all[py::str(name)] = value;
                               return all;
                             })
      .def(
          "with_values",
          [](const CompiledModel& c, const Values& values) {
            const py::gil_scoped_release release;
            return std::make_shared<CompiledModel>(c.with_values(values));
          },
          py::arg("values"));

  m.def(
      "evaluate",
      [](const Model& model, const std::vector<Expr>& expressions,
         const std::vector<std::pair<double, std::vector<double>>>& points) {
        using Groups = std::vector<std::vector<Expr>>;
        const Program program(Groups{{model.time()}, model.data().variables}, Groups{expressions},
                              {.backend = Backend::interpreter});
        Workspace work = program.workspace();
        std::vector<std::vector<double>> results;
        for (const auto& [t, values] : points) {
          if (values.size() != model.data().variables.size()) throw UsageError("evaluate: one value for each variable");
          const double* const in[] = {&t, values.data()};
          double* const out[] = {results.emplace_back(expressions.size()).data()};
          program(in, out, work);
        }
        return results;
      },
      py::arg("model"), py::arg("expressions"), py::arg("points"),
      "Values of expressions at points (t, values); relations in them have their values there.");
  py::class_<VariableInfo>(m, "FixedParameter", "A parameter that no run can change, with its value.")
      .def_readonly("name", &VariableInfo::name)
      .def_readonly("value", &VariableInfo::start)
      .def_property_readonly("unit", [](const VariableInfo& p) { return p.details->unit; })
      .def_property_readonly("description", [](const VariableInfo& p) { return p.details->description; })
      .def("__repr__",
           [](const VariableInfo& p) { return "<FixedParameter " + p.name + " = " + std::to_string(p.start) + ">"; });
  py::class_<ModelicaModel>(m, "ModelSource", "A model with all that its text says about it.")
      .def(py::init([](const Model& model) { return ModelicaModel{.model = model, .experiment = {}, .notes = {}}; }),
           py::arg("model"));
  m.def(
      "load_modelica",
      [](const std::string& text, const std::string& file, const std::string& name, const Values& values,
         const std::vector<std::string>& libraries, std::optional<double> start) {
        const LoadOptions options{.model_name = name, .parameters = values, .start = start, .libraries = libraries};
        std::optional<ModelicaModel> source;
        {
          const py::gil_scoped_release release;
          source = load_modelica(text, file, options);
        }
        py::list notes;
        for (const Diagnostic& d : source->notes) notes.append(render(d));
        return py::make_tuple(source->model, python::describe(source->experiment), notes, source->description,
                              source->start, source->fixed_parameters, *source);
      },
      py::arg("text"), py::arg("file"), py::arg("name"), py::arg("values"), py::arg("libraries"),
      py::arg("start") = py::none());
}

}  // namespace saltus::python
