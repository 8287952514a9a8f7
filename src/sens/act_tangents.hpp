// The derivative of what clauses and transitions do in a round.
#pragma once

#include <saltus/model/compiled_model.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sens/gradient.hpp"
#include "sens/linear_modes.hpp"
#include "sens/watched_model.hpp"

namespace saltus {

/// A round as a linear map of changes at an instant, which moves itself. Each row is the change of one number.
struct RoundMap {
  enum class From : unsigned char {
    time,
    state,  ///< variables that the systems carry, before the round
    parameter,
    discrete_before,  ///< before the round
    discrete_after,   ///< at its end: rows that give them stand further up
  };
  struct Entry {
    From from;
    std::size_t place;
    double value;
  };
  struct Row {
    bool reset;  ///< of a variable; otherwise of a discrete variable
    std::size_t target;
    std::vector<Entry> entries;
  };
  std::vector<Row> rows;  ///< resets come last

  bool resets() const { return !rows.empty() && rows.back().reset; }
  /// Whether it reads variables.
  bool reads_state() const;
};

/// Changes at an instant along one direction.
struct InstantChange {
  double time = 0.0;
  std::vector<double> state, discrete;
  int parameter = -1;  ///< the one that changes, by 1

  void apply(const RoundMap& round);
};

/// A linear function of the changes at an instant.
struct InstantFunction {
  double time = 0.0;
  std::vector<double> state, discrete, parameters;

  /// From changes behind the round to those before it.
  void pull(const RoundMap& round);
};

/// Whether values have been made consistent between two rounds of an instant in a way that rounds do not differentiate:
/// on a surface, or with hidden constraints, a reset moves other differentiated variables too. Returns "", or what
/// cannot be differentiated. `left`: the mode before the instant.
std::string moved_between(const Act& last, const Act& act, const Mode* left, CompiledModel& model, double rtol);

class ActTangents {
 public:
  explicit ActTangents(const EventLogic::Setup& setup);

  /// What a round does to changes. `first`: the first round of its instant; `left`: the mode before the instant, null
  /// at the start of a run. Returns "", or what cannot be differentiated.
  std::string find(const Act& act, bool first, const Mode* left, LinearModes& modes, RoundMap& map);

 private:
  enum Group : std::size_t { time, variables, derivatives, parameters, discretes, pre_variables, pre_discretes };
  struct Given {
    bool reset;
    std::size_t target;
    bool builds_on;  ///< its own old value
    Gradient gradient;
  };
  Given& of_action(int giver, std::size_t action);
  Given make(bool reset, const Expr& target, const Expr& value) const;
  void evaluate(Given& given, const Act& act) const;
  std::string add_row(const Given& given, const Act& act, bool first, const LinearPoint* point, RoundMap& map) const;

  EventLogic::Setup setup_;  // in a graph that can grow
  std::vector<std::vector<Expr>> inputs_;
  std::map<NodeId, std::size_t> variable_places_, discrete_places_;
  std::vector<std::size_t> pre_variable_places_, pre_discrete_places_;
  std::map<std::pair<int, std::size_t>, Given> actions_;
  std::vector<Given> definitions_;
};

}  // namespace saltus
