#include "step/few_variables.hpp"

#include <algorithm>

#include "step/combination.hpp"

namespace saltus {

namespace {

template <std::size_t n>
void combine_few(const double* u, int count, const Combination& sum) {
  double s[n] = {};
  for (int k = 0; k < count; k += 4) {
    const int end = std::min(k + 4, count);
    double part[n] = {};
    for (int i = k; i < end; ++i)
      for (std::size_t j = 0; j < n; ++j) part[j] += sum.weights[i] * u[static_cast<std::size_t>(i) * n + j];
    for (std::size_t j = 0; j < n; ++j) s[j] = k > 0 ? s[j] + part[j] : sum.base ? sum.base[j] + part[j] : part[j];
  }
  for (std::size_t j = 0; j < n; ++j) sum.target[j] = s[j];
}

}  // namespace

void combine_few(const Stages& u, int count, const Combination& sum) {
  switch (u.n) {
    case 1:
      return combine_few<1>(u.first, count, sum);
    case 2:
      return combine_few<2>(u.first, count, sum);
    case 3:
      return combine_few<3>(u.first, count, sum);
    case 4:
      return combine_few<4>(u.first, count, sum);
    case 5:
      return combine_few<5>(u.first, count, sum);
    case 6:
      return combine_few<6>(u.first, count, sum);
    default:
      return;
  }
}

void subtract_from(const double* a, double* v, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) v[j] = a[j] - v[j];
}

}  // namespace saltus
