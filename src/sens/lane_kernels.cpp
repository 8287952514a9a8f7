#include "sens/lane_kernels.hpp"

#include "program/interpreter.hpp"
#include "sens/lane_loops.hpp"

namespace saltus {

const LaneKernels& plain_lane_kernels(int width) {
  return compiled_kernels(width);
}

const LaneKernels& lane_kernels(int width) {
#ifdef SALTUS_LANES_AVX2
  if (cpu_has_avx2_fma()) return avx2_lane_kernels(width);
#endif
  return plain_lane_kernels(width);
}

}  // namespace saltus
