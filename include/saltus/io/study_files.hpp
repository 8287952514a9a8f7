// Studies as files for other programs.
#pragma once

#include <saltus/study/run_study.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace saltus {

/// One line for each member; the samples of `x` are the columns x[1], x[2], … What is missing is an empty cell.
/// `names`: which results; empty: all. Throws UsageError for unknown names.
void write_study_csv(std::ostream& out, const StudyResult& result, const std::vector<std::string>& names = {});

/// Arrays for numpy: one for each result, with one row of samples for each member. Throws as write_study_csv does, and
/// for more than 4 GB.
void write_study_npz(std::ostream& out, const StudyResult& result, const std::vector<std::string>& names = {});

}  // namespace saltus
