// The modes of a compiled model that stay on surfaces, made when they are first needed. Any number of threads share
// them.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/model.hpp>
#include <saltus/model/recorded_system.hpp>
#include <saltus/program/program.hpp>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "model/mode_systems.hpp"
#include "model/surface_equations.hpp"

namespace saltus {

class SurfaceModes {
 public:
  /// A surface as the model has it.
  struct Surface {
    Expr function;           ///< g
    std::vector<int> locks;  ///< the relations on g, as indices into Setup::locks
    std::vector<int> signs;  ///< by lock: the side on which the relation is true
    bool relation = true;    ///< false: the end of a rounding's interval, or a second guard of the same function
    int step = 0;            ///< of a rounding: by how much it changes beyond the end of its interval
    /// Clauses, and transitions from an explicit mode to itself, with resets that depend on the side: a contact takes
    /// their place.
    std::vector<int> resetting_clauses = {}, resetting_transitions = {};
  };
  struct Setup {
    std::vector<Surface> surfaces;  ///< one per guard
    std::vector<Expr> locks;
    std::vector<const RecordedSystem*> systems;  ///< one per explicit mode, without surfaces
    /// Expressions with eliminated variables replaced and pre(x) = x.
    std::vector<ModelData::Clause> clauses;
    std::vector<ModelData::Transition> transitions;
    std::vector<ModelData::Definition> definitions;
    std::vector<Expr> observed;  ///< what is computed for the user: solutions of eliminated variables
    std::vector<Expr> parameters, discretes;
    std::vector<double> data, start_locks;
    double stabilisation = 0.0;  ///< see Model::stabilise_sliding
    ProgramOptions options;
  };

  /// A mode on surfaces; without system if there is none. It does not change once it has been made.
  struct Made {
    std::unique_ptr<const RecordedSystem> system;  ///< to make the systems of runs from
    OccurringValues values;
    std::vector<Expr> observed;  ///< what `observe` computes, in the graph of the system
    Program observe;
    /// Not empty: this is the mode of all slides (all_slides.hpp). By number behind the discrete variables: the guard.
    std::vector<int> slides = {};
    std::vector<int> place_of = {};  ///< by guard: the number, -1 if it is not among them
  };
  /// What identifies such a mode: the explicit mode, and the surfaces.
  using Key = std::tuple<int, std::vector<int>, std::vector<int>, std::vector<int>>;
  static Key key_of(const Mode& mode) { return {mode.automaton, mode.sliding, mode.contacts, mode.contact_sides}; }

  explicit SurfaceModes(Setup setup);
  /// Stays in place.
  const Made& get(const Mode& mode) const;
  /// The mode of all slides to which this one belongs; null: it is one of its own.
  const Made* among_all_slides(const Mode& mode) const;
  const std::vector<Surface>& surfaces() const { return setup_.surfaces; }
  /// Two explicit modes between which transitions without actions lead across a surface and back.
  struct PairedModes {
    int automaton, surface, side;  ///< on this side of the surface
    int other, transition;         ///< the other mode has the field, to which this transition leads
  };
  const std::vector<PairedModes>& pairs() const { return pairs_; }

 private:
  class Maker;
  void find_resets();
  void find_pairs();
  const Made& all_slides_of(int automaton) const;

  Setup setup_;
  std::vector<PairedModes> pairs_;
  mutable std::mutex making_;
  mutable std::map<Key, Made> made_;
  struct AllSlidesOfMode {
    std::once_flag making;
    Made made;
  };
  mutable std::deque<AllSlidesOfMode> all_slides_;  // by explicit mode
};

}  // namespace saltus
