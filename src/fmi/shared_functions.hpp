// The part of a loaded FMU that is the same in both versions of the standard: all functions but those that make an
// instance, begin its initialisation and pass values.
#pragma once

#include <saltus/base/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "fmi/called_fmu.hpp"
#include "fmi/fmi.hpp"
#include "fmi/fmu_log.hpp"
#include "fmi/shared_library.hpp"

namespace saltus {

/// A function of a library, with its name for messages.
template <class F>
struct NamedFunction {
  F* function = nullptr;
  std::string name = {};
};

/// The library, the instance, and the functions of both kinds of FMUs. `Interface`: ExchangeFmu or SteppedFmu.
template <class Interface>
class SharedFunctions : public Interface {
 public:
  SharedFunctions(const SharedFunctions&) = delete;
  SharedFunctions& operator=(const SharedFunctions&) = delete;

  void end_initialization() override { call(end_initialization_); }
  void reset() override { call(reset_); }
  void* save() override {
    fmi::State state = nullptr;
    call(save_, &state);
    return state;
  }
  void restore(void* state) override { call(restore_, state); }
  void release(void* state) override { release_.function(instance_, &state); }

 protected:
  /// Loads the library and the functions that are here. The instance is made by the derived class.
  SharedFunctions(const std::string& library, const FmuDescription& description)
      : description_(description), library_(library) {
    load(free_, "FreeInstance");
    load(end_initialization_, "ExitInitializationMode");
    load(reset_, "Reset");
    if (!description.saves_states) return;
    load(save_, fmi2() ? "GetFMUstate" : "GetFMUState");
    load(restore_, fmi2() ? "SetFMUstate" : "SetFMUState");
    load(release_, fmi2() ? "FreeFMUstate" : "FreeFMUState");
  }
  bool fmi2() const { return description_.version == FmiVersion::fmi2; }
  /// For destructors of derived classes: what an FMU calls back is still there then.
  void free_instance() { free_.function(instance_); }

  template <class F>
  void load(NamedFunction<F>& function, const std::string& name) {
    const std::string whole = (fmi2() ? "fmi2" : "fmi3") + name;
    function = {library_.function<F>(whole), whole};
  }
  /// Calls a function; throws Error if it fails.
  template <class F, class... Arguments>
  void call(const NamedFunction<F>& function, Arguments... arguments) {
    check(function.function(instance_, arguments...), function.name);
  }
  void check(fmi::Status status, const std::string& function) const {
    if (status != fmi::ok && status != fmi::warning) throw Error(log_.failure(function, status));
  }
  bool usable(fmi::Status status, const std::string& function) const {
    if (status == fmi::discard) return false;
    check(status, function);
    return true;
  }
  /// The instance that the FMU has made. Throws UsageError if it is null.
  void take_instance(void* instance) {
    if (!instance) throw UsageError("the FMU refuses to be instantiated" + log_.words());
    instance_ = instance;
  }

  FmuLog log_;
  void* instance_ = nullptr;
  const FmuDescription& description_;

 private:
  SharedLibrary library_;
  NamedFunction<fmi::FreeInstanceFunction> free_;
  NamedFunction<fmi::PlainFunction> end_initialization_, reset_;
  NamedFunction<fmi::GetStateFunction> save_, release_;
  NamedFunction<fmi::SetStateFunction> restore_;
};

/// Those of model exchange.
class ExchangeFunctions : public SharedFunctions<ExchangeFmu> {
 public:
  void enter_event_mode() override { call(enter_event_); }
  void enter_continuous_mode() override { call(enter_continuous_); }
  void set_time(double t) override { call(set_time_, t); }
  void set_states(std::span<const double> x) override {
    if (!x.empty()) call(set_states_, x.data(), x.size());
  }
  void states(std::span<double> x) override {
    if (!x.empty()) call(get_states_, x.data(), x.size());
  }
  void nominals(std::span<double> x) override {
    if (!x.empty()) call(get_nominals_, x.data(), x.size());
  }
  bool derivatives(std::span<double> xp) override { return try_call(get_derivatives_, xp); }
  bool indicators(std::span<double> z) override { return try_call(get_indicators_, z); }

 protected:
  ExchangeFunctions(const std::string& library, const FmuDescription& description)
      : SharedFunctions(library, description) {
    load(enter_event_, "EnterEventMode");
    load(enter_continuous_, "EnterContinuousTimeMode");
    load(set_time_, "SetTime");
    load(set_states_, "SetContinuousStates");
    load(get_states_, "GetContinuousStates");
    load(get_derivatives_, fmi2() ? "GetDerivatives" : "GetContinuousStateDerivatives");
    load(get_indicators_, "GetEventIndicators");
    load(get_nominals_, "GetNominalsOfContinuousStates");
  }

  /// Value references of the derivatives of the states, each array once.
  std::vector<fmi::ValueReference> derivative_references() const {
    std::vector<fmi::ValueReference> list;
    for (const std::size_t place : description_.derivatives)
      if (description_.variables[place].element == 0) list.push_back(description_.variables[place].reference);
    return list;
  }
  fmi::ValueReference state_reference(std::size_t state) const { return described(state).reference; }
  /// The size of the array of a state, and its place in it.
  std::size_t state_elements(std::size_t state) const { return described(state).elements; }
  std::size_t state_element(std::size_t state) const { return described(state).element; }

 private:
  const DescribedVariable& described(std::size_t state) const {
    return description_.variables[description_.states[state]];
  }
  /// False where the FMU cannot be evaluated.
  template <class F>
  bool try_call(const NamedFunction<F>& function, std::span<double> values) {
    return values.empty() || usable(function.function(instance_, values.data(), values.size()), function.name);
  }

  NamedFunction<fmi::PlainFunction> enter_event_, enter_continuous_;
  NamedFunction<fmi::SetTimeFunction> set_time_;
  NamedFunction<fmi::SetNumbersFunction> set_states_;
  NamedFunction<fmi::GetNumbersFunction> get_states_, get_derivatives_, get_indicators_, get_nominals_;
};

}  // namespace saltus
