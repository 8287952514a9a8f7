#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/io/study_plot.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "io/gnuplot.hpp"
#include "io/plot_script.hpp"

namespace saltus {

namespace {

struct Points {
  std::vector<double> x, y;
};

struct AxisRange {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// With some room around, and never empty.
  AxisRange widened(double share) const {
    if (!(low <= high)) return {0.0, 1.0};
    const double room = high > low ? share * (high - low) : 0.5 * std::max(std::abs(low), 1e-3);
    return {low - room, high + room};
  }
};

/// All pairs of members that ended well. What has one number for a member is repeated beside what has several.
Points points_of(const StudyResult& result, const std::string& x, const std::string& y) {
  const auto wx = static_cast<std::size_t>(result.array(x).numbers());
  const auto wy = static_cast<std::size_t>(result.array(y).numbers());
  const std::size_t width = std::max(wx, wy);
  Points points;
  for (std::int64_t block = 0; block < result.blocks(); ++block) {
    const std::vector<double> xs = result.block_values(x, block), ys = result.block_values(y, block);
    for (std::size_t member = 0; member < xs.size() / wx; ++member)
      for (std::size_t k = 0; k < width; ++k) {
        const double a = xs[member * wx + (wx == 1 ? 0 : k)], b = ys[member * wy + (wy == 1 ? 0 : k)];
        if (!std::isfinite(a) || !std::isfinite(b)) continue;
        points.x.push_back(a);
        points.y.push_back(b);
      }
  }
  return points;
}

int height_of(const StudyPlotOptions& o) {
  return o.size.height > 0 ? o.size.height : o.size.width * 2 / 3;
}

std::string head(const std::string& file, const StudyPlotOptions& o, const AxisRange& x, const AxisRange& y,
                 const std::string& x_label, const std::string& y_label) {
  return gnuplot_terminal(file, o.size.width, height_of(o), o.size.font) +
         fmt::format(
             "\nset encoding utf8\nset border 3 front\nset tics nomirror out front\nset title {} "
             "noenhanced\nset xlabel {} noenhanced\nset ylabel {} noenhanced\nset xrange [{:.17g}:{:.17g}]\nset yrange "
             "[{:.17g}:{:.17g}]\nset key outside right top noenhanced\n",
             plot_text(o.title), plot_text(o.x_label.empty() ? x_label : o.x_label),
             plot_text(o.y_label.empty() ? y_label : o.y_label), x.low, x.high, y.low, y.high);
}

std::string axis_label(const StudyArray& array) {
  return plot_label(array.name, array.unit);
}

void add_lines(std::string& script, const std::vector<double>& lines) {
  for (const double x : lines)
    fmt::format_to(std::back_inserter(script), "set arrow from {0:.17g},graph 0 to {0:.17g},graph 1 nohead front {1}\n",
                   x, plot_event_line);
}

/// A raster of counts, row by row, as an image whose colours are logarithmic.
void add_raster(std::string& script, const std::vector<std::int64_t>& count, const DensityAxis& x,
                const DensityAxis& y) {
  const auto columns = static_cast<std::size_t>(x.count);
  std::int64_t most = 1;
  script += "$d << EOD\n";
  for (std::size_t k = 0; k < count.size(); ++k) {
    most = std::max(most, count[k]);
    script += count[k] == 0 ? "NaN " : fmt::format("{:.4g} ", std::log10(static_cast<double>(count[k])));
    if ((k + 1) % columns == 0) script += '\n';
  }
  fmt::format_to(
      std::back_inserter(script),
      "EOD\nunset colorbox\nset palette defined (0 '#9ecae1', 0.4 '#3182bd', 1 '#08306b')\nset cbrange "
      "[0:{:.4g}]\nplot $d matrix using ({:.17g} + $1*{:.17g}):({:.17g} + $2*{:.17g}):3 with image notitle\n",
      std::max(1.0, std::log10(static_cast<double>(most))), x.low + 0.5 * x.cell, x.cell, y.low + 0.5 * y.cell, y.cell);
}

/// How many points fall into each cell.
std::vector<std::int64_t> raster_of(const Points& points, const DensityAxis& x, const DensityAxis& y) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(x.count * y.count), 0);
  const auto cell = [](double value, const DensityAxis& axis) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>((value - axis.low) / axis.cell), 0, axis.count - 1);
  };
  for (std::size_t k = 0; k < points.x.size(); ++k)
    ++count[static_cast<std::size_t>(cell(points.y[k], y) * x.count + cell(points.x[k], x))];
  return count;
}

