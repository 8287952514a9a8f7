// Sigma-method: J. D. Pryce, A simple structural analysis method for DAEs, BIT 41 (2001) 364-394.
// Block triangular form: A. Dulmage, N. Mendelsohn (coarse, by alternating paths) and R. Tarjan (fine, strongly
// connected components).
#include <saltus/dae/sequential_jacobian.hpp>
#include <saltus/dae/structural_analysis.hpp>
#include <saltus/linalg/lu.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "dae/assignment.hpp"
#include "dae/bucket_queue.hpp"

namespace saltus {
namespace {

// The structure with equations and variables numbered as a breadth-first walk meets them. The walk costs one pass with
// scattered memory accesses; everything after it works on neighbours that lie close together, whatever order the user's
// equations have.
struct LocalStructure {
  Signature signature;                  // by rows, in local numbers: order 1 where x_j' occurs, 0 where only x_j does
  SparsePattern by_columns;             // the same places by columns
  std::vector<int> equation, variable;  // local number -> number of the user
};

// What the walk needs to know of an equation or a variable, side by side: one access to memory instead of two.
struct Item {
  int begin = 0;    // of its list of neighbours
  int number = -1;  // local, once met
};

LocalStructure localise(const Structure& structure) {
  std::vector<int> from_derivative;
  const SparsePattern all = unite(structure.state_pattern, structure.derivative_pattern, nullptr, &from_derivative);
  std::vector<signed char> order(all.row.size(), 0);
  for (int place : from_derivative) order[place] = 1;
  std::vector<Item> rows(static_cast<std::size_t>(all.rows) + 1), columns(all.start.size());
  for (std::size_t j = 0; j < columns.size(); ++j) columns[j].begin = all.start[j];
  std::vector<int> columns_of_row(all.row.size());
  for (int row : all.row) ++rows[row].begin;
  int end = 0;
  for (Item& row : rows) row.begin = end += row.begin;  // ends first; filling from behind turns them into beginnings
  for (int j = all.columns - 1; j >= 0; --j)
    for (int k = all.start[j + 1] - 1; k >= all.start[j]; --k) columns_of_row[--rows[all.row[k]].begin] = j;

  LocalStructure local;
  local.equation.reserve(all.rows);
  local.variable.reserve(all.columns);
  SparsePattern& p = local.by_columns;
  p = {all.rows, all.columns, {0}, {}};
  p.start.reserve(all.start.size());
  p.row.reserve(all.row.size());
  std::vector<signed char> order_by_columns;
  order_by_columns.reserve(all.row.size());
  const auto take = [](Item& item, int index, std::vector<int>& list) {
    if (item.number >= 0) return false;
    item.number = static_cast<int>(list.size());
    list.push_back(index);
    return true;
  };
  std::size_t expanded = 0;
  for (int root = 0; root < all.columns; ++root) {
    take(columns[root], root, local.variable);
    for (; expanded < local.variable.size(); ++expanded) {
      const int j = local.variable[expanded];
      for (int k = columns[j].begin; k < columns[j + 1].begin; ++k) {
        const int i = all.row[k];
        if (take(rows[i], i, local.equation))
          for (int e = rows[i].begin; e < rows[i + 1].begin; ++e)
            take(columns[columns_of_row[e]], columns_of_row[e], local.variable);
        p.row.push_back(rows[i].number);
        order_by_columns.push_back(order[k]);
      }
      p.start.push_back(p.nonzeros());
    }
  }
  for (int i = 0; i < all.rows; ++i) take(rows[i], i, local.equation);  // equations without variables

  Signature& s = local.signature;
  s = {all.rows, all.columns, std::vector<int>(static_cast<std::size_t>(all.rows) + 1, 0),
       std::vector<int>(p.row.size()), std::vector<signed char>(p.row.size())};
  for (int row : p.row) ++s.start[row + 1];
  std::partial_sum(s.start.begin(), s.start.end(), s.start.begin());
  std::vector<int> next(s.start.begin(), s.start.end() - 1);
  for (int j = 0; j < p.columns; ++j)
    for (int k = p.start[j]; k < p.start[j + 1]; ++k) {
      const int target = next[p.row[k]]++;
      s.column[target] = j;
      s.order[target] = order_by_columns[k];
    }
  return local;
}

// The smallest offsets with d_j - c_i >= sigma_ij (equality on the matching) and c_i >= 0 are longest paths; the
// potentials of the assignment make all lengths non-negative, so that Dijkstra's method finds them in linear time: with
// any solution c0 >= 0, c_i = c0_i - dist_i, where dist starts at c0_i and an edge (i, j), j matched to k, has the
// length d0_j - c0_i - sigma_ij.
void find_offsets(const Signature& s, const Assignment& a, StructuralAnalysis& result) {
  const int n = s.rows;
  const int shift = n > 0 ? *std::ranges::min_element(a.row_potential) : 0;
  std::vector<int> c0(n), d0(n), distance(n);
  BucketQueue queue;
  for (int i = 0; i < n; ++i) {
    c0[i] = a.row_potential[i] - shift;
    d0[i] = 1 - a.column_potential[i] - shift;
    distance[i] = c0[i];
    queue.push(distance[i], i);
  }
  while (!queue.empty()) {
    const int key = queue.key();
    const int i = queue.pop();
    if (distance[i] != key) continue;
    for (int e = s.start[i]; e < s.start[i + 1]; ++e) {
      const int j = s.column[e], k = a.row_of_column[j];
      const int through = key + d0[j] - c0[i] - s.order[e];
      if (through < distance[k]) {
        distance[k] = through;
        queue.push(through, k);
      }
    }
  }
  auto& c = result.equation_offset;
  auto& d = result.variable_offset;
  c.resize(n);
  d.assign(n, 0);
  for (int i = 0; i < n; ++i) c[i] = c0[i] - distance[i];
  for (int i = 0; i < n; ++i)
    for (int e = s.start[i]; e < s.start[i + 1]; ++e) d[s.column[e]] = std::max(d[s.column[e]], c[i] + s.order[e]);
  if (n == 0) return;
  result.index = *std::ranges::max_element(c) + (*std::ranges::min_element(d) == 0 ? 1 : 0);
  // the offsets of a chain of index n add up to n^2/2
  result.degrees_of_freedom = static_cast<int>(std::accumulate(d.begin(), d.end(), std::int64_t{0}) -
                                               std::accumulate(c.begin(), c.end(), std::int64_t{0}));
}

// Marks what alternating paths reach from unmatched rows (over) and unmatched columns (under).
struct CoarseDecomposition {
  std::vector<char> over_row, over_column, under_row, under_column;
};

CoarseDecomposition decompose(const Signature& s, const Assignment& a, const SparsePattern& by_columns) {
  CoarseDecomposition p{std::vector<char>(s.rows, 0), std::vector<char>(s.columns, 0), std::vector<char>(s.rows, 0),
                        std::vector<char>(s.columns, 0)};
  std::vector<int> stack;
  for (int i = 0; i < s.rows; ++i)
    if (a.column_of_row[i] < 0) {
      stack.push_back(i);
      p.over_row[i] = 1;
    }
  while (!stack.empty()) {
    const int i = stack.back();
    stack.pop_back();
    for (int e = s.start[i]; e < s.start[i + 1]; ++e) {
      const int j = s.column[e], k = a.row_of_column[j];
      p.over_column[j] = 1;
      if (k >= 0 && !p.over_row[k]) {
        p.over_row[k] = 1;
        stack.push_back(k);
      }
    }
  }
  for (int j = 0; j < s.columns; ++j)
    if (a.row_of_column[j] < 0) {
      stack.push_back(j);
      p.under_column[j] = 1;
    }
  while (!stack.empty()) {
    const int j = stack.back();
    stack.pop_back();
    for (int e = by_columns.start[j]; e < by_columns.start[j + 1]; ++e) {
      const int i = by_columns.row[e], k = a.column_of_row[i];
      p.under_row[i] = 1;
      if (k >= 0 && !p.under_column[k]) {
        p.under_column[k] = 1;
        stack.push_back(k);
      }
    }
  }
  return p;
}

// Tarjan's strongly connected components of "equation i needs the variable that equation k determines", without
// recursion. Components leave in the order in which they can be solved.
class Components {
 public:
  Components(const Signature& s, const Assignment& a, const std::vector<char>& excluded_row)
      : s_(s), a_(a), number_(s.rows, 0), low_(s.rows, 0), next_(s.rows, 0), on_stack_(s.rows, 0) {
    for (int i = 0; i < s.rows; ++i)
      if (excluded_row[i]) number_[i] = -1;
    for (int i = 0; i < s.rows; ++i)
      if (number_[i] == 0) visit(i);
  }
  BlockTriangularForm form;

