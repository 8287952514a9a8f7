// Files, classes, elements and modifications.
#include <gtest/gtest.h>

#include <string>

#include "modelica/parse_helpers.hpp"

namespace saltus::modelica {
namespace {

TEST(ParseFile, AnEmptyFileHasNoClassesAndNoErrors) {
  EXPECT_TRUE(read("").ast.root.classes.empty());
  EXPECT_TRUE(read("\xEF\xBB\xBF // only a comment\r\n").ast.root.classes.empty());
}

TEST(ParseFile, ReadsWithinAndSeveralClasses) {
  const ParseResult result = read("within A.B; model M end M; final package P end P;");
  EXPECT_TRUE(result.ast.root.has_within);
  EXPECT_EQ(print(result.ast.root.within), "A.B");
  ASSERT_EQ(result.ast.root.classes.size(), 2u);
  EXPECT_TRUE(result.ast.root.classes[1]->is_final);
  EXPECT_TRUE(read("within; model M end M;").ast.root.within.empty());
}

TEST(ParseFile, CarriageReturnsAreBlanksAndDoNotCountAsLines) {
  const ParseResult result = read("model M\r\n  Real x;\r\nequation\r\n  x = 1;\r\nend M;\r\n");
  const Equation* equation = body_of(result).equations.at(0).equations.at(0);
  EXPECT_EQ(result.ast.source().locate(equation->where).line, 4);
  EXPECT_EQ(result.ast.source().locate(equation->where).column, 3);
}

TEST(ParseFile, TheTreeOutlivesTheTextAndSurvivesAMove) {
  ParseResult result;
  {
    std::string text = "model Long_enough_to_be_on_the_heap Real x; end Long_enough_to_be_on_the_heap;";
    result = parse(text, "a.mo");
    text.assign(text.size(), '#');
  }
  const Ast moved = std::move(result.ast);
  EXPECT_EQ(moved.root.classes.at(0)->name.text, "Long_enough_to_be_on_the_heap");
}

TEST(ParseClass, KnowsEveryKindOfClass) {
  const ParseResult result = read(
      "class A end A; model B end B; block C end C; package D end D; function E end E; operator function F end F;"
      "record G end G; operator record H end H; type I end I; connector J end J; expandable connector K end K;"
      "operator L end L;");
  ASSERT_EQ(result.ast.root.classes.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(result.ast.root.classes[i]->kind, static_cast<ClassKind>(i));
  EXPECT_EQ(spelling(ClassKind::expandable_connector), "expandable connector");
}

TEST(ParseClass, ReadsPrefixes) {
  const ParseResult result =
      read("encapsulated partial model A end A; pure function B end B; impure function C end C;");
  EXPECT_TRUE(result.ast.root.classes[0]->is_encapsulated);
  EXPECT_TRUE(result.ast.root.classes[0]->is_partial);
  EXPECT_TRUE(result.ast.root.classes[1]->is_pure);
  EXPECT_TRUE(result.ast.root.classes[2]->is_impure);
}

TEST(ParseClass, ReadsShortClasses) {
  const ParseResult result = read("type T = input Real[3, n](unit = \"m\") \"text\" annotation(a = 1); model M = A.B;");
  const auto* type = result.ast.root.classes[0]->as<ShortClass>();
  ASSERT_TRUE(type);
  EXPECT_EQ(type->direction, Direction::input);
  EXPECT_EQ(type->dimensions.size(), 2u);
  EXPECT_TRUE(type->modification->find("unit"));
  EXPECT_EQ(result.ast.root.classes[0]->description.text, "text");
  EXPECT_EQ(print(result.ast.root.classes[1]->as<ShortClass>()->base), "A.B");
}

TEST(ParseClass, ReadsEnumerations) {
  const ParseResult result =
      read("type E = enumeration(a \"first\", b, c); type F = enumeration(:); type G = enumeration();");
  const auto* type = result.ast.root.classes[0]->as<Enumeration>();
  ASSERT_EQ(type->literals.size(), 3u);
  EXPECT_EQ(type->literals[0].description.text, "first");
  EXPECT_TRUE(result.ast.root.classes[1]->as<Enumeration>()->is_open);
}

TEST(ParseClass, ReadsDerivativeClasses) {
  const ParseResult result = read("function g = der(A.f, x, y) \"text\";");
  const auto* derivative = result.ast.root.classes[0]->as<DerivativeClass>();
  ASSERT_TRUE(derivative);
  EXPECT_EQ(derivative->variables.size(), 2u);
}

TEST(ParseClass, ReadsClassesThatExtendAnInheritedOne) {
  const ParseResult result = read("package P model extends M(a = 1) \"text\" Real x; end M; end P;");
  const auto* inner = *body_of(result).elements.at(0).as<const ClassDefinition*>();
  EXPECT_TRUE(inner->as<LongClass>()->is_extends);
  EXPECT_TRUE(inner->as<LongClass>()->extends_modification->find("a"));
  EXPECT_EQ(inner->description.text, "text");
}

TEST(ParseClass, ReadsExternalFunctions) {
  const ParseResult result = read(
      "function f external \"C\" y = foo(x, 2) annotation(Library = \"m\"); annotation(b = 1); end f;"
      "function g external; end g; function h external \"C\" bar(); end h;");
  const ExternalClause* external = body_of(result).external;
  ASSERT_TRUE(external);
  EXPECT_EQ(external->language, "C");
  EXPECT_EQ(external->function.text, "foo");
  EXPECT_EQ(external->arguments.size(), 2u);
  EXPECT_TRUE(external->annotation->find("Library"));
  EXPECT_TRUE(result.ast.root.classes[0]->description.annotation->find("b"));
  EXPECT_TRUE(body_of(result, 1).external->function.empty());
  EXPECT_EQ(body_of(result, 2).external->result, nullptr);
}

TEST(ParseElement, ReadsImports) {
  const ParseResult result = read("model M import A.B; import C = A.B \"t\"; import A.B.*; import A.{b, c}; end M;");
  const auto& elements = body_of(result).elements;
  EXPECT_EQ(elements.at(0).as<Import>()->kind, Import::Kind::qualified);
  EXPECT_EQ(elements.at(1).as<Import>()->alias.text, "C");
  EXPECT_EQ(elements.at(2).as<Import>()->kind, Import::Kind::wildcard);
  EXPECT_EQ(print(elements.at(2).as<Import>()->name), "A.B");
  EXPECT_EQ(elements.at(3).as<Import>()->members.size(), 2u);
}

TEST(ParseElement, ReadsExtendsWithModificationsAndBreaks) {
  const ParseResult result = read("model M extends A.B(x = 1, break c, break connect(a, b)) annotation(z = 1); end M;");
  const auto* extends = body_of(result).elements.at(0).as<Extends>();
  EXPECT_EQ(print(extends->base), "A.B");
  ASSERT_EQ(extends->modification->arguments.size(), 3u);
  EXPECT_EQ(extends->modification->arguments[1].inheritance_break->name.text, "c");
  EXPECT_TRUE(extends->modification->arguments[2].inheritance_break->connection);
  EXPECT_FALSE(extends->modification->arguments[2].is_plain());
  EXPECT_TRUE(extends->annotation->find("z"));
}

TEST(ParseElement, ReadsComponents) {
  const ParseResult result = read(
      "model M\n  parameter Real[2] a[3, :](each start = 1) = b \"text\" annotation(c = 1), d if e;\n"
      "  flow input discrete Integer i;\n  stream output .A.B o;\nend M;");
  const LongClass& body = body_of(result);
  const ComponentClause& first = component_of(body, 0);
  EXPECT_EQ(first.variability, Variability::parameter);
  EXPECT_EQ(first.dimensions.size(), 1u);
  ASSERT_EQ(first.components.size(), 2u);
  EXPECT_EQ(first.components[0].dimensions.size(), 2u);
  EXPECT_TRUE(first.components[0].modification->find("start")->is_each);
  EXPECT_EQ(print(first.components[0].modification->value), "b");
  EXPECT_EQ(first.components[0].description.text, "text");
  EXPECT_EQ(print(first.components[1].condition), "e");
  EXPECT_EQ(component_of(body, 1).role, ConnectorRole::flow);
  EXPECT_EQ(component_of(body, 1).direction, Direction::input);
  EXPECT_EQ(component_of(body, 1).variability, Variability::discrete);
  EXPECT_EQ(component_of(body, 2).role, ConnectorRole::stream);
  EXPECT_TRUE(component_of(body, 2).type.global);
}

TEST(ParseElement, ReadsPrefixesAndVisibility) {
  const ParseResult result = read(
      "model M Real a; protected final inner outer Real b; public redeclare replaceable Real c constrainedby D(e = 1) "
      "\"t\";"
      "replaceable package P = Q constrainedby R; end M;");
  const auto& elements = body_of(result).elements;
  EXPECT_FALSE(elements.at(0).is_protected);
  EXPECT_TRUE(elements.at(1).is_protected && elements.at(1).is_final && elements.at(1).is_inner &&
              elements.at(1).is_outer);
  EXPECT_TRUE(!elements.at(2).is_protected && elements.at(2).is_redeclare && elements.at(2).is_replaceable);
  EXPECT_EQ(print(elements.at(2).constraint->type), "D");
  EXPECT_EQ(elements.at(2).constraint->description.text, "t");
  EXPECT_EQ(print(elements.at(3).constraint->type), "R");
}

TEST(ParseElement, ProtectedDoesNotLeakOutOfANestedClass) {
  const ParseResult result = read("model M model N protected Real a; end N; Real b; end M;");
  EXPECT_FALSE(body_of(result).elements.at(1).is_protected);
}

TEST(ParseModification, ReadsNestedModificationsAndRedeclarations) {
  const ParseResult result = read(
      "model M A a(b(c = 1, final d = 2) = 3, e.f = 4 \"comment\", redeclare model X = Y(z = 1), "
      "redeclare each final parameter Real r = 5, replaceable Real s constrainedby T, redeclare replaceable B q, g = "
      "break); "
      "end M;");
  const Modification& modification = *component_of(body_of(result), 0).components[0].modification;
  ASSERT_EQ(modification.arguments.size(), 7u);
  const ModificationArgument& b = modification.arguments[0];
  EXPECT_TRUE(b.modification->find("d")->is_final);
  EXPECT_EQ(print(b.modification->value), "3");
  EXPECT_EQ(print(modification.arguments[1].name), "e.f");
  EXPECT_EQ(modification.arguments[1].comment, "comment");
  EXPECT_EQ(modification.arguments[2].class_definition->name.text, "X");
  EXPECT_TRUE(modification.arguments[3].is_each && modification.arguments[3].is_final);
  EXPECT_EQ(modification.arguments[3].component->variability, Variability::parameter);
  EXPECT_EQ(print(modification.arguments[4].constraint->type), "T");
  EXPECT_TRUE(modification.arguments[5].is_redeclare && modification.arguments[5].is_replaceable);
  EXPECT_TRUE(modification.arguments[6].modification->is_break);
}

TEST(ParseModification, AnnotationsOfAClassCanBeLookedUp) {
  const ParseResult result = read(
      "model M Real x; equation x = 1; annotation(experiment(StopTime = 10, Tolerance = 1e-6), __Vendor(flag)); end "
      "M;");
  const Modification* annotation = result.ast.root.classes[0]->description.annotation;
  ASSERT_TRUE(annotation);
  const Modification* experiment = annotation->find("experiment")->modification;
  EXPECT_EQ(print(experiment->find("StopTime")->modification->value), "10");
  EXPECT_EQ(experiment->find("Nothing"), nullptr);
  EXPECT_EQ(annotation->find("__Vendor")->modification->find("flag")->modification, nullptr);
}

TEST(ParseModification, DescriptionStringsAreJoined) {
  const ParseResult result = read("model M Real x \"a\" + \"b\\n\" + \"c\"; end M;");
  EXPECT_EQ(component_of(body_of(result), 0).components[0].description.text, "ab\nc");
}

}  // namespace
}  // namespace saltus::modelica
