#include <gtest/gtest.h>
#include <saltus/modelica/diagnostic.hpp>

#include <string>

#include "modelica/source.hpp"

namespace saltus {
namespace {

using modelica::SourceText;

Diagnostic error_at(const SourceText& source, std::uint32_t begin, std::uint32_t end) {
  return source.diagnose(Severity::error, {begin, end, 0}, "wrong");
}

TEST(Diagnostic, ShowsPlaceMessageLineUnderlineAndHint) {
  const SourceText source("one\ntwo three\n", "a.mo");
  EXPECT_EQ(render(source.diagnose(Severity::warning, {8, 13, 0}, "not nice", "write it differently")),
            "a.mo:2:5: warning: not nice\n"
            "  two three\n"
            "      ^~~~~\n"
            "hint: write it differently\n");
}

TEST(Diagnostic, CountsCharactersNotBytes) {
  const SourceText source("\"\xC3\xA4\xC3\xB6\" x", "a.mo");
  const Diagnostic diagnostic = error_at(source, 7, 8);
  EXPECT_EQ(diagnostic.where.column, 6);
  EXPECT_EQ(render(diagnostic), "a.mo:1:6: error: wrong\n  \"\xC3\xA4\xC3\xB6\" x\n       ^\n");
}

TEST(Diagnostic, RepeatsTabsSoThatTheCaretStandsBelowItsPlace) {
  const SourceText source("\t\tx y", "a.mo");
  EXPECT_EQ(render(error_at(source, 4, 5)), "a.mo:1:5: error: wrong\n  \t\tx y\n  \t\t  ^\n");
}

TEST(Diagnostic, UnderlinesOnlyTheFirstOfSeveralLines) {
  const SourceText source("ab cd\nef", "a.mo");
  EXPECT_EQ(render(error_at(source, 3, 8)), "a.mo:1:4: error: wrong\n  ab cd\n     ^~\n");
}

TEST(Diagnostic, ShowsOnlyAPartOfAVeryLongLine) {
  const SourceText source(std::string(5000, 'a') + "!" + std::string(5000, 'b'), "a.mo");
  const Diagnostic diagnostic = error_at(source, 5000, 5001);
  EXPECT_EQ(diagnostic.where.column, 5001);
  EXPECT_LT(diagnostic.source_line.size(), 200u);
  EXPECT_EQ(diagnostic.source_line.at(static_cast<std::size_t>(diagnostic.caret)), '!');
}

// Bytes that go on with a character, where no character has begun.
TEST(Diagnostic, ShowsAPartOfALongLineThatIsNoUtf8) {
  for (const std::size_t size : {100u, 200u, 300u}) {
    const std::string line = "x = 2" + std::string(size, '\x8a') + "*y";
    const SourceText source(line, "a.mo");
    const auto end = static_cast<std::uint32_t>(line.size());
    for (std::uint32_t place = 0; place < end; ++place) {
      const Diagnostic shown = error_at(source, place, place + 1);
      EXPECT_LE(shown.source_line.size(), 180u) << place;
    }
  }
}

TEST(Diagnostic, DoesNotPassControlCharactersToTheTerminal) {
  const SourceText source("a \x1B[31m b", "a.mo");
  EXPECT_EQ(render(error_at(source, 0, 1)), "a.mo:1:1: error: wrong\n  a ?[31m b\n  ^\n");
}

TEST(SourceText, LinesEndWithLfCrlfOrCr) {
  const SourceText source("a\r\nb\nc\rd", "a.mo");
  EXPECT_EQ(source.line(1), "a");
  EXPECT_EQ(source.line(2), "b");
  EXPECT_EQ(source.line(3), "c");
  EXPECT_EQ(source.line(4), "d");
  EXPECT_EQ(source.position(3).line, 2);
  EXPECT_EQ(source.position(7).line, 4);
  EXPECT_EQ(source.position(7).column, 1);
}

TEST(Diagnostics, KeepsNoMoreErrorsThanItsLimitButCountsThem) {
  const SourceText source(std::string(100, 'x'), "a.mo");
  Diagnostics diagnostics(3);
  for (std::uint32_t i = 0; i < 10; ++i) diagnostics.add(error_at(source, i, i + 1));
  EXPECT_EQ(diagnostics.items().size(), 3u);
  EXPECT_EQ(diagnostics.error_count(), 10u);
  EXPECT_TRUE(diagnostics.full());
  EXPECT_TRUE(diagnostics.render().ends_with("... and 7 more errors\n"));
}

TEST(Diagnostics, DropsASecondErrorAtTheSamePlace) {
  const SourceText source("xy", "a.mo");
  Diagnostics diagnostics;
  diagnostics.add(error_at(source, 1, 2));
  diagnostics.add(error_at(source, 1, 2));
  EXPECT_EQ(diagnostics.error_count(), 1u);
}

TEST(Diagnostics, SortsByPlaceAndKeepsNotesBehindTheirError) {
  const SourceText source("one two three", "a.mo");
  Diagnostics diagnostics;
  diagnostics.add(source.diagnose(Severity::error, {8, 13, 0}, "second"));
  diagnostics.add(source.diagnose(Severity::note, {0, 3, 0}, "note of the second"));
  diagnostics.add(source.diagnose(Severity::error, {4, 7, 0}, "first"));
  diagnostics.sort();
  EXPECT_EQ(diagnostics.items().at(0).message, "first");
  EXPECT_EQ(diagnostics.items().at(1).message, "second");
  EXPECT_EQ(diagnostics.items().at(2).message, "note of the second");
}

TEST(Diagnostics, WarningsAreNoErrors) {
  const SourceText source("x", "a.mo");
  Diagnostics diagnostics;
  diagnostics.add(source.diagnose(Severity::warning, {0, 1, 0}, "hm"));
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_FALSE(diagnostics.empty());
}

TEST(ModelicaError, IsAModelErrorWithTheRenderedTextAndThePlaceOfTheFirstError) {
  const SourceText source("one\ntwo", "a.mo");
  Diagnostics diagnostics;
  diagnostics.add(source.diagnose(Severity::warning, {0, 3, 0}, "hm"));
  diagnostics.add(error_at(source, 4, 7));
  try {
    throw ModelicaError(diagnostics);
  } catch (const ModelError& error) {
    EXPECT_EQ(std::string(error.what()), diagnostics.render());
    EXPECT_EQ(error.where().line, 2);
  }
}

}  // namespace
}  // namespace saltus
