// Studies: many runs of one model, in threads that do not hold the interpreter lock.
#include <pybind11/stl.h>
#include <saltus/saltus.hpp>
#include <saltus/study/run_study.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interpreter.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

using Progressed = std::optional<py::function>;

/// One of the values of an enumeration, by name.
template <class T>
T choose(const std::string& name, const char* what, const std::vector<std::pair<std::string, T>>& choices) {
  std::string names;
  for (const auto& [text, value] : choices) {
    if (text == name) return value;
    names += (names.empty() ? "\"" : ", \"") + text + "\"";
  }
  throw UsageError(std::string(what) + " is one of " + names + ", not \"" + name + "\"");
}

Collect collect_named(const std::string& name) {
  std::vector<std::pair<std::string, Collect>> all;
  for (const Collect what : {Collect::final_value, Collect::sample, Collect::minimum, Collect::maximum, Collect::mean,
                             Collect::count, Collect::first, Collect::period})
    all.emplace_back(to_string(what), what);
  return choose(name, "what is collected", all);
}

Distribution distribution_named(const std::string& name) {
  return choose<Distribution>(name, "a distribution",
                              {{"uniform", Distribution::uniform},
                               {"loguniform", Distribution::log_uniform},
                               {"normal", Distribution::normal}});
}

void read_members(const py::dict& d, StudyPlan& plan) {
  for (const auto& [name, values] : d["over"].cast<py::dict>())
    plan.axes.push_back({.name = name.cast<std::string>(), .spacing = Spacing::list, .values = list_of(values)});
  using Random = std::tuple<std::string, double, double>;
  for (const auto& [name, random] : d["random"].cast<py::dict>()) {
    const auto [distribution, a, b] = random.cast<Random>();
    plan.random.push_back({name.cast<std::string>(), distribution_named(distribution), a, b});
  }
  for (const auto& [name, values] : d["table"].cast<py::dict>()) {
    const std::vector<double> column = list_of(values);
    plan.table.names.push_back(name.cast<std::string>());
    if (plan.table.names.size() == 1) plan.table.rows.resize(column.size());
    if (plan.table.rows.size() != column.size())
      throw UsageError("table: '" + plan.table.names.back() + "' has " + std::to_string(column.size()) +
                       " values, and the column before it " + std::to_string(plan.table.rows.size()));
    for (std::size_t k = 0; k < column.size(); ++k) plan.table.rows[k].push_back(column[k]);
  }
  plan.draws = d["members"].cast<std::int64_t>();
  plan.seed = d["seed"].cast<std::uint64_t>();
}

StudyPlan plan_of(const py::dict& d) {
  StudyPlan plan;
  read_members(d, plan);
  plan.simulate = read_options(d["options"].cast<py::dict>());
  plan.sampling = {
      .at = choose<SampleAt>(d["sample_at"].cast<std::string>(), "the sampling",
                             {{"none", SampleAt::none}, {"period", SampleAt::period}, {"section", SampleAt::section}}),
      .period = d["period"].cast<double>(),
      .variable = d["sample_variable"].cast<std::string>(),
      .transient = d["transient"].cast<std::int64_t>(),
      .keep = d["keep"].cast<std::int64_t>()};
  if (!d["after"].is_none()) plan.collect_after = d["after"].cast<double>();
  using Wanted = std::tuple<std::string, std::string, std::string>;
  for (const auto& [what, variable, name] : d["collect"].cast<std::vector<Wanted>>())
    plan.collect.push_back({collect_named(what), variable, name});
  plan.follow =
      choose<Follow>(d["follow"].cast<std::string>(), "follow",
                     {{"none", Follow::none}, {"up", Follow::up}, {"down", Follow::down}, {"both", Follow::both}});
  plan.path = choose<MemberPath>(d["executor"].cast<std::string>(), "the executor",
                                 {{"full", MemberPath::full}, {"lanes", MemberPath::lanes}});
  plan.period_tolerance = d["tolerance"].cast<double>();
  if (!d["time_limit"].is_none()) plan.member_seconds = d["time_limit"].cast<double>();
  return plan;
}

