// The parts of a model of cells. A cell is a part; its small family is made of the expressions of its shape.
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <numeric>

#include "model/cell_family.hpp"
#include "model/model_access.hpp"
#include "model/model_parts.hpp"

namespace saltus {
namespace {

using Shape = CellCode::Shape;

/// One part for each cell that has variables of the system, in the order of the first of these: as parts of a model
/// that is written out. A cell lists its numbers in the order in which its shape has them.
class CellParts final : public FamilyParts {
 public:
  CellParts(std::shared_ptr<const CellCode> code, int degree) : code_(std::move(code)) {
    std::vector<std::pair<std::size_t, int>> order;
    for (const Shape& shape : code_->shapes()) {
      add(shape, degree);
      if (shape.own.empty()) continue;
      for (std::size_t cell = 0; cell < shape.cells; ++cell)
        order.emplace_back(shape.place(cell, static_cast<std::size_t>(shape.own.front())),
                           static_cast<int>(shape.first_cell + cell));
    }
    std::ranges::sort(order);
    for (const auto& [place, cell] : order) cell_of_.push_back(cell);
  }

  std::size_t size() const override { return cell_of_.size(); }
  std::span<const double> parameters() const override { return code_->parameters(); }

  FamilyPart part(std::size_t number) const override {
    const auto cell = static_cast<std::size_t>(cell_of_[number]);
    const auto next = std::ranges::upper_bound(code_->shapes(), cell, {}, &Shape::first_cell);
    const auto s = static_cast<std::size_t>(next - code_->shapes().begin()) - 1;
    const Lists& lists = lists_[s];
    const std::span<const int> row =
        std::span(lists.numbers).subspan((cell - code_->shapes()[s].first_cell) * lists.width, lists.width);
    FamilyPart part = cut(lists, row);
    part.shape = static_cast<int>(s);
    part.constants = code_->shapes()[s].numbers_of(cell - code_->shapes()[s].first_cell);
    part.parameters = lists.parameters;
    return part;
  }

  const PartShape* shape(int number) const override {
    const Lists& lists = lists_[static_cast<std::size_t>(number)];
    const std::lock_guard lock(making_);
    if (!lists.tried) {
      lists.tried = true;
      lists.shape = make_part_shape(lists.source, lists.in_cell, lists.further);
    }
    return lists.shape.get();
  }

 private:
  struct Lists {
    PartSource source;
    FamilyPart in_cell;  // the part in the numbers of its own cell
    std::vector<int> numbers_in_cell, parameters;
    PartStructure::Further further;
    std::array<std::size_t, 6> counts{};  // variables, foreign, discretes, locks, guards, conditions
    std::size_t width = 0;
    std::vector<int> numbers;  // of all cells
    mutable bool tried = false;
    mutable std::unique_ptr<const PartShape> shape;
  };

  static FamilyPart cut(const Lists& lists, std::span<const int> row) {
    FamilyPart part;
    std::size_t next = 0;
    std::size_t list = 0;
    for (std::span<const int>* to :
         {&part.variables, &part.foreign, &part.discretes, &part.locks, &part.guards, &part.conditions}) {
      *to = row.subspan(next, lists.counts[list]);
      next += lists.counts[list++];
    }
    return part;
  }

