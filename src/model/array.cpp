#include <fmt/format.h>
#include <saltus/model/array.hpp>
#include <saltus/model/model.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "model/model_arrays.hpp"

namespace saltus {

namespace {

using Form = IteratorForm;

std::shared_ptr<const Form> make_form(Form form) {
  return std::make_shared<const Form>(std::move(form));
}

}  // namespace

Index::Index(int value) : form_(make_form({Form::Kind::number, value})) {}

Index::Index(std::shared_ptr<ModelData> data, std::size_t loop, std::shared_ptr<const Form> form)
    : data_(std::move(data)), loop_(loop), form_(std::move(form)) {}

void Index::require_loop() const {
  if (!data_) return;
  const std::vector<std::size_t>& open = data_->arrays->open_loops;
  if (std::ranges::find(open, loop_) == open.end()) throw UsageError("an index is used outside of its loop");
}

Index Index::combined(int kind, const Index& a, const Index& b) {
  if (a.data_ && b.data_ && a.data_ != b.data_) throw UsageError("an index of one model meets one of another");
  a.require_loop();
  b.require_loop();
  Form form{static_cast<Form::Kind>(kind), 0, {*a.form_, *b.form_}};
  if (!a.data_ && !b.data_) form = {Form::Kind::number, form.at({})};
  return {a.data_ ? a.data_ : b.data_, std::max(a.loop_, b.loop_), make_form(std::move(form))};
}

Index operator+(const Index& a, const Index& b) {
  return Index::combined(static_cast<int>(Form::Kind::sum), a, b);
}
Index operator-(const Index& a, const Index& b) {
  return Index::combined(static_cast<int>(Form::Kind::difference), a, b);
}
Index operator*(const Index& a, const Index& b) {
  return Index::combined(static_cast<int>(Form::Kind::product), a, b);
}
Index operator-(const Index& a) {
  return Index(0) - a;
}
Index min(const Index& a, const Index& b) {
  return Index::combined(static_cast<int>(Form::Kind::minimum), a, b);
}
Index max(const Index& a, const Index& b) {
  return Index::combined(static_cast<int>(Form::Kind::maximum), a, b);
}

Expr Index::number() const {
  if (!data_) return static_cast<double>(form_->value);
  require_loop();
  return data_->arrays->refer(*data_, -1, loop_, {*form_});
}

std::size_t Array::size() const {
  return data_->arrays->arrays[number_].size();
}

std::vector<Expr> Array::elements() const {
  std::vector<Expr> all;
  for (std::size_t k = 0; k < size(); ++k) all.push_back(data_->arrays->element(*data_, number_, k));
  return all;
}

Expr Array::element(const std::vector<Index>& subscripts) const {
  ModelArrays& arrays = *data_->arrays;
  const ModelArrays::Array& own = arrays.arrays[number_];
  if (subscripts.size() != own.dims.size())
    throw UsageError(fmt::format("'{}' has {} subscripts, not {}", own.name, own.dims.size(), subscripts.size()));
  std::vector<Form> forms;
  bool varies = false;
  std::size_t loop = 0;
  for (const Index& i : subscripts) {
    if (i.data_ && i.data_ != data_) throw UsageError("'" + own.name + "' belongs to another model than its subscript");
    i.require_loop();
    varies = varies || i.data_;
    loop = std::max(loop, i.loop_);
    forms.push_back(*i.form_);
  }
  if (varies) return arrays.refer(*data_, static_cast<int>(number_), loop, std::move(forms));
  for (std::size_t k = 0; k < forms.size(); ++k)
    if (forms[k].value < 0 || forms[k].value >= own.dims[k])
      throw UsageError(fmt::format("'{}' has no element {}: subscripts {} are 0 … {}", own.name, forms[k].value, k + 1,
                                   own.dims[k] - 1));
  return arrays.element(*data_, number_,
                        arrays.position({static_cast<int>(number_), 0, std::move(forms), Expr()}, ModelArrays::Pass{}));
}

Array Model::add_array(SymbolKind kind, const std::string& name, const ArraySize& size, std::vector<double> starts,
                       VariableOptions options, const SourceLocation& where) {
  if (name.empty()) throw ModelError(where, "a declaration needs a name");
  if (!data_->arrays) data_->arrays = std::make_shared<ModelArrays>();
  ModelArrays& arrays = *data_->arrays;
  if (name == "time" || data_->names.contains(name) || arrays.by_name.contains(name))
    throw ModelError(where, "'" + name + "' is declared twice in model '" + data_->name + "'");
  double count = 1.0;
  for (const int n : size.dims) {
    if (n < 1) throw ModelError(where, fmt::format("the array '{}' has the size {}; give positive numbers", name, n));
    count *= n;
  }
  if (size.dims.empty() || count > std::numeric_limits<int>::max())
    throw ModelError(where, "the array '" + name + "' has no size, or more elements than can be counted");
  if (starts.size() != 1 && static_cast<double>(starts.size()) != count)
    throw ModelError(where, fmt::format("the array '{}' has {} elements, but {} values", name, count, starts.size()));
  for (std::size_t k = 0; k < starts.size(); ++k)
    if (!std::isfinite(starts[k]))
      throw ModelError(where, fmt::format("a value of the array '{}' (element {}) is not a finite number", name, k));
  if (!(options.nominal > 0.0) || !std::isfinite(options.nominal))
    throw ModelError(where, "the nominal value of '" + name + "' must be a positive number");
  ModelArrays::Array array{.name = name,
                           .kind = kind,
                           .dims = size.dims,
                           .starts = std::move(starts),
                           .fixed = options.fixed,
                           .boolean = options.type == VariableType::boolean,
                           .nominal = options.nominal,
                           .where = where};
  array.details = VariableDetails{options.min, options.max,  std::move(options.unit), std::move(options.description),
                                  where,       options.type, options.causality,       std::move(options.literals)};
  arrays.by_name.emplace(name, arrays.arrays.size());
  arrays.arrays.push_back(std::move(array));
  return {data_.change(), arrays.arrays.size() - 1};
}

Array Model::array(const std::string& name, const ArraySize& size, double start, VariableOptions options,
                   const SourceLocation& where) {
  return add_array(SymbolKind::variable, name, size, {start}, std::move(options), where);
}

Array Model::array(const std::string& name, const ArraySize& size, std::vector<double> starts, VariableOptions options,
                   const SourceLocation& where) {
  return add_array(SymbolKind::variable, name, size, std::move(starts), std::move(options), where);
}

Array Model::parameter_array(const std::string& name, std::vector<double> values, const SourceLocation& where) {
  if (values.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw ModelError(where, "the array '" + name + "' has more elements than can be counted");
  const auto size = static_cast<int>(values.size());
  return add_array(SymbolKind::parameter, name, size, std::move(values), {}, where);
}

Array Model::discrete_array(const std::string& name, const ArraySize& size, double start, const SourceLocation& where) {
  return add_array(SymbolKind::discrete, name, size, {start}, {}, where);
}

BoolArray Model::discrete_array(const std::string& name, const ArraySize& size, bool start,
                                const SourceLocation& where) {
  return BoolArray(add_array(SymbolKind::discrete, name, size, {start ? 1.0 : 0.0},
                             VariableOptions{.type = VariableType::boolean}, where));
}

void Model::write_loop(const std::vector<IndexRange>& ranges,
                       const std::function<void(const std::vector<Index>&)>& body) {
  if (!data_->arrays) data_->arrays = std::make_shared<ModelArrays>();
  const std::size_t level = data_->arrays->open.size();
  ModelArrays::Writing writing(*data_, ranges);
  std::vector<Index> iterators;
  for (std::size_t k = 0; k < ranges.size(); ++k)
    iterators.push_back(Index(data_.change(), data_->arrays->innermost(),
                              make_form({Form::Kind::iterator, static_cast<std::int64_t>(level + k)})));
  body(iterators);
  writing.finish();
}

void Model::for_each(const IndexRange& range, const std::function<void(const Index&)>& body) {
  write_loop({range}, [&](const std::vector<Index>& i) { body(i[0]); });
}

void Model::for_each(const IndexRange& rows, const IndexRange& columns,
                     const std::function<void(const Index&, const Index&)>& body) {
  write_loop({rows, columns}, [&](const std::vector<Index>& i) { body(i[0], i[1]); });
}

}  // namespace saltus
