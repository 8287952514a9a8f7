#include "modelica/flatten/value.hpp"

#include <saltus/base/error.hpp>

#include <algorithm>

#include "modelica/flatten/scope.hpp"

namespace saltus::modelica {

std::int64_t count(const Dims& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

std::string to_string(const Dims& dims) {
  std::string text;
  for (const std::int64_t d : dims) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text;
}

std::string_view type_name(TypeKind kind) {
  switch (kind) {
    case TypeKind::real:
      return "Real";
    case TypeKind::integer:
      return "Integer";
    case TypeKind::boolean:
      return "Boolean";
    case TypeKind::string:
      return "String";
    case TypeKind::enumeration:
      return "enumeration";
    case TypeKind::record:
      return "record";
    case TypeKind::function:
      return "function";
    case TypeKind::clock:
      return "Clock";
  }
  return "";
}

std::string describe(const Value& value) {
  std::string text(type_name(value.type));
  if (value.type == TypeKind::enumeration && value.enumeration) text = value.enumeration->name;
  if (value.type == TypeKind::record && value.record && value.record->type) text = value.record->type->name;
  if (value.is_scalar()) return text;
  text += "[";
  for (std::size_t k = 0; k < value.dims.size(); ++k) text += (k ? "," : "") + std::to_string(value.dims[k]);
  return text + "]";
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  // of those that are equally near, the one that begins alike
  const auto common = [&](const std::string& other) {
    std::size_t k = 0;
    while (k < name.size() && k < other.size() && name[k] == other[k]) ++k;
    return k;
  };
  const std::string* best = nullptr;
  std::size_t best_distance = std::min(name.size() / 4 + 2, name.size());
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance > best_distance ||
        (best ? distance == best_distance && common(candidate) <= common(*best) : distance == best_distance))
      continue;
    best = &candidate;
    best_distance = distance;
  }
  return best ? "did you mean '" + *best + "'?" : std::string{};
}

Value Value::array(TypeKind kind, Dims dims, Variability how) {
  Value result;
  result.type = kind;
  result.variability = how;
  result.dims = std::move(dims);
  return result;
}

Value Value::element(std::int64_t index) const {
  Value result;
  result.type = type;
  result.variability = variability;
  result.enumeration = enumeration;
  result.dims.assign(dims.begin() + 1, dims.end());
  if (type == TypeKind::record) {
    auto part = std::make_shared<RecordFields>();
    part->type = record->type;
    for (const auto& [name, field] : record->fields) part->fields.emplace_back(name, field.element(index));
    result.record = std::move(part);
    return result;
  }
  const std::int64_t size = count(result.dims);
  const auto first = elements.begin() + static_cast<std::ptrdiff_t>(index * size);
  result.elements.assign(first, first + static_cast<std::ptrdiff_t>(size));
  if (type == TypeKind::string) {
    const auto text_of_first = texts.begin() + static_cast<std::ptrdiff_t>(index * size);
    if (result.dims.empty())
      result.text = *text_of_first;
    else
      result.texts.assign(text_of_first, text_of_first + static_cast<std::ptrdiff_t>(size));
  }
  return result;
}

Value Value::leading(std::size_t rank, std::int64_t position) const {
  Value part = *this;
  std::int64_t inner = 1;
  for (std::size_t k = 0; k < rank; ++k) inner *= dims[k];
  for (std::size_t k = 0; k < rank; ++k) {
    inner /= dims[k];
    part = part.element(position / inner);
    position %= inner;
  }
  return part;
}

Value Value::at(std::size_t position) const {
  if (type == TypeKind::record) {
    Value part = *this;
    auto rest = static_cast<std::int64_t>(position);
    while (!part.dims.empty()) {
      const std::int64_t inner = count(part.dims) / part.dims.front();
      part = part.element(rest / inner);
      rest %= inner;
    }
    return part;
  }
  Value result(type, variability, elements[position]);
  result.enumeration = enumeration;
  if (type == TypeKind::string) result.text = text_at(position);
  return result;
}

