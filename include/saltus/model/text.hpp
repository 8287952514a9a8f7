// A model as text: Base Modelica, the flat form of Modelica that other programs read, and that load_modelica reads
// back.
#pragma once

#include <saltus/model/model.hpp>

#include <string>

namespace saltus {

/// The model in Base Modelica: one package with its enumerations and one model without classes, names in quotes.
/// Reading it gives the same variables, parameters, equations and clauses. Throws ModelError, with the name of what is
/// in the way, for models that such a text cannot hold: explicit modes, foreign functions, touches, smooth inputs,
/// unbalanced equations, stabilised sliding, or expressions of more than a million operations once everything that they
/// share is written out. `annotation` stands at the end of the model, for example "experiment(StopTime = 3)".
std::string base_modelica(const Model& model, const std::string& annotation = {});

}  // namespace saltus
