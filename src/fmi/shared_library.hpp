// The library of an FMU, which is loaded while the program runs.
#pragma once

#include <string>

#include "base/system/dynamic_library.hpp"

namespace saltus {

class SharedLibrary {
 public:
  /// Throws UsageError, with the text of the loader, if the file is not a library for this machine.
  explicit SharedLibrary(const std::string& file);

  /// A function by its name. Throws UsageError if there is none.
  template <class Function>
  Function* function(const std::string& name) const {
    return reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const std::string& name) const;
  DynamicLibrary library_;
};

}  // namespace saltus
