// Shared libraries that are loaded while the program runs, and the one that holds this code.
#pragma once

#include <filesystem>
#include <string>

namespace saltus {

class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  /// Loads a file, or what the system finds under a name. Where it cannot, the library is not loaded and `why()` has
  /// the text of the loader.
  explicit DynamicLibrary(const std::string& file);
  ~DynamicLibrary();
  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;

  bool loaded() const { return handle_ != nullptr; }
  const std::string& why() const { return why_; }
  /// Null if there is none of this name.
  void* find(const std::string& name) const;
  /// It stays loaded when this object ends.
  void keep() { kept_ = true; }

  /// The file that holds a function of this program; empty where the system does not say.
  static std::filesystem::path holding(const void* function);

 private:
  void* handle_ = nullptr;
  bool kept_ = false;
  std::string why_;
};

}  // namespace saltus
