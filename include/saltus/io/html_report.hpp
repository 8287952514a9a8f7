// A run as one HTML page: for a colleague who has never seen Saltus, in any browser, without a network.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

struct HtmlReportOptions {
  std::string model = {};        ///< name of the model, the title of the page
  std::string description = {};  ///< one sentence about the model, below the title
  /// The text of the model and the name of its file, as the places of events name it. Empty: the page has no source.
  std::string source = {}, source_file = {};
  std::vector<VariableInfo> parameters = {};  ///< as they were in the run: `start` is the value
  std::vector<std::string> variables = {};    ///< curves of these only; empty: all, at most `most_variables`
  std::string phase_x = {}, phase_y = {};     ///< what the phase portrait shows first; empty: two states
  std::vector<std::string> notes = {};        ///< remarks of the reader
  /// The system of the run, for the section about the structure of its equations; null: the page has none.
  HybridSystem* system = nullptr;
  std::size_t most_nodes =
      20'000;  ///< of a curve; one that needs more is drawn with a larger tolerance, and the page says so
  std::size_t most_events = 1'000;   ///< that are explained one by one; the page says how many it leaves out
  std::size_t most_variables = 200;  ///< with a curve, where `variables` is empty
};

/// Writes the page. It holds everything itself, and its Content-Security-Policy forbids every request. Curves are cubic
/// pieces that stay within 1e-5 of the variable's range. The same run gives the same bytes, except for the seconds that
/// it took. Folders of `source_file` do not appear. A run that failed has a page too, which begins with the reason.
/// Throws UsageError for unknown names.
void write_html_report(std::ostream& out, const Trajectory& run, const HtmlReportOptions& options);

}  // namespace saltus