/// How many cells a raster of a picture may have in one direction: fewer than it has pixels between its axes, as
/// gnuplot leaves out what it cannot show.
std::int64_t cells_of(int pixels) {
  return std::max(50, pixels - (pixels > 800 ? 180 : 140));
}

void add_points(std::string& script, const Points& points) {
  script += "$d << EOD\n";
  for (std::size_t k = 0; k < points.x.size(); ++k)
    fmt::format_to(std::back_inserter(script), "{:.8g} {:.8g}\n", points.x[k], points.y[k]);
  fmt::format_to(std::back_inserter(script), "EOD\nplot $d with points pt 7 ps {} lc rgb '{}' notitle\n",
                 points.x.size() > 2000 ? 0.15 : 0.3, plot_colours[0]);
}

/// A list of cells by label: of whole numbers, at most as many as can be told apart.
bool is_label(const std::vector<double>& values, std::map<int, std::size_t>& labels) {
  constexpr std::size_t most = 12;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    if (value != std::round(value) || std::abs(value) > 1e6) return false;
    ++labels[static_cast<int>(value)];
    if (labels.size() > most) return false;
  }
  return !labels.empty();
}

std::string label_text(const std::string& name, int label) {
  if (name != "attractor") return fmt::format("{} = {}", name, label);
  return label > 0 ? fmt::format("attractor {}", label) : label == 0 ? "not periodic" : "failed";
}

const char* colour_of(int label) {
  if (label < 0) return "#000000";
  if (label == 0) return "#bbbbbb";
  constexpr std::array<const char*, 10> colours = {"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9",
                                                   "#D55E00", "#F0E442", "#882255", "#44AA99", "#999933"};
  return colours[static_cast<std::size_t>(label - 1) % colours.size()];
}

}  // namespace

void write_diagram(const StudyResult& result, const std::string& x, const std::string& y, const std::string& file,
                   const StudyPlotOptions& options) {
  const Points points = points_of(result, x, y);
  AxisRange rx, ry;
  for (const double value : points.x) rx.add(value);
  for (const double value : points.y) ry.add(value);
  rx = rx.widened(result.array(x).coordinate ? 0.0 : 0.03);
  if (!(rx.high > rx.low)) rx = rx.widened(0.03);
  ry = ry.widened(0.03);
  std::string script = head(file, options, rx, ry, axis_label(result.array(x)), axis_label(result.array(y)));
  add_lines(script, options.lines);
  if (points.x.size() > options.most_points) {
    const auto axis = [](const AxisRange& range, std::int64_t cells) {
      return DensityAxis{range.low, (range.high - range.low) / static_cast<double>(cells), cells};
    };
    const DensityAxis x_cells = axis(rx, cells_of(options.size.width)),
                      y_cells = axis(ry, cells_of(height_of(options)));
    add_raster(script, raster_of(points, x_cells, y_cells), x_cells, y_cells);
  } else if (points.x.empty()) {
    script += "plot NaN notitle\n";
  } else {
    add_points(script, points);
  }
  run_gnuplot(script, file);
}

void write_density(const StudyResult& result, const std::string& file, const StudyPlotOptions& options) {
  if (!result.density()) throw UsageError("the study keeps the numbers of its members; draw it by write_diagram");
  const Density& all = *result.density();
  const StudyArray &x_array = result.array(result.reduced_to()->x), &y_array = result.array(result.reduced_to()->y);
  DensityAxis x = all.x(), y = all.y();
  // cells of a picture hold some cells of the raster
  const std::int64_t across = x.count / cells_of(options.size.width) + 1,
                     up = y.count / cells_of(height_of(options)) + 1;
  const auto coarser = [](const DensityAxis& axis, std::int64_t together) {
    return DensityAxis{axis.low, axis.cell * static_cast<double>(together), (axis.count + together - 1) / together};
  };
  const DensityAxis columns = coarser(x, across), rows = coarser(y, up);
  std::vector<std::int64_t> count(static_cast<std::size_t>(columns.count * rows.count), 0);
  for (std::int64_t j = 0; j < y.count; ++j)
    for (std::int64_t i = 0; i < x.count; ++i)
      count[static_cast<std::size_t>(j / up * columns.count + i / across)] += all.count(i, j);
  const AxisRange rx{x.low, x.low + x.cell * static_cast<double>(x.count)},
      ry{y.low, y.low + y.cell * static_cast<double>(y.count)};
  std::string script =
      head(file, options, x.count > 0 ? rx : AxisRange{0.0, 1.0},
           (y.count > 0 ? ry : AxisRange{0.0, 1.0}).widened(0.03), axis_label(x_array), axis_label(y_array));
  add_lines(script, options.lines);
  if (count.empty())
    script += "plot NaN notitle\n";
  else
    add_raster(script, count, columns, rows);
  run_gnuplot(script, file);
}

