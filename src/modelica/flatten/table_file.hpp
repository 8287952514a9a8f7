// Tables in files: the text format of the Modelica Standard Library, and CSV.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "modelica/flatten/value.hpp"

namespace saltus::modelica {

struct FileTable {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;  ///< row by row
};

/// Which table of which file.
struct TableFile {
  std::string path;             ///< relative to the folder in which the program runs
  std::string table;            ///< of a text file: the name of the matrix
  std::string delimiter = ",";  ///< of a CSV file
  std::int64_t header_lines = 0;
};

/// Reads a table: of a file *.csv all rows, of other files the matrix of that name behind the line "#1". Throws Fault
/// with the line of the file where something is wrong.
FileTable read_table(const TableFile& file, const Location& where);

}  // namespace saltus::modelica
