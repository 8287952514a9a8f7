// Expressions, relations and equations. numpy calls a method of the same name for np.sin(x), so that every function of
// one argument is a method, too, under numpy's name.
#include <pybind11/operators.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/expr.hpp>
#include <saltus/expr/print.hpp>

#include <functional>

#include "bindings.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

[[noreturn]] bool refuse(const char* text) {
  throw py::type_error(text);
}

constexpr const char* no_truth =
    "a recorded relation has no value yet, so that `if`, `and`, `or`, `not` cannot use it: write "
    "saltus.if_else(condition, a, b), and &, |, ~";
constexpr const char* no_number =
    "a recorded expression has no value yet: use the functions of saltus or of numpy on it, not those of math";
constexpr const char* no_comparison =
    "== between expressions makes an equation, not a comparison: write saltus.equal(a, b) for a condition";

void add_operators(py::class_<Expr>& expr) {
  expr.def(py::self + py::self)
      .def(py::self - py::self)
      .def(py::self * py::self)
      .def(py::self / py::self)
      .def(-py::self)
      .def(py::self + double())
      .def(double() + py::self)
      .def(py::self - double())
      .def(double() - py::self)
      .def(py::self * double())
      .def(double() * py::self)
      .def(py::self / double())
      .def(double() / py::self)
      .def(
          "__pow__", [](const Expr& a, const Expr& b) { return pow(a, b); }, py::is_operator())
      .def(
          "__rpow__", [](const Expr& a, double b) { return pow(Expr(b), a); }, py::is_operator())
      .def("__pos__", [](const Expr& a) { return a; })
      .def("__abs__", [](const Expr& a) { return abs(a); })
      .def("__floor__", [](const Expr& a) { return floor(a); })
      .def("__ceil__", [](const Expr& a) { return ceil(a); })
      .def(
          "__mod__", [](const Expr& a, const Expr& b) { return mod(a, b); }, py::is_operator())
      .def(
          "__lt__", [](const Expr& a, const Expr& b) { return a < b; }, py::is_operator())
      .def(
          "__le__", [](const Expr& a, const Expr& b) { return a <= b; }, py::is_operator())
      .def(
          "__gt__", [](const Expr& a, const Expr& b) { return a > b; }, py::is_operator())
      .def(
          "__ge__", [](const Expr& a, const Expr& b) { return a >= b; }, py::is_operator())
      .def(
          "__eq__", [](const Expr& a, const Expr& b) { return a == b; }, py::is_operator())
      .def("__hash__", [](const Expr& a) { return std::hash<const void*>()(a.graph().get()) ^ a.id(); })
      .def("__float__", [](const Expr& a) { return a.is_constant() ? a.constant_value() : (refuse(no_number), 0.0); })
      .def("__repr__", [](const Expr& a) { return to_string(a); });
}

}  // namespace

void add_expressions(py::module_& m) {
  py::class_<Expr> expr(m, "Expr");
  py::class_<BoolExpr> relation(m, "BoolExpr");
  py::class_<Equation> equation(m, "Equation");
  expr.def(py::init<double>());
  add_operators(expr);
  py::implicitly_convertible<double, Expr>();
  py::implicitly_convertible<py::int_, Expr>();
  relation.def(py::init<bool>())
      .def("__and__", [](const BoolExpr& a, const BoolExpr& b) { return a && b; })
      .def("__rand__", [](const BoolExpr& a, const BoolExpr& b) { return b && a; })
      .def("__or__", [](const BoolExpr& a, const BoolExpr& b) { return a || b; })
      .def("__ror__", [](const BoolExpr& a, const BoolExpr& b) { return b || a; })
      .def("__invert__", [](const BoolExpr& a) { return !a; })
      .def("__bool__", [](const BoolExpr&) { return refuse(no_truth); })
      .def("__repr__", [](const BoolExpr& a) { return to_string(a); });
  py::implicitly_convertible<bool, BoolExpr>();
  equation.def_readonly("lhs", &Equation::lhs)
      .def_readonly("rhs", &Equation::rhs)
      // dicts and sets compare keys of equal hash, which are the same node
      .def("__bool__", [](const Equation& a) { return a.lhs.same(a.rhs) || refuse(no_comparison); })
      .def("__repr__", [](const Equation& a) { return to_string(a); });

  const auto unary = [&](const char* name, Expr (*f)(const Expr&), const char* numpy_name = nullptr) {
    m.def(name, f, py::arg("x"));
    expr.def(numpy_name ? numpy_name : name, f);
  };
  unary("sqrt", &sqrt);
  unary("exp", &exp);
  unary("log", &log);
  unary("log10", &log10);
  unary("sin", &sin);
  unary("cos", &cos);
  unary("tan", &tan);
  unary("asin", &asin, "arcsin");
  unary("acos", &acos, "arccos");
  unary("atan", &atan, "arctan");
  unary("sinh", &sinh);
  unary("cosh", &cosh);
  unary("tanh", &tanh);
  unary("asinh", &asinh, "arcsinh");
  unary("acosh", &acosh, "arccosh");
  unary("atanh", &atanh, "arctanh");
  unary("sign", &sign);
  unary("abs", &abs, "fabs");
  unary("floor", &floor);
  unary("ceil", &ceil);
  m.def("der", &der, py::arg("x"), "The time derivative of a variable.");
  m.def(
      "atan2", [](const Expr& y, const Expr& x) { return atan2(y, x); }, py::arg("y"), py::arg("x"));
  m.def(
      "min", [](const Expr& a, const Expr& b) { return min(a, b); }, py::arg("a"), py::arg("b"));
  m.def(
      "max", [](const Expr& a, const Expr& b) { return max(a, b); }, py::arg("a"), py::arg("b"));
  m.def("mod", &mod, py::arg("a"), py::arg("b"));
  m.def("equal", &equal, py::arg("a"), py::arg("b"), "The condition a = b, for discrete values.");
  m.def("if_else", py::overload_cast<const BoolExpr&, const Expr&, const Expr&>(&if_else), py::arg("condition"),
        py::arg("then"), py::arg("otherwise"), "One of two values; where the condition changes is an event.");
  m.def("if_else", py::overload_cast<const BoolExpr&, const BoolExpr&, const BoolExpr&>(&if_else), py::arg("condition"),
        py::arg("then"), py::arg("otherwise"));
  m.def("no_event", py::overload_cast<const Expr&>(&no_event), py::arg("x"),
        "The same value; relations inside make no events.");
  m.def("no_event", py::overload_cast<const BoolExpr&>(&no_event), py::arg("x"));
}

}  // namespace saltus::python
