// The part of a loaded FMU that is the same in both versions of the standard: all functions but those that make an
// instance, begin its initialisation and pass values.
#pragma once

#include <saltus/base/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "fmi/exchange_fmu.hpp"
#include "fmi/fmi.hpp"
#include "fmi/fmu_log.hpp"
#include "fmi/shared_library.hpp"

namespace saltus {

/// Names that differ between the versions by more than "fmi2" and "fmi3".
struct FunctionNames {
  std::string prefix, derivatives, save, restore, release;
};

class SharedFunctions : public ExchangeFmu {
 public:
  SharedFunctions(const SharedFunctions&) = delete;
  SharedFunctions& operator=(const SharedFunctions&) = delete;

  void end_initialization() override { call(end_initialization_); }
  void reset() override { call(reset_); }
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
  bool derivatives(std::span<double> xp) override { return xp.empty() || try_call(get_derivatives_, xp); }
  bool indicators(std::span<double> z) override { return z.empty() || try_call(get_indicators_, z); }
  void* save() override {
    fmi::State state = nullptr;
    call(save_, &state);
    return state;
  }
  void restore(void* state) override { call(restore_, state); }
  void release(void* state) override { release_.function(instance_, &state); }

 protected:
  /// A function of the library, with its name for messages.
  template <class F>
  struct Named {
    F* function = nullptr;
    std::string name = {};
  };

  /// Loads the library and the functions that are here. The instance is made by the derived class.
  SharedFunctions(const std::string& library, const FmuDescription& description, const FunctionNames& names)
      : library_(library), description_(description), prefix_(names.prefix) {
    load(free_, "FreeInstance");
    load(end_initialization_, "ExitInitializationMode");
    load(reset_, "Reset");
    load(enter_event_, "EnterEventMode");
    load(enter_continuous_, "EnterContinuousTimeMode");
    load(set_time_, "SetTime");
    load(set_states_, "SetContinuousStates");
    load(get_states_, "GetContinuousStates");
    load(get_derivatives_, names.derivatives);
    load(get_indicators_, "GetEventIndicators");
    load(get_nominals_, "GetNominalsOfContinuousStates");
    if (!description.saves_states) return;
    load(save_, names.save);
    load(restore_, names.restore);
    load(release_, names.release);
  }
  /// For destructors of derived classes: what an FMU calls back is still there then.
  void free_instance() { free_.function(instance_); }

  template <class F>
  void load(Named<F>& function, const std::string& name) {
    function = {library_.function<F>(prefix_ + name), prefix_ + name};
  }
  /// Calls a function; throws Error if it fails.
  template <class F, class... Arguments>
  void call(const Named<F>& function, Arguments... arguments) {
    check(function.function(instance_, arguments...), function.name);
  }
  /// The same; false where the FMU cannot be evaluated.
  template <class F>
  bool try_call(const Named<F>& function, std::span<double> values) {
    return usable(function.function(instance_, values.data(), values.size()), function.name);
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
  /// Value references of the derivatives of the states, and of one state.
  std::vector<fmi::ValueReference> derivative_references() const {
    std::vector<fmi::ValueReference> list;
    for (const std::size_t place : description_.derivatives) list.push_back(description_.variables[place].reference);
    return list;
  }
  fmi::ValueReference state_reference(std::size_t state) const {
    return description_.variables[description_.states[state]].reference;
  }

  FmuLog log_;
  void* instance_ = nullptr;

 private:
  SharedLibrary library_;
  const FmuDescription& description_;
  std::string prefix_;
  Named<fmi::FreeInstanceFunction> free_;
  Named<fmi::PlainFunction> end_initialization_, reset_, enter_event_, enter_continuous_;
  Named<fmi::SetTimeFunction> set_time_;
  Named<fmi::SetNumbersFunction> set_states_;
  Named<fmi::GetNumbersFunction> get_states_, get_derivatives_, get_indicators_, get_nominals_;
  Named<fmi::GetStateFunction> save_, release_;
  Named<fmi::SetStateFunction> restore_;
};

}  // namespace saltus
