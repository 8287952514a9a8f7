// Built-in functions of arrays.
#include <algorithm>
#include <cmath>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

Expr reduced(std::string_view name, const std::vector<Expr>& terms, Variability how) {
  if (name == "sum") return sum(terms);
  Expr result = terms.front();
  for (std::size_t k = 1; k < terms.size(); ++k) {
    if (name == "product")
      result = result * terms[k];
    else
      result = name == "min" ? saltus::min(result, terms[k]) : saltus::max(result, terms[k]);
  }
  return how >= Variability::parameter && name != "product" ? no_event(result) : result;
}

}  // namespace

// sum(a), sum(e for i in r); also product, min, max
Value Flattener::reduce(std::string_view name, const Call& call, const Location& where, const Context& context) {
  Value all;
  if (!call.iterators.empty()) {
    all = iterate(call.iterators, call.iterators.size(), call.arguments.front().value, where, context);
  } else if (call.arguments.size() == 2 && (name == "min" || name == "max")) {
    const std::vector<Value> both = arguments(call, context, 2, 2, where);
    if (!both[0].is_scalar() || !both[1].is_scalar())
      throw Fault{where, "'" + std::string(name) + "' needs two scalars or one array"};
    all = stack(both, where);
  } else {
    all = std::move(arguments(call, context, 1, 1, where).front());
  }
  if (name == "sum" && all.type == TypeKind::record) return sum_of_records(all, where);
  const bool extreme = name == "min" || name == "max";
  if (extreme && all.type == TypeKind::boolean && !all.elements.empty()) {  // false < true
    BoolExpr truth(all.elements.front());
    for (std::size_t k = 1; k < all.elements.size(); ++k)
      truth = name == "min" ? truth && BoolExpr(all.elements[k]) : truth || BoolExpr(all.elements[k]);
    return {TypeKind::boolean, all.variability, truth.expr()};
  }
  if (!all.is_numeric() && !(extreme && all.type == TypeKind::enumeration))
    throw Fault{where, "'" + std::string(name) + "' needs numbers, not a value of type " + describe(all)};
  Value result(all.type, all.variability, Expr(0.0));
  result.enumeration = all.enumeration;
  if (all.elements.empty()) {
    if (name == "min" || name == "max") throw Fault{where, "'" + std::string(name) + "' of an empty array"};
    result.elements[0] = Expr(name == "sum" ? 0.0 : 1.0);
    return result;
  }
  result.elements[0] = reduced(name, all.elements, all.variability);
  return result;
}

