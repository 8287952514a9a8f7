// External functions that are known by name: tables of the standard library, and the few that need no result. Those of
// texts and files stand in texts.cpp.
//
// An external object is a record of the arguments of its constructor. A table becomes an expression: polynomials
// between the knots, chosen by relations, so that every knot is a surface that events can find. References: linear and
// constant segments as the standard library defines them; continuous derivative by H. Akima, J. ACM 17 (1970), eqs. (1)
// to (8).
#include <algorithm>
#include <cmath>
#include <limits>

#include "modelica/flatten/flattener.hpp"
#include "modelica/flatten/random.hpp"
#include "modelica/flatten/table_file.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

// Values of the enumerations Smoothness and Extrapolation of the standard library.
enum Smoothness { linear_segments = 1, continuous_derivative = 2, constant_segments = 3 };
enum Extrapolation { hold_last_point = 1, last_two_points = 2, periodic = 3, no_extrapolation = 4 };

const Value& field(const Value& object, std::string_view name, const Location& where) {
  if (object.type == TypeKind::record)
    for (const auto& [known, value] : object.record->fields)
      if (known == name) return value;
  throw Fault{where, "a table with an element " + in_quotes(name) + " is expected here"};
}

// The piece that u chooses: piece k holds from knots[k - 1] to knots[k].
Expr choose_piece(const Expr& u, const std::vector<double>& knots, const std::vector<Expr>& pieces, std::size_t first,
                  std::size_t last) {
  if (first == last) return pieces[first];
  const std::size_t middle = (first + last + 1) / 2;
  return if_else(u < Expr(knots[middle - 1]), choose_piece(u, knots, pieces, first, middle - 1),
                 choose_piece(u, knots, pieces, middle, last));
}

// The slopes of Akima's interpolation at the knots.
std::vector<Expr> akima_slopes(const std::vector<double>& x, const std::vector<double>& y) {
  const std::size_t n = x.size();
  std::vector<double> m(n + 3);  // m[k + 2] is the slope behind knot k; two more on each side
  for (std::size_t k = 0; k + 1 < n; ++k) m[k + 2] = (y[k + 1] - y[k]) / (x[k + 1] - x[k]);
  if (n == 2) {
    m[3] = m[2];
  }
  m[1] = 2 * m[2] - m[3];
  m[0] = 2 * m[1] - m[2];
  m[n + 1] = 2 * m[n] - m[n - 1];
  m[n + 2] = 2 * m[n + 1] - m[n];
  std::vector<Expr> slopes;
  for (std::size_t k = 0; k < n; ++k) {
    const double right = std::abs(m[k + 3] - m[k + 2]), left = std::abs(m[k + 1] - m[k]);
    slopes.emplace_back(left + right > 0.0 ? (right * m[k + 1] + left * m[k + 2]) / (left + right)
                                           : 0.5 * (m[k + 1] + m[k + 2]));
  }
  return slopes;
}

}  // namespace

bool Flattener::is_external_object(const ClassScope* cls) const {
  const auto* body = cls ? cls->definition->as<LongClass>() : nullptr;
  return body && std::any_of(body->elements.begin(), body->elements.end(), [](const Element& element) {
           const auto* extends = element.as<Extends>();
           return extends && extends->base.parts.size() == 1 && extends->base.parts[0].text == "ExternalObject";
         });
}

// The table of a file in the place of the one that the arguments of a constructor hold.
void Flattener::take_from_file(RecordFields& fields, const Location& where) {
  Value* table = nullptr;
  TableFile file;
  for (auto& [name, value] : fields.fields) {
    const bool is_text = value.type == TypeKind::string && value.is_scalar();
    if (name == "table") table = &value;
    if (name == "fileName" && is_text) file.path = value.text;
    if (name == "tableName" && is_text) file.table = value.text;
    if (name == "delimiter" && is_text) file.delimiter = value.text;
    if (name == "nHeaderLines" && value.elements.size() == 1 && value.scalar().is_constant())
      file.header_lines = static_cast<std::int64_t>(value.scalar().constant_value());
  }
  if (!table || file.path.empty() || file.path == "NoName") return;
  file.path = scopes_.file_named(file.path, where);
  const FileTable content = read_table(file, where);
  *table = Value::array(TypeKind::real,
                        {static_cast<std::int64_t>(content.rows), static_cast<std::int64_t>(content.columns)});
  table->elements.assign(content.values.begin(), content.values.end());
}

