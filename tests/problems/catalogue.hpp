// All problems whose characteristic values are known, by name: the tests assert them, a benchmark prints the table.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "problems/circuits.hpp"
#include "problems/heat.hpp"
#include "problems/linear.hpp"
#include "problems/mechanics.hpp"
#include "problems/seven_body.hpp"

namespace saltus::problems {

struct NamedProblem {
  std::string name;
  std::function<Problem()> make;
};

inline void PrintTo(const NamedProblem& p, std::ostream* out) {
  *out << p.name;
}

inline std::vector<NamedProblem> dae_catalogue() {
  std::vector<NamedProblem> list{{"pendulum_generic",
                                  [] {
                                    return pendulum({0.6, -0.8, 0.4, 0.3, 1.0});
                                  }},
                                 {"pendulum_at_0_degrees",
                                  [] {
                                    return pendulum({0.0, -1.0, 1.0, 0.0, 1.0});
                                  }},
                                 {"pendulum_at_90_degrees",
                                  [] {
                                    return pendulum({1.0, 0.0, 0.0, 0.0, 0.0});
                                  }},
                                 {"pendulum_from_an_inconsistent_guess",
                                  [] {
                                    return pendulum({2.0, 0.5, 0.0, 0.0, 0.0});
                                  }},
                                 {"pendulum_with_drive_and_friction",
                                  [] {
                                    return pendulum({0.6, -0.8, 0.4, 0.3, 1.0}, 1.0, gravity, 0.3, 2.0);
                                  }},
                                 {"pendulum_of_a_micrometre",
                                  [] {
                                    return pendulum({0.6e-6, -0.8e-6, 0.0, 0.0, 1e7}, 1e-6);
                                  }},
                                 {"pendulum_of_a_nanometre",
                                  [] {
                                    return pendulum({0.6e-9, -0.8e-9, 0.0, 0.0, 1e9}, 1e-9);
                                  }},
                                 {"pendulum_of_1e9_metres",
                                  [] {
                                    return pendulum({0.6e9, -0.8e9, 0.0, 0.0, 1e-9}, 1e9);
                                  }},
                                 {"pendulum_in_millimetres_and_microseconds",
                                  [] {
                                    return pendulum({600.0, -800.0, 0.0, 0.0, 1e-12}, 1e3, 9.81e-9);
                                  }},
                                 {"slider_crank",
                                  [] {
                                    return slider_crank({0.5, -0.2, 1.0, 0.0, 0.0});
                                  }},
                                 {"slider_crank_1e_6_beside_its_singularity",
                                  [] {
                                    return slider_crank({M_PI / 2 - 1e-6, -M_PI / 2 + 1e-6, 0.0, 0.0, 0.0}, 1.0, 1.0);
                                  }},
                                 {"nonlinear_circuit", nonlinear_circuit},
                                 {"transistor_amplifier", transistor_amplifier},
                                 {"regular_pencil_not_unique", regular_pencil_not_unique},
                                 {"singular_pencil_unique", singular_pencil_unique},
                                 {"pendulum_with_hidden_constraints", pendulum_with_hidden_constraints},
                                 {"pendulum_ggl", pendulum_ggl},
                                 {"stick_slip_while_sliding", stick_slip_while_sliding},
                                 {"control_system", control_system},
                                 {"redundant_and_free", redundant_and_free},
                                 {"robot_arm", [] { return robot_arm(); }},
                                 {"car_axis", car_axis},
                                 {"seven_bodies", seven_body}};
  for (int k = 1; k <= 5; ++k)
    list.push_back({"rotating_block_of_index_" + std::to_string(k), [k] { return rotating_block(k); }});
  for (int k = 1; k <= 5; ++k)
    list.push_back({"pendula_of_index_" + std::to_string(2 * k + 1), [k] { return multi_pendula(k); }});
  return list;
}

}  // namespace saltus::problems