// size, reductions, transpose, cat and the like
bool Flattener::array_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                           Value& result) {
  if (name == "sum" || name == "product" || name == "min" || name == "max") {
    result = reduce(name, call, where, context);
    return true;
  }
  if (name == "array" && !call.iterators.empty()) {
    result = iterate(call.iterators, call.iterators.size(), call.arguments.front().value, where, context);
    return true;
  }
  if (name == "array") {
    result = stack(arguments(call, context, 1, 1000000, where), where);
    return true;
  }
  if (name == "size" || name == "ndims") {
    if (call.arguments.empty() || call.arguments.size() > (name == "size" ? 2u : 1u))
      arguments(call, context, 1, name == "size" ? 2 : 1, where);
    const Dims dims = shape_of(call.arguments[0].value, context);
    if (name == "ndims") {
      result = Value::integer(static_cast<std::int64_t>(dims.size()));
    } else if (call.arguments.size() == 1) {
      result = Value::array(TypeKind::integer, {static_cast<std::int64_t>(dims.size())});
      for (const std::int64_t d : dims) result.elements.emplace_back(static_cast<double>(d));
    } else {
      const ExprPtr second = call.arguments[1].value;
      const std::int64_t k = integer(eval(second, context), second->where, "the dimension");
      if (k < 1 || k > static_cast<std::int64_t>(dims.size()))
        throw Fault{second->where, "'" + print(call.arguments[0].value) + "' has " + std::to_string(dims.size()) +
                                       " dimensions; dimension " + std::to_string(k) + " does not exist"};
      result = Value::integer(dims[static_cast<std::size_t>(k - 1)]);
    }
    return true;
  }
  if (name == "transpose") {
    result = transpose(arguments(call, context, 1, 1, where).front(), where);
    return true;
  }
  if (name == "cat") {
    std::vector<Value> values = arguments(call, context, 2, 1000000, where);
    const std::int64_t k = integer(values[0], where, "the dimension of 'cat'");
    if (k < 1) throw Fault{where, "the dimension of 'cat' must be positive"};
    values.erase(values.begin());
    result = concatenate(static_cast<std::size_t>(k - 1), values, where);
    return true;
  }
  if (name == "scalar" || name == "vector" || name == "matrix") {
    result = std::move(arguments(call, context, 1, 1, where).front());
    if (result.type == TypeKind::record) throw Fault{where, "'" + std::string(name) + "' needs an array of numbers"};
    const auto size = static_cast<std::int64_t>(result.elements.size());
    if (name == "scalar" && size != 1)
      throw Fault{where, "'scalar' needs one element, not a value of type " + describe(result)};
    if (name == "scalar") result.dims = {};
    if (name == "vector") result.dims = {size};
    if (name == "matrix") {
      while (result.dims.size() < 2) result.dims.push_back(1);
      if (result.dims.size() > 2) throw Fault{where, "'matrix' of a value of type " + describe(result)};
    }
    return true;
  }
  return construct_call(name, call, where, context, result) || vector_call(name, call, where, context, result);
}

// Functions that make arrays of given sizes.
bool Flattener::construct_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                               Value& result) {
  const auto sizes = [&](const std::vector<Value>& values, std::size_t from) {
    Dims dims;
    std::int64_t total = 1;
    for (std::size_t k = from; k < values.size(); ++k) {
      const Location& place = call.arguments[k].value->where;
      const std::int64_t n = integer(values[k], place, "the size of an array");
      if (n < 0) throw Fault{place, "the size of an array is negative: " + std::to_string(n)};
      if (n > limits_.scalars || (n > 0 && total > limits_.scalars / n))
        throw Fault{place, "the array has more than " + std::to_string(limits_.scalars) + " elements"};
      total *= std::max<std::int64_t>(n, 1);
      dims.push_back(n);
    }
    charge(total, where);
    return dims;
  };
  if (name == "zeros" || name == "ones") {
    const std::vector<Value> values = arguments(call, context, 1, 100, where);
    const Dims dims = sizes(values, 0);
    result = Value::array(TypeKind::integer, dims);
    result.elements.assign(static_cast<std::size_t>(count(dims)), Expr(name == "ones" ? 1.0 : 0.0));
    return true;
  }
  if (name == "fill") {
    const std::vector<Value> values = arguments(call, context, 2, 100, where);
    const Dims dims = sizes(values, 1);
    if (values[0].type == TypeKind::record) {
      charge(count(dims) * static_cast<std::int64_t>(values[0].record->fields.size()), where);
      if (count(dims) == 0) throw Fault{where, "an array of records needs elements"};
      result = values[0];
      result = stacked(std::vector<Value>(static_cast<std::size_t>(count(dims)), values[0]), dims, where);
      return true;
    }
    result = values[0];
    result.dims = dims;
    result.dims.insert(result.dims.end(), values[0].dims.begin(), values[0].dims.end());
    result.elements.clear();
    charge(count(result.dims), where);
    if (count(result.dims) > limits_.scalars) throw Fault{where, "the array has too many elements"};
    for (std::int64_t k = 0; k < count(dims); ++k)
      result.elements.insert(result.elements.end(), values[0].elements.begin(), values[0].elements.end());
    if (result.type == TypeKind::string) {
      result.texts.clear();
      for (std::size_t k = 0; k < result.elements.size(); ++k)
        result.texts.push_back(values[0].text_at(k % std::max<std::size_t>(1, values[0].elements.size())));
    }
    return true;
  }
  if (name == "identity" || name == "diagonal") {
    Value value = std::move(arguments(call, context, 1, 1, where).front());
    std::int64_t n = 0;
    if (name == "identity") {
      n = sizes({value}, 0).front();
      value = Value::array(TypeKind::integer, {n});
      value.elements.assign(static_cast<std::size_t>(n), Expr(1.0));
    } else if (value.dims.size() != 1) {
      throw Fault{where, "'diagonal' needs a vector, not a value of type " + describe(value)};
    }
    n = value.dims[0];
    if (n > 0 && n > limits_.scalars / n) throw Fault{where, "the array has too many elements"};
    charge(n * n, where);
    result = Value::array(value.type, {n, n}, value.variability);
    result.elements.assign(static_cast<std::size_t>(n * n), Expr(0.0));
    for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k)
      result.elements[k * static_cast<std::size_t>(n) + k] = value.elements[k];
    return true;
  }
  if (name == "linspace") {
    const std::vector<Value> values = arguments(call, context, 3, 3, where);
    if (!values[0].is_numeric() || !values[1].is_numeric() || !values[0].is_scalar() || !values[1].is_scalar())
      throw Fault{where, "'linspace' needs two numbers and the number of points"};
    const Dims dims = sizes(values, 2);
    if (dims[0] < 2) throw Fault{where, "'linspace' needs at least 2 points"};
    result = Value::array(TypeKind::real, dims, join(values[0].variability, values[1].variability));
    const Expr step = (values[1].scalar() - values[0].scalar()) / static_cast<double>(dims[0] - 1);
    for (std::int64_t k = 0; k + 1 < dims[0]; ++k)
      result.elements.push_back(values[0].scalar() + static_cast<double>(k) * step);
    result.elements.push_back(values[1].scalar());
    return true;
  }
  return false;
}

