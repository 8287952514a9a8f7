#include "fmi/library/resource_path.hpp"

#include <charconv>

namespace saltus {

std::string resource_path(std::string_view uri) {
  std::string path;
  if (!uri.starts_with("file:")) {
    path = uri;
  } else {
    uri.remove_prefix(5);
    if (uri.starts_with("//")) {  // a host may stand there: file://localhost/…
      uri.remove_prefix(2);
      uri.remove_prefix(std::min(uri.find('/'), uri.size()));
    }
    for (std::size_t k = 0; k < uri.size(); ++k) {
      unsigned code = 0;
      const char* digits = uri.data() + k + 1;
      if (uri[k] == '%' && k + 2 < uri.size() && std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
        path += static_cast<char>(code);
        k += 2;
      } else {
        path += uri[k];
      }
    }
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace saltus