 private:
  void open(int i) {
    number_[i] = low_[i] = ++counter_;
    next_[i] = s_.start[i];
    on_stack_[i] = 1;
    stack_.push_back(i);
    calls_.push_back(i);
  }
  void visit(int root) {
    open(root);
    while (!calls_.empty()) {
      const int i = calls_.back();
      if (next_[i] < s_.start[i + 1]) {
        const int k = a_.row_of_column[s_.column[next_[i]++]];
        if (k < 0 || number_[k] < 0) continue;
        if (number_[k] == 0)
          open(k);
        else if (on_stack_[k])
          low_[i] = std::min(low_[i], number_[k]);
        continue;
      }
      calls_.pop_back();
      if (!calls_.empty()) low_[calls_.back()] = std::min(low_[calls_.back()], low_[i]);
      if (low_[i] == number_[i]) close(i);
    }
  }
  void close(int i) {
    int k = -1;
    do {
      k = stack_.back();
      stack_.pop_back();
      on_stack_[k] = 0;
      form.equation.push_back(k);
      form.variable.push_back(a_.column_of_row[k]);
    } while (k != i);
    form.start.push_back(static_cast<int>(form.equation.size()));
  }

  const Signature& s_;
  const Assignment& a_;
  std::vector<int> number_, low_, next_, stack_, calls_;
  std::vector<char> on_stack_;
  int counter_ = 0;
};

}  // namespace

namespace {

// Back to the user's numbers.
void globalise(const LocalStructure& local, StructuralAnalysis& result) {
  const auto scatter = [](std::vector<int>& values, const std::vector<int>& number) {
    if (values.empty()) return;
    std::vector<int> moved(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) moved[number[k]] = values[k];
    values.swap(moved);
  };
  const auto rename = [](std::vector<int>& items, const std::vector<int>& number) {
    for (int& item : items)
      if (item >= 0) item = number[item];
  };
  rename(result.matched_variable, local.variable);
  scatter(result.matched_variable, local.equation);
  scatter(result.equation_offset, local.equation);
  scatter(result.variable_offset, local.variable);
  rename(result.blocks.equation, local.equation);
  rename(result.blocks.variable, local.variable);
  for (StructuralPart* part : {&result.overdetermined, &result.underdetermined}) {
    rename(part->equations, local.equation);
    rename(part->variables, local.variable);
    std::ranges::sort(part->equations);
    std::ranges::sort(part->variables);
  }
}

}  // namespace

StructuralAnalysis analyse_structure(const Structure& structure) {
  const LocalStructure local = localise(structure);
  const Signature& s = local.signature;
  Assignment a = assign(s);
  StructuralAnalysis result;
  std::vector<char> excluded(s.rows, 0);
  if (a.size == s.rows && a.size == s.columns) {
    find_offsets(s, a, result);
  } else {
    const CoarseDecomposition p = decompose(s, a, local.by_columns);
    for (int i = 0; i < s.rows; ++i) {
      if (p.over_row[i]) result.overdetermined.equations.push_back(i);
      if (p.under_row[i]) result.underdetermined.equations.push_back(i);
      excluded[i] = p.over_row[i] || p.under_row[i];
    }
    for (int j = 0; j < s.columns; ++j) {
      if (p.over_column[j]) result.overdetermined.variables.push_back(j);
      if (p.under_column[j]) result.underdetermined.variables.push_back(j);
    }
  }
  result.blocks = Components(s, a, excluded).form;
  result.matched_variable = std::move(a.column_of_row);
  globalise(local, result);
  return result;
}

std::string describe_singularity(const StructuralAnalysis& analysis, const System& system, int limit) {
  const auto list = [limit](const std::vector<int>& items, const auto& name) {
    std::string text;
    for (std::size_t k = 0; k < items.size() && static_cast<int>(k) < limit; ++k)
      text += (k ? ", " : "") + ("'" + name(items[k]) + "'");
    if (static_cast<int>(items.size()) > limit)
      text += fmt::format(" and {} more", static_cast<int>(items.size()) - limit);
    return text;
  };
  const auto equation = [&](int i) { return system.equation_name(i); };
  const auto variable = [&](int j) { return system.variable_name(j); };
  std::string text;
  if (const auto& part = analysis.overdetermined; !part.empty())
    text += fmt::format("{} equations for {} variables: {}{}", part.equations.size(), part.variables.size(),
                        list(part.equations, equation),
                        part.variables.empty() ? "" : " contain only " + list(part.variables, variable));
  if (const auto& part = analysis.underdetermined; !part.empty()) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} variables in {} equations: {}", part.variables.size(), part.equations.size(),
                        list(part.variables, variable));
    text += part.equations.empty() ? " occur in no equation" : " occur only in " + list(part.equations, equation);
  }
  return text;
}

