#include "base/system/dynamic_library.hpp"

#include <dlfcn.h>

#include <utility>

namespace saltus {

DynamicLibrary::DynamicLibrary(const std::string& file) : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) why_ = ::dlerror();
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ && !kept_) ::dlclose(handle_);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept {
  *this = std::move(other);
}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(kept_, other.kept_);
  why_.swap(other.why_);
  return *this;
}

void* DynamicLibrary::find(const std::string& name) const {
  return ::dlsym(handle_, name.c_str());
}

std::filesystem::path DynamicLibrary::holding(const void* function) {
  std::error_code problem;
  Dl_info here{};
  std::filesystem::path file;
  if (::dladdr(function, &here) != 0 && here.dli_fname) file = std::filesystem::canonical(here.dli_fname, problem);
  if (file.empty() || problem) file = std::filesystem::canonical("/proc/self/exe", problem);
  return problem ? std::filesystem::path() : file;
}

}  // namespace saltus
