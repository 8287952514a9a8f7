// The words with which studies are described on the command line, as parts of a plan.
#pragma once

#include <saltus/model/model.hpp>
#include <saltus/study/density.hpp>
#include <saltus/study/plan.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace saltus::cli {

/// "mu=0.1:0.5:1000", "F=log:0.01:1:200" or "n=1,2,5". Numbers may be expressions, counts may be written 1e6. Throws
/// UsageError with an example otherwise; so do the others.
Axis parse_axis(const std::string& text);
/// "v~normal(0,0.1)", "k~uniform(1,2)" or "k~loguniform(0.1,10)".
RandomValue parse_random(const std::string& text);
/// A CSV file: names in the first line, a member in each of the others.
MemberTable read_table(const std::string& file);
/// "2/8" as two numbers.
std::pair<std::int64_t, std::int64_t> parse_shard(const std::string& text);
/// "density:2000x1000" or "density", of two results.
DensityPlan parse_reduce(const std::string& text, const std::string& x, const std::string& y);
/// "1000" or "1e6".
std::int64_t parse_count(const std::string& text, const char* option);
/// Parts between commas that are not inside of brackets, parentheses or quotes, without spaces around them.
std::vector<std::string> split_list(const std::string& text);

/// Makes variables of the expressions that a study asks for. They are computed beside the model, which is read again
/// with the text.
class ModelExtension {
 public:
  /// `model`: as it is without the extension.
  explicit ModelExtension(const Model& model) : model_(model) {}

  /// The variable with the value of an expression: the one that it names, or a new one.
  std::string value(const std::string& expression);
  /// A new variable that grows by one whenever one of the conditions becomes true.
  std::string counter(const std::vector<std::string>& conditions);
  /// Adds what "final(x)", "vmax=max(abs(v))", "count(h < 0)" say.
  void collect(const std::string& text, std::vector<Collector>& collectors);

  /// For LoadOptions::extension; empty if there is nothing to add.
  std::string text() const;

 private:
  /// `pi` is the number unless the model has another one.
  std::string with_pi(const std::string& expression) const;
  std::string new_name() { return "'study " + std::to_string(++count_) + "'"; }

  const Model& model_;
  std::string declarations_, equations_;
  int count_ = 0;
};

}  // namespace saltus::cli
