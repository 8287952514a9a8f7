// The tables against the order conditions: every digit of every table takes part in one of them.
#include <gtest/gtest.h>
#include <saltus/step/tableau.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace saltus {
namespace {

using Vector = std::vector<double>;

/// The elementary weights of all rooted trees up to a number of nodes: a tree is the bush of its children, its stage
/// vector the product of A times the children's vectors, its condition b . phi = 1/gamma (Butcher).
struct Tree {
  int nodes;
  double gamma;
  Vector phi;  // per stage
};

Vector times_a(const Tableau& t, const Vector& v) {
  const int all = t.all_stages();
  Vector result(v.size(), 0.0);
  for (int i = 0; i < all; ++i)
    for (int j = 0; j < i; ++j) result[i] += t.a[i * all + j] * v[j];
  return result;
}

std::vector<Tree> trees_up_to(const Tableau& t, int most) {
  std::vector<Tree> list = {{1, 1.0, Vector(static_cast<std::size_t>(t.all_stages()), 1.0)}};
  std::vector<Vector> pushed = {times_a(t, list[0].phi)};
  for (int nodes = 2; nodes <= most; ++nodes) {
    const int smaller = static_cast<int>(list.size());
    // multisets of children with nodes-1 nodes in all, children in descending order of their place in the list
    std::function<void(int, int, double, Vector)> add = [&](int rest, int largest, double gamma,
                                                            const Vector& product) {
      if (rest == 0) {
        list.push_back({nodes, gamma * nodes, product});
        return;
      }
      for (int child = largest; child >= 0; --child) {
        if (list[child].nodes > rest) continue;
        Vector next = product;
        for (std::size_t i = 0; i < next.size(); ++i) next[i] *= pushed[child][i];
        add(rest - list[child].nodes, child, gamma * list[child].gamma, next);
      }
    };
    add(nodes - 1, smaller - 1, 1.0, Vector(static_cast<std::size_t>(t.all_stages()), 1.0));
    for (std::size_t i = pushed.size(); i < list.size(); ++i) pushed.push_back(times_a(t, list[i].phi));
  }
  return list;
}

double dot(const double* weights, int count, int stride, const Vector& phi) {
  double sum = 0.0;
  for (int i = 0; i < count; ++i) sum += weights[i * stride] * phi[i];
  return sum;
}

class TableauTest : public ::testing::TestWithParam<const Tableau*> {};

TEST_P(TableauTest, MeetsAllOrderConditionsAndNotOneMore) {
  const Tableau& t = *GetParam();
  const double* b = t.a.data() + (t.stages - 1) * t.all_stages();
  double beyond = 0.0;
  for (const Tree& tree : trees_up_to(t, t.order + 1)) {
    const double defect = dot(b, t.stages, 1, tree.phi) - 1.0 / tree.gamma;
    // coefficients of size 30 at most, products of up to eight of them cancel: the largest seen is 1e-13
    if (tree.nodes <= t.order)
      EXPECT_NEAR(defect, 0.0, 1e-12) << tree.nodes << " nodes";
    else
      beyond = std::max(beyond, std::abs(defect));
  }
  EXPECT_GT(beyond, 1e-7);
}

TEST_P(TableauTest, HasAbscissaeThatAreRowSums) {
  const Tableau& t = *GetParam();
  const Vector sums = times_a(t, Vector(static_cast<std::size_t>(t.all_stages()), 1.0));
  for (int i = 0; i < t.all_stages(); ++i) EXPECT_NEAR(t.c[i], sums[i], 2e-14) << i;
}

TEST_P(TableauTest, EstimatesTheErrorWithALowerOrder) {
  // the estimate vanishes for all trees below its exponent (DOP853's pair behaves like h^6 and h^4 before they are
  // combined)
  const Tableau& t = *GetParam();
  const int exact = t.second_error.empty() ? t.error_exponent - 1 : 5;
  double beyond = 0.0;
  for (const Tree& tree : trees_up_to(t, exact + 1)) {
    const double value = dot(t.error.data(), t.stages, 1, tree.phi);
    if (tree.nodes <= exact)
      EXPECT_NEAR(value, 0.0, 1e-13);
    else
      beyond = std::max(beyond, std::abs(value));
    if (!t.second_error.empty() && tree.nodes <= 3) {
      EXPECT_NEAR(dot(t.second_error.data(), t.stages, 1, tree.phi), 0.0, 1e-13);
    }
  }
  EXPECT_GT(beyond, 1e-5);
}

TEST_P(TableauTest, InterpolatesWithItsOrder) {
  // continuous order q: sum_i dense_i(theta) phi_i = theta^nodes/gamma for all trees up to q nodes, as polynomials in
  // theta
  const Tableau& t = *GetParam();
  const int q = t.order == 3 ? 3 : t.order - 1;
  for (const Tree& tree : trees_up_to(t, q))
    for (int power = 1; power <= t.dense_degree; ++power) {
      const double value = dot(t.dense.data() + power - 1, t.all_stages(), t.dense_degree, tree.phi);
      double size = 1.0;
      for (int i = 0; i < t.all_stages(); ++i) size += std::abs(t.dense[i * t.dense_degree + power - 1]);
      // sums of products of `size`, each with a few dozen roundings
      EXPECT_NEAR(value, power == tree.nodes ? 1.0 / tree.gamma : 0.0, 64 * 2.2e-16 * size)
          << tree.nodes << " nodes, power " << power;
    }
}

TEST_P(TableauTest, InterpolatesBothEndsAndTheirSlopes) {
  const Tableau& t = *GetParam();
  const int all = t.all_stages();
  for (int i = 0; i < all; ++i) {
    double value = 0.0, slope = 0.0;
    for (int k = 1; k <= t.dense_degree; ++k) {
      value += t.dense[i * t.dense_degree + k - 1];
      slope += k * t.dense[i * t.dense_degree + k - 1];
    }
    EXPECT_NEAR(value, t.a[(t.stages - 1) * all + i], 1e-12);
    EXPECT_NEAR(slope, i == t.stages - 1 ? 1.0 : 0.0, 1e-11);
    EXPECT_EQ(t.dense[i * t.dense_degree], i == 0 ? 1.0 : 0.0);
  }
}

std::string table_name(const ::testing::TestParamInfo<const Tableau*>& info) {
  std::string name;
  for (const char ch : info.param->name)
    if (std::isalnum(static_cast<unsigned char>(ch))) name += ch;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tables, TableauTest,
                         ::testing::Values(&bogacki_shampine_3(), &dormand_prince_5(), &tsitouras_5(),
                                           &dormand_prince_8()),
                         table_name);

}  // namespace
}  // namespace saltus
