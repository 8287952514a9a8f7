// An FMU in a temporary folder, which ends with the object.
#pragma once

#include <string>

#include "fmi/files.hpp"

namespace saltus {

class UnpackedFmu {
 public:
  /// Unpacks the archive. Throws UsageError, with the name of the file, for what is damaged or would leave the folder;
  /// then no folder is left behind.
  explicit UnpackedFmu(const std::string& file);
  /// Text of modelDescription.xml of a file that is not unpacked. Throws UsageError like the constructor.
  static std::string description_of(const std::string& file);

  /// Text of modelDescription.xml.
  const std::string& description() const { return description_; }
  const std::string& folder() const { return folder_.path(); }
  /// The shared library of this machine. Throws UsageError, with the machines that the FMU serves, if there is none.
  std::string library(const std::string& identifier) const;

 private:
  TemporaryFolder folder_;
  std::string description_;
};

}  // namespace saltus
