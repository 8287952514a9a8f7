// A primal-dual interior-point method with Mehrotra's predictor and corrector (S. Mehrotra, On the implementation of a
// primal-dual interior point method, SIAM J. Optim. 2, 1992), for min 1/2 x'Hx + q'x, Ax = b, l <= x <= u. H acts on
// the first k variables; the others, elastic and slack ones, have diagonal blocks and are eliminated, so that an
// iteration factorises a matrix of the size of the step and the rows.
#include "optimise/quadratic_programme.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {

namespace {

using Vector = Eigen::VectorXd;
using Mat = Eigen::MatrixXd;

struct BoxProgramme {
  Mat H;  // of the first variables
  Vector q;
  Mat A;
  Vector b, l, u;
};

class InteriorPoint {
 public:
  explicit InteriorPoint(const BoxProgramme& p)
      : p_(p), n_(p.q.size()), m_(p.b.size()), k_(p.H.rows()), x_(n_), y_(Vector::Zero(m_)), zl_(n_), zu_(n_) {
    scale_ = 1.0 + p.q.cwiseAbs().maxCoeff() + (m_ > 0 ? p.b.cwiseAbs().maxCoeff() : 0.0);
    for (Eigen::Index i = 0; i < n_; ++i) {
      const bool hl = std::isfinite(p.l[i]), hu = std::isfinite(p.u[i]);
      bounds_ += hl + hu;
      const double width = p.u[i] - p.l[i];
      x_[i] = hl && hu ? std::clamp(0.0, p.l[i] + 0.1 * width, p.u[i] - 0.1 * width)
              : hl     ? p.l[i] + 1.0
              : hu     ? p.u[i] - 1.0
                       : 0.0;
      zl_[i] = hl ? std::sqrt(scale_) : 0.0;
      zu_[i] = hu ? std::sqrt(scale_) : 0.0;
    }
  }

  void solve() {
    constexpr int most = 80;
    constexpr double accuracy = 1e-12;  // of residuals and complementarity, in units of the data
    for (int k = 0; k < most && !iterate(accuracy); ++k) {
    }
    for (Eigen::Index i = 0; i < n_; ++i) x_[i] = std::min(std::max(x_[i], p_.l[i]), p_.u[i]);
  }
  const Vector& x() const { return x_; }
  const Vector& y() const { return y_; }

 private:
  struct Direction {
    Vector x, y, zl, zu;
  };

  bool has_low(Eigen::Index i) const { return std::isfinite(p_.l[i]); }
  bool has_high(Eigen::Index i) const { return std::isfinite(p_.u[i]); }

