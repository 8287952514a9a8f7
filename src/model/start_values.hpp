// Start values, bounds and times of samples that are expressions of parameters.
#pragma once

#include <saltus/model/model.hpp>
#include <saltus/program/program.hpp>

#include <span>
#include <string>
#include <vector>

namespace saltus {

class StartValues {
 public:
  StartValues() = default;
  /// Compiles ModelData::start_values, ModelData::bound_values and ModelData::samples.
  explicit StartValues(const ModelData& model);

  /// Whether there are any that are expressions.
  bool any() const { return !targets_.empty(); }
  /// The number of start values. They come in the order of their names.
  std::size_t count() const { return start_count_; }
  /// The place of a name among them; -1: its start value is a number.
  int place_of(const std::string& name) const;

  /// An expression that gives a start value, and to what.
  struct Expression {
    bool discrete;  ///< `index` counts discrete variables; otherwise variables of the model
    std::size_t index;
    Expr value;
  };
  /// The start values that are expressions, in the order of their places.
  std::vector<Expression> expressions() const;

  /// Times of samples that depend on parameters.
  struct Samples {
    Expr start, interval;
    std::size_t pulse;  ///< the discrete variable that is true where one is taken
  };
  const std::vector<Samples>& samples() const { return samples_; }

  /// Puts the values for these parameters into `variables` (all of the model), `discrete` (start values of the discrete
  /// variables) and `observed_discretes` (what is shown of those that are not hidden, in their order). `given`: start
  /// values that numbers have replaced, one entry each. Throws ModelError for a value that is not a finite number, and
  /// for intervals of samples that are not positive. Any number of threads may call it at the same time.
  void evaluate(std::span<const double> parameters, std::span<const char> given, std::span<VariableInfo> variables,
                std::span<double> discrete, std::span<VariableInfo> observed_discretes) const;

 private:
  enum class What { start, min, max, sample_start, sample_interval };
  struct Target {
    What what;
    bool discrete;
    std::size_t index;     // among the variables, or the discrete variables
    std::size_t observed;  // among the discrete variables that are not hidden
    std::string name;
    Expr value;
  };
  std::vector<Target> targets_;  // start values first
  std::vector<Samples> samples_;
  std::size_t start_count_ = 0;
  Program program_;
};

}  // namespace saltus
