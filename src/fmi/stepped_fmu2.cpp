#include "fmi/functions_of_fmi2.hpp"

namespace saltus {

namespace {

using namespace fmi2;

class SteppedFmu2 final : public FunctionsOfFmi2<SharedFunctions<SteppedFmu>> {
 public:
  SteppedFmu2(const UnpackedFmu& files, const FmuDescription& description)
      : FunctionsOfFmi2(files, description, co_simulation) {
    load(do_step_, "DoStep");
    load(get_real_status_, "GetRealStatus");
    load(get_boolean_status_, "GetBooleanStatus");
    if (description.interpolates_inputs) load(set_slopes_, "SetRealInputDerivatives");
  }

  StepEnd do_step(double t, double h) override {
    const fmi::Status status = do_step_.function(instance_, t, h, 1);
    if (usable(status, do_step_.name)) return {.t = t + h};
    // the FMU ends the run, or it refuses the step
    Boolean terminate = 0;
    double reached = t;
    if (get_boolean_status_.function(instance_, terminated, &terminate) != fmi::ok) terminate = 0;
    if (get_real_status_.function(instance_, last_successful_time, &reached) != fmi::ok) reached = t;
    return {.made = terminate != 0, .t = reached, .terminate = terminate != 0};
  }
  bool set_slope(const DescribedVariable& v, double slope) override {
    if (!set_slopes_.function) return false;
    const Integer first = 1;
    call(set_slopes_, &v.reference, 1, &first, &slope);
    return true;
  }

  // FMI 2.0 has no event mode of co-simulation; the description says so
  void enter_event_mode() override {}
  EventOutcome update_discrete_states() override { return {}; }
  void enter_step_mode() override {}

 private:
  NamedFunction<DoStepFunction> do_step_;
  NamedFunction<GetStatusFunction<Real>> get_real_status_;
  NamedFunction<GetStatusFunction<Boolean>> get_boolean_status_;
  NamedFunction<SetInputDerivativesFunction> set_slopes_;
};

}  // namespace

std::unique_ptr<SteppedFmu> load_stepped_fmu(const UnpackedFmu& files, const FmuDescription& description) {
  return description.version == FmiVersion::fmi2 ? load_stepped_fmu2(files, description)
                                                 : load_stepped_fmu3(files, description);
}

std::unique_ptr<SteppedFmu> load_stepped_fmu2(const UnpackedFmu& files, const FmuDescription& description) {
  return std::make_unique<SteppedFmu2>(files, description);
}

}  // namespace saltus
