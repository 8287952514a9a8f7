// Compiled with AVX2 and FMA; called only where the processor has them.
#include <immintrin.h>

#if SALTUS_HAS_SLEEF
#include <sleef.h>
#include <saltus/base/elementary.hpp>

#include "base/elementary_limits.hpp"
#include "base/inline_functions.hpp"
#endif

#include "program/lane_functions_vector.hpp"

namespace saltus {

namespace {

typedef double V __attribute__((vector_size(32)));

}  // namespace

#if SALTUS_HAS_SLEEF
namespace arithmetic {

template <>
struct Kind<V> {
  using Whole = decltype(V{} == V{});
  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static Whole equal(V a, V b) { return a == b; }
  static bool all_hold(Whole holds) { return _mm256_movemask_pd((__m256d)holds) == 0xf; }
};

}  // namespace arithmetic
#endif

LaneRow lane_row_avx2(Op op) {
  using namespace lanes;
#if SALTUS_HAS_SLEEF
  using arithmetic::angle_limit, arithmetic::exponent_limit, arithmetic::logarithm_limit;
  using elementary::hyperbolic_limit, elementary::inverse_hyperbolic_limit;
  switch (op) {
    case Op::exp:
      return unary_row<V, between<V, arithmetic::exp<V>, elementary::exp, lowest_exponent, exponent_limit>>();
    case Op::log:
      return unary_row<V, between<V, arithmetic::log<V>, elementary::log, lowest_of_logarithm, logarithm_limit>>();
    case Op::sin:
      return unary_row<V, between<V, arithmetic::sin<V>, elementary::sin, lowest_angle, angle_limit>>();
    case Op::cos:
      return unary_row<V, between<V, arithmetic::cos<V>, elementary::cos, lowest_angle, angle_limit>>();
    case Op::tan:
      return unary_row<V, Sleef_finz_tand4_u10avx2>();
    case Op::asin:
      return unary_row<V, Sleef_finz_asind4_u10avx2>();
    case Op::acos:
      return unary_row<V, Sleef_finz_acosd4_u10avx2>();
    case Op::atan:
      return unary_row<V, Sleef_finz_atand4_u10avx2>();
    case Op::sinh:
      return unary_row<V, within<V, Sleef_finz_sinhd4_u10avx2, elementary::sinh, hyperbolic_limit>>();
    case Op::cosh:
      return unary_row<V, within<V, Sleef_finz_coshd4_u10avx2, elementary::cosh, hyperbolic_limit>>();
    case Op::tanh:
      return unary_row<V, Sleef_finz_tanhd4_u10avx2>();
    case Op::asinh:
      return unary_row<V, within<V, Sleef_finz_asinhd4_u10avx2, elementary::asinh, inverse_hyperbolic_limit>>();
    case Op::acosh:
      return unary_row<V, within<V, Sleef_finz_acoshd4_u10avx2, elementary::acosh, inverse_hyperbolic_limit>>();
    case Op::atanh:
      return unary_row<V, Sleef_finz_atanhd4_u10avx2>();
    case Op::pow:
      return binary_row<V, Sleef_finz_powd4_u10avx2>();
    case Op::atan2:
      return binary_row<V, Sleef_finz_atan2d4_u10avx2>();
    default:
      break;
  }
#endif
  return row_of_each<V>(op, std::make_index_sequence<op_count>());
}

}  // namespace saltus