  /// True at the solution, and where rounding errors allow no more.
  bool iterate(double accuracy) {
    constexpr double least_gap = 1e-14;
    sl_ = Vector::Ones(n_), su_ = Vector::Ones(n_);
    double gap = 0.0;
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (has_low(i)) sl_[i] = std::max(x_[i] - p_.l[i], least_gap), gap += zl_[i] * sl_[i];
      if (has_high(i)) su_[i] = std::max(p_.u[i] - x_[i], least_gap), gap += zu_[i] * su_[i];
    }
    const double mu = gap / static_cast<double>(std::max<Eigen::Index>(bounds_, 1));
    rd_ = p_.q - zl_ + zu_;
    rd_.head(k_) += p_.H * x_.head(k_);
    if (m_ > 0) rd_ -= p_.A.transpose() * y_;
    rp_ = p_.A * x_ - p_.b;
    const double worst = std::max({rd_.cwiseAbs().maxCoeff(), m_ > 0 ? rp_.cwiseAbs().maxCoeff() : 0.0, mu});
    if (worst < accuracy * scale_) return true;
    factorise();
    const Vector none_low = -zl_.cwiseProduct(sl_), none_high = -zu_.cwiseProduct(su_);
    Direction d = direction(none_low, none_high);
    double primal = std::min(length(sl_, d.x, 1), length(su_, d.x, -1)), dual = dual_length(d);
    double ahead = 0.0;
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (has_low(i)) ahead += (zl_[i] + dual * d.zl[i]) * (sl_[i] + primal * d.x[i]);
      if (has_high(i)) ahead += (zu_[i] + dual * d.zu[i]) * (su_[i] - primal * d.x[i]);
    }
    ahead /= static_cast<double>(std::max<Eigen::Index>(bounds_, 1));
    const double sigma = mu > 0.0 ? std::pow(ahead / mu, 3) : 0.0;
    const Vector target = Vector::Constant(n_, sigma * mu);
    d = direction(target - zl_.cwiseProduct(sl_) - d.x.cwiseProduct(d.zl),
                  target - zu_.cwiseProduct(su_) + d.x.cwiseProduct(d.zu));
    if (!d.x.allFinite() || !d.y.allFinite()) return true;
    constexpr double inside = 0.995;
    primal = std::min(1.0, inside * std::min(length(sl_, d.x, 1), length(su_, d.x, -1)));
    dual = std::min(1.0, inside * dual_length(d));
    x_ += primal * d.x;
    y_ += dual * d.y;
    zl_ += dual * d.zl;
    zu_ += dual * d.zu;
    return false;
  }

  void factorise() {
    D_ = zl_.cwiseQuotient(sl_) + zu_.cwiseQuotient(su_);
    const double least = 1e-14 * scale_;  // variables without bounds and without curvature
    D_.array() += least;
    Mat K = Mat::Zero(k_ + m_, k_ + m_);
    K.topLeftCorner(k_, k_) = p_.H;
    K.topLeftCorner(k_, k_).diagonal() += D_.head(k_);
    if (m_ > 0) {
      const auto A1 = p_.A.leftCols(k_), A2 = p_.A.rightCols(n_ - k_);
      K.topRightCorner(k_, m_) = -A1.transpose();
      K.bottomLeftCorner(m_, k_) = A1;
      K.bottomRightCorner(m_, m_) = A2 * D_.tail(n_ - k_).cwiseInverse().asDiagonal() * A2.transpose();
    }
    lu_.compute(K);
  }

  Direction direction(const Vector& cl, const Vector& cu) const {
    Vector r = -rd_;
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (has_low(i)) r[i] += cl[i] / sl_[i];
      if (has_high(i)) r[i] -= cu[i] / su_[i];
    }
    const Vector w = r.tail(n_ - k_).cwiseQuotient(D_.tail(n_ - k_));
    Vector right(k_ + m_);
    right << r.head(k_), -rp_ - p_.A.rightCols(n_ - k_) * w;
    const Vector s = lu_.solve(right);
    Direction d{.x = Vector(n_), .y = s.tail(m_), .zl = Vector::Zero(n_), .zu = Vector::Zero(n_)};
    d.x << s.head(k_), w + (p_.A.rightCols(n_ - k_).transpose() * d.y).cwiseQuotient(D_.tail(n_ - k_));
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (has_low(i)) d.zl[i] = (cl[i] - zl_[i] * d.x[i]) / sl_[i];
      if (has_high(i)) d.zu[i] = (cu[i] + zu_[i] * d.x[i]) / su_[i];
    }
    return d;
  }

  /// How far a slack may go along sign * d; `bounded` decides by the side.
  double length(const Vector& v, const Vector& d, int sign) const {
    double most = 1.0;
    for (Eigen::Index i = 0; i < n_; ++i)
      if ((sign > 0 ? has_low(i) : has_high(i)) && sign * d[i] < 0.0) most = std::min(most, -v[i] / (sign * d[i]));
    return most;
  }
  double dual_length(const Direction& d) const {
    double most = 1.0;
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (has_low(i) && d.zl[i] < 0.0) most = std::min(most, -zl_[i] / d.zl[i]);
      if (has_high(i) && d.zu[i] < 0.0) most = std::min(most, -zu_[i] / d.zu[i]);
    }
    return most;
  }

  const BoxProgramme& p_;
  Eigen::Index n_, m_, k_, bounds_ = 0;
  Vector x_, y_, zl_, zu_, sl_, su_, rd_, rp_, D_;
  double scale_ = 1.0;
  Eigen::PartialPivLU<Mat> lu_;
};

