// The text of a mode: its first few parts, and how many more there are.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace saltus {

class ModeText {
 public:
  /// `places`: in how many places the mode may have parts. In large modes those that are not shown are not counted.
  explicit ModeText(std::size_t places) : counts_(places <= 1000) {}

  /// Whether nothing can be added any more.
  bool full() const { return parts_ > most && !counts_; }
  /// `part` makes the text of one: only those that are shown are made.
  template <class Part>
  void add(const Part& part) {
    if (++parts_ <= most) text_ += (parts_ > 1 ? ", " : "") + part();
  }
  std::string text() const {
    if (parts_ <= most) return text_;
    return text_ + (counts_ ? fmt::format(", … ({} more)", parts_ - most) : ", …");
  }

 private:
  static constexpr std::size_t most = 6;

  bool counts_;
  std::size_t parts_ = 0;
  std::string text_;
};

}  // namespace saltus
