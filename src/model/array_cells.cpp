// Loops over arrays as cells: passes that differ in places alone have one shape.
#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "model/model_arrays.hpp"
#include "model/rehome.hpp"
#include "model/rewrite_model.hpp"

namespace saltus {

namespace {

class ArrayCells {
 public:
  explicit ArrayCells(ModelData& model) : model_(model), arrays_(*model.arrays) {}

  std::shared_ptr<const RepeatedModel> make() {
    if (!has_only_cells()) return nullptr;
    passes_.model = model_;
    passes_.model.arrays = nullptr;
    list_whole();
    add_rest();
    for (const ModelArrays::Loop& loop : arrays_.loops) add_loop(loop);
    return std::move(passes_).repeat();
  }

 private:
  /// Where something stands: variables of the whole first, then discrete variables.
  using Number = int;

  bool has_only_cells() const {
    constexpr std::size_t fewest = 200;  // elements: below that nothing is gained
    const bool large = std::ranges::any_of(arrays_.arrays, [](const ModelArrays::Array& a) {
      return a.kind != SymbolKind::parameter && a.size() >= fewest;
    });
    const auto has_others = [](const ModelData& m) { return !m.initial_equations.empty(); };
    return large && !has_others(model_) &&
           std::ranges::none_of(arrays_.loops, [&](const auto& loop) { return has_others(loop.body); }) &&
           model_.inputs.empty() && model_.samples.empty() && model_.surfaces.empty() && model_.modes.empty() &&
           model_.guard_names.empty() && model_.start_values.empty() && model_.bound_values.empty() &&
           !model_.unbalanced && !model_.start_time && model_.stabilisation == 0.0;
  }

  void list_whole() {
    for (const VariableInfo& info : model_.variable_info) passes_.variables.push_back(info);
    for (const ModelData::Discrete& q : model_.discretes) passes_.discretes.push_back({q.name, q.start, q.details});
    for (std::size_t a = 0; a < arrays_.arrays.size(); ++a) {
      const ModelArrays::Array& array = arrays_.arrays[a];
      const bool is_discrete = array.kind == SymbolKind::discrete;
      first_.push_back(static_cast<int>(is_discrete ? passes_.discretes.size() : passes_.variables.size()));
      for (std::size_t k = 0; k < array.size(); ++k) {
        if (array.kind == SymbolKind::parameter) {
          const Expr symbol = arrays_.element(model_, a, k);
          ModelArrays::declare(passes_.model, array, k, symbol);
          passes_.elements.insert(symbol.id());
          continue;
        }
        std::string name = array.element_name(k);
        if (is_discrete)
          passes_.discretes.push_back({std::move(name), array.start(k), array.details});
        else
          passes_.variables.push_back({std::move(name), array.start(k), array.fixed, array.nominal, array.details});
      }
    }
    variables_ = static_cast<int>(passes_.variables.size());
    for (std::size_t k = 0; k < model_.variables.size(); ++k)
      scalars_.emplace(model_.variables[k].id(), static_cast<int>(k));
    for (std::size_t k = 0; k < model_.discretes.size(); ++k)
      scalars_.emplace(model_.discretes[k].symbol.id(), variables_ + static_cast<int>(k));
    for (std::size_t a = 0; a < arrays_.arrays.size(); ++a)
      if (arrays_.arrays[a].kind != SymbolKind::parameter)
        for (const auto& [position, symbol] : arrays_.arrays[a].symbols)
          scalars_.emplace(symbol.id(), number(a, static_cast<std::size_t>(position)));
    for (const auto& [symbol, before] : model_.pre_symbols)
      if (const auto it = scalars_.find(symbol.id()); it != scalars_.end()) scalars_.emplace(before.id(), it->second);
  }

  Number number(std::size_t array, std::size_t position) const {
    const bool is_discrete = arrays_.arrays[array].kind == SymbolKind::discrete;
    return (is_discrete ? variables_ : 0) + first_[array] + static_cast<int>(position);
  }

  /// What expressions name directly, whatever the pass is.
  std::vector<Number> named_in(const ModelData& part) const {
    std::vector<Number> numbers;
    const std::vector<Expr> all = expressions_of(part);
    const auto add = [&](NodeId id) {
      if (const auto it = scalars_.find(id); it != scalars_.end()) numbers.push_back(it->second);
    };
    for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::discrete})
      for (const Expr& s : symbols_of(all, kind)) add(s.id());
    for (const Expr& s : symbols_of(all, SymbolKind::derivative)) add(model_.graph->symbol_of(s.id()).base);
    for (const auto& [symbol, before] : part.pre_symbols) add(symbol.id());
    return numbers;
  }

