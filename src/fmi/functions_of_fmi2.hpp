// The functions of FMI 2.0 that begin the initialisation and pass values, for both kinds of FMUs.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "fmi/fmi2.hpp"
#include "fmi/shared_functions.hpp"

namespace saltus {

/// `Base`: SharedFunctions or ExchangeFunctions.
template <class Base>
class FunctionsOfFmi2 : public Base {
 public:
  ~FunctionsOfFmi2() override { this->free_instance(); }

  void begin_initialization(const RunSettings& s) override {
    this->call(setup_, s.tolerance.has_value(), s.tolerance.value_or(0.0), s.start, s.stop.has_value(),
               s.stop.value_or(0.0));
    this->call(begin_initialization_);
  }
  void set(const DescribedVariable& v, double value) override {
    const int whole = static_cast<int>(value);
    switch (v.access) {
      case DescribedVariable::Access::real:
        return this->call(set_real_, &v.reference, 1, &value);
      case DescribedVariable::Access::boolean:
        return this->call(set_boolean_, &v.reference, 1, &whole);
      default:
        return this->call(set_integer_, &v.reference, 1, &whole);
    }
  }
  double get(const DescribedVariable& v) override {
    double value = 0.0;
    int whole = 0;
    switch (v.access) {
      case DescribedVariable::Access::real:
        this->call(get_real_, &v.reference, 1, &value);
        return value;
      case DescribedVariable::Access::boolean:
        this->call(get_boolean_, &v.reference, 1, &whole);
        return whole != 0 ? 1.0 : 0.0;
      default:
        this->call(get_integer_, &v.reference, 1, &whole);
        return whole;
    }
  }

 protected:
  FunctionsOfFmi2(const UnpackedFmu& files, const FmuDescription& description, fmi2::Type type)
      : Base(files.library(description.identifier), description),
        callbacks_{keep_message, std::calloc, std::free, nullptr, &this->log_} {
    NamedFunction<fmi2::InstantiateFunction> instantiate;
    this->load(instantiate, "Instantiate");
    this->load(setup_, "SetupExperiment");
    this->load(begin_initialization_, "EnterInitializationMode");
    this->load(get_real_, "GetReal");
    this->load(get_integer_, "GetInteger");
    this->load(get_boolean_, "GetBoolean");
    this->load(set_real_, "SetReal");
    this->load(set_integer_, "SetInteger");
    this->load(set_boolean_, "SetBoolean");
    this->take_instance(instantiate.function(description.model_name.c_str(), type, description.token.c_str(),
                                             ("file://" + files.folder() + "/resources").c_str(), &callbacks_, 0, 0));
  }

 private:
  /// Called by the FMU. Formats the message and keeps it for the next error.
  static void keep_message(fmi::Environment environment, fmi::String, fmi::Status, fmi::String, fmi::String format,
                           ...) {
    if (!environment || !format) return;
    char text[1000];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    static_cast<FmuLog*>(environment)->keep(text);
  }

  fmi2::CallbackFunctions callbacks_;
  NamedFunction<fmi2::SetupExperimentFunction> setup_;
  NamedFunction<fmi::PlainFunction> begin_initialization_;
  NamedFunction<fmi2::GetFunction<double>> get_real_;
  NamedFunction<fmi2::GetFunction<int>> get_integer_, get_boolean_;
  NamedFunction<fmi2::SetFunction<double>> set_real_;
  NamedFunction<fmi2::SetFunction<int>> set_integer_, set_boolean_;
};

}  // namespace saltus
