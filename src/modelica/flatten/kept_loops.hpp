// Loops that are not written out: what one pass reads, and which passes read it in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/iterator_form.hpp"
#include "model/repeated_model.hpp"
#include "modelica/ast.hpp"
#include "modelica/flatten/instance.hpp"
#include "modelica/flatten/kept_connections.hpp"

namespace saltus::modelica {

/// What a pass of a loop reads, in the order of the text.
struct PassReads {
  struct Item {
    enum class Kind : std::uint8_t { element, value, choice, number } kind;
    int array = 0;                           ///< of an element: which of KeptLoops::arrays
    std::vector<IteratorForm> forms = {};    ///< its subscripts; the value; the conditions of the branches
    std::vector<IteratorForm> element = {};  ///< subscripts of the array of components that it belongs to
    std::vector<PassReads> branches = {};    ///< of a choice; one more than conditions
    ExprPtr expression = nullptr;            ///< of a number that differs from pass to pass
    bool exact = false;                      ///< passes with different numbers have different shapes
    bool changeable = false;                 ///< parameters in it: no value of it is special
    Location where = {};
  };
  std::vector<Item> items;
};

/// Variables and discrete variables have a number each, in the order of declaration: elements of arrays one after the
/// other.
class KeptLoops {
 public:
  struct Array {
    Component* component = nullptr;
    int first = 0;   ///< number of its first element
    int place = 0;   ///< where that stands among variables or among discrete variables
    int group = -1;  ///< of the variables of the first element of an array of components
  };
  /// An array of components of which one element stands for all. What an element has stands together.
  struct Group {
    const Component* array = nullptr;
    const Instance* element = nullptr;
    int first = 0;                     ///< number of the first variable
    int count = 0;                     ///< elements
    int variables = 0, discretes = 0;  ///< of one element
    int shape = -1;
    int width() const { return variables + discretes; }
  };
  struct Found {
    const Array* array;
    int element, position;
  };
  /// Passes that read in the same way.
  struct Shape {
    std::vector<std::int64_t> pass;  ///< values of the iterators in the first of them
    std::size_t width = 0;
    std::vector<int> rows;                             ///< pass by pass: the numbers of what is read, increasing
    std::vector<std::pair<ExprPtr, int>> lifted = {};  ///< expressions whose values are data of a pass: which of them
    std::vector<double> values = {};                   ///< of these, pass by pass
    std::vector<Expr> symbols = {};                    ///< which stand for them in the first pass
  };
  /// Equations directly inside of loops, around which these iterators run.
  struct Nest {
    std::vector<const ForIndex*> iterators;
    std::vector<const Equation*> body;
    std::vector<const ConnectEquation*> connects;
    Context context;
    PassReads reads;
    std::vector<int> shapes;
    std::map<std::vector<std::int64_t>, int> known;  // shapes by what identifies them
  };

  std::vector<Array> arrays;
  std::unordered_map<const Component*, int> array_of;
  std::vector<Group> groups;  ///< in the order of the prototypes
  KeptConnections connections;
  bool has_components = false;
  int numbers = 0;
  std::vector<Nest> nests;
  std::unordered_map<const Equation*, std::vector<std::size_t>> nests_of;  ///< of loops at the top of a section
  std::vector<Shape> shapes;
  std::vector<char> needed;  ///< by number: it needs a symbol
  int rest = -1;             ///< the shape of what stands outside of loops, or -1

  // what became of it
  std::vector<VariableInfo> variables;
  std::vector<RepeatedModel::Discrete> discretes;
  std::vector<int> equation_shapes, clause_shapes, definition_shapes, assertion_shapes;  ///< of those of the model

  Found find(int number) const;
  int number(int array, int element, int position) const {
    const Array& a = arrays[static_cast<std::size_t>(array)];
    return a.first + position + (a.group < 0 ? 0 : element * groups[static_cast<std::size_t>(a.group)].width());
  }
  /// Where it stands among variables or among discrete variables.
  int place(const Found& found) const;
  /// The group to which an instance belongs, or -1.
  int prototype_of(const Instance& instance) const;
  int shape_of(const Instance& instance) const {
    const int group = prototype_of(instance);
    return group < 0 ? rest : groups[static_cast<std::size_t>(group)].shape;
  }
  /// Whether an element needs a symbol. (Of components behind the first those that something names get one then.)
  bool needs(const Component& component, std::size_t position) const {
    const auto it = array_of.find(&component);
    return it == array_of.end() ||
           needed[static_cast<std::size_t>(arrays[static_cast<std::size_t>(it->second)].first) + position] != 0;
  }
  /// The value of an expression in the present pass.
  using Evaluate = std::function<double(ExprPtr)>;
  /// Adds a pass of a nest.
  void add_pass(Nest& nest, const std::vector<std::int64_t>& iterators, const Evaluate& evaluate);

 private:
  void read(const PassReads& reads, const std::vector<std::int64_t>& iterators, const Evaluate& evaluate);
  /// Throws NotKept if there is no such element; that is told where the loop is written out.
  static int position(const Dims& dims, const std::vector<IteratorForm>& forms,
                      const std::vector<std::int64_t>& iterators);

  std::vector<int> elements_, row_;
  std::vector<std::int64_t> values_, signature_;
  std::vector<std::pair<ExprPtr, int>> lifted_;
  std::vector<double> lifted_values_;
};

}  // namespace saltus::modelica