  static void sort(std::vector<Number>& numbers) {
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  }

  /// What stands outside of loops is one cell.
  void add_rest() {
    if (model_.variables.empty() && model_.discretes.empty() && model_.equations.empty() && model_.clauses.empty() &&
        model_.definitions.empty() && model_.assertions.empty())
      return;
    std::vector<Number> row = named_in(model_);
    for (std::size_t k = 0; k < model_.variables.size(); ++k) row.push_back(static_cast<int>(k));
    for (std::size_t k = 0; k < model_.discretes.size(); ++k) row.push_back(variables_ + static_cast<int>(k));
    sort(row);
    begin_shape(row);
    add_row(0, row);
    mark(0);
  }

  struct Seen {
    std::vector<Number> elements, row;  // elements: by reference that is one, then what is named directly
    std::vector<std::int64_t> signature;
    std::vector<double> lifted;   // numbers that differ from pass to pass
    std::vector<int> place;       // by reference that is a number: which of `lifted`; -1: the number itself
    std::vector<double> numbers;  // by reference that is a number
  };

  void add_loop(const ModelArrays::Loop& loop) {
    const std::vector<Number> named = named_in(loop.body);
    std::vector<char> exact(loop.references.size(), 0);
    for (std::size_t k = 0; k < loop.references.size(); ++k)
      exact[k] = is_exponent(loop, arrays_.references[loop.references[k]].symbol);
    std::map<std::vector<std::int64_t>, std::size_t> known;
    Seen seen;
    ModelArrays::for_each_pass(loop, [&](const ModelArrays::Pass& pass) {
      look_at(loop, pass, exact, named, seen);
      const auto [it, fresh] = known.try_emplace(seen.signature, passes_.shapes.size());
      if (fresh) add_shape(loop, pass, seen);
      add_row(it->second, seen.row);
      std::vector<double>& values = passes_.shapes[it->second].number_values;
      values.insert(values.end(), seen.lifted.begin(), seen.lifted.end());
    });
  }

  /// Whether a number is (part of) an exponent: then it is part of the shape.
  bool is_exponent(const ModelArrays::Loop& loop, const Expr& symbol) const {
    const Graph& graph = *model_.graph;
    std::vector<NodeId> roots;
    for (const Expr& e : expressions_of(loop.body)) roots.push_back(e.id());
    for (const NodeId id : graph.reachable(roots)) {
      if (graph.node(id).op != Op::pow) continue;
      const NodeId exponent = graph.node(id).b;
      const std::vector<NodeId> inside = graph.reachable(std::span(&exponent, 1));
      if (std::ranges::find(inside, symbol.id()) != inside.end()) return true;
    }
    return false;
  }

  void look_at(const ModelArrays::Loop& loop, const ModelArrays::Pass& pass, const std::vector<char>& exact,
               const std::vector<Number>& named, Seen& seen) const {
    seen.elements.clear();
    seen.signature.clear();
    seen.lifted.clear();
    seen.place.clear();
    seen.numbers.clear();
    for (std::size_t k = 0; k < loop.references.size(); ++k) {
      const ModelArrays::Reference& reference = arrays_.references[loop.references[k]];
      const ModelArrays::Array* const array =
          reference.array < 0 ? nullptr : &arrays_.arrays[static_cast<std::size_t>(reference.array)];
      if (array && array->kind != SymbolKind::parameter) {
        seen.elements.push_back(number(static_cast<std::size_t>(reference.array), arrays_.position(reference, pass)));
        continue;
      }
      const double value = array ? array->start(arrays_.position(reference, pass))
                                 : static_cast<double>(reference.forms.front().at(pass));
      const bool itself = exact[k] || (!array && is_common_number(value));
      const auto known = std::ranges::find(seen.lifted, value);  // equal numbers are one: relations may coincide
      seen.place.push_back(itself ? -1 : static_cast<int>(known - seen.lifted.begin()));
      if (!itself && known == seen.lifted.end()) seen.lifted.push_back(value);
      seen.numbers.push_back(value);
      seen.signature.push_back(seen.place.back());
      if (itself) seen.signature.push_back(std::bit_cast<std::int64_t>(value));
    }
    seen.elements.insert(seen.elements.end(), named.begin(), named.end());
    seen.row = seen.elements;
    sort(seen.row);
    for (const Number element : seen.elements)
      seen.signature.push_back(std::ranges::lower_bound(seen.row, element) - seen.row.begin());
  }

