// A user's program: all public headers, a function and an exception of the library.
#if __has_include(<saltus/saltus.hpp>)
#include <saltus/saltus.hpp>
#endif
#include <saltus/base/error.hpp>

#include <iostream>

int main() {
  try {
    throw saltus::UsageError("thrown");
  } catch (const saltus::Error& problem) {
    std::cout << problem.what() << ", edit distance " << saltus::edit_distance("saltus", "salus") << '\n';
  }
}
