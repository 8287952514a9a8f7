// Quadratic programmes with elastic conditions: the steps of the search.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace saltus {

/// One linear model of objective and conditions at the present point: f + g d, and low <= c + A d <= high.
struct LinearPiece {
  double f = 0.0;
  Eigen::VectorXd g, c;
  Eigen::MatrixXd A;
};

/// min over d of 1/2 d'Bd + the largest over pieces of (f + g d + penalty * violations of the rows), low <= d <= high.
struct ElasticProgramme {
  Eigen::MatrixXd B;
  std::vector<LinearPiece> pieces;
  Eigen::VectorXd row_low, row_high;  ///< the same for all pieces
  double penalty = 1.0;
  Eigen::VectorXd low, high;  ///< of d
};

struct ElasticStep {
  Eigen::VectorXd d;
  Eigen::VectorXd multipliers;  ///< of the rows of the first piece; positive: the upper bound holds the step
  double model = 0.0;           ///< the value of what is minimised
};

/// Sum of violations of rows.
double violation_of(const Eigen::VectorXd& c, const Eigen::VectorXd& low, const Eigen::VectorXd& high);

ElasticStep solve(const ElasticProgramme& programme);

}  // namespace saltus