SystemJacobian::SystemJacobian(const Structure& structure, const StructuralAnalysis& analysis) {
  if (analysis.singular()) throw UsageError("SystemJacobian: the system is structurally singular and has no offsets");
  const auto& Px = structure.state_pattern;
  const auto& Pd = structure.derivative_pattern;
  const int n = structure.variables;
  pattern_ = {n, n, std::vector<int>(static_cast<std::size_t>(n) + 1, 0), {}};
  for (int j = 0; j < n; ++j) {
    // offsets differ by 1 at places of F_x' and by 0 at places of F_x, never both for one (i, j); both lists are sorted
    // by rows
    int p = Px.start[j], q = Pd.start[j];
    const auto skip = [&](const SparsePattern& P, int& k, int difference) {
      while (k < P.start[j + 1] && analysis.variable_offset[j] - analysis.equation_offset[P.row[k]] != difference) ++k;
    };
    for (skip(Px, p, 0), skip(Pd, q, 1); p < Px.start[j + 1] || q < Pd.start[j + 1]; skip(Px, p, 0), skip(Pd, q, 1)) {
      const bool state = q == Pd.start[j + 1] || (p < Px.start[j + 1] && Px.row[p] < Pd.row[q]);
      pattern_.row.push_back(state ? Px.row[p] : Pd.row[q]);
      source_.push_back(state ? p : -1 - q);
      ++(state ? p : q);
    }
    pattern_.start[j + 1] = pattern_.nonzeros();
  }
  pattern_.row.shrink_to_fit();
  source_.shrink_to_fit();
}

