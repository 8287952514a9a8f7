// A shared library that is loaded while the program runs.
#pragma once

#include <string>

namespace saltus {

class SharedLibrary {
 public:
  /// Throws UsageError, with the text of the loader, if the file is not a library for this machine.
  explicit SharedLibrary(const std::string& file);
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  /// A function by its name. Throws UsageError if there is none.
  template <class Function>
  Function* function(const std::string& name) const {
    return reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const std::string& name) const;
  std::string file_;
  void* handle_;
};

}  // namespace saltus