Value reshaped(Value value, Dims dims) {
  value.dims = std::move(dims);
  return value;
}

bool same_enumeration(const ClassScope* a, const ClassScope* b) {
  return a == b || (a && b && a->definition == b->definition);
}

TypeKind common_type(const Value& a, const Value& b, const Location& where) {
  if (a.type == b.type) {
    if (a.type == TypeKind::enumeration && !same_enumeration(a.enumeration, b.enumeration))
      throw Fault{where, "values of the enumerations " + describe(a) + " and " + describe(b) + " are mixed"};
    return a.type;
  }
  if (a.is_numeric() && b.is_numeric()) return TypeKind::real;
  throw Fault{where, "a value of type " + describe(a) + " is mixed with one of type " + describe(b)};
}

Value transpose(const Value& m, const Location& where) {
  if (m.dims.size() < 2) throw Fault{where, "transpose needs a matrix, not a value of type " + describe(m)};
  if (m.type == TypeKind::record || m.type == TypeKind::string)
    throw Fault{where, "transpose needs numbers, not a value of type " + describe(m)};
  const auto rows = static_cast<std::size_t>(m.dims[0]), columns = static_cast<std::size_t>(m.dims[1]);
  Value result = m;
  std::swap(result.dims[0], result.dims[1]);
  const std::size_t inner = rows * columns == 0 ? 0 : m.elements.size() / (rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t k = 0; k < inner; ++k)
        result.elements[(j * rows + i) * inner + k] = m.elements[(i * columns + j) * inner + k];
  return result;
}

Value product(const Value& a, const Value& b, const Location& where) {
  const TypeKind type = common_type(a, b, where);
  if (!a.is_numeric() || !b.is_numeric())
    throw Fault{where, "'*' needs numbers, not " + describe(a) + " and " + describe(b)};
  const Variability how = join(a.variability, b.variability);
  if (a.is_scalar() || b.is_scalar()) {
    const Value& many = a.is_scalar() ? b : a;
    Value result = Value::array(type, many.dims, how);
    result.elements.reserve(many.elements.size());
    for (const Expr& e : many.elements) result.elements.push_back(a.is_scalar() ? a.scalar() * e : e * b.scalar());
    return result;
  }
  if (a.dims.size() > 2 || b.dims.size() > 2 || a.dims.back() != b.dims.front())
    throw Fault{where,
                "the product of " + describe(a) + " and " + describe(b) + " does not exist: the sizes do not fit",
                "write .* for the product element by element"};
  const bool vector_left = a.dims.size() == 1, vector_right = b.dims.size() == 1;
  const auto rows = static_cast<std::size_t>(vector_left ? 1 : a.dims[0]);
  const auto inner = static_cast<std::size_t>(a.dims.back());
  const auto columns = static_cast<std::size_t>(vector_right ? 1 : b.dims[1]);
  Dims dims;
  if (!vector_left) dims.push_back(a.dims[0]);
  if (!vector_right) dims.push_back(b.dims[1]);
  Value result = Value::array(type, std::move(dims), how);
  result.elements.reserve(rows * columns);
  std::vector<Expr> terms;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      terms.clear();
      for (std::size_t k = 0; k < inner; ++k) {
        Expr term = a.elements[i * inner + k] * b.elements[k * columns + j];
        if (!(term.is_constant() && term.constant_value() == 0.0)) terms.push_back(std::move(term));
      }
      result.elements.push_back(sum(terms));
    }
  return result;
}

