// The derivative of what clauses and transitions do in a round.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sens/gradient.hpp"
#include "sens/watched_model.hpp"

namespace saltus {

/// Changes at an instant, which moves itself: one of each for every direction.
struct InstantChanges {
  std::vector<double> time;                   ///< of the time of the instant
  std::vector<std::vector<double>> state;     ///< of the variables that the systems carry
  std::vector<std::vector<double>> slope;     ///< of their derivatives; empty: not known
  bool implicit = false;                      ///< variables follow from others, by equations
  std::vector<char> followed;                 ///< by discrete variable: variables follow from it within the instant
  bool reset = false;                         ///< the model has set variables
  std::vector<std::vector<double>> discrete;  ///< of the discrete variables
};

class ActTangents {
 public:
  /// `parameters`: by direction, the place of the parameter by which it differentiates, or -1.
  ActTangents(const EventLogic::Setup& setup, std::vector<int> parameters);

  /// Takes the changes through a round. False: it cannot be differentiated, and `why` says what it needs.
  bool apply(const Act& act, InstantChanges& changes, std::string& why);

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
  double change(const Given& given, std::size_t direction, const InstantChanges& before,
                const std::vector<double>& discrete) const;

  EventLogic::Setup setup_;  // in a graph that can grow
  std::vector<int> parameters_;
  std::vector<std::vector<Expr>> inputs_;
  std::map<NodeId, std::size_t> variable_places_, discrete_places_;
  std::vector<std::size_t> pre_variable_places_, pre_discrete_places_;
  std::map<std::pair<int, std::size_t>, Given> actions_;
  std::vector<Given> definitions_;
};

}  // namespace saltus
