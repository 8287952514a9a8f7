#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "fmi/fmi2.hpp"
#include "fmi/shared_functions.hpp"

namespace saltus {

namespace {

using namespace fmi2;

/// Called by the FMU. Formats the message and keeps it for the next error.
void keep_message2(Environment environment, String, fmi2::Status, String, String format, ...) {
  if (!environment || !format) return;
  char text[1000];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  static_cast<FmuLog*>(environment)->keep(text);
}

class ExchangeFmu2 final : public SharedFunctions {
 public:
  ExchangeFmu2(const UnpackedFmu& files, const FmuDescription& description)
      : SharedFunctions(files.library(description.identifier), description,
                        {.prefix = "fmi2",
                         .derivatives = "GetDerivatives",
                         .save = "GetFMUstate",
                         .restore = "SetFMUstate",
                         .release = "FreeFMUstate"}),
        callbacks_{keep_message2, std::calloc, std::free, nullptr, &log_} {
    Named<InstantiateFunction> instantiate;
    load(instantiate, "Instantiate");
    load(setup_, "SetupExperiment");
    load(begin_initialization_, "EnterInitializationMode");
    load(get_real_, "GetReal");
    load(get_integer_, "GetInteger");
    load(get_boolean_, "GetBoolean");
    load(set_real_, "SetReal");
    load(set_integer_, "SetInteger");
    load(set_boolean_, "SetBoolean");
    load(new_states_, "NewDiscreteStates");
    load(completed_, "CompletedIntegratorStep");
    if (description.directional_derivatives) load(directional_, "GetDirectionalDerivative");
    take_instance(instantiate.function(description.model_name.c_str(), model_exchange, description.token.c_str(),
                                       ("file://" + files.folder() + "/resources").c_str(), &callbacks_, 0, 0));
  }
  ~ExchangeFmu2() override { free_instance(); }

  void begin_initialization(const RunSettings& s) override {
    call(setup_, s.tolerance.has_value(), s.tolerance.value_or(0.0), s.start, s.stop.has_value(), s.stop.value_or(0.0));
    call(begin_initialization_);
  }

  void set(const DescribedVariable& v, double value) override {
    const int whole = static_cast<int>(value);
    switch (v.access) {
      case DescribedVariable::Access::real:
        return call(set_real_, &v.reference, 1, &value);
      case DescribedVariable::Access::boolean:
        return call(set_boolean_, &v.reference, 1, &whole);
      default:
        return call(set_integer_, &v.reference, 1, &whole);
    }
  }
  double get(const DescribedVariable& v) override {
    double value = 0.0;
    int whole = 0;
    switch (v.access) {
      case DescribedVariable::Access::real:
        call(get_real_, &v.reference, 1, &value);
        return value;
      case DescribedVariable::Access::boolean:
        call(get_boolean_, &v.reference, 1, &whole);
        return whole != 0 ? 1.0 : 0.0;
      default:
        call(get_integer_, &v.reference, 1, &whole);
        return whole;
    }
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
  CallbackFunctions callbacks_;
  Named<SetupExperimentFunction> setup_;
  Named<PlainFunction> begin_initialization_;
  Named<GetFunction<Real>> get_real_;
  Named<GetFunction<Integer>> get_integer_, get_boolean_;
  Named<SetFunction<Real>> set_real_;
  Named<SetFunction<Integer>> set_integer_, set_boolean_;
  Named<NewDiscreteStatesFunction> new_states_;
  Named<CompletedStepFunction> completed_;
  Named<DirectionalDerivativeFunction> directional_;
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