void write_map(const StudyResult& result, const std::string& name, const std::string& file,
               const StudyPlotOptions& options) {
  const StudyPlan& plan = result.plan();
  if (plan.axes.size() != 2 || plan.draws != 1 || plan.follow == Follow::both)
    throw UsageError("a map has two axes; the plan of this study has others");
  if (result.array(name).width != 0)
    throw UsageError("a map shows one number for each member; '" + name + "' has samples");
  // the first axis is horizontal; positions, so that logarithmic axes are even
  const std::int64_t columns = plan.axes[0].size(), rows = plan.axes[1].size();
  const std::vector<double> values = result.values(name);
  const auto edges = [](const Axis& axis) {
    const double first = axis.value(0), last = axis.value(axis.size() - 1);
    const double half = axis.size() > 1 ? 0.5 * (last - first) / static_cast<double>(axis.size() - 1) : 0.5;
    return AxisRange{std::min(first, last) - std::abs(half), std::max(first, last) + std::abs(half)};
  };
  for (const Axis& axis : plan.axes)
    if (axis.spacing != Spacing::linear)
      throw UsageError("a map needs two linear axes; '" + axis.name + "' is spaced otherwise");
  const AxisRange x = edges(plan.axes[0]), y = edges(plan.axes[1]);
  std::string script = head(file, options, x, y, axis_label(result.arrays()[0]), axis_label(result.arrays()[1]));
  std::map<int, std::size_t> labels;
  const bool labelled = is_label(values, labels);
  std::map<int, std::size_t> number;
  for (const auto& [label, count] : labels) number.emplace(label, number.size());
  script += "$d << EOD\n";
  for (std::int64_t j = 0; j < rows; ++j) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const double value = values[static_cast<std::size_t>(i * rows + j)];
      script += !std::isfinite(value) ? "NaN "
                : labelled            ? fmt::format("{} ", number.at(static_cast<int>(value)))
                                      : fmt::format("{:.7g} ", value);
    }
    script += '\n';
  }
  script += "EOD\n";
  auto out = std::back_inserter(script);
  std::string legend;
  if (labelled) {
    script += "unset colorbox\nset palette defined (";
    for (const auto& [label, place] : number)
      fmt::format_to(out, "{0}{1} '{2}', {1}.999 '{2}'", place == 0 ? "" : ", ", place, colour_of(label));
    fmt::format_to(out, ") maxcolors {}\nset cbrange [0:{}]\n", std::max<std::size_t>(number.size(), 2), number.size());
    for (const auto& [label, place] : number)
      legend += fmt::format(", NaN with points pt 5 ps 1.5 lc rgb '{}' title {}", colour_of(label),
                            plot_text(label_text(name, label)));
  } else {
    fmt::format_to(out,
                   "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\nset cblabel "
                   "{} noenhanced\n",
                   plot_text(axis_label(result.array(name))));
  }
  const Axis &a = plan.axes[0], &b = plan.axes[1];
  const double dx = a.size() > 1 ? (a.to - a.from) / static_cast<double>(a.size() - 1) : 1.0;
  const double dy = b.size() > 1 ? (b.to - b.from) / static_cast<double>(b.size() - 1) : 1.0;
  fmt::format_to(out,
                 "plot $d matrix using ({:.17g} + $1*{:.17g}):({:.17g} + $2*{:.17g}):($3{}) with image notitle{}\n",
                 a.from, dx, b.from, dy, labelled ? " + 0.5" : "", legend);
  run_gnuplot(script, file);
}

}  // namespace saltus
