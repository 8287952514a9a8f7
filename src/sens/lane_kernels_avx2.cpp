// Compiled with AVX2 and FMA; called only where the processor has them.
#include "sens/lane_loops.hpp"

namespace saltus {

const LaneKernels& avx2_lane_kernels(int width) {
  return compiled_kernels(width);
}

}  // namespace saltus
