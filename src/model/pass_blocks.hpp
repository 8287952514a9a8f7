// The equations of passes in block triangular form, found with numbers alone.
#pragma once

#include <saltus/dae/structural_analysis.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "model/iterator_form.hpp"
#include "model/repeated_model.hpp"

namespace saltus {

/// A place in a list.
inline std::size_t at(int place) {
  return static_cast<std::size_t>(place);
}

/// What an equation, or all clauses, definitions and assertions of a pass, name: places in the lists of the model of
/// its shape.
struct PassNames {
  std::vector<int> variables;    ///< their values
  std::vector<int> derivatives;  ///< variables whose derivatives occur
  std::vector<int> discretes;
  std::vector<int> numbers;   ///< the same of those that never change
  std::vector<int> compared;  ///< variables that decide about relations, by their values or derivatives

  bool decides() const { return !compared.empty() || !discretes.empty(); }
};

/// Clauses, definitions or assertions.
inline bool has_events(const ModelData& model) {
  return !model.clauses.empty() || !model.definitions.empty() || !model.assertions.empty();
}

/// The passes of one shape.
struct PassShape {
  const RepeatedModel::Shape* shape = nullptr;
  std::vector<PassNames> equations = {};
  std::vector<int> assigned = {};  ///< discrete variables that clauses or definitions give values
  PassNames events = {};           ///< of all clauses, definitions and assertions
  int first_equation = 0, first_pass = 0;

  int equation_count() const { return static_cast<int>(equations.size()); }
  bool has_events() const { return saltus::has_events(shape->model); }
  /// Where a variable of a pass stands in the whole.
  int variable(int pass, int k) const { return shape->variables[at(pass) * shape->model.variables.size() + at(k)]; }
  /// Discrete variables that are no numbers.
  std::size_t discretes() const { return shape->model.discretes.size() - shape->numbers; }
  int discrete(int pass, int k) const { return shape->discretes[at(pass) * discretes() + at(k)]; }
};

/// A pass, and one of its equations.
struct PassPlace {
  const PassShape* shape;
  int pass, equation = 0;

  int pass_number() const { return shape->first_pass + pass; }
  const PassNames& names() const { return shape->equations[at(equation)]; }
  int variable(int k) const { return shape->variable(pass, k); }
  int discrete(int k) const { return shape->discrete(pass, k); }
};

/// Unknown are the derivatives of states, and the values of other variables. Equations are numbered shape by shape and
/// pass by pass; behind them are the sums.
class PassBlocks {
 public:
  /// Throws NotKept where something occurs that cells do not have, or where there is no such form.
  explicit PassBlocks(const RepeatedModel& passes);

  const RepeatedModel& model() const { return passes_; }
  const std::vector<PassShape>& shapes() const { return shapes_; }
  int passes() const { return passes_count_; }
  PassPlace equation(int number) const;
  PassPlace pass(int number) const;
  bool is_sum(int equation) const { return equation >= first_sum_; }
  const RepeatedModel::Sum& sum(int equation) const { return passes_.sums[at(equation - first_sum_)]; }
  bool is_state(int variable) const { return is_state_[at(variable)] != 0; }

  int blocks() const { return form_.blocks(); }
  int block_of_equation(int equation) const { return block_of_equation_[at(equation)]; }
  int block_of_unknown(int variable) const { return block_of_unknown_[at(variable)]; }
  std::span<const int> equations_of(int block) const { return part(form_.equation, block); }
  std::span<const int> unknowns_of(int block) const { return part(form_.variable, block); }
  /// Calls `visit` for all variables whose values occur in an equation.
  template <class Visit>
  void for_each_variable(int number, Visit&& visit) const {
    if (is_sum(number)) {
      for (const RepeatedModel::Sum::Term& term : sum(number).terms) visit(term.variable);
    } else {
      const PassPlace p = equation(number);
      for (const int k : p.names().variables) visit(p.variable(k));
    }
  }
  /// In an equation.
  std::span<const int> unknowns(int equation) const {
    return std::span(unknowns_).subspan(at(start_[at(equation)]), at(start_[at(equation) + 1] - start_[at(equation)]));
  }

  /// Calls `visit` for these blocks and for those that they need, each once; it says whether to go on to what the block
  /// itself needs. Throws NotKept if blocks have been visited too often, in all walks: if cells need most of the model.
  template <class Visit>
  void walk(std::vector<int> open, Visit&& visit) {
    ++walk_;
    seen_.resize(at(blocks()), 0);
    for (const int b : open) seen_[at(b)] = walk_;
    while (!open.empty()) {
      const int block = open.back();
      open.pop_back();
      if (!visit(block)) continue;
      constexpr std::size_t often = 100;
      if (++visits_ > often * (unknowns_.size() + often)) throw NotKept{};
      for (const int e : equations_of(block)) {
        visits_ += unknowns(e).size();
        for (const int v : unknowns(e))
          if (const int next = block_of_unknown(v); std::exchange(seen_[at(next)], walk_) != walk_)
            open.push_back(next);
      }
    }
  }

 private:
  PassShape read(const RepeatedModel::Shape& shape) const;
  void find_states();
  void list_unknowns(int number);
  void find_form();

  std::span<const int> part(const std::vector<int>& list, int block) const {
    return std::span(list).subspan(at(form_.start[at(block)]), at(form_.start[at(block) + 1] - form_.start[at(block)]));
  }

  const RepeatedModel& passes_;
  std::vector<PassShape> shapes_;
  int first_sum_ = 0, passes_count_ = 0;
  std::vector<char> is_state_;
  std::vector<int> start_, unknowns_, block_of_equation_, block_of_unknown_;
  BlockTriangularForm form_;
  int walk_ = 0;
  std::size_t visits_ = 0;
  std::vector<int> seen_;
};

}  // namespace saltus
