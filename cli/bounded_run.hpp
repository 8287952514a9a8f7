// A run in bounded memory. Its steps are kept while they are small; beyond that, rows of its table are written as the
// run goes, and the steps are given back.
#pragma once

#include <saltus/base/atomic_file.hpp>
#include <saltus/hybrid/kept_size.hpp>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/io/result_files.hpp>
#include <saltus/io/result_table.hpp>

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>

namespace saltus::cli {

class BoundedRun {
 public:
  struct Files {
    TableOptions rows;
    std::string csv = {};  ///< "-" is standard output; empty: no CSV file is wanted
    CsvHeader header = CsvHeader::names;
    bool table = false;  ///< other files need the table as a whole
  };

  BoundedRun(std::shared_ptr<const HybridSystem> system, Files files, double start, double stop,
             std::ostream& standard);
  /// Goes on to the end. Steps of more than so many bytes are not kept. Throws UsageError if a file cannot be written.
  void go(Simulator& simulator, double most_bytes);

  bool steps_were_kept() const { return !rows_; }
  /// Where they were not, and a file needs it: the table of the run.
  const ResultTable& table() const { return table_; }

 private:
  void give_back(Simulator& simulator);
  void begin_files();
  void end_files();

  std::shared_ptr<const HybridSystem> system_;
  Files files_;
  double start_, stop_;
  std::ostream& standard_;
  std::optional<TableRows> rows_;
  std::optional<AtomicFile> file_;
  std::optional<CsvWriter> csv_;
  ResultTable table_;
  KeptSize size_;
};

}  // namespace saltus::cli
