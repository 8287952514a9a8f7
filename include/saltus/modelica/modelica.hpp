// The Modelica reader: from text to a Model that `simulate` runs.
//
//   ModelicaModel ball = load_modelica_file("BouncingBall.mo");
//   auto run = simulate(ball.model, {.stop = ball.experiment.stop.value_or(1.0)});
//
// docs/reference/modelica.md lists what is read, what differs from the standard and what is refused.
#pragma once

#include <saltus/model/model.hpp>
#include <saltus/modelica/diagnostic.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace saltus {

/// What annotation(experiment(...)) of a model asks for; empty where it says nothing.
struct Experiment {
  std::optional<double> start, stop, tolerance, interval;
};

/// A connector of a model, through which it would be connected to others. Streams are left out.
struct ConnectorInfo {
  struct Member {
    std::string name;      ///< inside of the connector
    std::string variable;  ///< its full name in the model
    bool flow = false;     ///< positive into the model; flows of connected connectors have the sum zero
  };
  std::string name;  ///< in the model, or in the connector of which it is a part
  std::string type;  ///< the full name of its class
  std::string description = {};
  std::vector<Member> members = {};
  std::vector<ConnectorInfo> parts = {};  ///< connectors inside
};

/// A model that was read without errors.
struct ModelicaModel {
  Model model;
  Experiment experiment;
  std::vector<Diagnostic> notes;  ///< warnings and notes, in order of their place
  std::string description = {};   ///< the string behind the name of the class
  /// Set if the model depends on the time at which its runs start (initial equations like t0 = time): that time.
  std::optional<double> start = std::nullopt;
  /// Parameters whose values were used to write the model, so that no run can change them: those that decide sizes and
  /// branches, final ones, and those that are computed from others. `start` is the value. Texts are not among them.
  std::vector<VariableInfo> fixed_parameters = {};
  /// Its own connectors, not those of its parts; inputs and outputs alone are none.
  std::vector<ConnectorInfo> connectors = {};
};

struct LoadOptions {
  /// The class to run, as it is declared in the file ("Ball", "Package.Ball"). Empty: the last model of the file.
  std::string model_name = {};
  /// Values that replace what the file says, by full name ("R1.R", "T[3]"): of parameters, also of those that decide
  /// sizes and branches (a Boolean takes 0 or 1), and start values of variables.
  std::vector<std::pair<std::string, double>> parameters = {};
  /// The time at which runs start, which initial equations may use. Empty: that of the experiment annotation, or 0.
  std::optional<double> start = {};
  /// Folders with Modelica libraries, searched in order. Each holds packages (folders with a file package.mo, also
  /// "Name 1.2", or files Name.mo) or is itself a package. Their files are read when a class is first named.
  std::vector<std::string> libraries = {};
  /// Modelica text that is added to the model: declarations and equations, as in a class that extends it. The names are
  /// those of the model: "Real energy = 0.5*m*v^2; equation when v > 0 then n = pre(n) + 1; end when;".
  std::string extension = {};
  /// Loops over large arrays stay loops until the model is compiled, where that is possible. Results are the same.
  bool keep_loops = true;
};

/// Reads a text and flattens one of its classes. `file_name` is used in messages. Throws ModelicaError with all
/// independent errors of the text.
ModelicaModel load_modelica(std::string_view text, const std::string& file_name, const LoadOptions& options = {});

/// The same for a file, which may be a part of a package that is stored in folders around it. Throws UsageError if it
/// cannot be read.
ModelicaModel load_modelica_file(const std::string& path, const LoadOptions& options = {});

/// A class of a library by its full name ("Package.Examples.Model"); `options.libraries` says where the library is.
ModelicaModel load_modelica_class(const std::string& name, const LoadOptions& options);

}  // namespace saltus
