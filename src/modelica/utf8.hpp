// Characters of several bytes.
#pragma once

namespace saltus {

/// Whether a byte of a text in UTF-8 goes on with the character of the byte before it.
inline bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace saltus
