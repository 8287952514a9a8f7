// Generators of random numbers of the standard library: the 1000th states and numbers come from a program of its own,
// in integers of any length. The hash values are those of the documentation of the library.
#include <gtest/gtest.h>

#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

std::string generator(const std::string& c_function, int size) {
  const std::string n = std::to_string(size);
  return "function random\n  input Integer s[" + n + "];\n  output Real r;\n  output Integer t[" + n +
         "];\n  external \"C\" " + c_function +
         "(s, t, r);\nend random;\n"
         "function many\n  input Integer first[" +
         n + "];\n  output Real r;\n  output Integer s[" + n +
         "];\nalgorithm\n  s := first;\n  for k in 1:1000 loop\n    (r, s) := random(s);\n  end for;\nend many;\n";
}

std::string model(const std::string& start, int size) {
  const std::string n = std::to_string(size);
  return "model M\n  parameter Integer start[" + n + "] = " + start + ";\n  Integer known[" + n + "], s[" + n +
         "](start = start, each fixed = true);\n  Real number, r;\nequation\n  (number, known) = many(start);\n"
         "  when sample(0, 1) then\n    (r, s) = random(pre(s));\n  end when;\nend M;\n";
}

void expect_thousandth(const std::string& text, int size, double first, double last, double number) {
  const auto r = run_text(text, 999.5);
  const std::string end = "[" + std::to_string(size) + "]";
  EXPECT_EQ(r.at(999.5, "known[1]"), first);
  EXPECT_EQ(r.at(999.5, "known" + end), last);
  EXPECT_EQ(r.at(999.5, "number"), number);
  EXPECT_EQ(r.at(999.5, "s[1]"), first);
  EXPECT_EQ(r.at(999.5, "s" + end), last);
  EXPECT_EQ(r.at(999.5, "r"), number);
}

TEST(RandomNumbers, HaveTheBitsOfXorshift64Star) {
  expect_thousandth(generator("ModelicaRandom_xorshift64star", 2) + model("{126247697, -7}", 2), 2, 1936546104,
                    1620121672, 0.8772139717943238);
}

TEST(RandomNumbers, HaveTheBitsOfXorshift128Plus) {
  expect_thousandth(generator("ModelicaRandom_xorshift128plus", 4) + model("{1, -2, 3, -4}", 4), 4, -1221000690,
                    -1934690124, 0.04954485328113939);
}

TEST(RandomNumbers, HaveTheBitsOfXorshift1024Star) {
  expect_thousandth(
      generator("ModelicaRandom_xorshift1024star", 33) + model("cat(1, {k*k*1000003 - 5 for k in 0:31}, {14})", 33), 33,
      -492009443, 6, 0.5431362186033097);
}

TEST(RandomNumbers, StatesOfAnotherSizeAreRefused) {
  EXPECT_NE(load_errors(generator("ModelicaRandom_xorshift64star", 3) + model("{1, 2, 3}", 3))
                .find("the state of 'ModelicaRandom_xorshift64star' is of type Integer[3], not Integer[2]"),
            std::string::npos);
}

TEST(RandomNumbers, TextsHaveTheHashValuesOfTheLibrary) {
  const auto r = run_text(
      "function hash\n  input String s;\n  output Integer h;\n  external \"C\" h = ModelicaStrings_hashString(s);\nend "
      "hash;\nmodel M\n  Integer a = hash(\"this is a test\"), b = hash(\"Controller.noise1\");\nend M;\n",
      1.0);
  EXPECT_EQ(r.at(1.0, "a"), 1827717433.0);
  EXPECT_EQ(r.at(1.0, "b"), -1025762750.0);
}

}  // namespace
}  // namespace saltus
