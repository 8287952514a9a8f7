#include "fmi/functions_of_fmi2.hpp"

namespace saltus {

namespace {

using namespace fmi2;

class ExchangeFmu2 final : public FunctionsOfFmi2<ExchangeFunctions> {
 public:
  ExchangeFmu2(const UnpackedFmu& files, const FmuDescription& description)
      : FunctionsOfFmi2(files, description, model_exchange) {
    load(new_states_, "NewDiscreteStates");
    load(completed_, "CompletedIntegratorStep");
    if (description.directional_derivatives) load(directional_, "GetDirectionalDerivative");
  }

  EventOutcome update_discrete_states() override {
    EventInfo info{};
    call(new_states_, &info);
    EventOutcome outcome{.again = info.new_discrete_states_needed != 0,
                         .terminate = info.terminate_simulation != 0,
                         .states_changed = info.values_of_continuous_states_changed != 0};
    if (info.next_event_time_defined) outcome.next_time = info.next_event_time;
    return outcome;
  }
  bool completed_step(bool& terminate) override {
    Boolean event = 0, end = 0;
    call(completed_, 0, &event, &end);
    terminate = end != 0;
    return event != 0;
  }
  bool column(std::size_t state, std::span<double> derivative) override {
    if (!directional_.function) return false;
    const std::vector<ValueReference> unknowns = derivative_references();
    const ValueReference known = state_reference(state);
    const double seed = 1.0;
    return usable(
        directional_.function(instance_, unknowns.data(), unknowns.size(), &known, 1, &seed, derivative.data()),
        directional_.name);
  }

 private:
  NamedFunction<NewDiscreteStatesFunction> new_states_;
  NamedFunction<CompletedStepFunction> completed_;
  NamedFunction<DirectionalDerivativeFunction> directional_;
};

}  // namespace

std::unique_ptr<ExchangeFmu> load_exchange_fmu(const UnpackedFmu& files, const FmuDescription& description) {
  return description.version == FmiVersion::fmi2 ? load_exchange_fmu2(files, description)
                                                 : load_exchange_fmu3(files, description);
}

std::unique_ptr<ExchangeFmu> load_exchange_fmu2(const UnpackedFmu& files, const FmuDescription& description) {
  return std::make_unique<ExchangeFmu2>(files, description);
}

}  // namespace saltus
