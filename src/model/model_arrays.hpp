// Arrays of a model and loops over them, as they were written down; see saltus/model/array.hpp.
#pragma once

#include <saltus/model/model.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/iterator_form.hpp"
#include "model/repeated_model.hpp"

namespace saltus {

/// The rest of the model stands beside it, in the ModelData that has it: scalars, and equations outside of loops.
struct ModelArrays {
  struct Array {
    std::string name;
    SymbolKind kind;
    std::vector<int> dims;
    std::vector<double> starts;  ///< one for all, or one for each
    bool fixed = false, boolean = false;
    double nominal = 1.0;
    Rare<VariableDetails> details = {};
    SourceLocation where = {};
    std::unordered_map<int, Expr> symbols = {};  ///< of elements that have been named

    std::size_t size() const;
    double start(std::size_t position) const { return starts[starts.size() == 1 ? 0 : position]; }
    void set(std::size_t position, double start);
    /// "T[2,3]".
    std::string element_name(std::size_t position) const;
  };
  /// Something that differs from pass to pass, and the symbol that stands for it in the body.
  struct Reference {
    int array = -1;        ///< -1: a number
    std::size_t loop = 0;  ///< of whose index it is made
    std::vector<IteratorForm> forms;
    Expr symbol;
  };
  /// A value of each iterator, the first outermost.
  using Pass = std::vector<std::int64_t>;
  struct Loop {
    std::vector<IndexRange> ranges;
    ModelData body;                            ///< equations, definitions, clauses, assertions; and pre_symbols
    std::vector<std::size_t> references = {};  ///< that it has
    std::vector<char> differentiated = {};     ///< by these: their derivatives occur
  };

  std::vector<Array> arrays;
  std::unordered_map<std::string, std::size_t> by_name;
  std::vector<Reference> references;
  std::map<std::pair<std::size_t, std::string>, std::size_t> known;  ///< references by their loop and text
  std::vector<Loop> loops;
  std::vector<IndexRange> open;         ///< of the loops whose bodies are being written
  std::vector<std::size_t> open_loops;  ///< their numbers, from 1 on
  std::size_t begun = 0;                ///< how many loops were

  /// The number of the loop whose body is being written; 0: none is.
  std::size_t innermost() const { return open_loops.empty() ? 0 : open_loops.back(); }
  /// An element, made when it is first asked for.
  Expr element(ModelData& model, std::size_t array, std::size_t position);
  /// Array and position of "T[2,3]".
  std::optional<std::pair<std::size_t, std::size_t>> find(const std::string& name) const;
  /// The symbol of an element or a number with these subscripts.
  Expr refer(ModelData& model, int array, std::size_t loop, std::vector<IteratorForm> forms);
  /// Where an element that a pass refers to stands in its array. Throws ModelError if it has none.
  std::size_t position(const Reference& reference, const Pass& pass) const;
  /// Begins a loop; what the model has now does not belong to it.
  class Writing;

  /// Calls `visit` for all passes of a loop, in order.
  template <class Visit>
  static void for_each_pass(const Loop& loop, Visit&& visit) {
    Pass pass;
    for (const IndexRange& range : loop.ranges) {
      if (range.end <= range.first) return;
      pass.push_back(range.first);
    }
    for (;;) {
      visit(std::as_const(pass));
      std::size_t level = pass.size();
      while (level > 0 && pass[level - 1] + 1 == loop.ranges[level - 1].end) {
        pass[level - 1] = loop.ranges[level - 1].first;
        --level;
      }
      if (level == 0) return;
      ++pass[level - 1];
    }
  }
  /// Adds a pass of a loop to a model that has declared what it names. `values`: by reference of the loop, what takes
  /// the place of its symbol.
  static void add_pass(ModelData& model, const ModelArrays& arrays, const Loop& loop, const Pass& pass,
                       const std::vector<Expr>& values);
  /// Throws ModelError where something outside of loops has what a loop alone knows.
  static void check_outside(const ModelData& model);
  /// Declares an element in a model of which the arrays are not a part.
  static void declare(ModelData& model, const Array& array, std::size_t position, const Expr& symbol);
};

/// The body of a loop while it is written. What the model gets meanwhile is moved into the loop.
class ModelArrays::Writing {
 public:
  Writing(ModelData& model, const std::vector<IndexRange>& ranges);
  ~Writing();
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  /// Takes the body. Throws ModelError for what a loop cannot have, and for subscripts without elements.
  void finish();

 private:
  ModelData cut();
  void check_rest() const;
  void find_references(Loop& loop) const;

  ModelData& model_;
  ModelArrays& arrays_;
  std::size_t levels_, equations_, initial_equations_, definitions_, clauses_, assertions_, pre_symbols_;
  std::vector<std::size_t> rest_;
  bool finished_ = false;
};

/// The model with all passes of all loops.
std::shared_ptr<ModelData> write_out_arrays(ModelData& model);
/// The same as cells, in a graph of their own; null where that cannot be, or where nothing is gained.
std::shared_ptr<const RepeatedModel> keep_array_loops(const ModelData& model);

}  // namespace saltus
