// The parts of the report that are the same for every run: src/io/html, embedded when the library is built.
#pragma once

#include <string_view>

namespace saltus::html_assets {

extern const std::string_view page;    ///< the frame, with @places@
extern const std::string_view style;   ///< CSS
extern const std::string_view script;  ///< JavaScript
extern const std::string_view style_hash,
    script_hash;  ///< their SHA-256 in hexadecimal digits, for the Content-Security-Policy

}  // namespace saltus::html_assets
