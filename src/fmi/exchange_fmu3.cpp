#include <cstdint>

#include "fmi/fmi3.hpp"
#include "fmi/shared_functions.hpp"

namespace saltus {

namespace {

using namespace fmi3;

/// Called by the FMU. Keeps the message for the next error.
void keep_message3(Environment environment, fmi3::Status, String, String message) {
  if (environment && message) static_cast<FmuLog*>(environment)->keep(message);
}

class ExchangeFmu3 final : public SharedFunctions {
 public:
  ExchangeFmu3(const UnpackedFmu& files, const FmuDescription& description)
      : SharedFunctions(files.library(description.identifier), description,
                        {.prefix = "fmi3",
                         .derivatives = "GetContinuousStateDerivatives",
                         .save = "GetFMUState",
                         .restore = "SetFMUState",
                         .release = "FreeFMUState"}) {
    Named<InstantiateModelExchangeFunction> instantiate;
    load(instantiate, "InstantiateModelExchange");
    load(begin_initialization_, "EnterInitializationMode");
    load(get_real_, "GetFloat64");
    load(get_integer_, "GetInt32");
    load(get_long_, "GetInt64");
    load(get_boolean_, "GetBoolean");
    load(set_real_, "SetFloat64");
    load(set_integer_, "SetInt32");
    load(set_long_, "SetInt64");
    load(set_boolean_, "SetBoolean");
    load(new_states_, "UpdateDiscreteStates");
    load(completed_, "CompletedIntegratorStep");
    if (description.directional_derivatives) load(directional_, "GetDirectionalDerivative");
    take_instance(instantiate.function(description.model_name.c_str(), description.token.c_str(),
                                       (files.folder() + "/resources/").c_str(), false, false, &log_, keep_message3));
  }
  ~ExchangeFmu3() override { free_instance(); }

  void begin_initialization(const RunSettings& s) override {
    call(begin_initialization_, s.tolerance.has_value(), s.tolerance.value_or(0.0), s.start, s.stop.has_value(),
         s.stop.value_or(0.0));
  }

  void set(const DescribedVariable& v, double value) override {
    switch (v.access) {
      case DescribedVariable::Access::real:
        return set_as(set_real_, v, value);
      case DescribedVariable::Access::boolean:
        return set_as(set_boolean_, v, value != 0.0);
      case DescribedVariable::Access::integer:
        return set_as(set_integer_, v, static_cast<std::int32_t>(value));
      case DescribedVariable::Access::enumeration:
        return set_as(set_long_, v, static_cast<std::int64_t>(value));
    }
  }
  double get(const DescribedVariable& v) override {
    switch (v.access) {
      case DescribedVariable::Access::real:
        return get_as(get_real_, v, 0.0);
      case DescribedVariable::Access::boolean:
        return get_as(get_boolean_, v, false);
      case DescribedVariable::Access::integer:
        return get_as(get_integer_, v, std::int32_t{0});
      case DescribedVariable::Access::enumeration:
        return get_as(get_long_, v, std::int64_t{0});
    }
    return 0.0;
  }

  EventOutcome update_discrete_states() override {
    EventOutcome outcome;
    bool nominals_changed = false, defined = false;
    double next = 0.0;
    call(new_states_, &outcome.again, &outcome.terminate, &nominals_changed, &outcome.states_changed, &defined, &next);
    if (defined) outcome.next_time = next;
    return outcome;
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
    const double seed = 1.0;
    return usable(directional_.function(instance_, unknowns.data(), unknowns.size(), &known, 1, &seed, 1,
                                        derivative.data(), derivative.size()),
                  directional_.name);
  }

 private:
  template <class Value>
  void set_as(const Named<SetFunction<Value>>& function, const DescribedVariable& v, Value value) {
    call(function, &v.reference, 1, &value, 1);
  }
  template <class Value>
  double get_as(const Named<GetFunction<Value>>& function, const DescribedVariable& v, Value value) {
    call(function, &v.reference, 1, &value, 1);
    return static_cast<double>(value);
  }

  Named<EnterInitializationFunction> begin_initialization_;
  Named<GetFunction<Float64>> get_real_;
  Named<GetFunction<std::int32_t>> get_integer_;
  Named<GetFunction<std::int64_t>> get_long_;
  Named<GetFunction<Boolean>> get_boolean_;
  Named<SetFunction<Float64>> set_real_;
  Named<SetFunction<std::int32_t>> set_integer_;
  Named<SetFunction<std::int64_t>> set_long_;
  Named<SetFunction<Boolean>> set_boolean_;
  Named<UpdateDiscreteStatesFunction> new_states_;
  Named<CompletedStepFunction> completed_;
  Named<DerivativeFunction> directional_;
};

}  // namespace

std::unique_ptr<ExchangeFmu> load_exchange_fmu3(const UnpackedFmu& files, const FmuDescription& description) {
  return std::make_unique<ExchangeFmu3>(files, description);
}

}  // namespace saltus