// An external object: the arguments of its constructor, with their defaults.
Value Flattener::construct_object(const ClassScope* cls, const Call& call, const Location& where,
                                  const Context& context) {
  const ClassScope* constructor = scopes_.find_member("constructor", cls);
  if (!constructor || !constructor->is_function())
    throw Fault{where, "the external object " + in_quotes(cls->name) + " has no constructor"};
  const auto* body = constructor->definition->as<LongClass>();
  if (!body || !body->external || !body->external->function.text.starts_with("ModelicaStandardTables_"))
    throw Fault{where, "the external object " + in_quotes(cls->name) + " is not supported", reference_page};
  const Layout& layout = scopes_.layout(constructor);
  const NamedValues given = named_arguments(layout, true, call, context);
  auto fields = std::make_shared<RecordFields>();
  fields->type = cls;
  Frame frame;
  frame.cls = constructor;
  frame.outside = context;
  Value result;
  result.type = TypeKind::record;
  for (const LayoutComponent& input : layout.components) {
    if (input.direction != Direction::input) continue;
    const auto it =
        std::find_if(given.begin(), given.end(), [&](const auto& known) { return known.first == input.name(); });
    Value value = local_value(input, it == given.end() ? nullptr : &it->second,
                              Context{nullptr, input.lexical, nullptr, &frame}, where);
    frame.variables[input.name()] = value;
    result.variability = join(result.variability, value.variability);
    fields->fields.emplace_back(input.name(), std::move(value));
  }
  take_from_file(*fields, where);
  result.record = std::move(fields);
  return result;
}

// The knots and one column of a table.
Flattener::TableColumn Flattener::table_column(const Value& object, const Value& column, const Location& where) {
  const Value& table = field(object, "table", where);
  if (table.dims.size() != 2 || table.dims[0] < 1 || table.dims[1] < 1)
    throw Fault{where, "the table is empty", "give the parameter 'table' rows and columns"};
  const Value& columns = field(object, "columns", where);
  const std::int64_t index = integer(column, where, "the column of a table");
  if (columns.dims.size() != 1 || index < 1 || index > columns.dims[0])
    throw Fault{where, "the table has no column " + std::to_string(index)};
  const std::int64_t c = integer(columns.at(static_cast<std::size_t>(index - 1)), where, "the column of a table");
  if (c < 1 || c > table.dims[1])
    throw Fault{where, "the table has " + std::to_string(table.dims[1]) + " columns, but column " + std::to_string(c) +
                           " is asked for"};
  TableColumn result;
  const auto width = static_cast<std::size_t>(table.dims[1]);
  for (std::size_t row = 0; row < static_cast<std::size_t>(table.dims[0]); ++row) {
    result.x.push_back(number(table.at(row * width), where, "the first column of a table"));
    result.y.push_back(table.elements[row * width + static_cast<std::size_t>(c - 1)]);
    if (row > 0 && !(result.x[row] >= result.x[row - 1]))
      throw Fault{where, "the first column of the table must not decrease"};
  }
  result.smoothness = static_cast<int>(integer(field(object, "smoothness", where), where, "the smoothness"));
  result.extrapolation = static_cast<int>(integer(field(object, "extrapolation", where), where, "the extrapolation"));
  if (result.smoothness < linear_segments || result.smoothness > constant_segments)
    throw Fault{where, "this smoothness of a table is not supported",
                "LinearSegments, ContinuousDerivative and ConstantSegments are"};
  return result;
}

