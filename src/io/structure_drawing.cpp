#include "io/structure_drawing.hpp"

#include <saltus/dae/structural_analysis.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace saltus {

namespace {

constexpr int grid_of_large_models = 160;
constexpr int largest_certified = 2'000;
constexpr std::size_t most_modes = 64, most_names = 6;

/// Whether there is nothing to integrate: the systems then carry a variable that the user never sees.
bool stands_still(const HybridSystem& system) {
  std::set<std::string> seen;
  for (const VariableInfo& v : system.observed()) seen.insert(v.name);
  return std::ranges::none_of(system.variables(), [&](const VariableInfo& v) { return seen.contains(v.name); });
}

/// Position of each row or column in the drawing: blocks first, then what belongs to none.
std::vector<int> positions(const std::vector<int>& order, int count) {
  std::vector<int> position(static_cast<std::size_t>(count), -1);
  int next = 0;
  for (const int k : order) position[static_cast<std::size_t>(k)] = next++;
  for (int& p : position)
    if (p < 0) p = next++;
  return position;
}

void add_cells(StructureDrawing& drawing, const Structure& s, const std::vector<int>& row_of,
               const std::vector<int>& column_of) {
  const int size = std::max(s.equations, s.variables);
  drawing.grid = std::min(size, size > StructureDrawing::largest_with_names ? grid_of_large_models : size);
  const auto scaled = [&](int place) { return static_cast<int>(static_cast<long>(place) * drawing.grid / size); };
  std::map<std::pair<int, int>, std::uint8_t> cells;
  const auto add = [&](const SparsePattern& pattern, bool derivatives) {
    for (int j = 0; j < pattern.columns; ++j)
      for (int p = pattern.start[j]; p < pattern.start[j + 1]; ++p) {
        const std::uint8_t what = derivatives           ? StructureDrawing::derivative
                                  : s.differentiated(j) ? StructureDrawing::state
                                                        : StructureDrawing::algebraic;
        cells[{scaled(row_of[static_cast<std::size_t>(pattern.row[p])]),
               scaled(column_of[static_cast<std::size_t>(j)])}] |= what;
      }
  };
  add(s.state_pattern, false);
  add(s.derivative_pattern, true);
  for (const auto& [place, what] : cells) drawing.cells.push_back({place.first, place.second, what});
}

StructureDrawing draw(System& system, const Trajectory::Step& step) {
  const Structure& s = system.structure();
  const StructuralAnalysis analysis = analyse_structure(s);
  StructureDrawing drawing;
  drawing.explicit_ode = s.explicit_ode;
  drawing.linear = s.linear;
  drawing.equations = s.equations;
  drawing.variables = s.variables;
  drawing.index = s.explicit_ode ? 0 : analysis.index;
  drawing.degrees_of_freedom = s.explicit_ode ? s.variables : analysis.degrees_of_freedom;
  drawing.blocks = analysis.blocks.blocks();
  if (analysis.singular()) {
    drawing.singular = describe_singularity(analysis, system);
  } else if (s.variables <= largest_certified && step.polynomial.variables == s.variables) {
    std::vector<double> x(static_cast<std::size_t>(s.variables)), xp(x.size());
    step.polynomial.evaluate(step.polynomial.t0, x);
    step.polynomial.derivative(step.polynomial.t0, xp);
    const StructuralCertificate certificate = certify(system, analysis, step.polynomial.t0, x, xp);
    if (certificate.valid) drawing.reciprocal_condition = certificate.reciprocal_condition;
  }
  const std::vector<int> row_of = positions(analysis.blocks.equation, s.equations);
  const std::vector<int> column_of = positions(analysis.blocks.variable, s.variables);
  add_cells(drawing, s, row_of, column_of);
  if (std::max(s.equations, s.variables) <= StructureDrawing::largest_with_names) {
    drawing.row_names.resize(row_of.size());
    drawing.column_names.resize(column_of.size());
    drawing.differentiated.resize(column_of.size());
    for (std::size_t i = 0; i < row_of.size(); ++i)
      drawing.row_names[static_cast<std::size_t>(row_of[i])] = system.equation_name(static_cast<int>(i));
    for (std::size_t j = 0; j < column_of.size(); ++j) {
      drawing.column_names[static_cast<std::size_t>(column_of[j])] = system.variable_name(static_cast<int>(j));
      drawing.differentiated[static_cast<std::size_t>(column_of[j])] = s.differentiated(static_cast<int>(j));
    }
    drawing.block_start = analysis.blocks.start;
  }
  return drawing;
}

}  // namespace

std::vector<StructureDrawing> structure_drawings(const Trajectory& run, HybridSystem& system,
                                                 const std::function<std::string(const std::string&)>& words,
                                                 std::size_t most) {
  std::vector<StructureDrawing> drawings;
  if (stands_still(system)) return drawings;
  std::vector<Structure> known;  // copies: the system of the next mode may be the same object
  std::set<std::string> names;
  std::set<std::pair<std::size_t, std::string>> named;  // structures and words of modes that have been seen together
  for (const auto& segment : run.segments()) {
    if (segment.steps.empty() || names.size() >= most_modes) continue;
    const Mode mode = run.mode(segment);
    const std::string name = system.describe(mode);
    if (!names.insert(name).second) continue;
    System& smooth = system.system(mode);
    const Structure& s = smooth.structure();
    const auto same = std::ranges::find_if(known, [&](const Structure& k) {
      return k.explicit_ode == s.explicit_ode && k.state_pattern == s.state_pattern &&
             k.derivative_pattern == s.derivative_pattern;
    });
    const bool fresh = same == known.end();
    const auto found = same - known.begin();
    if (fresh) {
      if (drawings.size() >= most) continue;
      known.push_back(s);
      drawings.push_back(draw(smooth, segment.steps.front()));
    }
    const auto place = fresh ? drawings.size() - 1 : static_cast<std::size_t>(found);
    StructureDrawing& drawing = drawings[place];
    if (!named.insert({place, words(name)}).second) continue;
    if (drawing.modes.size() < most_names)
      drawing.modes.push_back(words(name));
    else
      ++drawing.modes_left_out;
  }
  return drawings;
}

}  // namespace saltus