/// Asks for Ctrl-C, and tells a function of Python how far the study is.
bool goes_on(const StudyProgress& p, const Progressed& told) {
  if (!not_interrupted()) return false;
  if (!told) return true;
  const py::gil_scoped_acquire acquire;
  py::dict d;
  d["members"] = p.members;
  d["done"] = p.done;
  d["failed"] = p.failed;
  d["resumed"] = p.resumed;
  d["seconds"] = p.seconds;
  try {
    const py::object answer = (*told)(d);
    return answer.is_none() || py::bool_(answer);
  } catch (py::error_already_set& raised) {  // the threads end first
    raised.restore();
    return false;
  }
}

StudyResult run(const Study& study, const std::string& store, bool restart, int threads, const Progressed& told) {
  StudyOptions options{.store = store, .restart = restart, .threads = threads};
  options.progress = [&](const StudyProgress& p) { return goes_on(p, told); };
  return unlocked([&] { return run_study(study, options); });
}

py::list arrays_of(const StudyResult& result) {
  py::list all;
  for (const StudyArray& a : result.arrays()) {
    const char* const type = a.type == StudyArray::Type::real ? "f8" : a.type == StudyArray::Type::byte ? "u1" : "i8";
    all.append(py::make_tuple(a.name, type, a.width, a.unit, a.description, a.coordinate));
  }
  return all;
}

py::list failures_of(const StudyResult& result) {
  py::list all;
  for (const MemberFailure& failure : result.failures(static_cast<std::size_t>(result.members()))) {
    py::dict d;
    d["index"] = failure.index;
    d["status"] = member_status_text(failure.status);
    d["t"] = failure.t;
    d["message"] = failure.message;
    all.append(d);
  }
  return all;
}

py::dict counts_of(const StudyResult& result) {
  py::dict counts;
  for (const auto& [status, count] : result.count_by_status()) counts[py::str(member_status_text(status))] = count;
  return counts;
}

}  // namespace

void add_studies(py::module_& m) {
  py::class_<Study>(m, "Study")
      // The lock is held while the model is compiled: another thread could extend its graph of expressions.
      .def(py::init(
               [](const Model& model, const py::dict& plan) { return std::make_unique<Study>(model, plan_of(plan)); }),
           py::arg("model"), py::arg("plan"))
      .def("run", &run, py::arg("store"), py::arg("restart"), py::arg("threads"), py::arg("progress"))
      .def(
          "run_member",
          [](const Study& study, std::int64_t index) {
            return unlocked([&] { return std::make_shared<Trajectory>(study.run_member(index)); });
          },
          py::arg("index"));
  py::class_<StudyResult>(m, "StudyResult")
      .def_static(
          "open", [](const std::string& store) { return StudyResult::open(store); }, py::arg("store"))
      .def_property_readonly("members", &StudyResult::members)
      .def_property_readonly("arrays", &arrays_of)
      .def_property_readonly("failures", &failures_of)
      .def_property_readonly("counts", &counts_of)
      .def_property_readonly("axes",
                             [](const StudyResult& result) {
                               py::list sizes;
                               for (const Axis& a : result.plan().axes) sizes.append(py::make_tuple(a.name, a.size()));
                               return sizes;
                             })
      .def_property_readonly("collected",
                             [](const StudyResult& result) {
                               std::vector<std::string> names;
                               for (const Collector& c : result.plan().collect) names.push_back(result_name(c));
                               return names;
                             })
      .def_property_readonly("draws", [](const StudyResult& result) { return result.plan().draws; })
      .def(
          "values", [](const StudyResult& result, const std::string& name) { return array_of(result.values(name)); },
          py::arg("name"))
      .def("find_attractors", [](StudyResult& result) { return find_attractors(result); });
}

}  // namespace saltus::python
