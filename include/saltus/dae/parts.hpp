// FamilyParts: a large family of modes that falls into small ones. What happens in one part is settled there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace saltus {

class HybridSystem;

/// One part, as places in the numbers of the large family. Parts of one shape list theirs in the same order.
struct FamilyPart {
  int shape = 0;
  std::span<const int> variables;     ///< that its equations determine, increasing
  std::span<const int> foreign;       ///< variables of other parts that it reads
  std::span<const int> discretes;     ///< its discrete variables (Mode::discrete)
  std::span<const int> locks;         ///< its relations and roundings (Mode::locks)
  std::span<const int> guards;        ///< its guards
  std::span<const int> conditions;    ///< its clauses (Mode::conditions)
  std::span<const int> parameters;    ///< whose values it reads, see FamilyParts::parameters
  std::span<const double> constants;  ///< numbers in its equations that other parts of the shape have otherwise
};

/// What the parts of one shape have in common: a small family. Its variables are those of the part, in the same order.
/// Its discrete variables are those of the part, then the values of the parameters, the polynomials of the foreign
/// variables (for each of them `degree` + 1 coefficients of powers of (time - since), and `since`), and the constants.
struct PartShape {
  int degree = 0;
  std::shared_ptr<const HybridSystem> family;
  std::vector<int> locks, guards;  ///< places in the small family, in the order in which parts list their own
  bool watches_foreign = false;    ///< guards or clauses read foreign variables

  std::size_t first_parameter(const FamilyPart& part) const { return part.discretes.size(); }
  /// Where the polynomial of a foreign variable begins.
  std::size_t polynomial(const FamilyPart& part, std::size_t foreign) const {
    return part.discretes.size() + part.parameters.size() + foreign * static_cast<std::size_t>(degree + 2);
  }
  std::size_t first_constant(const FamilyPart& part) const { return polynomial(part, part.foreign.size()); }
  std::size_t discretes(const FamilyPart& part) const { return first_constant(part) + part.constants.size(); }
};

/// Parts read the variables of each other, and nothing else. At an instant values of variables do not depend on what
/// another part decides there, so that each part can settle what happens in it alone. Const functions may be called
/// from several threads at once.
class FamilyParts {
 public:
  virtual ~FamilyParts() = default;

  virtual std::size_t size() const = 0;
  virtual FamilyPart part(std::size_t number) const = 0;
  /// The shape of some parts. It is made when it is first asked for; null: it cannot be made, and the parts cannot be
  /// run alone.
  virtual const PartShape* shape(int number) const = 0;
  /// Values of all parameters of the large family.
  virtual std::span<const double> parameters() const = 0;
};

}  // namespace saltus
