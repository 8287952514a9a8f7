// Results in numpy's archives.
#pragma once

#include <saltus/io/result_table.hpp>

#include <string>

namespace saltus {

/// Reads a result from an archive as `write_npz` and `numpy.savez` write it: an array `time`, and one of the same
/// length for each variable. Names that begin with $ hold texts. Throws UsageError, which names the file, for other
/// archives.
ResultTable read_npz(const std::string& file, const std::string& bytes);

}  // namespace saltus
