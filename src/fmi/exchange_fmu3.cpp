#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <cstdint>

#include "fmi/exchange_fmu.hpp"
#include "fmi/fmi3.hpp"
#include "fmi/fmu_log.hpp"
#include "fmi/shared_library.hpp"

namespace saltus {

namespace {

using namespace fmi3;

/// Called by the FMU. Keeps the message for the next error.
void keep_message3(Environment environment, fmi3::Status, String, String message) {
  if (environment && message) static_cast<FmuLog*>(environment)->keep(message);
}

class ExchangeFmu3 final : public ExchangeFmu {
 public:
  ExchangeFmu3(const UnpackedFmu& files, const FmuDescription& description)
      : library_(files.library(description.identifier)), description_(description) {
    load(instantiate_, "fmi3InstantiateModelExchange");
    load(free_, "fmi3FreeInstance");
    load(begin_initialization_, "fmi3EnterInitializationMode");
    load(end_initialization_, "fmi3ExitInitializationMode");
    load(terminate_, "fmi3Terminate");
    load(reset_, "fmi3Reset");
    load(get_real_, "fmi3GetFloat64");
    load(get_integer_, "fmi3GetInt32");
    load(get_boolean_, "fmi3GetBoolean");
    load(set_real_, "fmi3SetFloat64");
    load(set_integer_, "fmi3SetInt32");
    load(set_boolean_, "fmi3SetBoolean");
    load(get_long_, "fmi3GetInt64");
    load(set_long_, "fmi3SetInt64");
    load(enter_event_, "fmi3EnterEventMode");
    load(new_states_, "fmi3UpdateDiscreteStates");
    load(enter_continuous_, "fmi3EnterContinuousTimeMode");
    load(completed_, "fmi3CompletedIntegratorStep");
    load(set_time_, "fmi3SetTime");
    load(set_states_, "fmi3SetContinuousStates");
    load(get_states_, "fmi3GetContinuousStates");
    load(get_derivatives_, "fmi3GetContinuousStateDerivatives");
    load(get_indicators_, "fmi3GetEventIndicators");
    load(get_nominals_, "fmi3GetNominalsOfContinuousStates");
    if (description.saves_states) {
      load(save_, "fmi3GetFMUState");
      load(restore_, "fmi3SetFMUState");
      load(release_, "fmi3FreeFMUState");
    }
    if (description.directional_derivatives) load(directional_, "fmi3GetDirectionalDerivative");
    instance_ = instantiate_(description.model_name.c_str(), description.token.c_str(),
                             (files.folder() + "/resources/").c_str(), false, false, &log_, keep_message3);
    if (!instance_) throw UsageError("the FMU refuses to be instantiated" + log_.words());
  }
  ~ExchangeFmu3() override { free_(instance_); }
  ExchangeFmu3(const ExchangeFmu3&) = delete;
  ExchangeFmu3& operator=(const ExchangeFmu3&) = delete;

  void begin_initialization(const RunSettings& s) override {
    check(begin_initialization_(instance_, s.tolerance.has_value(), s.tolerance.value_or(0.0), s.start,
                                s.stop.has_value(), s.stop.value_or(0.0)),
          "fmi3EnterInitializationMode");
  }
  void end_initialization() override { check(end_initialization_(instance_), "fmi3ExitInitializationMode"); }
  void reset() override { check(reset_(instance_), "fmi3Reset"); }
  void terminate() override { terminate_(instance_); }

  void set(const DescribedVariable& v, double value) override {
    const auto whole = static_cast<std::int32_t>(value);
    const auto literal = static_cast<std::int64_t>(value);
    const bool truth = value != 0.0;
    switch (v.access) {
      case DescribedVariable::Access::real:
        return check(set_real_(instance_, &v.reference, 1, &value, 1), "fmi3SetFloat64");
      case DescribedVariable::Access::boolean:
        return check(set_boolean_(instance_, &v.reference, 1, &truth, 1), "fmi3SetBoolean");
      case DescribedVariable::Access::integer:
        return check(set_integer_(instance_, &v.reference, 1, &whole, 1), "fmi3SetInt32");
      case DescribedVariable::Access::enumeration:
        return check(set_long_(instance_, &v.reference, 1, &literal, 1), "fmi3SetInt64");
    }
  }
  double get(const DescribedVariable& v) override {
    double value = 0.0;
    std::int32_t whole = 0;
    std::int64_t literal = 0;
    bool truth = false;
    switch (v.access) {
      case DescribedVariable::Access::real:
        check(get_real_(instance_, &v.reference, 1, &value, 1), "fmi3GetFloat64");
        return value;
      case DescribedVariable::Access::boolean:
        check(get_boolean_(instance_, &v.reference, 1, &truth, 1), "fmi3GetBoolean");
        return truth ? 1.0 : 0.0;
      case DescribedVariable::Access::integer:
        check(get_integer_(instance_, &v.reference, 1, &whole, 1), "fmi3GetInt32");
        return whole;
      case DescribedVariable::Access::enumeration:
        check(get_long_(instance_, &v.reference, 1, &literal, 1), "fmi3GetInt64");
        return static_cast<double>(literal);
    }
    return value;
  }

