#include <saltus/hybrid/kept_size.hpp>

namespace saltus {

std::size_t KeptSize::new_steps(const Trajectory& run) {
  const auto size_of = [](const DensePolynomial& polynomial) { return polynomial.c.size() * sizeof(double); };
  std::size_t bytes = 0;
  const auto& segments = run.segments();
  for (; segment_ < segments.size(); ++segment_, step_ = 0) {
    const auto& steps = segments[segment_].steps;
    for (; step_ < steps.size(); ++step_) {
      const DensePolynomial& polynomial = steps[step_].polynomial;
      bytes += sizeof(Trajectory::Step) + size_of(polynomial);
      if (!polynomial.parts) continue;
      bytes += size_of(polynomial.parts->polynomial);
      if (polynomial.parts->all.get() == shared_) continue;
      shared_ = polynomial.parts->all.get();
      bytes += size_of(*shared_);
    }
    if (segment_ + 1 == segments.size()) break;
  }
  return bytes;
}

}  // namespace saltus