/// Where the columns of a programme are: the step, the bound of the pieces, and per row and piece two elastic
/// variables and, where the row is no equation, its value.
struct Columns {
  Eigen::Index n, rows, pieces;
  bool many() const { return pieces > 1; }
  Eigen::Index first() const { return n + (many() ? 1 : 0); }
  Eigen::Index per_piece() const { return 3 * rows; }
  Eigen::Index of(Eigen::Index piece) const { return first() + (many() ? pieces : 0) + piece * per_piece(); }
  Eigen::Index size() const { return of(pieces); }
};

}  // namespace

double violation_of(const Vector& c, const Vector& low, const Vector& high) {
  return (low - c).cwiseMax(0.0).sum() + (c - high).cwiseMax(0.0).sum();
}

ElasticStep solve(const ElasticProgramme& e) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const Columns at{.n = e.low.size(), .rows = e.row_low.size(), .pieces = static_cast<Eigen::Index>(e.pieces.size())};
  const Eigen::Index rows = at.rows * at.pieces + (at.many() ? at.pieces : 0);
  BoxProgramme p{.H = Mat::Zero(at.first(), at.first()),
                 .q = Vector::Zero(at.size()),
                 .A = Mat::Zero(rows, at.size()),
                 .b = Vector::Zero(rows),
                 .l = Vector::Zero(at.size()),
                 .u = Vector::Constant(at.size(), infinite)};
  p.H.topLeftCorner(at.n, at.n) = e.B;
  p.l.head(at.n) = e.low;
  p.u.head(at.n) = e.high;
  if (at.many()) {
    p.l[at.n] = -infinite;
    p.q[at.n] = 1.0;
  } else {
    p.q.head(at.n) = e.pieces[0].g;
  }
  for (Eigen::Index j = 0; j < at.pieces; ++j) {
    const LinearPiece& piece = e.pieces[static_cast<std::size_t>(j)];
    const Eigen::Index o = at.of(j), m = at.rows, row = j * m;
    if (m > 0) p.A.block(row, 0, m, at.n) = piece.A;
    for (Eigen::Index i = 0; i < m; ++i) {
      p.A(row + i, o + i) = -1.0;
      p.A(row + i, o + m + i) = 1.0;
      p.b[row + i] = -piece.c[i];
      if (e.row_low[i] == e.row_high[i]) {  // its value is a number, and its column stays empty
        p.b[row + i] += e.row_low[i];
        p.u[o + 2 * m + i] = 1.0;
      } else {
        p.A(row + i, o + 2 * m + i) = -1.0;
        p.l[o + 2 * m + i] = e.row_low[i];
        p.u[o + 2 * m + i] = e.row_high[i];
      }
    }
    if (!at.many()) {
      p.q.segment(o, 2 * m).setConstant(e.penalty);
      continue;
    }
    const Eigen::Index own = at.rows * at.pieces + j;
    p.A(own, at.n) = 1.0;
    p.A.row(own).head(at.n) = -piece.g.transpose();
    p.A(own, at.first() + j) = -1.0;
    p.A.row(own).segment(o, 2 * m).setConstant(-e.penalty);
    p.b[own] = piece.f - e.pieces[0].f;
  }
  InteriorPoint method(p);
  method.solve();
  ElasticStep step{.d = method.x().head(at.n), .multipliers = -method.y().head(at.rows)};
  step.model = -infinite;
  for (const LinearPiece& piece : e.pieces) {
    Vector c = piece.c;
    if (at.rows > 0) c += piece.A * step.d;
    step.model =
        std::max(step.model, piece.f + piece.g.dot(step.d) + e.penalty * violation_of(c, e.row_low, e.row_high));
  }
  step.model += 0.5 * step.d.dot(e.B * step.d);
  return step;
}

}  // namespace saltus
