// Models exported for model exchange, in an importer that knows no more than the standard says.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <cmath>
#include <ostream>

#include "fmi/fmu_description.hpp"
#include "fmi/fmu_master.hpp"
#include "fmi/sign_change_importer.hpp"

namespace saltus::fmi_tests {
namespace {

/// An FMU for model exchange, exported, loaded and initialised.
class ExchangedModel {
 public:
  ExchangedModel(const ModelicaModel& model, FmiVersion version, const RunSettings& settings)
      : files_(file(model, version)), about_(read_description(files_.description())) {
    fmu_ = load_exchange_fmu(files_, about_);
    fmu_->begin_initialization(settings);
    fmu_->end_initialization();
  }
  SignChangeImporter::Counts run(double tolerance, const std::vector<double>& times, double start,
                                 const SignChangeImporter::Sampler& sample) {
    return SignChangeImporter(*fmu_, about_.states.size(), about_.indicators, tolerance).run(start, times, sample);
  }
  double value(const std::string& name) {
    const auto found = std::ranges::find_if(about_.variables, [&](const auto& v) { return v.info.name == name; });
    EXPECT_NE(found, about_.variables.end()) << name;
    return fmu_->get(*found);
  }

 private:
  const std::string& file(const ModelicaModel& model, FmiVersion version) {
    export_fmu(model, scratch_.path(),
               {.version = version, .kind = FmuKind::model_exchange, .library = SALTUS_FMU_LIBRARY});
    return scratch_.path();
  }
  ScratchFile scratch_{"model.fmu"};
  UnpackedFmu files_;
  FmuDescription about_;
  std::unique_ptr<ExchangeFmu> fmu_;
};

struct Case {
  std::string name;
  FmiVersion version = FmiVersion::fmi2;

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

class Exchange : public testing::TestWithParam<Case> {};

TEST_P(Exchange, agrees_with_a_run_in_an_importer_that_restarts_only_where_flags_say_so) {
  const ModelicaModel model = gallery_model(GetParam().name);
  const double tolerance = std::min(1e-8, model.experiment.tolerance.value_or(1e-8));
  SimulateOptions options;
  options.stop = model.experiment.stop.value_or(1.0);
  options.rtol = options.atol = tolerance;
  const Trajectory direct = simulate(model.model, options);
  ASSERT_TRUE(direct.status().ok()) << direct.status().message;
  std::vector<double> sizes(direct.variables().size(), 1e-3), times;
  const auto samples = direct.sample(200);
  for (const auto& row : samples.values)
    for (std::size_t k = 0; k < row.size(); ++k) sizes[k] = std::max(sizes[k], std::abs(row[k]));
  for (int i = 1; i <= 1000; ++i) times.push_back(options.stop * i / 1000.0);
  ExchangedModel fmu(model, GetParam().version, {.start = 0.0, .stop = options.stop, .tolerance = tolerance});
  double worst = 0.0;
  std::string where;
  const SignChangeImporter::Counts counts = fmu.run(tolerance, times, 0.0, [&](double t) {
    const double width = 1e-4 * options.stop;
    if (std::ranges::any_of(direct.events(), [&](const Event& e) { return std::abs(e.t - t) < width; })) return;
    const std::vector<double> exact = direct.at(t);
    for (std::size_t k = 0; k < exact.size(); ++k) {
      const double value = fmu.value(direct.variables()[k].name), error = std::abs(value - exact[k]) / sizes[k];
      if (!(error <= worst)) {
        worst = error;
        where = fmt::format("{} = {} instead of {} at t = {}", direct.variables()[k].name, value, exact[k], t);
      }
    }
  });
  EXPECT_LT(worst, 1e-5) << where;
  // an indicator that is not smooth, or crosses without an event of the run, costs steps and events
  const auto events = static_cast<int>(direct.events().size());
  EXPECT_LE(counts.events, 4 * events + 40);
  RecordProperty("worst", fmt::format("{}", worst));
  RecordProperty("counts", fmt::format("{} steps, {} events, {} restarts; run: {} events", counts.steps, counts.events,
                                       counts.restarts, events));
}

std::vector<Case> exchanged_models() {
  // these have modes with hidden constraints, see RoundTrip
  const std::vector<std::string> without = {"Clutch", "FrictionPendulum", "RopePendulum"};
  std::vector<Case> list;
  for (const std::string& name : gallery_names())
    if (std::ranges::find(without, name) == without.end())
      for (const FmiVersion version : {FmiVersion::fmi2, FmiVersion::fmi3}) list.push_back({name, version});
  return list;
}

INSTANTIATE_TEST_SUITE_P(models, Exchange, testing::ValuesIn(exchanged_models()), [](const auto& test) {
  return test.param.name + (test.param.version == FmiVersion::fmi2 ? "2" : "3");
});

}  // namespace
}  // namespace saltus::fmi_tests