  void enter_event_mode() override { check(enter_event_(instance_), "fmi3EnterEventMode"); }
  EventOutcome update_discrete_states() override {
    EventOutcome outcome;
    bool nominals_changed = false, defined = false;
    double next = 0.0;
    check(new_states_(instance_, &outcome.again, &outcome.terminate, &nominals_changed, &outcome.states_changed,
                      &defined, &next),
          "fmi3UpdateDiscreteStates");
    if (defined) outcome.next_time = next;
    return outcome;
  }
  void enter_continuous_mode() override { check(enter_continuous_(instance_), "fmi3EnterContinuousTimeMode"); }
  bool completed_step(bool& terminate) override {
    Boolean event = false;
    check(completed_(instance_, true, &event, &terminate), "fmi3CompletedIntegratorStep");
    return event;
  }
  void set_time(double t) override { check(set_time_(instance_, t), "fmi3SetTime"); }
  void set_states(std::span<const double> x) override {
    if (!x.empty()) check(set_states_(instance_, x.data(), x.size()), "fmi3SetContinuousStates");
  }
  void states(std::span<double> x) override {
    if (!x.empty()) check(get_states_(instance_, x.data(), x.size()), "fmi3GetContinuousStates");
  }
  void nominals(std::span<double> x) override {
    if (!x.empty()) check(get_nominals_(instance_, x.data(), x.size()), "fmi3GetNominalsOfContinuousStates");
  }
  bool derivatives(std::span<double> xp) override {
    return xp.empty() || usable(get_derivatives_(instance_, xp.data(), xp.size()), "fmi3GetContinuousStateDerivatives");
  }
  bool indicators(std::span<double> z) override {
    return z.empty() || usable(get_indicators_(instance_, z.data(), z.size()), "fmi3GetEventIndicators");
  }
  bool column(std::size_t state, std::span<double> derivative) override {
    if (!directional_) return false;
    std::vector<ValueReference> unknowns;
    for (const std::size_t place : description_.derivatives)
      unknowns.push_back(description_.variables[place].reference);
    const ValueReference known = description_.variables[description_.states[state]].reference;
    const double seed = 1.0;
    return usable(directional_(instance_, unknowns.data(), unknowns.size(), &known, 1, &seed, 1, derivative.data(),
                               derivative.size()),
                  "fmi3GetDirectionalDerivative");
  }

  void* save() override {
    State state = nullptr;
    check(save_(instance_, &state), "fmi3GetFMUState");
    return state;
  }
  void restore(void* state) override { check(restore_(instance_, state), "fmi3SetFMUState"); }
  void release(void* state) override { release_(instance_, &state); }

 private:
  template <class Function>
  void load(Function*& function, const char* name) {
    function = library_.function<Function>(name);
  }
  void check(fmi3::Status status, const char* function) {
    if (status != ok && status != warning) throw Error(log_.failure(function, status));
  }
  bool usable(fmi3::Status status, const char* function) {
    if (status == discard) return false;
    check(status, function);
    return true;
  }

  SharedLibrary library_;
  const FmuDescription& description_;
  FmuLog log_;
  Instance instance_ = nullptr;
  InstantiateModelExchangeFunction* instantiate_ = nullptr;
  FreeInstanceFunction* free_ = nullptr;
  EnterInitializationFunction* begin_initialization_ = nullptr;
  PlainFunction *end_initialization_ = nullptr, *terminate_ = nullptr, *reset_ = nullptr, *enter_event_ = nullptr,
                *enter_continuous_ = nullptr;
  GetFunction<Float64>* get_real_ = nullptr;
  GetFunction<std::int32_t>* get_integer_ = nullptr;
  GetFunction<std::int64_t>* get_long_ = nullptr;
  GetFunction<Boolean>* get_boolean_ = nullptr;
  SetFunction<Float64>* set_real_ = nullptr;
  SetFunction<std::int32_t>* set_integer_ = nullptr;
  SetFunction<std::int64_t>* set_long_ = nullptr;
  SetFunction<Boolean>* set_boolean_ = nullptr;
  UpdateDiscreteStatesFunction* new_states_ = nullptr;
  CompletedStepFunction* completed_ = nullptr;
  SetTimeFunction* set_time_ = nullptr;
  SetNumbersFunction* set_states_ = nullptr;
  GetNumbersFunction *get_states_ = nullptr, *get_derivatives_ = nullptr, *get_indicators_ = nullptr,
                     *get_nominals_ = nullptr;
  GetStateFunction *save_ = nullptr, *release_ = nullptr;
  SetStateFunction* restore_ = nullptr;
  DerivativeFunction* directional_ = nullptr;
};

}  // namespace

std::unique_ptr<ExchangeFmu> load_exchange_fmu3(const UnpackedFmu& files, const FmuDescription& description) {
  return std::make_unique<ExchangeFmu3>(files, description);
}

}  // namespace saltus
