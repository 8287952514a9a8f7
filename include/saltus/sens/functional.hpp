// Functional: one number that a run gives, as a sum of final values, integrals, event times and values at events.
//
//   const Functional J = final_value("x") + 0.5 * integral(x * x) + event_time("v > 0", 2);
//   const FunctionalGradient g = gradient(model, J, {"mu", "x.start"}, {.stop = 10.0});     // adjoint.hpp
#pragma once

#include <saltus/expr/expr.hpp>

#include <string>
#include <vector>

namespace saltus {

class Functional {
 public:
  enum class Kind : unsigned char {
    final_value,  ///< of an expression; where the model ends the run, at that end
    integral,     ///< of an expression over the run
    event_time,   ///< of the event with a number among those of a guard or clause
    event_sum,    ///< of an expression, just before each event of a guard or clause
  };
  struct Term {
    Kind kind;
    double weight = 1.0;
    Expr value = {};
    std::string event = {};  ///< as Event::guards or Event::actions have it
    int number = 0;          ///< 1: the first one
  };

  Functional() = default;
  explicit Functional(Term term) : terms_{std::move(term)} {}

  const std::vector<Term>& terms() const { return terms_; }
  Functional& operator+=(const Functional& other);
  Functional& operator*=(double factor);

 private:
  std::vector<Term> terms_;
};

Functional operator+(Functional a, const Functional& b);
Functional operator-(Functional a, const Functional& b);
Functional operator*(double factor, Functional a);

/// Expressions are of the symbols of the model from which the run comes: variables, parameters, time. They must not
/// contain relations: these would be no guards of the run. A variable can be given by its name.
Functional final_value(const Expr& value);
Functional final_value(const std::string& variable);
Functional integral(const Expr& value);
Functional integral(const std::string& variable);
/// The time of an event: of the `number`-th (from 1) of those at which a guard ("x > 1") fired or a clause
/// ("when x > 1") acted.
Functional event_time(const std::string& event, int number);
/// The sum of the values just before all events of a guard or clause.
Functional sum_over_events(const std::string& event, const Expr& value);
Functional sum_over_events(const std::string& event, const std::string& variable);

}  // namespace saltus
