#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/base/names.hpp>
#include <saltus/study/study.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "study/layout.hpp"
#include "study/member_run.hpp"
#include "study/study_access.hpp"

namespace saltus {

std::string member_status_text(int status) {
  switch (status) {
    case member_killed:
      return "killed";
    case member_out_of_time:
      return "out_of_time";
    case member_refused:
      return "refused";
    case member_not_run:
      return "not_run";
    default:
      break;
  }
  for (const StatusCode code : all_status_codes)
    if (static_cast<int>(code) == status) return std::string(to_string(code));
  return fmt::format("status_{}", status);
}

bool member_ok(int status) {
  return status == static_cast<int>(StatusCode::success) || status == static_cast<int>(StatusCode::terminated);
}

double StudyArray::missing() const {
  switch (type) {
    case Type::integer:
      return -1.0;
    case Type::byte:
      return member_not_run;
    case Type::real:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void count_crossings(Model& model, const BoolExpr& condition, const std::string& name) {
  const Expr counter = model.discrete(name, 0.0);
  model.when(condition).assign(counter, model.pre(counter) + 1.0);
}

/// The plan with what it varies under the names of the model: "h.start" and "h(start)" are h. Values may be wrong for
/// single members; names are for all.
StudyPlan with_names_of(const ModelData& data, StudyPlan plan) {
  std::vector<std::string> known;
  for (const auto& [name, declared] : data.names) known.push_back(name);
  std::ranges::sort(known);
  const NameTable names(known);
  const auto replace = [&](std::string& name) {
    const auto fixed = data.fixed_names.find(read_name(name).name);
    if (fixed != data.fixed_names.end())
      throw UsageError("'" + fixed->first + "' cannot vary in a study: " + fixed->second);
    const auto place = names.find_settable(name);
    const std::string hint = names.hint(name);
    if (!place)
      throw UsageError("there is no parameter or variable '" + name + "' in the model" +
                       (hint.empty() ? "; saltus check lists them" : hint));
    name = known[*place];
  };
  std::ranges::for_each(plan.table.names, replace);
  for (Axis& axis : plan.axes) replace(axis.name);
  for (RandomValue& value : plan.random) replace(value.name);
  return plan;
}

struct Study::Impl {
  StudyPlan plan;
  CompiledModel model;
  StudyLayout layout;
  std::int64_t members;
  std::string description;
  /// Start values that a member takes from its neighbour: names, and places among the observed variables.
  std::vector<std::pair<std::string, std::size_t>> followed;

  Impl(const Model& source, StudyPlan p)
      : plan(with_names_of(source.data(), std::move(p))),
        model(source),
        layout(make_layout(plan, source, model)),
        members(member_count(plan)),
        description(describe_model(plan, source)) {
    if (!(plan.simulate.stop >= plan.simulate.start) && plan.sampling.at != SampleAt::period)
      throw UsageError(fmt::format("a study runs forwards in time; stop = {} lies before start = {}",
                                   plan.simulate.stop, plan.simulate.start));
    if (!(plan.period_tolerance > 0.0)) throw UsageError("period_tolerance must be positive");
    if (!(plan.member_seconds > 0.0)) throw UsageError("member_seconds must be positive");
    if (plan.follow != Follow::none) find_followed(source.data());
  }

  void find_followed(const ModelData& data) {
    if (!data.initial_equations.empty())
      throw UsageError(
          "members cannot follow each other: initial equations of the model decide how it starts; write "
          "start values instead");
    const auto& observed = model.observed();
    for (std::size_t k = 0; k < observed.size(); ++k) {
      const std::string& name = observed[k].name;
      const auto found = data.names.find(name);
      if (found == data.names.end() || data.fixed_names.contains(name)) continue;
      bool counts = name == plan.sampling.variable;
      for (const Collector& c : plan.collect)
        counts = counts || (c.variable == name && (c.what == Collect::count || c.what == Collect::first));
      if (!counts) followed.emplace_back(name, k);
    }
  }

  bool downwards(std::int64_t index) const {
    return plan.follow == Follow::down || (plan.follow == Follow::both && index >= members / 2);
  }

  std::vector<std::pair<std::string, double>> values(std::int64_t index) const {
    return member_values(plan, plan.follow == Follow::both ? index % (members / 2) : index);
  }

  /// The model of a member. `before`: the values at the end of its neighbour, or none.
  std::shared_ptr<HybridSystem> prepare(std::int64_t index, const std::vector<double>& before) const {
    std::vector<std::pair<std::string, double>> changes = values(index);
    if (!before.empty())
      for (const auto& [name, place] : followed)
        if (std::ranges::find(changes, name, &std::pair<std::string, double>::first) == changes.end())
          changes.emplace_back(name, before[place]);
    return std::make_shared<CompiledModel>(model.with_values(changes));
  }

  void fill_coordinates(std::int64_t index, MemberOutcome& outcome) const {
    const auto varied = values(index);
    for (std::size_t k = 0; k < varied.size(); ++k) outcome.columns[k].front() = varied[k].second;
    if (plan.follow == Follow::both) outcome.columns[layout.varied].front() = downwards(index) ? -1.0 : 1.0;
  }

  /// The values of a member, and room for its results.
  MemberOutcome begin(std::int64_t index) const {
    MemberOutcome outcome;
    for (const StudyArray& array : layout.arrays)
      outcome.columns.emplace_back(static_cast<std::size_t>(array.numbers()), array.missing());
    fill_coordinates(index, outcome);
    return outcome;
  }

  /// Never throws for what is wrong with a member.
  MemberOutcome run(std::int64_t index, const std::vector<double>& before, const std::atomic<bool>& stop) const {
    MemberOutcome outcome = begin(index);
    try {
      MemberRun(plan, layout, prepare(index, before), stop).run(outcome);
    } catch (const std::bad_alloc&) {
      refuse(outcome, "there is not enough memory for this member");
    } catch (const std::exception& problem) {
      refuse(outcome, problem.what());
    }
    return outcome;
  }
  void refuse(MemberOutcome& outcome, const std::string& why) const {
    outcome.status = member_refused;
    outcome.message = why;
    outcome.columns[layout.place(FixedArray::status)].front() = member_refused;
  }

  /// The members of a unit in the order in which they run.
  std::int64_t member(std::int64_t unit, std::int64_t number, std::int64_t size) const {
    const std::int64_t first = unit * size;
    return downwards(first) ? first + size - 1 - number : first + number;
  }
};

Study::Study(const Model& model, StudyPlan plan) : impl_(std::make_unique<Impl>(model, std::move(plan))) {}
Study::~Study() = default;
Study::Study(Study&&) noexcept = default;
Study& Study::operator=(Study&&) noexcept = default;

const StudyPlan& Study::plan() const {
  return impl_->plan;
}
const CompiledModel& Study::model() const {
  return impl_->model;
}
std::int64_t Study::members() const {
  return impl_->members;
}
const std::vector<StudyArray>& Study::arrays() const {
  return impl_->layout.arrays;
}
const std::string& Study::description() const {
  return impl_->description;
}
std::int64_t Study::unit_size() const {
  return impl_->plan.follow == Follow::none ? 1 : impl_->plan.axes.back().size();
}

BlockResult Study::empty_block(std::int64_t count) const {
  BlockResult block;
  for (const StudyArray& array : arrays())
    block.columns.emplace_back(static_cast<std::size_t>(count * array.numbers()), array.missing());
  return block;
}

std::optional<std::vector<MemberFailure>> Study::run_unit(std::int64_t unit, std::int64_t first,
                                                          std::vector<std::vector<double>>& columns,
                                                          const std::atomic<bool>& stop) const {
  std::vector<MemberFailure> failures;
  const auto keep = [&](std::int64_t number, const MemberOutcome& outcome) {
    const std::int64_t index = impl_->member(unit, number, unit_size());
    for (std::size_t a = 0; a < columns.size(); ++a)
      std::ranges::copy(outcome.columns[a], columns[a].begin() + (index - first) * arrays()[a].numbers());
    if (!member_ok(outcome.status)) failures.push_back({index, outcome.status, outcome.t, outcome.message});
  };
  if (!StudyAccess::run_unit(*this, unit, 0, stop, keep)) return std::nullopt;
  return failures;
}

bool StudyAccess::run_unit(const Study& study, std::int64_t unit, std::int64_t from, const std::atomic<bool>& stop,
                           const std::function<void(std::int64_t, const MemberOutcome&)>& keep) {
  const std::int64_t size = study.unit_size();
  std::vector<double> before;
  for (std::int64_t k = from; k < size; ++k) {
    const MemberOutcome outcome = study.impl_->run(index(study, unit, k), before, stop);
    if (outcome.stopped || stop) return false;
    keep(k, outcome);
    if (study.impl_->plan.follow != Follow::none) before = outcome.end;
  }
  return true;
}
std::int64_t StudyAccess::index(const Study& study, std::int64_t unit, std::int64_t number) {
  return study.impl_->member(unit, number, study.unit_size());
}
const StudyLayout& StudyAccess::layout(const Study& study) {
  return study.impl_->layout;
}
CompiledModel StudyAccess::member(const Study& study, std::int64_t index) {
  return study.impl_->model.with_values(study.impl_->values(index));
}
MemberOutcome StudyAccess::begin(const Study& study, std::int64_t index) {
  return study.impl_->begin(index);
}
MemberOutcome StudyAccess::run(const Study& study, std::int64_t index, const std::atomic<bool>& stop) {
  return study.impl_->run(index, {}, stop);
}

Trajectory Study::run_member(std::int64_t index) const {
  if (index < 0 || index >= members())
    throw UsageError(fmt::format("there is no member {}; the study has the members 0 to {}", index, members() - 1));
  const std::atomic<bool> never = false;
  const std::int64_t size = unit_size(), unit = index / size;
  std::vector<double> before;
  for (std::int64_t k = 0; impl_->member(unit, k, size) != index; ++k)
    before = impl_->run(impl_->member(unit, k, size), before, never).end;
  return MemberRun(impl_->plan, impl_->layout, impl_->prepare(index, before), never).run_and_keep();
}

}  // namespace saltus