void SystemJacobian::assemble(std::span<const double> Fx, std::span<const double> Fxp, std::span<double> values) const {
  for (std::size_t k = 0; k < source_.size(); ++k) values[k] = source_[k] >= 0 ? Fx[source_[k]] : Fxp[-1 - source_[k]];
}

void SystemJacobian::assemble(std::span<const Interval> Fx, std::span<const Interval> Fxp,
                              std::span<Interval> values) const {
  for (std::size_t k = 0; k < source_.size(); ++k) values[k] = source_[k] >= 0 ? Fx[source_[k]] : Fxp[-1 - source_[k]];
}

namespace {

// Factors of rows and columns that bring all entries near 1 in the mean of their logarithms (Curtis and Reid, by
// conjugate gradients as in their paper): unlike a division by the largest entries the result does not depend on the
// units from which one starts.
void balance(const SparsePattern& p, std::span<double> values) {
  const auto m = static_cast<std::size_t>(p.rows), size = m + static_cast<std::size_t>(p.columns);
  const auto for_each = [&](auto visit) {
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k)
        if (values[k] != 0.0) visit(static_cast<std::size_t>(p.row[k]), m + static_cast<std::size_t>(j), k);
  };
  // minimise sum (log|a_ij| + z_i + z_j)^2, preconditioned by the numbers of entries
  std::vector<double> z(size, 0.0), residual(size, 0.0), count(size, 0.0), direction(size, 0.0), image(size);
  for_each([&](std::size_t i, std::size_t j, int k) {
    const double logarithm = std::log2(std::abs(values[k]));
    residual[i] -= logarithm;
    residual[j] -= logarithm;
    ++count[i];
    ++count[j];
  });
  for (double& c : count) c = std::max(c, 1.0);
  double before = 0.0;
  for (int iteration = 0; iteration < 50; ++iteration) {
    double now = 0.0, curvature = 0.0;
    for (std::size_t k = 0; k < size; ++k) now += residual[k] * residual[k] / count[k];
    if (now <= 0.01 * static_cast<double>(size)) break;  // a tenth of a bit on average
    for (std::size_t k = 0; k < size; ++k)
      direction[k] = residual[k] / count[k] + (before > 0.0 ? now / before : 0.0) * direction[k];
    std::ranges::fill(image, 0.0);
    for_each([&](std::size_t i, std::size_t j, int) {
      const double sum = direction[i] + direction[j];
      image[i] += sum;
      image[j] += sum;
    });
    for (std::size_t k = 0; k < size; ++k) curvature += direction[k] * image[k];
    if (!(curvature > 0.0)) break;
    for (std::size_t k = 0; k < size; ++k) {
      z[k] += now / curvature * direction[k];
      residual[k] -= now / curvature * image[k];
    }
    before = now;
  }
  for_each([&](std::size_t i, std::size_t j, int k) { values[k] *= std::exp2(std::round(z[i]) + std::round(z[j])); });
}

