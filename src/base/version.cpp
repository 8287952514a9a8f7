#include <saltus/base/version.hpp>

namespace saltus {

// The number has one home, project(VERSION) in the top CMakeLists.txt, and arrives here as a definition.
std::string_view version() {
  return SALTUS_VERSION;
}

}  // namespace saltus