// Functions of vectors and square matrices.
bool Flattener::vector_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                            Value& result) {
  if (name == "cross" || name == "skew" || name == "outerProduct" || name == "symmetric") {
    const std::vector<Value> v = arguments(call, context, name == "cross" || name == "outerProduct" ? 2 : 1,
                                           name == "cross" || name == "outerProduct" ? 2 : 1, where);
    for (const Value& value : v)
      if (!value.is_numeric())
        throw Fault{where, "'" + std::string(name) + "' needs numbers, not a value of type " + describe(value)};
    const auto& a = v[0].elements;
    if (name == "symmetric") {
      if (v[0].dims.size() != 2 || v[0].dims[0] != v[0].dims[1])
        throw Fault{where, "'symmetric' needs a square matrix"};
      result = v[0];
      const auto n = static_cast<std::size_t>(v[0].dims[0]);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < i; ++j) result.elements[i * n + j] = a[j * n + i];
      return true;
    }
    if (name == "outerProduct") {
      if (v[0].dims.size() != 1 || v[1].dims.size() != 1) throw Fault{where, "'outerProduct' needs two vectors"};
      charge(v[0].dims[0] * v[1].dims[0], where);
      result = product(reshaped(v[0], {v[0].dims[0], 1}), reshaped(v[1], {1, v[1].dims[0]}), where);
      return true;
    }
    for (const Value& value : v)
      if (value.dims != Dims{3})
        throw Fault{where,
                    "'" + std::string(name) + "' needs vectors of the size 3, not a value of type " + describe(value)};
    if (name == "skew") {
      result = Value::array(v[0].type, {3, 3}, v[0].variability);
      result.elements = {Expr(0.0), -a[2], a[1], a[2], Expr(0.0), -a[0], -a[1], a[0], Expr(0.0)};
      return true;
    }
    const auto& b = v[1].elements;
    result = Value::array(common_type(v[0], v[1], where), {3}, join(v[0].variability, v[1].variability));
    result.elements = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    return true;
  }
  return false;
}

}  // namespace saltus::modelica