// Rows and columns are divided by their largest entries, rounded to powers of two, until these are near 1 (Ruiz).
void equilibrate(const SparsePattern& p, std::span<double> values) {
  std::vector<double> row(p.rows), column(p.columns);
  for (int sweep = 0; sweep < 5; ++sweep) {
    std::ranges::fill(row, 0.0);
    std::ranges::fill(column, 0.0);
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) {
        row[p.row[k]] = std::max(row[p.row[k]], std::abs(values[k]));
        column[j] = std::max(column[j], std::abs(values[k]));
      }
    const auto factor = [](double largest) {
      return largest > 0.0 ? std::exp2(-std::round(0.5 * std::log2(largest))) : 1.0;
    };
    std::ranges::transform(row, row.begin(), factor);
    std::ranges::transform(column, column.begin(), factor);
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) values[k] *= row[p.row[k]] * column[j];
  }
}

// Entries that are nothing but rounding errors become zero: equilibration would make them look like pivots.
void drop_noise(System& system, const SystemJacobian& jacobian, double t, std::span<const double> x,
                std::span<const double> xp, std::span<double> values) {
  constexpr double ulps = 4.0 * std::numeric_limits<double>::epsilon();
  std::vector<double> x_beside(x.begin(), x.end()), xp_beside(xp.begin(), xp.end());
  for (std::size_t j = 0; j < x.size(); ++j) {
    x_beside[j] *= j % 2 ? 1.0 + ulps : 1.0 - ulps;
    xp_beside[j] *= j % 3 ? 1.0 - ulps : 1.0 + ulps;
  }
  const Structure& structure = system.structure();
  std::vector<double> Fx(structure.state_pattern.row.size()), Fxp(structure.derivative_pattern.row.size());
  std::vector<double> beside(values.size());
  system.jacobian(t, x_beside, xp_beside, Fx, Fxp);
  jacobian.assemble(Fx, Fxp, beside);
  for (std::size_t k = 0; k < values.size(); ++k)
    if (std::abs(values[k]) < 50.0 * std::abs(values[k] - beside[k])) values[k] = 0.0;
}

// Estimates in the 1-norm; 0 if singular.
double reciprocal_condition(const SparsePattern& pattern, std::span<const double> values) {
  SparseLu lu;
  return lu.analyse(pattern) && lu.factorise(values) ? lu.reciprocal_condition() : 0.0;
}

double reciprocal_condition(const SequentialJacobian& jacobian, std::size_t n) {
  if (jacobian.determinant_sign() == 0) return 0.0;
  const std::vector<std::int8_t> unscaled(n, 0);
  std::vector<double> sums(n, 0.0), workspace;
  jacobian.for_each([&](int, int j, double value) { sums[j] += std::abs(value); });
  const double result = 1.0 / (*std::ranges::max_element(sums) * jacobian.inverse_norm(unscaled, unscaled, workspace));
  return std::isfinite(result) ? result : 0.0;
}

}  // namespace

StructuralCertificate certify(System& system, const StructuralAnalysis& analysis, double t, std::span<const double> x,
                              std::span<const double> xp) {
  StructuralCertificate certificate;
  if (analysis.singular()) return certificate;
  const Structure& structure = system.structure();
  const SystemJacobian jacobian(structure, analysis);
  std::vector<double> Fx(structure.state_pattern.row.size()), Fxp(structure.derivative_pattern.row.size());
  std::vector<double> values(jacobian.pattern().row.size());
  system.jacobian(t, x, xp, Fx, Fxp);
  jacobian.assemble(Fx, Fxp, values);
  drop_noise(system, jacobian, t, x, xp, values);
  if (!std::ranges::all_of(values, [](double v) { return std::isfinite(v); })) return certificate;
  for (auto* list : {&Fx, &Fxp}) std::vector<double>().swap(*list);
  const std::vector<int> order = SequentialJacobian::order(structure, analysis);
  // Two scalings, for each is misled by something: the mean of logarithms by entries that are tiny at this point only, the largest
  // entries by units. A matrix that is well-conditioned in any scaling is regular.
  for (const bool balanced : {true, false}) {
    std::vector<double> scaled = values;
    if (balanced) balance(jacobian.pattern(), scaled);
    equilibrate(jacobian.pattern(), scaled);
    const double found = order.empty() ? reciprocal_condition(jacobian.pattern(), scaled)
                                       : reciprocal_condition(SequentialJacobian(analysis, order, jacobian.pattern(), scaled), order.size());
    certificate.reciprocal_condition = std::max(certificate.reciprocal_condition, found);
    certificate.valid = certificate.reciprocal_condition > certificate_threshold;
    if (certificate.valid) break;
  }
  return certificate;
}

}  // namespace saltus
