#include "sens/sensitivity_run.hpp"

#include <fmt/format.h>
#include <saltus/base/names.hpp>

#include <algorithm>

namespace saltus {

std::string_view to_string(Smoothness smoothness) {
  switch (smoothness) {
    case Smoothness::smooth:
      return "smooth";
    case Smoothness::one_sided:
      return "one_sided";
    case Smoothness::undefined:
      break;
  }
  return "undefined";
}

std::size_t SensitivityRun::Impl::direction(const std::string& parameter) const {
  const NameTable names(parameters);
  const NameSpelling spelling = read_name(parameter);
  auto place = names.find(parameter);
  if (!place && spelling.of != NameSpelling::Of::derivative) place = names.find(spelling.name + ".start");
  if (!place)
    throw UsageError(fmt::format("the run has not been differentiated by '{}'{}", parameter, names.hint(parameter)));
  return *place;
}

std::vector<double> SensitivityRun::Impl::read(double t, const std::string& parameter, bool right) const {
  const std::size_t k = direction(parameter);
  return tangents(t, right)[k];
}

std::pair<const SensitivityRun::Impl::Piece*, double> SensitivityRun::Impl::find(double t, bool right) const {
  const double sign = trajectory.t_end() >= trajectory.t_start() ? 1.0 : -1.0;
  const std::string because = why.empty() ? "" : ": " + why;
  if (pieces.empty())
    throw UsageError(fmt::format("there are no sensitivities at {}: the run has none behind its start{}", t, because));
  if (!((t - trajectory.t_start()) * sign >= 0.0 && (end - t) * sign >= 0.0))
    throw UsageError(
        fmt::format("there are sensitivities from {} to {}, not at {}{}", trajectory.t_start(), end, t, because));
  // the last piece that begins at or before t (right limit), or strictly before it (left limit)
  auto piece = std::upper_bound(pieces.begin(), pieces.end(), t, [&](double value, const Piece& p) {
    const double d = (p.from - value) * sign;
    return right ? d > 0.0 : d >= 0.0;
  });
  if (piece != pieces.begin()) --piece;
  return {&*piece, (t - piece->to) * sign > 0.0 ? piece->to : t};
}

std::vector<double> SensitivityRun::Impl::slopes(double t, bool right) const {
  const auto [piece, within] = find(t, right);
  if (piece->flow) return piece->flow->observed_slopes(within);
  const std::vector<double> all = piece->solved->at(within);
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(trajectory.variables().size())};
}

std::vector<std::vector<double>> SensitivityRun::Impl::tangents(double t, bool right) const {
  if (right && t == trajectory.t_end() && !at_end.empty()) return at_end;
  const auto [piece, within] = find(t, right);
  if (piece->flow) return piece->flow->observed(within);
  const std::vector<double> all = piece->solved->at(within);
  const auto count = static_cast<std::ptrdiff_t>(trajectory.variables().size());
  std::vector<std::vector<double>> result;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(k + 1) * count;
    result.emplace_back(first, first + count);
  }
  return result;
}

Smoothness SensitivityRun::Impl::smoothness(double t, std::size_t direction) const {
  const double sign = trajectory.t_end() >= trajectory.t_start() ? 1.0 : -1.0;
  const std::optional<double>& from = sides[direction].one_sided_from;
  return from && (t - *from) * sign >= 0.0 ? Smoothness::one_sided : Smoothness::smooth;
}

SensitivityRun::SensitivityRun(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SensitivityRun::SensitivityRun(SensitivityRun&&) noexcept = default;
SensitivityRun& SensitivityRun::operator=(SensitivityRun&&) noexcept = default;
SensitivityRun::~SensitivityRun() = default;

const Trajectory& SensitivityRun::trajectory() const {
  return impl_->trajectory;
}
const std::vector<std::string>& SensitivityRun::parameters() const {
  return impl_->parameters;
}
double SensitivityRun::end() const {
  return impl_->end;
}
const std::string& SensitivityRun::why() const {
  return impl_->why;
}
const std::vector<EventSensitivity>& SensitivityRun::events() const {
  return impl_->events;
}

std::vector<double> SensitivityRun::at(double t, const std::string& parameter) const {
  return impl_->read(t, parameter, true);
}
double SensitivityRun::at(double t, const std::string& variable, const std::string& parameter) const {
  return at(t, parameter)[impl_->trajectory.index(variable)];
}
std::vector<double> SensitivityRun::before(double t, const std::string& parameter) const {
  return impl_->read(t, parameter, false);
}
double SensitivityRun::before(double t, const std::string& variable, const std::string& parameter) const {
  return before(t, parameter)[impl_->trajectory.index(variable)];
}
std::vector<std::vector<double>> SensitivityRun::at(double t) const {
  return impl_->tangents(t, true);
}
std::vector<std::vector<double>> SensitivityRun::before(double t) const {
  return impl_->tangents(t, false);
}
std::vector<double> SensitivityRun::slopes(double t) const {
  return impl_->slopes(t, true);
}
std::vector<double> SensitivityRun::final(const std::string& parameter) const {
  const std::size_t k = impl_->direction(parameter);
  if (impl_->final.empty())
    throw UsageError(fmt::format("there are no sensitivities at the end of the run: {}", impl_->why));
  return impl_->final[k];
}
double SensitivityRun::final(const std::string& variable, const std::string& parameter) const {
  return final(parameter)[impl_->trajectory.index(variable)];
}

Smoothness SensitivityRun::smoothness(double t, const std::string& parameter) const {
  return impl_->smoothness(t, impl_->direction(parameter));
}
std::vector<Smoothness> SensitivityRun::final_smoothness(const std::string& parameter) const {
  const std::size_t k = impl_->direction(parameter);
  if (impl_->final.empty()) return std::vector<Smoothness>(impl_->trajectory.variables().size(), Smoothness::undefined);
  return impl_->sides[k].final;
}
Smoothness SensitivityRun::final_smoothness(const std::string& variable, const std::string& parameter) const {
  return final_smoothness(parameter)[impl_->trajectory.index(variable)];
}
const std::string& SensitivityRun::remark(const std::string& parameter) const {
  return impl_->sides[impl_->direction(parameter)].remark;
}

}  // namespace saltus
