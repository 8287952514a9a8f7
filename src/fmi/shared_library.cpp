#include "fmi/shared_library.hpp"

#include <dlfcn.h>
#include <saltus/base/error.hpp>

namespace saltus {

SharedLibrary::SharedLibrary(const std::string& file)
    : file_(file), handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) throw UsageError(std::string("the library of the FMU cannot be loaded: ") + dlerror());
}

SharedLibrary::~SharedLibrary() {
  dlclose(handle_);
}

void* SharedLibrary::address(const std::string& name) const {
  void* const found = dlsym(handle_, name.c_str());
  if (!found) throw UsageError("the library of the FMU has no function '" + name + "'; the FMU is not complete");
  return found;
}

}  // namespace saltus
