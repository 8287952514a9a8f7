// A status code is not a number: who returns it from main() must say which outcomes count as success (Status::ok).
#include <saltus/base/status.hpp>

int main() {
  const saltus::Status status;
#ifdef MUST_NOT_COMPILE
  return status.code;
#endif
  return status.ok() ? 0 : 1;
}
