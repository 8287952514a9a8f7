// The functions of FMI 3.0 that begin the initialisation, pass values and find new discrete states, for both kinds of
// FMUs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <type_traits>

#include "fmi/fmi3.hpp"
#include "fmi/shared_functions.hpp"

namespace saltus {

/// `Base`: SharedFunctions or ExchangeFunctions.
template <class Base>
class FunctionsOfFmi3 : public Base {
 public:
  ~FunctionsOfFmi3() override { this->free_instance(); }

  void begin_initialization(const RunSettings& s) override {
    this->call(begin_initialization_, s.tolerance.has_value(), s.tolerance.value_or(0.0), s.start, s.stop.has_value(),
               s.stop.value_or(0.0));
  }
  void set(const DescribedVariable& v, double value) override {
    visit(v.access, [&](auto& type) {
      using Value = typename std::remove_reference_t<decltype(type)>::Value;
      if (v.elements == 1) {
        const auto one = static_cast<Value>(value);
        return this->call(type.set, &v.reference, 1, &one, 1);
      }
      std::vector<double>& all = arrays_.at(v.reference);
      all[v.element] = value;
      const auto list = std::make_unique<Value[]>(all.size());
      for (std::size_t k = 0; k < all.size(); ++k) list[k] = static_cast<Value>(all[k]);
      this->call(type.set, &v.reference, 1, static_cast<const Value*>(list.get()), all.size());
    });
  }
  double get(const DescribedVariable& v) override {
    double result = 0.0;
    visit(v.access, [&](auto& type) {
      using Value = typename std::remove_reference_t<decltype(type)>::Value;
      const auto list = std::make_unique<Value[]>(v.elements);
      this->call(type.get, &v.reference, 1, list.get(), std::size_t{v.elements});
      result = static_cast<double>(list[v.element]);
    });
    return result;
  }
  EventOutcome update_discrete_states() override {
    EventOutcome outcome;
    bool nominals_changed = false, defined = false;
    double next = 0.0;
    this->call(new_states_, &outcome.again, &outcome.terminate, &nominals_changed, &outcome.states_changed, &defined,
               &next);
    if (defined) outcome.next_time = next;
    return outcome;
  }

 protected:
  FunctionsOfFmi3(const UnpackedFmu& files, const FmuDescription& description)
      : Base(files.library(description.identifier), description), resources_(files.folder() + "/resources/") {
    this->load(begin_initialization_, "EnterInitializationMode");
    for (const DescribedVariable& v : description.variables) {
      visit(v.access, [&](auto& type) {
        if (type.get.function) return;
        this->load(type.get, std::string("Get") + type.name);
        this->load(type.set, std::string("Set") + type.name);
      });
      if (v.elements > 1) arrays_[v.reference].push_back(v.info.start);
    }
  }
  /// For those that use event mode.
  void load_event_mode() { this->load(new_states_, "UpdateDiscreteStates"); }
  const char* resources() const { return resources_.c_str(); }
  /// Called by the FMU. Keeps the message for the next error.
  static void keep_message(fmi::Environment environment, fmi::Status, fmi::String, fmi::String message) {
    if (environment && message) static_cast<FmuLog*>(environment)->keep(message);
  }

 private:
  /// The functions for values of one type.
  template <class T>
  struct Type {
    using Value = T;
    const char* name;
    NamedFunction<fmi3::GetFunction<T>> get = {};
    NamedFunction<fmi3::SetFunction<T>> set = {};
  };

  template <class Action>
  void visit(DescribedVariable::Access access, Action&& action) {
    using Access = DescribedVariable::Access;
    switch (access) {
      case Access::real:
        return action(float64_);
      case Access::float32:
        return action(float32_);
      case Access::int8:
        return action(int8_);
      case Access::uint8:
        return action(uint8_);
      case Access::int16:
        return action(int16_);
      case Access::uint16:
        return action(uint16_);
      case Access::integer:
        return action(int32_);
      case Access::uint32:
        return action(uint32_);
      case Access::int64:
      case Access::enumeration:
        return action(int64_);
      case Access::uint64:
        return action(uint64_);
      case Access::boolean:
        return action(boolean_);
    }
  }

  std::string resources_;
  NamedFunction<fmi3::EnterInitializationFunction> begin_initialization_;
  NamedFunction<fmi3::UpdateDiscreteStatesFunction> new_states_;
  Type<double> float64_{"Float64"};
  Type<float> float32_{"Float32"};
  Type<std::int8_t> int8_{"Int8"};
  Type<std::uint8_t> uint8_{"UInt8"};
  Type<std::int16_t> int16_{"Int16"};
  Type<std::uint16_t> uint16_{"UInt16"};
  Type<std::int32_t> int32_{"Int32"};
  Type<std::uint32_t> uint32_{"UInt32"};
  Type<std::int64_t> int64_{"Int64"};
  Type<std::uint64_t> uint64_{"UInt64"};
  Type<bool> boolean_{"Boolean"};
  /// By value reference: the values that an array was given last. Arrays are set as a whole.
  std::map<std::uint32_t, std::vector<double>> arrays_;
};

}  // namespace saltus
