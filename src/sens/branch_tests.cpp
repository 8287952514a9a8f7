#include "sens/branch_tests.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {

namespace {

bool is_passage(const Event& event) {
  return event.kind == EventKind::crossing || event.kind == EventKind::reset || event.kind == EventKind::transition;
}

std::size_t count_events(const BranchState& state, bool (*which)(const Event&)) {
  return static_cast<std::size_t>(std::ranges::count_if(state.map.run->trajectory().events(), which));
}

/// The least value of a function of events with slopes.
std::optional<double> least_of(const BranchState& state, double (*value)(double before, double after)) {
  double least = std::numeric_limits<double>::infinity();
  for (const Event& event : state.map.run->trajectory().events()) {
    if (!is_passage(event)) continue;
    for (std::size_t k = 0; k < std::min(event.slope_before.size(), event.slope_after.size()); ++k) {
      const double sign = event.slope_before[k] < 0.0 ? -1.0 : 1.0;
      least = std::min(least, value(sign * event.slope_before[k], sign * event.slope_after[k]));
    }
  }
  if (!std::isfinite(least)) return {};
  return least;
}

}  // namespace

std::string event_sequence(const Trajectory& run) {
  std::vector<std::string> words;
  for (const Event& event : run.events()) {
    std::string word(to_string(event.kind));
    for (std::size_t k = 0; k < event.guards.size(); ++k)
      word += " " + event.guards[k] + (event.direction[k] > 0 ? " rising" : event.direction[k] < 0 ? " falling" : "");
    words.push_back(std::move(word));
  }
  // the least of all rotations
  std::vector<std::string> best = words;
  for (std::size_t k = 1; k < words.size(); ++k) {
    std::ranges::rotate(words, words.begin() + 1);
    best = std::min(best, words);
  }
  std::string text;
  for (const std::string& word : best) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::optional<double> test_function(BifurcationKind kind, const BranchState& state) {
  const auto& multipliers = state.shown.multipliers;
  switch (kind) {
    case BifurcationKind::fold:
      return state.tangent.back();
    case BifurcationKind::flip: {
      std::complex<double> product = 1.0;
      for (const auto& value : multipliers) product *= 1.0 + value;
      return product.real();
    }
    case BifurcationKind::torus: {
      double largest = -1.0;
      for (const auto& value : multipliers)
        if (value.imag() != 0.0) largest = std::max(largest, std::abs(value));
      if (largest < 0.0) return {};
      return largest - 1.0;
    }
    case BifurcationKind::sliding_onset:
      return least_of(state, [](double before, double after) { return after / before; });
    case BifurcationKind::grazing:
      return least_of(state, [](double before, double) { return before * before; });
    case BifurcationKind::events_change:
      return {};
  }
  return {};
}

SequenceChange classify_change(const BranchState& first, const BranchState& second) {
  const auto slides = [](const Event& e) { return e.kind == EventKind::slide_enter; };
  const std::size_t first_slides = count_events(first, slides), second_slides = count_events(second, slides);
  const std::size_t first_passes = count_events(first, is_passage), second_passes = count_events(second, is_passage);
  if (first_slides != second_slides && (first_slides < second_slides) == (first_passes > second_passes))
    return {BifurcationKind::sliding_onset, first_slides < second_slides};
  if (first_passes != second_passes && first_slides == second_slides)
    return {BifurcationKind::grazing, first_passes > second_passes};
  return {BifurcationKind::events_change, true};
}

}  // namespace saltus
