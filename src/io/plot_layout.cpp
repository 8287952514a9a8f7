#include "io/plot_layout.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {

namespace {

constexpr std::size_t longest_name = 40;

/// For letters of 13 pixels.
constexpr double usual_letter = 13.0, room_above = 50.0, room_below = 62.0, between_panels = 18.0, panel_height = 240.0,
                 row_height = 30.0;
constexpr double letter_width = 0.62;   // of letters of height 1, on the average
constexpr double letters_of_key = 6.0;  // the width of the sample of a line in the key, and what surrounds it
constexpr double line_height = 1.35;
constexpr double least_panel = 5.0;

std::size_t character_count(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

double pixels_per_point(const std::string& file) {
  return file.ends_with(".svg") ? 1.0 : 96.0 / 72.0;
}

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside of a character
  return text.substr(0, end) + "…";
}

std::string key_name(const Trajectory& run, const PlotCurve& curve) {
  std::string name = run.variable(curve.variable).name;
  if (name.size() > longest_name) {
    // both ends stay: names of a hierarchy often begin, or end, in the same way
    std::size_t rest = name.size() - longest_name / 2;
    while (rest < name.size() && (static_cast<unsigned char>(name[rest]) & 0xC0) == 0x80) ++rest;
    name = shortened(name, longest_name / 2) + name.substr(rest);
  }
  return curve.upper.empty() ? name : name + " (range)";
}

double PlotLayout::width_of(const std::string& text) const {
  return static_cast<double>(character_count(text)) * letter_width * letter;
}

namespace {

/// The room that everything but curves takes, for letters as they are in the layout: the panels' keys, rows and gaps.
/// Returns its height.
double place_panels(PlotLayout& layout, const std::vector<std::vector<std::string>>& keys,
                    const std::vector<PlotPanel>& panels) {
  double longest = 9.0 * letter_width * layout.letter;
  for (const auto& key : keys)
    for (const std::string& name : key) longest = std::max(longest, layout.width_of(name));
  const double sample = letters_of_key * letter_width * layout.letter;
  layout.left = std::min(0.2 * layout.width, 13.0 * letter_width * layout.letter);
  layout.right = layout.width - longest - sample - 4.0 * letter_width * layout.letter;
  layout.key_above = layout.right < 0.7 * layout.width;
  if (layout.key_above) layout.right = layout.width - 3.0 * letter_width * layout.letter;
  layout.above = room_above * layout.scale;
  layout.panels.clear();
  double used = layout.above + room_below * layout.scale;
  for (std::size_t k = 0; k < panels.size(); ++k) {
    PlotLayout::Panel place{.key = 0.0, .columns = 1, .height = 0.0, .gap = between_panels * layout.scale};
    if (panels[k].rows) place.height = row_height * layout.scale * static_cast<double>(panels[k].curves.size());
    if (layout.key_above && !panels[k].rows) {
      double column = 0.0;
      for (const std::string& name : keys[k]) column = std::max(column, layout.width_of(name));
      place.columns = std::max(1, static_cast<int>((layout.right - layout.left) / (column + sample)));
      place.key = std::ceil(static_cast<double>(keys[k].size()) / place.columns) * line_height * layout.letter;
    }
    used += place.key + place.height + place.gap;
    layout.panels.push_back(place);
  }
  return used;
}

}  // namespace

PlotLayout plot_layout(const Trajectory& run, const std::vector<PlotPanel>& panels, const PlotSize& size,
                       const std::string& file, const std::vector<std::string>& marks) {
  std::vector<std::vector<std::string>> keys;  // what the key of each panel names
  double entries = 0.0, count = 0.0;
  for (const PlotPanel& panel : panels) {
    std::vector<std::string>& key = keys.emplace_back();
    if (panel.rows) continue;
    for (const PlotCurve& curve : panel.curves) key.push_back(key_name(run, curve));
    if (keys.size() == 1) key.insert(key.end(), marks.begin(), marks.end());
    entries = std::max(entries, static_cast<double>(key.size()));
    ++count;
  }
  const double pixels = pixels_per_point(file);
  PlotLayout layout{};
  layout.width = size.width;
  layout.points = size.font > 0.0 ? size.font * 96.0 / 72.0 / pixels : file.ends_with(".svg") ? usual_letter : 11.0;
  layout.small_points = size.font > 0.0 ? 0.8 * layout.points : 10.0;
  layout.letter = layout.points * pixels;
  layout.scale = size.font > 0.0 ? layout.letter / usual_letter : 1.0;
  double used = place_panels(layout, keys, panels), each = panel_height * layout.scale;
  layout.height = size.height > 0 ? size.height : static_cast<int>(used + each * count);
  if (size.height > 0) {
    const double least = std::max(least_panel, line_height * entries);  // in letters: a few marks at the axis, the key
    for (int attempt = 0; attempt < 20 && used + count * least * layout.letter > size.height; ++attempt) {
      const double shrunk = std::clamp(size.height / (used + count * least * layout.letter), 0.5, 0.95);
      layout.points *= shrunk;
      layout.letter *= shrunk;
      layout.small_points = 0.8 * layout.points;
      layout.scale = layout.letter / usual_letter;
      used = place_panels(layout, keys, panels);
    }
    each = count > 0.0 ? (size.height - used) / count : 0.0;
  }
  for (std::size_t k = 0; k < panels.size(); ++k)
    if (!panels[k].rows) layout.panels[k].height = each;
  return layout;
}

double tick_distance(double low, double high, double most) {
  if (most >= 10.0 || !(high > low)) return 0.0;
  const double raw = (high - low) / std::max(1.0, most);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double step : {1.0, 2.0, 5.0})
    if (raw <= step * power) return step * power;
  return 10.0 * power;
}

}  // namespace saltus
