#include "cli/new_model.hpp"

#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/error.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

namespace saltus::cli {

namespace {

constexpr const char* model_text = R"(model @NAME@ "A mass on a spring that rubs on the floor and hits a wall"
  // Parameters: saltus run @NAME@.mo --set mu=0.2 changes them without editing.
  parameter Real m(unit = "kg") = 1 "mass";
  parameter Real k(unit = "N/m") = 40 "stiffness of the spring";
  parameter Real mu = 0.3 "coefficient of friction";
  parameter Real e = 0.7 "coefficient of restitution at the wall";
  parameter Real wall(unit = "m") = 0.35 "place of the wall";
  constant Real g(unit = "m/s2") = 9.81;

  // Variables with their start values. `fixed = true` makes a start value a condition; without it, it is a guess.
  Real x(start = -0.5, fixed = true, unit = "m") "position";
  Real v(start = 0, fixed = true, unit = "m/s") "velocity";
  Real f(unit = "N") "friction";
  Integer hits(start = 0, fixed = true) "how often the mass has hit the wall";

equation
  // As many equations as variables, in any order and any form: the solver sorts, differentiates and solves them.
  der(x) = v;
  m*der(v) = -k*x + f;

  // sign() is a switch: where the mass sticks, the solver slides along v = 0. No mode is written for it.
  f = -mu*m*g*sign(v);

  // What happens at an instant. pre() is the value before it.
  when x > wall then
    reinit(v, -e*pre(v));
    hits = pre(hits) + 1;
  end when;

  annotation(experiment(StopTime = 5, Tolerance = 1e-8));
end @NAME@;
)";

/// A plain Modelica name: letters, digits and underscores, not beginning with a digit.
bool is_name(const std::string& name) {
  const auto letter = [](unsigned char c) { return std::isalpha(c) || c == '_'; };
  return !name.empty() && letter(static_cast<unsigned char>(name.front())) &&
         std::ranges::all_of(name, [&](unsigned char c) { return c < 128 && (letter(c) || std::isdigit(c)); });
}

struct NewOptions {
  std::string name;
  bool force = false;
};

ExitCode write_model(const NewOptions& o, const Streams& streams) {
  const std::string name = o.name.ends_with(".mo") ? o.name.substr(0, o.name.size() - 3) : o.name;
  const std::string short_name = std::filesystem::path(name).filename().string();
  if (!is_name(short_name))
    throw UsageError("'" + short_name +
                     "' cannot name a model: write letters, digits and underscores, for example MyModel");
  const std::string file = name + ".mo";
  if (!o.force && std::filesystem::exists(file)) throw UsageError("'" + file + "' exists already; --force replaces it");
  std::string text = model_text;
  for (auto place = text.find("@NAME@"); place != std::string::npos; place = text.find("@NAME@"))
    text.replace(place, 6, short_name);
  write_atomically(file, text);
  streams.out << fmt::format(
      "{0}: a model to start from. Run it:\n  saltus run {0}\n  saltus run {0} --html {1}.html\n", file, name);
  return ExitCode::success;
}

}  // namespace

Command new_model_command() {
  return {"new", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<NewOptions>();
            CLI::App& app = *parent.add_subcommand("new", "Write a commented model to start from");
            app.add_option("NAME", o->name, "Name of the model; the file is NAME.mo")->required()->type_name("");
            app.add_flag("--force", o->force, "Replace a file that exists");
            return [o](const Streams& streams) { return write_model(*o, streams); };
          }};
}

}  // namespace saltus::cli
