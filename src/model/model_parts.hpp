// The parts of a compiled model: groups of variables, discrete variables, relations and clauses that need each other at
// an instant. Parts read the values of each other's variables, which do not change at an instant of another part.
#pragma once

#include <saltus/dae/parts.hpp>
#include <saltus/model/compiled_model.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "model/event_logic.hpp"
#include "model/model_guards.hpp"

namespace saltus {

/// What parts are made of: a model of one explicit mode whose equations are explicit. Outlives what is made of it.
struct PartSource {
  std::shared_ptr<Graph> graph;
  Expr time;
  std::span<const Expr> variables, derivatives, right_hand_sides, parameters;
  std::span<const VariableInfo> info;  ///< of the variables
  std::span<const ModelData::Discrete> discretes;
  std::span<const Expr> solutions;  ///< of variables that are not integrated
  const EventLogic::Setup& logic;
  const ModelGuards& guards;
  int degree = 0;  ///< of the polynomials of foreign variables
  ProgramOptions options;
};

/// What an expression of the model reads, without what its relations read.
enum class ReadKind : unsigned char {
  none,
  time,
  variable,
  derivative,
  parameter,
  discrete,
  lock,
  before_variable,
  before_discrete,
  never
};

/// Finds what symbols and locks stand for.
class ModelReads {
 public:
  explicit ModelReads(const PartSource& source);

  struct Read {
    ReadKind kind = ReadKind::none;
    int index = -1;
  };
  Read operator[](NodeId id) const { return {kinds_[id], indices_[id]}; }
  /// Calls `visit(Read)` once for each symbol and lock of an expression. Relations inside of locks are not entered.
  template <class Visit>
  void for_each(const Expr& e, Visit&& visit) {
    if (e.graph()) walk(e.id(), false, visit);
  }
  /// The same for what a lock itself reads.
  template <class Visit>
  void inside(const Expr& lock, Visit&& visit) {
    if (lock.graph()) walk(lock.id(), true, visit);
  }

 private:
  void note(const Expr& e, ReadKind kind, std::size_t index);
  template <class Visit>
  void walk(NodeId root, bool enter_root, Visit&& visit) {
    ++epoch_;
    stack_.assign(1, root);
    while (!stack_.empty()) {
      const NodeId id = stack_.back();
      stack_.pop_back();
      if (marks_[id] == epoch_) continue;
      marks_[id] = epoch_;
      const Read read = (*this)[id];
      if (read.kind != ReadKind::none && !(enter_root && id == root))
        visit(read);
      else
        graph_.for_each_operand(id, [&](NodeId operand) { stack_.push_back(operand); });
    }
  }

  const Graph& graph_;
  std::vector<ReadKind> kinds_;
  std::vector<int> indices_;
  std::vector<std::uint32_t> marks_;
  std::uint32_t epoch_ = 0;
  std::vector<NodeId> stack_;
};

/// The groups, each as lists of places; parts of equal shape have been recognised.
class PartStructure {
 public:
  /// Throws nothing; `found()` says whether the model falls into parts.
  explicit PartStructure(const PartSource& source);

  PartStructure();  ///< of a model in one piece

  bool found() const { return !shape_of_.empty(); }
  std::size_t size() const { return shape_of_.size(); }
  std::size_t shapes() const { return representatives_.size(); }
  /// The first part of a shape.
  std::size_t representative(int shape) const { return representatives_[static_cast<std::size_t>(shape)]; }
  FamilyPart part(std::size_t number) const;
  /// Of a part that represents a shape: solutions of variables that are not integrated, because their relations belong
  /// to the part; definitions and assertions.
  struct Further {
    std::vector<int> solutions, definitions, assertions;
    std::vector<NodeId> constants = {};  ///< the nodes of its constants
  };
  const Further& further(int shape) const { return further_[static_cast<std::size_t>(shape)]; }

 private:
  class Finder;
  enum List { variables, foreign, discretes, locks, guards, conditions, parameters, lists };

  std::vector<int> shape_of_;
  std::vector<int> numbers_;                            // all lists, one after the other
  std::vector<std::array<std::size_t, lists>> begins_;  // by part; the last entry ends them
  std::vector<double> constants_;
  std::vector<std::size_t> first_constant_;  // by part; the last entry ends them
  std::vector<std::size_t> representatives_;
  std::vector<Further> further_;
};

/// Makes the small family of a part and all others of its shape. Null: it is not what the large one has.
std::unique_ptr<const PartShape> make_part_shape(const PartSource& source, const FamilyPart& part,
                                                 const PartStructure::Further& further);
/// The same for a shape.
std::unique_ptr<const PartShape> make_part_shape(const PartSource& source, const PartStructure& structure, int shape);

/// The parts of a model with values of its parameters.
class ModelParts final : public FamilyParts {
 public:
  /// What all instances of the model share.
  struct Shared {
    explicit Shared(PartSource of) : source(std::move(of)), structure(source), shapes(structure.shapes()) {}

    PartSource source;
    PartStructure structure;
    struct Made {
      bool tried = false;
      std::unique_ptr<const PartShape> shape;
    };
    mutable std::mutex making;
    mutable std::vector<Made> shapes;
  };

  /// `owner`: what the source refers to.
  ModelParts(std::shared_ptr<const void> owner, std::shared_ptr<const Shared> shared, std::vector<double> parameters)
      : owner_(std::move(owner)), shared_(std::move(shared)), parameters_(std::move(parameters)) {}

  std::size_t size() const override { return shared_->structure.size(); }
  FamilyPart part(std::size_t number) const override { return shared_->structure.part(number); }
  const PartShape* shape(int number) const override;
  std::span<const double> parameters() const override { return parameters_; }

 private:
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const Shared> shared_;
  std::vector<double> parameters_;
};

}  // namespace saltus
