// What does the analysis find for the problems of the library, how sure is it, and how long does it take?
//
// kept: the smallest singular value that counted, dropped: the largest one that did not, relative to the norm of the
// array, over all rank decisions; rcond: reciprocal condition of the system Jacobian where the structure has a
// certificate ("-": none, the rank decisions alone decide).
#include <saltus/dae/characteristic_values.hpp>

#include <chrono>
#include <cstdio>

#include "problems/catalogue.hpp"

int main() {
  using namespace saltus;
  std::printf("%-42s %4s  %-34s %-10s %8s %8s %8s %9s\n", "problem", "n", "found", "status", "kept", "dropped", "rcond",
              "ms");
  int wrong = 0;
  for (const problems::NamedProblem& named : problems::dae_catalogue()) {
    const problems::Problem p = named.make();
    const auto start = std::chrono::steady_clock::now();
    const CharacteristicValues c = characteristic_values(*p.system, p.t, p.guess, {.max_level = 12});
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    const bool right = c.numbers == p.expected;
    wrong += right ? 0 : 1;
    char certificate[16] = "-";
    if (c.certificate.valid) std::snprintf(certificate, sizeof certificate, "%.1e", c.certificate.reciprocal_condition);
    std::printf("%-42s %4d  %-34s %-10s %8.1e %8.1e %8s %9.2f%s\n", named.name.c_str(), p.system->structure().variables,
                to_string(c.numbers).c_str(), std::string(to_string(c.status)).c_str(), c.kept, c.dropped, certificate,
                time.count(), right ? "" : "  WRONG");
  }
  return wrong == 0 ? 0 : 1;
}
