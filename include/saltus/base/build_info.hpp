// Which build of Saltus this is.
#pragma once

#include <string>

namespace saltus {

/// The version with what a report of a problem needs: "0.1.0+37.g3f2a9c1 (2026-11-18; GCC 12.2.0; SLEEF, SuperLU,
/// native code)". A release has no commit; neither has a build from a source tree without git.
std::string build_info();

}  // namespace saltus
