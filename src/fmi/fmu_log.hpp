// What an FMU has said.
#pragma once

#include <string>

namespace saltus {

class FmuLog {
 public:
  void keep(const char* text) { last_ = text; }
  /// ": last message", or "".
  std::string words() const { return last_.empty() ? "" : ": " + last_; }
  /// A function of the FMU has failed with a status.
  std::string failure(const std::string& function, int status) const {
    static constexpr const char* names[] = {"ok", "warning", "discard", "error", "fatal", "pending"};
    const bool known = status >= 0 && status < 6;
    return function + " of the FMU has failed (" + (known ? names[status] : "unknown status") + ")" + words();
  }

 private:
  std::string last_;
};

}  // namespace saltus