// The value of a table at u.
Expr Flattener::interpolate(const TableColumn& table, const Expr& at, Variability how, const Location& where) {
  const std::vector<double>& x = table.x;
  const std::vector<Expr>& y = table.y;
  const std::size_t n = x.size();
  charge(static_cast<std::int64_t>(n), where);
  if (n == 1) return y.front();
  Expr u = at;
  if (table.extrapolation == periodic && x.back() > x.front())
    u = x.front() + mod(at - x.front(), x.back() - x.front());
  if (table.extrapolation == no_extrapolation) {
    const BoolExpr inside = no_event(u >= Expr(x.front()) && u <= Expr(x.back()));
    assertions_.push_back({inside, "a table is read outside of its range", where});
  }
  std::vector<Expr> slopes;
  if (table.smoothness == continuous_derivative) {
    std::vector<double> numbers;
    for (const Expr& value : y)
      numbers.push_back(number(Value(TypeKind::real, Variability::parameter, value), where, "a table"));
    for (std::size_t k = 1; k < n; ++k)
      if (x[k] == x[k - 1]) throw Fault{where, "the first column of a smooth table must increase"};
    slopes = akima_slopes(x, numbers);
  }
  std::vector<double> knots;
  std::vector<Expr> pieces;
  const auto before = [&](const Expr& piece, double knot) {
    pieces.push_back(piece);
    knots.push_back(knot);
  };
  const bool hold = table.extrapolation == hold_last_point;
  if (hold || table.smoothness == constant_segments)
    before(y.front(), x.front());
  else if (!slopes.empty())
    before(y.front() + slopes.front() * (u - x.front()), x.front());
  for (std::size_t k = 0; k + 1 < n; ++k) {
    const double width = x[k + 1] - x[k];
    if (width == 0.0) continue;  // a jump
    const Expr s = (u - x[k]) / width;
    if (table.smoothness == constant_segments) {
      before(y[k], x[k + 1]);
    } else if (slopes.empty()) {
      before(y[k] + (y[k + 1] - y[k]) * s, x[k + 1]);
    } else {
      const Expr d = y[k + 1] - y[k], a = slopes[k] * width, b = slopes[k + 1] * width;
      before(y[k] + s * (a + s * ((3.0 * d - 2.0 * a - b) + s * (a + b - 2.0 * d))), x[k + 1]);
    }
  }
  if (hold || table.smoothness == constant_segments)
    pieces.push_back(y.back());
  else if (!slopes.empty())
    pieces.push_back(y.back() + slopes.back() * (u - x.back()));
  else
    knots.pop_back();  // the last segment goes on
  const Expr result = choose_piece(u, knots, pieces, 0, pieces.size() - 1);
  return how >= Variability::parameter ? no_event(result) : result;
}

// Bilinear, or constant, between the lines of a table of two inputs.
Expr Flattener::interpolate_plane(const Value& object, const Value& u1, const Value& u2, const Location& where) {
  const Value& table = field(object, "table", where);
  if (table.dims.size() != 2 || table.dims[0] < 2 || table.dims[1] < 2)
    throw Fault{where, "a table of two inputs needs at least two rows and columns; tables in files are not supported"};
  const auto rows = static_cast<std::size_t>(table.dims[0]), columns = static_cast<std::size_t>(table.dims[1]);
  TableColumn line;
  line.smoothness = static_cast<int>(integer(field(object, "smoothness", where), where, "the smoothness"));
  line.extrapolation = static_cast<int>(integer(field(object, "extrapolation", where), where, "the extrapolation"));
  if (line.smoothness != linear_segments && line.smoothness != constant_segments)
    throw Fault{where, "this smoothness of a table of two inputs is not supported",
                "LinearSegments and ConstantSegments are"};
  for (std::size_t c = 1; c < columns; ++c) line.x.push_back(number(table.at(c), where, "the first row of a table"));
  TableColumn across = line;
  across.x.clear();
  const Variability how = join(u1.variability, u2.variability);
  for (std::size_t r = 1; r < rows; ++r) {
    across.x.push_back(number(table.at(r * columns), where, "the first column of a table"));
    line.y.assign(table.elements.begin() + static_cast<std::ptrdiff_t>(r * columns + 1),
                  table.elements.begin() + static_cast<std::ptrdiff_t>((r + 1) * columns));
    across.y.push_back(interpolate(line, u2.scalar(), how, where));
  }
  for (const auto* knots : {&line.x, &across.x})
    if (!std::is_sorted(knots->begin(), knots->end()) ||
        std::adjacent_find(knots->begin(), knots->end()) != knots->end())
      throw Fault{where, "the knots of a table of two inputs must increase"};
  return interpolate(across, u1.scalar(), how, where);
}