Value stack(std::vector<Value> items, const Location& where) {
  Value result = items.front();
  if (result.type == TypeKind::record) {
    auto all = std::make_shared<RecordFields>();
    all->type = result.record->type;
    for (std::size_t f = 0; f < result.record->fields.size(); ++f) {
      std::vector<Value> column;
      for (const Value& item : items) {
        if (item.type != TypeKind::record || item.record->fields.size() != result.record->fields.size())
          throw Fault{where, "the elements of the array are of different types"};
        column.push_back(item.record->fields[f].second);
      }
      all->fields.emplace_back(result.record->fields[f].first, stack(std::move(column), where));
    }
    result.record = std::move(all);
    result.dims.insert(result.dims.begin(), static_cast<std::int64_t>(items.size()));
    for (const Value& item : items) result.variability = join(result.variability, item.variability);
    return result;
  }
  result.dims.insert(result.dims.begin(), static_cast<std::int64_t>(items.size()));
  result.elements.reserve(result.elements.size() * items.size());
  for (std::size_t k = 1; k < items.size(); ++k) {
    const Value& item = items[k];
    if (!std::equal(item.dims.begin(), item.dims.end(), result.dims.begin() + 1, result.dims.end()))
      throw Fault{where, "the elements of the array have different sizes: " + describe(items.front()) + " and " +
                             describe(item)};
    result.type = common_type(result, item, where);
    result.variability = join(result.variability, item.variability);
    result.elements.insert(result.elements.end(), item.elements.begin(), item.elements.end());
  }
  if (result.type == TypeKind::string) {
    result.text.clear();
    result.texts.clear();
    for (const Value& item : items)
      for (std::size_t k = 0; k < item.elements.size(); ++k) result.texts.push_back(item.text_at(k));
  }
  return result;
}

namespace {

// Replaces the first dimension of a stacked value by several.
void unfold(Value& value, const Dims& dims) {
  Dims all = dims;
  all.insert(all.end(), value.dims.begin() + 1, value.dims.end());
  value.dims = std::move(all);
  if (value.type != TypeKind::record) return;
  auto fields = std::make_shared<RecordFields>(*value.record);
  for (auto& [name, field] : fields->fields) unfold(field, dims);
  value.record = std::move(fields);
}

}  // namespace

Value stacked(std::vector<Value> items, const Dims& dims, const Location& where) {
  Value result = stack(std::move(items), where);
  if (dims.size() != 1) unfold(result, dims);
  return result;
}

Value concatenate(std::size_t dimension, const std::vector<Value>& items, const Location& where) {
  Value result = items.front();
  if (dimension >= result.dims.size())
    throw Fault{
        where, "dimension " + std::to_string(dimension + 1) + " does not exist in a value of type " + describe(result)};
  result.dims[dimension] = 0;
  for (const Value& item : items) {
    if (item.type == TypeKind::record)
      throw Fault{where, "values of type " + describe(item) + " cannot be concatenated"};
    Dims same = item.dims;
    if (same.size() == result.dims.size()) same[dimension] = result.dims[dimension];
    if (same != result.dims)
      throw Fault{where, "the sizes of " + describe(items.front()) + " and " + describe(item) + " do not fit"};
    result.type = common_type(result, item, where);
    result.variability = join(result.variability, item.variability);
    result.dims[dimension] += item.dims[dimension];
  }
  std::int64_t outer = 1;
  for (std::size_t k = 0; k < dimension; ++k) outer *= result.dims[k];
  result.elements.clear();
  result.texts.clear();
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Value& item : items) {
      const auto block = static_cast<std::ptrdiff_t>(outer == 0 ? 0 : count(item.dims) / outer);
      const auto first = item.elements.begin() + static_cast<std::ptrdiff_t>(o) * block;
      result.elements.insert(result.elements.end(), first, first + block);
      for (std::ptrdiff_t k = 0; item.type == TypeKind::string && k < block; ++k)
        result.texts.push_back(item.text_at(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(o) * block + k)));
    }
  return result;
}

void add_scalars(const Value& value, std::vector<Expr>& scalars) {
  scalars.insert(scalars.end(), value.elements.begin(), value.elements.end());
  if (!value.record) return;
  for (const auto& [name, field] : value.record->fields) add_scalars(field, scalars);
}

}  // namespace saltus::modelica
