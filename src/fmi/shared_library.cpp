#include "fmi/shared_library.hpp"

#include <saltus/base/error.hpp>

namespace saltus {

SharedLibrary::SharedLibrary(const std::string& file) : library_(file) {
  if (!library_.loaded()) throw UsageError("the library of the FMU cannot be loaded: " + library_.why());
}

void* SharedLibrary::address(const std::string& name) const {
  void* const found = library_.find(name);
  if (!found) throw UsageError("the library of the FMU has no function '" + name + "'; the FMU is not complete");
  return found;
}

}  // namespace saltus
