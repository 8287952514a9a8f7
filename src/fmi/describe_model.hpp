// modelDescription.xml of an exported model.
#pragma once

#include <saltus/fmi/export_fmu.hpp>

#include <string>

#include "fmi/exported_model.hpp"

namespace saltus {

/// A name that C functions and files may have, made from the name of the model.
std::string model_identifier(const std::string& name);

/// The description of the model in FMI 2.0 or 3.0, as the options say. `about` is the description of the model.
std::string describe_model(const ExportedModel& model, const FmuOptions& options, const std::string& about);

}  // namespace saltus