// Calls an external function by the name of its C function. Empty: it has no result.
std::optional<Value> Flattener::call_external(std::string_view name, const std::vector<Value>& arguments,
                                              const Location& where) {
  const auto is = [&](std::string_view table, std::string_view what, std::size_t count) {
    return name == "ModelicaStandardTables_" + std::string(table) + "_" + std::string(what) &&
           arguments.size() == count;
  };
  const auto real = [](const Expr& value, Variability how) { return Value(TypeKind::real, how, value); };
  if (is("CombiTable1D", "getValue", 3)) {
    const Variability how = join(arguments[0].variability, arguments[2].variability);
    return real(interpolate(table_column(arguments[0], arguments[1], where), arguments[2].scalar(), how, where), how);
  }
  if (is("CombiTimeTable", "getValue", 5)) {
    const TableColumn table = table_column(arguments[0], arguments[1], where);
    const Variability how = join(arguments[0].variability, arguments[2].variability);
    const Expr& t = arguments[2].scalar();
    const double start = number(field(arguments[0], "startTime", where), where, "the start time of a table");
    const double shift = number(field(arguments[0], "shiftTime", where), where, "the shift time of a table");
    const Expr value = interpolate(table, t - shift, how, where);
    return real(start <= -1e60 ? value : if_else(t < Expr(start), Expr(0.0), value), how);
  }
  // every knot is a surface of the value itself, so that no further event is needed
  if (is("CombiTimeTable", "nextTimeEvent", 2)) return Value::real(1e60);
  if (is("CombiTable2D", "getValue", 3)) {
    const Variability how = join(arguments[0].variability, join(arguments[1].variability, arguments[2].variability));
    return real(interpolate_plane(arguments[0], arguments[1], arguments[2], where), how);
  }
  for (const auto& [table, least, most] : {std::tuple{"CombiTable1D", "minimumAbscissa", "maximumAbscissa"},
                                           std::tuple{"CombiTimeTable", "minimumTime", "maximumTime"}}) {
    if (!is(table, least, 1) && !is(table, most, 1)) continue;
    const Value& rows = field(arguments[0], "table", where);
    if (rows.dims.size() != 2 || rows.elements.empty()) throw Fault{where, "the table is empty"};
    const std::size_t row = is(table, least, 1) ? 0 : static_cast<std::size_t>(rows.dims[0] - 1);
    return rows.at(row * static_cast<std::size_t>(rows.dims[1]));
  }
  if (auto text = call_text(name, arguments, where)) return text;
  if (name == "ModelicaRandom_automaticGlobalSeed") return Value::integer(automatic_seed);
  // the state of impureRandom, which is refused
  if (name == "ModelicaRandom_setInternalState_xorshift1024star") return std::nullopt;
  if (name == "ModelicaInternal_print") return std::nullopt;  // a run prints nothing
  if (name == "ModelicaError" && arguments.size() == 1) {
    if (reached().expr().is_constant()) throw Fault{where, "the model reports an error: " + arguments[0].text};
    demand(false, arguments[0].text, where);
    return std::nullopt;
  }
  throw Fault{where, "the external function " + in_quotes(name) + " is not supported", reference_page};
}

}  // namespace saltus::modelica
