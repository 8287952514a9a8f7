// Short ways to load and run models in tests.
#pragma once

#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/modelica/modelica.hpp>

#include <string>
#include <string_view>

namespace saltus {

/// Loads a text; an error fails the test with the text that a user would see.
inline ModelicaModel load_text(std::string_view text, const LoadOptions& options = {}) {
  try {
    return load_modelica(text, "test.mo", options);
  } catch (const ModelicaError& error) {
    ADD_FAILURE() << error.what();
    throw;
  }
}

/// The errors of a text as a user sees them; empty when there are none.
inline std::string load_errors(std::string_view text, const LoadOptions& options = {}) {
  try {
    load_modelica(text, "a.mo", options);
  } catch (const ModelicaError& error) {
    return error.what();
  }
  return {};
}

/// Runs a model up to `stop` with tight tolerances; a run that fails fails the test.
inline Trajectory run(const Model& model, double stop, double tolerance = 1e-10) {
  Trajectory result = simulate(model, {.stop = stop, .rtol = tolerance, .atol = tolerance});
  EXPECT_TRUE(result.status().ok()) << result.status().message;
  return result;
}

inline Trajectory run_text(std::string_view text, double stop, const LoadOptions& options = {}) {
  return run(load_text(text, options).model, stop);
}

inline std::string example(const std::string& name) {
  return std::string(SALTUS_EXAMPLE_MODELS) + "/" + name + ".mo";
}

inline ModelicaModel load_example(const std::string& name, const LoadOptions& options = {}) {
  try {
    return load_modelica_file(example(name), options);
  } catch (const ModelicaError& error) {
    ADD_FAILURE() << error.what();
    throw;
  }
}

}  // namespace saltus
