// Which Saltus this is.
#pragma once

#include <string_view>

namespace saltus {

/// The version of the library that the program is linked with, "major.minor.patch".
std::string_view version();

}  // namespace saltus
