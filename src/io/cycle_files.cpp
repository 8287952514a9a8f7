#include <saltus/io/cycle_files.hpp>

#include <ostream>

#include "io/json_number.hpp"

namespace saltus {

void write_cycle_json(std::ostream& out, const Cycle& cycle) {
  Json document;
  document["status"] = to_string(cycle.status);
  document["message"] = cycle.message;
  document["period"] = number_or_null(cycle.period);
  Json& start = document["start"] = Json::object();
  for (std::size_t k = 0; k < cycle.start.size(); ++k) start[cycle.variables[k]] = number_or_null(cycle.start[k]);
  Json& multipliers = document["multipliers"] = Json::array();
  for (const auto& value : cycle.multipliers)
    multipliers.push_back(Json::array({number_or_null(value.real()), number_or_null(value.imag())}));
  document["stable"] = cycle.ok() ? Json(cycle.stable()) : Json(nullptr);
  document["trivial_error"] = number_or_null(cycle.trivial_error);
  document["residual"] = number_or_null(cycle.residual);
  document["iterations"] = cycle.iterations;
  out << document.dump(1) << '\n';
}

}  // namespace saltus