  /// Writes out a pass that stands for others.
  void add_shape(const ModelArrays::Loop& loop, const ModelArrays::Pass& pass, const Seen& seen) {
    constexpr std::size_t most = 64;
    const std::size_t shape = passes_.shapes.size();
    if (shape == most) throw NotKept{};
    begin_shape(seen.row);
    std::vector<Expr>& numbers = passes_.shapes.back().numbers;
    for (std::size_t k = 0; k < seen.lifted.size(); ++k) {
      const std::string name = "'number " + std::to_string(k + 1) + " of shape " + std::to_string(shape + 1) + "'";
      const Expr symbol(model_.graph, model_.graph->symbol(name, SymbolKind::discrete));
      ModelData& all = passes_.model;
      all.names.emplace(name, ModelData::Declared{SymbolKind::discrete, all.discretes.size()});
      all.discretes.push_back({.symbol = symbol, .start = seen.lifted[k], .name = name, .hidden = true});
      numbers.push_back(symbol);
    }
    std::vector<Expr> values;
    std::size_t element = 0, number = 0;
    for (const std::size_t r : loop.references) {
      const int array = arrays_.references[r].array;
      if (array >= 0 && arrays_.arrays[static_cast<std::size_t>(array)].kind != SymbolKind::parameter) {
        values.push_back(symbol_of(seen.elements[element++]));
      } else {
        const int place = seen.place[number];
        values.push_back(place < 0 ? Expr(seen.numbers[number]) : numbers[static_cast<std::size_t>(place)]);
        ++number;
      }
    }
    ModelArrays::add_pass(passes_.model, arrays_, loop, pass, values);
    mark(static_cast<int>(shape));
  }

  Expr symbol_of(Number number) {
    const bool is_discrete = number >= variables_;
    const int place = is_discrete ? number - variables_ : number;
    const std::size_t scalars = is_discrete ? model_.discretes.size() : model_.variables.size();
    if (place < static_cast<int>(scalars)) {
      const auto k = static_cast<std::size_t>(place);
      return is_discrete ? model_.discretes[k].symbol : model_.variables[k];
    }
    std::size_t array = 0;
    for (std::size_t a = 0; a < arrays_.arrays.size(); ++a) {
      const SymbolKind kind = arrays_.arrays[a].kind;
      if ((kind == SymbolKind::discrete) == is_discrete && kind != SymbolKind::parameter && first_[a] <= place)
        array = a;
    }
    const auto position = static_cast<std::size_t>(place - first_[array]);
    const Expr symbol = arrays_.element(model_, array, position);
    if (!passes_.model.names.contains(symbol.name()))
      ModelArrays::declare(passes_.model, arrays_.arrays[array], position, symbol);
    return symbol;
  }

  void begin_shape(const std::vector<Number>& row) {
    FirstPasses::Shape& shape = passes_.shapes.emplace_back();
    for (const Number number : row) {
      shape.symbols.push_back(symbol_of(number));
      shape.discrete.push_back(number >= variables_);
    }
  }

  void add_row(std::size_t shape, const std::vector<Number>& row) {
    for (const Number number : row)
      passes_.shapes[shape].places.push_back(number >= variables_ ? number - variables_ : number);
  }

  void mark(int shape) {
    passes_.equation_shapes.resize(passes_.model.equations.size(), shape);
    passes_.clause_shapes.resize(passes_.model.clauses.size(), shape);
    passes_.definition_shapes.resize(passes_.model.definitions.size(), shape);
    passes_.assertion_shapes.resize(passes_.model.assertions.size(), shape);
  }

  ModelData& model_;
  ModelArrays& arrays_;
  FirstPasses passes_;
  std::vector<int> first_;  // by array: where its first element stands
  int variables_ = 0;
  std::unordered_map<NodeId, Number> scalars_;  // symbols that were named outside of loops, or as such, and their pre()
};

}  // namespace

std::shared_ptr<const RepeatedModel> keep_array_loops(const ModelData& model) {
  ModelArrays::check_outside(model);
  try {
    ModelData own = with_own_graph(model);  // others may read the graph of the model meanwhile
    return ArrayCells(own).make();
  } catch (const NotKept&) {
    return nullptr;
  }
}

}  // namespace saltus
