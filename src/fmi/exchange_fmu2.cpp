#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "fmi/exchange_fmu.hpp"
#include "fmi/fmi2.hpp"
#include "fmi/fmu_log.hpp"
#include "fmi/shared_library.hpp"

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

class ExchangeFmu2 final : public ExchangeFmu {
 public:
  ExchangeFmu2(const UnpackedFmu& files, const FmuDescription& description)
      : library_(files.library(description.identifier)),
        description_(description),
        callbacks_{keep_message2, std::calloc, std::free, nullptr, &log_} {
    load(instantiate_, "fmi2Instantiate");
    load(free_, "fmi2FreeInstance");
    load(setup_, "fmi2SetupExperiment");
    load(begin_initialization_, "fmi2EnterInitializationMode");
    load(end_initialization_, "fmi2ExitInitializationMode");
    load(terminate_, "fmi2Terminate");
    load(reset_, "fmi2Reset");
    load(get_real_, "fmi2GetReal");
    load(get_integer_, "fmi2GetInteger");
    load(get_boolean_, "fmi2GetBoolean");
    load(set_real_, "fmi2SetReal");
    load(set_integer_, "fmi2SetInteger");
    load(set_boolean_, "fmi2SetBoolean");
    load(enter_event_, "fmi2EnterEventMode");
    load(new_states_, "fmi2NewDiscreteStates");
    load(enter_continuous_, "fmi2EnterContinuousTimeMode");
    load(completed_, "fmi2CompletedIntegratorStep");
    load(set_time_, "fmi2SetTime");
    load(set_states_, "fmi2SetContinuousStates");
    load(get_states_, "fmi2GetContinuousStates");
    load(get_derivatives_, "fmi2GetDerivatives");
    load(get_indicators_, "fmi2GetEventIndicators");
    load(get_nominals_, "fmi2GetNominalsOfContinuousStates");
    if (description.saves_states) {
      load(save_, "fmi2GetFMUstate");
      load(restore_, "fmi2SetFMUstate");
      load(release_, "fmi2FreeFMUstate");
    }
    if (description.directional_derivatives) load(directional_, "fmi2GetDirectionalDerivative");
    component_ = instantiate_(description.model_name.c_str(), model_exchange, description.token.c_str(),
                              ("file://" + files.folder() + "/resources").c_str(), &callbacks_, 0, 0);
    if (!component_) throw UsageError("the FMU refuses to be instantiated" + log_.words());
  }
  ~ExchangeFmu2() override { free_(component_); }
  ExchangeFmu2(const ExchangeFmu2&) = delete;
  ExchangeFmu2& operator=(const ExchangeFmu2&) = delete;

  void begin_initialization(const RunSettings& s) override {
    check(setup_(component_, s.tolerance.has_value(), s.tolerance.value_or(0.0), s.start, s.stop.has_value(),
                 s.stop.value_or(0.0)),
          "fmi2SetupExperiment");
    check(begin_initialization_(component_), "fmi2EnterInitializationMode");
  }
  void end_initialization() override { check(end_initialization_(component_), "fmi2ExitInitializationMode"); }
  void reset() override { check(reset_(component_), "fmi2Reset"); }
  void terminate() override { terminate_(component_); }

  void set(const DescribedVariable& v, double value) override {
    const int whole = static_cast<int>(value);
    switch (v.access) {
      case DescribedVariable::Access::real:
        return check(set_real_(component_, &v.reference, 1, &value), "fmi2SetReal");
      case DescribedVariable::Access::boolean:
        return check(set_boolean_(component_, &v.reference, 1, &whole), "fmi2SetBoolean");
      default:
        return check(set_integer_(component_, &v.reference, 1, &whole), "fmi2SetInteger");
    }
  }
  double get(const DescribedVariable& v) override {
    double value = 0.0;
    int whole = 0;
    switch (v.access) {
      case DescribedVariable::Access::real:
        check(get_real_(component_, &v.reference, 1, &value), "fmi2GetReal");
        return value;
      case DescribedVariable::Access::boolean:
        check(get_boolean_(component_, &v.reference, 1, &whole), "fmi2GetBoolean");
        return whole != 0 ? 1.0 : 0.0;
      default:
        check(get_integer_(component_, &v.reference, 1, &whole), "fmi2GetInteger");
        return whole;
    }
  }

