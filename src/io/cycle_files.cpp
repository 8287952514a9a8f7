#include <fmt/format.h>
#include <saltus/io/cycle_files.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "io/json_number.hpp"

namespace saltus {

namespace {

Json multipliers_json(const std::vector<std::complex<double>>& multipliers) {
  Json list = Json::array();
  for (const auto& value : multipliers)
    list.push_back(Json::array({number_or_null(value.real()), number_or_null(value.imag())}));
  return list;
}

Json values_json(const std::vector<std::string>& names, const std::vector<double>& values) {
  Json object = Json::object();
  for (std::size_t k = 0; k < values.size(); ++k) object[names[k]] = number_or_null(values[k]);
  return object;
}

Json point_json(const Branch& branch, const BranchPoint& point) {
  Json document;
  document["parameter"] = number_or_null(point.parameter);
  document["period"] = number_or_null(point.period);
  document["stable"] = point.stable;
  document["start"] = values_json(branch.variables, point.start);
  document["lowest"] = values_json(branch.variables, point.lowest);
  document["highest"] = values_json(branch.variables, point.highest);
  document["multipliers"] = multipliers_json(point.multipliers);
  document["events"] = point.events;
  return document;
}

/// A name as a field of a CSV file.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

void write_cycle_json(std::ostream& out, const Cycle& cycle) {
  Json document;
  document["status"] = to_string(cycle.status);
  document["message"] = cycle.message;
  document["period"] = number_or_null(cycle.period);
  document["start"] = values_json(cycle.variables, cycle.start);
  document["multipliers"] = multipliers_json(cycle.multipliers);
  document["stable"] = cycle.ok() ? Json(cycle.stable()) : Json(nullptr);
  document["trivial_error"] = number_or_null(cycle.trivial_error);
  document["residual"] = number_or_null(cycle.residual);
  document["iterations"] = cycle.iterations;
  out << document.dump(1) << '\n';
}

void write_branch_json(std::ostream& out, const Branch& branch) {
  Json document;
  document["status"] = to_string(branch.status);
  document["message"] = branch.message;
  document["parameter"] = branch.parameter;
  Json& points = document["points"] = Json::array();
  for (const BranchPoint& point : branch.points) points.push_back(point_json(branch, point));
  Json& bifurcations = document["bifurcations"] = Json::array();
  for (const Bifurcation& b : branch.bifurcations) {
    Json entry;
    entry["kind"] = to_string(b.kind);
    entry["behind"] = b.behind;
    entry["uncertainty"] = number_or_null(b.uncertainty);
    entry["point"] = point_json(branch, b.point);
    bifurcations.push_back(std::move(entry));
  }
  out << document.dump(1) << '\n';
}

void write_branch_csv(std::ostream& out, const Branch& branch) {
  out << csv_field(branch.parameter) << ",period,stable,multiplier";
  for (const std::string& name : branch.variables)
    out << fmt::format(",{},{},{}", csv_field(name), csv_field("min(" + name + ")"), csv_field("max(" + name + ")"));
  out << '\n';
  for (const BranchPoint& point : branch.points) {
    double largest = 0.0;
    for (const auto& value : point.multipliers) largest = std::max(largest, std::abs(value));
    out << fmt::format("{:.15g},{:.15g},{},{:.15g}", point.parameter, point.period, point.stable ? 1 : 0, largest);
    for (std::size_t k = 0; k < point.start.size(); ++k)
      out << fmt::format(",{:.15g},{:.15g},{:.15g}", point.start[k], point.lowest[k], point.highest[k]);
    out << '\n';
  }
}

}  // namespace saltus
