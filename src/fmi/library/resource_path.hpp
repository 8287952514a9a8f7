// Where the resources of an FMU are.
#pragma once

#include <string>
#include <string_view>

namespace saltus {

/// The folder that a URI ("file:///tmp/x%20y/resources") or a path names, without a slash at its end.
std::string resource_path(std::string_view uri);

}  // namespace saltus
