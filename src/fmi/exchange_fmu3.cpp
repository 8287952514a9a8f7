#include "fmi/functions_of_fmi3.hpp"

namespace saltus {

namespace {

using namespace fmi3;

class ExchangeFmu3 final : public FunctionsOfFmi3<ExchangeFunctions> {
 public:
  ExchangeFmu3(const UnpackedFmu& files, const FmuDescription& description) : FunctionsOfFmi3(files, description) {
    NamedFunction<InstantiateModelExchangeFunction> instantiate;
    load(instantiate, "InstantiateModelExchange");
    load_event_mode();
    load(completed_, "CompletedIntegratorStep");
    if (description.directional_derivatives) load(directional_, "GetDirectionalDerivative");
    take_instance(instantiate.function(description.model_name.c_str(), description.token.c_str(), resources(), false,
                                       false, &log_, keep_message));
  }

  bool completed_step(bool& terminate) override {
    Boolean event = false;
    call(completed_, false, &event, &terminate);
    return event;
  }
  bool column(std::size_t state, std::span<double> derivative) override {
    if (!directional_.function) return false;
    const std::vector<ValueReference> unknowns = derivative_references();
    const ValueReference known = state_reference(state);
    std::vector<double> seed(state_elements(state), 0.0);
    seed[state_element(state)] = 1.0;
    return usable(directional_.function(instance_, unknowns.data(), unknowns.size(), &known, 1, seed.data(),
                                        seed.size(), derivative.data(), derivative.size()),
                  directional_.name);
  }

 private:
  NamedFunction<CompletedStepFunction> completed_;
  NamedFunction<DerivativeFunction> directional_;
};

}  // namespace

std::unique_ptr<ExchangeFmu> load_exchange_fmu3(const UnpackedFmu& files, const FmuDescription& description) {
  return std::make_unique<ExchangeFmu3>(files, description);
}

}  // namespace saltus
