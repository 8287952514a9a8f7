// Compiled with AVX-512 (F, DQ, VL) and FMA; called only where the processor has them.
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

typedef double V __attribute__((vector_size(64)));

}  // namespace

#if SALTUS_HAS_SLEEF
namespace arithmetic {

template <>
struct Kind<V> {
  using Whole = decltype(V{} == V{});
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static Whole equal(V a, V b) { return a == b; }
  static bool all_hold(Whole holds) { return _mm512_movepi64_mask((__m512i)holds) == 0xff; }
};

}  // namespace arithmetic
#endif

LaneRow lane_row_avx512(Op op) {
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
      return unary_row<V, Sleef_finz_tand8_u10avx512f>();
    case Op::asin:
      return unary_row<V, Sleef_finz_asind8_u10avx512f>();
    case Op::acos:
      return unary_row<V, Sleef_finz_acosd8_u10avx512f>();
    case Op::atan:
      return unary_row<V, Sleef_finz_atand8_u10avx512f>();
    case Op::sinh:
      return unary_row<V, within<V, Sleef_finz_sinhd8_u10avx512f, elementary::sinh, hyperbolic_limit>>();
    case Op::cosh:
      return unary_row<V, within<V, Sleef_finz_coshd8_u10avx512f, elementary::cosh, hyperbolic_limit>>();
    case Op::tanh:
      return unary_row<V, Sleef_finz_tanhd8_u10avx512f>();
    case Op::asinh:
      return unary_row<V, within<V, Sleef_finz_asinhd8_u10avx512f, elementary::asinh, inverse_hyperbolic_limit>>();
    case Op::acosh:
      return unary_row<V, within<V, Sleef_finz_acoshd8_u10avx512f, elementary::acosh, inverse_hyperbolic_limit>>();
    case Op::atanh:
      return unary_row<V, Sleef_finz_atanhd8_u10avx512f>();
    case Op::pow:
      return binary_row<V, Sleef_finz_powd8_u10avx512f>();
    case Op::atan2:
      return binary_row<V, Sleef_finz_atan2d8_u10avx512f>();
    default:
      break;
  }
#endif
  return row_of_each<V>(op, std::make_index_sequence<op_count>());
}

}  // namespace saltus