  void enter_event_mode() override { check(enter_event_(component_), "fmi2EnterEventMode"); }
  EventOutcome update_discrete_states() override {
    EventInfo info{};
    check(new_states_(component_, &info), "fmi2NewDiscreteStates");
    EventOutcome outcome{.again = info.new_discrete_states_needed != 0,
                         .terminate = info.terminate_simulation != 0,
                         .states_changed = info.values_of_continuous_states_changed != 0};
    if (info.next_event_time_defined) outcome.next_time = info.next_event_time;
    return outcome;
  }
  void enter_continuous_mode() override { check(enter_continuous_(component_), "fmi2EnterContinuousTimeMode"); }
  bool completed_step(bool& terminate) override {
    Boolean event = 0, end = 0;
    check(completed_(component_, 1, &event, &end), "fmi2CompletedIntegratorStep");
    terminate = end != 0;
    return event != 0;
  }
  void set_time(double t) override { check(set_time_(component_, t), "fmi2SetTime"); }
  void set_states(std::span<const double> x) override {
    if (!x.empty()) check(set_states_(component_, x.data(), x.size()), "fmi2SetContinuousStates");
  }
  void states(std::span<double> x) override {
    if (!x.empty()) check(get_states_(component_, x.data(), x.size()), "fmi2GetContinuousStates");
  }
  void nominals(std::span<double> x) override {
    if (!x.empty()) check(get_nominals_(component_, x.data(), x.size()), "fmi2GetNominalsOfContinuousStates");
  }
  bool derivatives(std::span<double> xp) override {
    return xp.empty() || usable(get_derivatives_(component_, xp.data(), xp.size()), "fmi2GetDerivatives");
  }
  bool indicators(std::span<double> z) override {
    return z.empty() || usable(get_indicators_(component_, z.data(), z.size()), "fmi2GetEventIndicators");
  }
  bool column(std::size_t state, std::span<double> derivative) override {
    if (!directional_) return false;
    std::vector<ValueReference> unknowns;
    for (const std::size_t place : description_.derivatives)
      unknowns.push_back(description_.variables[place].reference);
    const ValueReference known = description_.variables[description_.states[state]].reference;
    const double seed = 1.0;
    return usable(directional_(component_, unknowns.data(), unknowns.size(), &known, 1, &seed, derivative.data()),
                  "fmi2GetDirectionalDerivative");
  }

  void* save() override {
    State state = nullptr;
    check(save_(component_, &state), "fmi2GetFMUstate");
    return state;
  }
  void restore(void* state) override { check(restore_(component_, state), "fmi2SetFMUstate"); }
  void release(void* state) override { release_(component_, &state); }

 private:
  template <class Function>
  void load(Function*& function, const char* name) {
    function = library_.function<Function>(name);
  }
  void check(fmi2::Status status, const char* function) {
    if (status != ok && status != warning) throw Error(log_.failure(function, status));
  }
  bool usable(fmi2::Status status, const char* function) {
    if (status == discard) return false;
    check(status, function);
    return true;
  }

  SharedLibrary library_;
  const FmuDescription& description_;
  FmuLog log_;
  CallbackFunctions callbacks_;
  Component component_ = nullptr;
  InstantiateFunction* instantiate_ = nullptr;
  FreeInstanceFunction* free_ = nullptr;
  SetupExperimentFunction* setup_ = nullptr;
  PlainFunction *begin_initialization_ = nullptr, *end_initialization_ = nullptr, *terminate_ = nullptr,
                *reset_ = nullptr, *enter_event_ = nullptr, *enter_continuous_ = nullptr;
  GetFunction<Real>* get_real_ = nullptr;
  GetFunction<Integer>*get_integer_ = nullptr, *get_boolean_ = nullptr;
  SetFunction<Real>* set_real_ = nullptr;
  SetFunction<Integer>*set_integer_ = nullptr, *set_boolean_ = nullptr;
  NewDiscreteStatesFunction* new_states_ = nullptr;
  CompletedStepFunction* completed_ = nullptr;
  SetTimeFunction* set_time_ = nullptr;
  SetNumbersFunction* set_states_ = nullptr;
  GetNumbersFunction *get_states_ = nullptr, *get_derivatives_ = nullptr, *get_indicators_ = nullptr,
                     *get_nominals_ = nullptr;
  GetStateFunction *save_ = nullptr, *release_ = nullptr;
  SetStateFunction* restore_ = nullptr;
  DirectionalDerivativeFunction* directional_ = nullptr;
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
