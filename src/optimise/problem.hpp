// A programme as a function of what is free: one run with derivatives gives objective, rows and their derivatives.
#pragma once

#include <saltus/sens/sensitivities.hpp>

#include <Eigen/Core>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "optimise/transcript.hpp"

namespace saltus {

/// A row of the programme: low <= c <= high, in units of its nominal value.
struct Row {
  std::string label;
  double low, high, nominal;
};

/// A bound on steps that keeps the order of two events, or of an event and the end: value + rate d <= 0.
struct OrderRow {
  double value;
  Eigen::VectorXd rate;
  std::string what;  ///< in words: "'v > 0' falls and the end of the run change their order"
};

/// Objective and rows at a point.
struct Evaluation {
  Eigen::VectorXd x;
  double f = 0.0;
  Eigen::VectorXd g, c;
  Eigen::MatrixXd A;
  Eigen::MatrixXd squares;    ///< second derivatives of the squares of the objective, by Gauss and Newton
  double v = 0.0;             ///< sum of violations
  std::vector<double> times;  ///< of rows of path conditions: where their value is reached; otherwise NaN
  std::string piece;          ///< the order of events
  std::size_t events = 0;
  std::vector<OrderRow> order;
  std::vector<std::string> one_sided;  ///< what is known of derivatives that are not those of both sides
};

class Problem {
 public:
  Problem(const Transcript& transcript, const OptimiseOptions& options);

  const Transcript& transcript() const { return transcript_; }
  Eigen::Index n() const { return lower.size(); }
  Eigen::Index m() const { return static_cast<Eigen::Index>(rows.size()); }

  /// Nothing: there is no run or no derivative there, nor next to it; failure() says why. Runs are counted.
  std::optional<Evaluation> evaluate(const Eigen::VectorXd& x);
  /// The run at a point, without derivatives.
  Trajectory run(const Eigen::VectorXd& x) const;
  const std::string& failure() const { return failure_; }
  /// Whether the last failure was that of the caller's progress function.
  bool cancelled() const { return cancelled_; }

  int runs = 0, nudged = 0;
  std::set<std::string> notes;
  std::vector<Row> rows;
  Eigen::VectorXd row_low, row_high;
  Eigen::VectorXd lower, upper, scale;
  /// Values of parameters beside what is free: a homotopy.
  std::vector<std::pair<std::string, double>> more;

 private:
  std::optional<Evaluation> attempt(const Eigen::VectorXd& x, const Eigen::VectorXd& at);
  bool read_terms(const SensitivityRun& run, const std::vector<ReadTerm>& terms, double& value,
                  Eigen::Ref<Eigen::VectorXd> gradient);
  bool read_rows(const SensitivityRun& run, const Eigen::VectorXd& at, Evaluation& e);
  bool read_path(const SensitivityRun& run, const Eigen::VectorXd& at, Evaluation& e);
  void read_squares(const SensitivityRun& run, const Eigen::VectorXd& at, Evaluation& e);
  void read_order(const SensitivityRun& run, const Eigen::VectorXd& at, Evaluation& e);
  void read_sides(const SensitivityRun& run, Evaluation& e);
  Eigen::VectorXd gradient_of(const LinearForm& form) const;

  const Transcript& transcript_;
  std::vector<std::string> names_;
  std::vector<std::vector<double>> final_;  // derivatives of the final values of the run that is read, by parameter
  std::string failure_;
  bool cancelled_ = false;
};

}  // namespace saltus
