// The numbers of a compiled model that may differ from run to run: parameters and start values.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/model.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/start_values.hpp"

namespace saltus {

/// Values of one run or of many. Copies share what they have in common.
struct ModelValues {
  std::vector<double> parameters;
  std::vector<double> discrete;                               ///< start values of the discrete variables
  std::shared_ptr<const std::vector<VariableInfo>> kept;      ///< of the variables that the systems carry
  std::shared_ptr<const std::vector<VariableInfo>> observed;  ///< of what the user sees, in the order of the model
  std::vector<char> start_given;  ///< by start value that is an expression: a number has replaced it
  Mode first_mode;                ///< before anything is known about guards
};

/// What can be changed in a compiled model, by name. Functions that are const may be called from several threads.
class ValueNames {
 public:
  ValueNames() = default;
  /// `observed_position`: of each variable among those that the systems carry, or -1; `observed_discretes`: those that
  /// are not hidden.
  ValueNames(const ModelData& model, std::vector<int> observed_position, std::vector<int> observed_discretes);

  const std::string& parameter_name(std::size_t k) const { return parameter_names_[k]; }
  const Rare<VariableDetails>& parameter_details(std::size_t k) const { return parameter_details_[k]; }
  std::size_t parameter_count() const { return parameter_names_.size(); }
  const StartValues& start_values() const { return start_values_; }

  /// The values with these changes; `first_mode` stays. Throws ModelError for names that are unknown or fixed and for
  /// values that the type does not have.
  ModelValues changed(const ModelValues& before, std::span<const std::pair<std::string, double>> changes) const;
  /// Puts the values into a model from which they were compiled.
  void write(const ModelValues& values, ModelData& model) const;

 private:
  struct Order {
    std::once_flag made;
    std::vector<std::uint32_t> places;  // parameters, then observed variables, by name
  };
  const std::string& name_at(const ModelValues& values, std::uint32_t place) const;
  std::uint32_t find(const ModelValues& values, const std::string& name) const;
  void set_start(ModelValues& values, std::size_t observed, double value) const;

  std::string model_name_;
  std::vector<std::string> parameter_names_;
  std::vector<Rare<VariableDetails>> parameter_details_;
  std::map<std::string, std::string> fixed_names_;
  std::vector<int> observed_position_, observed_discretes_;
  StartValues start_values_;
  std::unique_ptr<Order> order_ = std::make_unique<Order>();  // found when it is first asked for
};

}  // namespace saltus
