#include <saltus/base/build_info.hpp>
#include <saltus/base/version.hpp>

namespace saltus {

namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__) + '.' + std::to_string(__clang_minor__) + '.' +
         std::to_string(__clang_patchlevel__);
#elif defined(__GNUC__)
  return "GCC " + std::to_string(__GNUC__) + '.' + std::to_string(__GNUC_MINOR__) + '.' +
         std::to_string(__GNUC_PATCHLEVEL__);
#else
  return "another compiler";
#endif
}

}  // namespace

// All of these arrive as definitions: cmake/saltus_version.cmake.
std::string build_info() {
  const std::string commit = SALTUS_COMMIT, date = SALTUS_COMMIT_DATE, parts = SALTUS_BUILT_IN;
  std::string text(version());
  if (!commit.empty()) text += '+' + commit;
  return text + " (" + (date.empty() ? "" : date + "; ") + compiler() + "; " + parts + ")";
}

}  // namespace saltus
