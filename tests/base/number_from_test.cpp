#include "base/number_from.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <charconv>
#include <clocale>
#include <cmath>
#include <limits>
#include <string>

namespace saltus {
namespace {

using Reader = std::errc (*)(std::string_view, double&);

class NumberFrom : public testing::TestWithParam<Reader> {};
INSTANTIATE_TEST_SUITE_P(Both, NumberFrom, testing::Values(&number_from, &number_by_strtod));

TEST_P(NumberFrom, ReadsNumbersCorrectlyRounded) {
  const std::pair<const char*, double> known[] = {{"0", 0.0},
                                                  {"12", 12.0},
                                                  {"-1.5", -1.5},
                                                  {".25", 0.25},
                                                  {"3.", 3.0},
                                                  {"1e3", 1000.0},
                                                  {"2E-2", 0.02},
                                                  {"1e+2", 100.0},
                                                  {"1.7976931348623157e308", std::numeric_limits<double>::max()},
                                                  {"5e-324", std::numeric_limits<double>::denorm_min()},
                                                  {"0e-999999", 0.0},
                                                  // half between two numbers, and a digit more
                                                  {"9007199254740993", 9007199254740992.0},
                                                  {"9007199254740993.0000000000000000001", 9007199254740994.0}};
  for (const auto& [text, number] : known) {
    double value = 7.0;
    EXPECT_EQ(GetParam()(text, value), std::errc()) << text;
    EXPECT_EQ(value, number) << text;
  }
  double value = 7.0;
  EXPECT_EQ(GetParam()("-0.0", value), std::errc());
  EXPECT_TRUE(value == 0.0 && std::signbit(value));
}

TEST_P(NumberFrom, LeavesTheValueWhereTheTextIsNoNumber) {
  for (const char* text : {"", " 1", "1 ", "+1", "0x10", "1e", "1e+", ".", "-", "e5", "1,5", "1.2.3", "inf", "nan",
                           "-infinity", "1d3", "--1"}) {
    double value = 7.0;
    EXPECT_EQ(GetParam()(text, value), std::errc::invalid_argument) << text;
    EXPECT_EQ(value, 7.0) << text;
  }
}

TEST_P(NumberFrom, LeavesTheValueWhereTheNumberIsOutOfRange) {
  for (const char* text : {"1e309", "-1e400", "1.7976931348623159e308", "1e-400", "-2e-324"}) {
    double value = 7.0;
    EXPECT_EQ(GetParam()(text, value), std::errc::result_out_of_range) << text;
    EXPECT_EQ(value, 7.0) << text;
  }
}

TEST_P(NumberFrom, DoesNotDependOnTheLocale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  const bool comma = std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr;
  double value = 0.0;
  const std::errc problem = GetParam()("1.5", value);
  std::setlocale(LC_NUMERIC, before.c_str());
  EXPECT_EQ(problem, std::errc());
  EXPECT_EQ(value, 1.5);
  if (!comma) GTEST_SKIP() << "this system has no locale with a decimal comma";
}

RC_GTEST_PROP(NumberFromText, BothReadersAgreeOnAnyTextOfTheSigns, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789..eE-+x ")));
  double one = 7.0, other = 7.0;
  RC_ASSERT(number_from(text, one) == number_by_strtod(text, other));
  RC_ASSERT(one == other);
}

RC_GTEST_PROP(NumberFromText, WrittenNumbersAreReadBack, (double number)) {
  char digits[40];
  const auto written = std::to_chars(digits, digits + sizeof digits, number);
  double one = 7.0, other = 7.0;
  const std::string_view text(digits, static_cast<std::size_t>(written.ptr - digits));
  RC_ASSERT(number_from(text, one) == std::errc() && number_by_strtod(text, other) == std::errc());
  RC_ASSERT(one == number && other == number);
}

}  // namespace
}  // namespace saltus
