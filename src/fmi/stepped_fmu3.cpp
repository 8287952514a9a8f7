#include "fmi/functions_of_fmi3.hpp"

namespace saltus {

namespace {

using namespace fmi3;

class SteppedFmu3 final : public FunctionsOfFmi3<SharedFunctions<SteppedFmu>> {
 public:
  SteppedFmu3(const UnpackedFmu& files, const FmuDescription& description) : FunctionsOfFmi3(files, description) {
    NamedFunction<InstantiateCoSimulationFunction> instantiate;
    load(instantiate, "InstantiateCoSimulation");
    load(do_step_, "DoStep");
    if (description.event_mode) {
      load_event_mode();
      load(enter_event_, "EnterEventMode");
      load(enter_step_, "EnterStepMode");
    }
    constexpr bool early_return = true;
    take_instance(instantiate.function(description.model_name.c_str(), description.token.c_str(), resources(), false,
                                       false, description.event_mode, early_return, nullptr, 0, &log_, keep_message,
                                       nullptr));
  }

  StepEnd do_step(double t, double h) override {
    StepEnd outcome{.t = t + h};
    bool early = false;
    double reached = t + h;
    const fmi::Status status =
        do_step_.function(instance_, t, h, true, &outcome.event, &outcome.terminate, &early, &reached);
    outcome.made = usable(status, do_step_.name);
    if (early || outcome.terminate) outcome.t = reached;
    return outcome;
  }
  bool set_slope(const DescribedVariable&, double) override { return false; }  // not in FMI 3.0
  void enter_event_mode() override { call(enter_event_); }
  void enter_step_mode() override { call(enter_step_); }

 private:
  NamedFunction<DoStepFunction> do_step_;
  NamedFunction<PlainFunction> enter_event_, enter_step_;
};

}  // namespace

std::unique_ptr<SteppedFmu> load_stepped_fmu3(const UnpackedFmu& files, const FmuDescription& description) {
  return std::make_unique<SteppedFmu3>(files, description);
}

}  // namespace saltus
