#include <saltus/io/linearisation_files.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "io/json_number.hpp"
#include "io/npz_parts.hpp"

namespace saltus {

namespace {

Json matrix_json(const Matrix& a) {
  Json rows = Json::array();
  for (int i = 0; i < a.rows(); ++i) {
    Json row = Json::array();
    for (int j = 0; j < a.columns(); ++j) row.push_back(number_or_null(a(i, j)));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json named_values(const std::vector<std::string>& names, const std::vector<double>& values) {
  Json object = Json::object();
  for (std::size_t k = 0; k < values.size(); ++k) object[names[k]] = number_or_null(values[k]);
  return object;
}

Json linearisation_json(const Linearisation& l) {
  Json eigenvalues = Json::array();
  for (const Eigenvalue& e : l.eigenvalues) {
    Json shares = Json::object();
    for (const Eigenvalue::Share& s : e.shares) shares[s.state] = number_or_null(s.share);
    eigenvalues.push_back(
        {{"real", number_or_null(e.value.real())}, {"imaginary", number_or_null(e.value.imag())}, {"shares", shares}});
  }
  Json document = {{"t", number_or_null(l.t)},
                   {"mode", l.mode},
                   {"why", l.why},
                   {"states", l.states},
                   {"inputs", l.inputs},
                   {"outputs", l.outputs},
                   {"A", matrix_json(l.A)},
                   {"B", matrix_json(l.B)},
                   {"C", matrix_json(l.C)},
                   {"D", matrix_json(l.D)},
                   {"state_values", named_values(l.states, l.state_values)},
                   {"state_slopes", named_values(l.states, l.state_slopes)},
                   {"input_values", named_values(l.inputs, l.input_values)},
                   {"output_values", named_values(l.outputs, l.output_values)},
                   {"eigenvalues", eigenvalues},
                   {"stability", std::string(to_string(l.stability()))},
                   {"error", number_or_null(l.error)}};
  if (l.period > 0.0) document["period"] = l.period;
  return document;
}

Json document_head(const std::string& model) {
  return {{"format", "saltus linearisation"}, {"version", 1}, {"model", model}};
}

std::string matrix_array(const Matrix& a) {
  std::string bytes = array_header("<f8", static_cast<std::size_t>(a.rows()), static_cast<std::size_t>(a.columns()));
  for (int i = 0; i < a.rows(); ++i)
    for (int j = 0; j < a.columns(); ++j) {
      std::uint64_t word;
      const double value = a(i, j);
      std::memcpy(&word, &value, sizeof word);
      put_word(bytes, word);
    }
  return bytes;
}

Matrix as_column(const std::vector<double>& values) {
  Matrix a(static_cast<int>(values.size()), 1);
  for (std::size_t k = 0; k < values.size(); ++k) a(static_cast<int>(k), 0) = values[k];
  return a;
}

std::string list_of_names(const std::vector<std::string>& names) {  // as bytes in UTF-8
  std::size_t longest = 1;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  std::string bytes = array_header("|S" + std::to_string(longest), names.size());
  for (std::string name : names) {
    name.resize(longest, '\0');
    bytes += name;
  }
  return bytes;
}

}  // namespace

void write_linearisation_json(std::ostream& out, const std::string& model, const Linearisation& linearisation) {
  Json document = document_head(model);
  document.update(linearisation_json(linearisation));
  out << document.dump(1) << '\n';
}

void write_equilibria_json(std::ostream& out, const std::string& model, const std::vector<Equilibrium>& equilibria) {
  Json document = document_head(model), list = Json::array();
  for (const Equilibrium& e : equilibria) {
    Json one = {{"found", e.found},       {"message", e.message},
                {"pseudo", e.pseudo},     {"admissible", e.admissible},
                {"violated", e.violated}, {"values", named_values(e.variables, e.values)}};
    one["linearisation"] = linearisation_json(e.linearisation);
    list.push_back(std::move(one));
  }
  document["equilibria"] = std::move(list);
  out << document.dump(1) << '\n';
}

void write_linearisation_npz(std::ostream& out, const Linearisation& l) {
  ZipWriter zip(out);
  const auto add = [&](const char* name, const std::string& bytes) { zip.add(std::string(name) + ".npy", bytes); };
  add("A", matrix_array(l.A));
  add("B", matrix_array(l.B));
  add("C", matrix_array(l.C));
  add("D", matrix_array(l.D));
  add("x", matrix_array(as_column(l.state_values)));
  add("u", matrix_array(as_column(l.input_values)));
  add("y", matrix_array(as_column(l.output_values)));
  Matrix eigenvalues(static_cast<int>(l.eigenvalues.size()), 2);
  for (int k = 0; k < eigenvalues.rows(); ++k) {
    eigenvalues(k, 0) = l.eigenvalues[static_cast<std::size_t>(k)].value.real();
    eigenvalues(k, 1) = l.eigenvalues[static_cast<std::size_t>(k)].value.imag();
  }
  add("eigenvalues", matrix_array(eigenvalues));
  add("$states", list_of_names(l.states));
  add("$inputs", list_of_names(l.inputs));
  add("$outputs", list_of_names(l.outputs));
  zip.finish();
}

}  // namespace saltus
