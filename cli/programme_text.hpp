// What `saltus optimise` is asked for, as it is written, and the programme that is made of it.
#pragma once

#include <saltus/optimise/optimise.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace saltus::cli {

class ModelExtension;

/// The texts of a programme, from the command line or a file.
struct WrittenProgramme {
  std::vector<std::string> controls, bounds, guesses, over, end, path;
  std::string minimise, free_stop;

  /// Adds what a JSON file has under the names of the options: {"control": ["u=20"], "minimise": "integral(u^2)"}.
  /// Throws UsageError, with the name of the file, for anything else.
  void read(const std::string& file);
};

/// A programme whose expressions are variables that an extension of the model computes.
class ProgrammeText {
 public:
  /// Reads the texts. Throws UsageError, which names the option and shows what it wants.
  ProgrammeText(const WrittenProgramme& written, ModelExtension& extension);

  /// With the symbols of the model that was read with the extension.
  Programme programme(const Model& model) const;
  /// The end of the run that a control names, u=0:2:20; NaN: none does.
  double stop() const { return stop_; }

 private:
  void add_control(const std::string& text);
  void add_bounds(const std::string& text);
  void add_guess(const std::string& text);
  void add_end(const std::string& text, ModelExtension& extension);
  void add_path(const std::string& text, ModelExtension& extension);
  Control& control(const std::string& name, const std::string& option);

  Programme programme_;
  std::vector<std::string> path_variables_;
  double start_ = not_given, stop_ = not_given;
};

}  // namespace saltus::cli
