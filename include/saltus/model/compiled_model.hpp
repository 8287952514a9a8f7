// CompiledModel: a Model made ready to run, as a HybridSystem. One set of programs serves all combinations of locks.
//
// It is code, which does not change, and, as soon as something is evaluated, the workspaces of one run. Copies share
// the code and have workspaces of their own, so any number of threads run one `const CompiledModel` at the same time:
// `simulate(compiled, options)`.
#pragma once

#include <saltus/dae/easier_start.hpp>
#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/model.hpp>
#include <saltus/program/program.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

/// Throws ModelError on construction if the model is not complete: too many or too few equations, variables that no
/// equation determines, transitions without a successor.
///
/// The model may be changed or destroyed afterwards: what has been compiled has a graph of its own. Functions that are
/// const may be called from several threads at once. The others evaluate: then one object serves one thread, and each
/// thread takes a copy.
class CompiledModel final : public HybridSystem, public EasierStart {
 public:
  explicit CompiledModel(const Model& model, ProgramOptions options = {});
  /// Shares the code. Cheap: nothing is compiled.
  CompiledModel(const CompiledModel& other);
  CompiledModel& operator=(const CompiledModel&) = delete;
  ~CompiledModel() override;

  std::unique_ptr<HybridSystem> instance() const override;
  const std::string& name() const override;
  const std::vector<VariableInfo>& variables() const override;
  const std::vector<GuardInfo>& guards() const override;
  const std::vector<InputInfo>& inputs() const override;
  Mode initial_mode() const override;
  ExtraConditions* initial_conditions(const Mode& mode) override;
  std::optional<double> start_time() const override;
  std::string describe(const Mode& mode) const override;
  System& system(const Mode& mode) override;
  void exit_guards(const Mode& mode, std::vector<int>& numbers) const override;
  void forget_systems(std::span<const System* const> kept) override;
  bool same_equations(const Mode& a, const Mode& b) const override;
  bool same_time_guards(const Mode& a, const Mode& b) const override;
  int side(const Mode& mode, int guard) const override;
  void positions(const Mode& mode, std::vector<Position>& positions) const override;
  void set_side(Mode& mode, int guard, int side) const override;
  std::vector<int> dormant(const Mode& mode) const override;
  bool follow(Mode& mode, int guard, double value, int side) const override;
  void rest(Mode& mode, int guard) const override;
  bool rests(const Mode& mode, int guard) const override;
  bool can_stay_on_surfaces(const Mode& mode) override;
  double next_time_event(const Mode& mode, double t, int direction, std::vector<int>& guards) override;
  bool transition(const EventInput& input, Transition& transition) override;
  void end_instant(const EventInput& input, Transition& transition) override;
  void take_paired_side(Mode& mode) const override;
  const std::vector<VariableInfo>& observed() const override;
  bool same_decisions(const Mode& a, const Mode& b) const override;
  bool acts_alike(const Mode& a, const Mode& b) const override;
  void identify(const Mode& mode, std::vector<double>& key) const override;
  bool derives_variables() const override;
  void observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
               std::span<double> values) override;
  std::uint64_t values_key() const override;
  std::shared_ptr<const FamilyParts> parts(int degree) const override;
  std::string_view clause_name(int condition) const override;
  WrittenEquations* written_equations(const Mode& mode) override;
  std::shared_ptr<HybridSystem> eased(double share, std::span<const double> values) const override;

  /// What is watched for a guard, "w - 2 = 0": GuardInfo::name without the variables that were eliminated.
  std::string watched_text(int guard) const;
  /// Whether there is nothing to integrate: there are no variables, or all of them follow from discrete values and relations by explicit
  /// equations. The systems then carry one variable of their own that stands still and is not observed.
  bool stands_still() const;
  /// Parameters with their values.
  std::vector<std::pair<std::string, double>> parameters() const;
  /// The same with type, unit and description, as files show them; `start` is the value.
  std::vector<VariableInfo> parameter_info() const;

  /// The same model with other values of parameters and other start values (of variables and discrete variables), by
  /// name; the others stay. Start values and bounds that are expressions of parameters follow them. Nothing is compiled,
  /// with one exception: values for which a model would be compiled to other equations (the coefficient of a derivative
  /// becomes zero, two thresholds become one). Results are those of the model compiled with these values.
  ///
  /// Throws ModelError for unknown names, for values that a type does not have, and for names whose value was used to
  /// write the model (Model::fix), with the reason: a size of an array in Modelica, for example. From any thread.
  CompiledModel with_values(const std::vector<std::pair<std::string, double>>& changes) const;

 private:
  friend struct ModelAccess;  // what sensitivities read
  CompiledModel();
  struct Code;
  struct State;
  struct Impl;
  static std::shared_ptr<const Code> compile(const ModelData& model, const ProgramOptions& options);
  std::unique_ptr<Impl> impl_;
};

}  // namespace saltus