  void add(const Shape& shape, int degree) {
    lists_.push_back({.source = ModelAccess::part_source(*shape.model, degree)});
    Lists& lists = lists_.back();
    std::vector<int> foreign;
    for (int j = 0; j < static_cast<int>(shape.variables); ++j)
      if (!std::ranges::binary_search(shape.own, j)) foreign.push_back(j);
    lists.counts = {shape.own.size(), foreign.size(), shape.discretes - shape.numbers,
                    shape.locks,      shape.guards,   shape.conditions};
    lists.width = std::accumulate(lists.counts.begin(), lists.counts.end(), std::size_t{0});
    std::vector<int>& in_cell = lists.numbers_in_cell;
    in_cell = shape.own;
    in_cell.insert(in_cell.end(), foreign.begin(), foreign.end());
    for (std::size_t list = 2; list < lists.counts.size(); ++list)
      for (std::size_t k = 0; k < lists.counts[list]; ++k) in_cell.push_back(static_cast<int>(k));
    const PartSource& source = lists.source;
    std::vector<Expr> all(source.right_hand_sides.begin(), source.right_hand_sides.end());
    all.insert(all.end(), source.solutions.begin(), source.solutions.end());
    for (const ModelData::Clause& c : source.logic.clauses) {
      all.push_back(c.condition.expr());
      for (const ModelData::Action& action : c.actions) all.insert(all.end(), {action.value, action.only_if.expr()});
    }
    for (const ModelData::Definition& d : source.logic.definitions) all.push_back(d.value);
    for (const ModelData::Assertion& a : source.logic.assertions) all.push_back(a.condition.expr());
    std::erase_if(all, [](const Expr& e) { return e.is_constant(); });
    const std::vector<Expr> read = symbols_of(all, SymbolKind::parameter);
    for (std::size_t k = 0; k < source.parameters.size(); ++k)
      if (std::ranges::any_of(read, [&](const Expr& e) { return e.same(source.parameters[k]); }))
        lists.parameters.push_back(static_cast<int>(k));
    const auto list_all = [](std::size_t count, std::vector<int>& numbers) {
      numbers.resize(count);
      std::iota(numbers.begin(), numbers.end(), 0);
    };
    list_all(source.logic.definitions.size(), lists.further.definitions);
    list_all(source.logic.assertions.size(), lists.further.assertions);
    for (std::size_t k = 0; k < source.solutions.size(); ++k)
      if (!source.solutions[k].is_constant() && !locks_of(source.solutions.subspan(k, 1)).empty())
        lists.further.solutions.push_back(static_cast<int>(k));
    for (const ModelData::Discrete& number : std::span(source.discretes).last(shape.numbers))
      lists.further.constants.push_back(number.symbol.id());
    lists.in_cell = cut(lists, in_cell);
    lists.in_cell.parameters = lists.parameters;
    lists.in_cell.constants = shape.numbers_of(0);
    lists.numbers.reserve(lists.width * shape.cells);
    for (std::size_t cell = 0; cell < shape.cells; ++cell) {
      for (std::size_t k = 0; k < shape.variables; ++k)
        lists.numbers.push_back(static_cast<int>(shape.place(cell, static_cast<std::size_t>(in_cell[k]))));
      const std::span<const int> discretes = shape.discretes_of(cell);
      lists.numbers.insert(lists.numbers.end(), discretes.begin(), discretes.end());
      for (const auto& [first, count] :
           {std::pair(shape.first_lock, shape.locks), std::pair(shape.first_guard, shape.guards),
            std::pair(shape.first_condition, shape.conditions)})
        for (std::size_t k = 0; k < count; ++k) lists.numbers.push_back(static_cast<int>(first + cell * count + k));
    }
  }

  std::shared_ptr<const CellCode> code_;
  std::deque<Lists> lists_;   // by shape
  std::vector<int> cell_of_;  // by number of the part
  mutable std::mutex making_;
};

}  // namespace

std::shared_ptr<const FamilyParts> make_cell_parts(const std::shared_ptr<const CellCode>& code, int degree) {
  constexpr std::size_t fewest = 16;
  const std::size_t variables = code->variables().size();
  for (const Shape& shape : code->shapes()) {
    const bool decides = shape.guards > 0 || shape.conditions > 0 || shape.discretes > shape.numbers;
    if (shape.own.size() > variables / 4 || (shape.own.empty() && decides)) return nullptr;
  }
  auto parts = std::make_shared<CellParts>(code, degree);
  return parts->size() < fewest ? nullptr : parts;
}

}  // namespace saltus
