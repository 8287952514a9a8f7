#include "fmi/unit_definition.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <string>

namespace saltus {
namespace {

TEST(UnitDefinition, has_the_exponents_of_the_base_units) {
  const auto force = define_unit("kg.m/s2");
  ASSERT_TRUE(force);
  EXPECT_EQ(force->kg, 1);
  EXPECT_EQ(force->m, 1);
  EXPECT_EQ(force->s, -2);
  EXPECT_DOUBLE_EQ(force->factor, 1.0);
  const auto voltage = define_unit("V"), product = define_unit("Ohm.A");
  ASSERT_TRUE(voltage && product);
  EXPECT_EQ(voltage->kg, product->kg);
  EXPECT_EQ(voltage->m, product->m);
  EXPECT_EQ(voltage->s, product->s);
  EXPECT_EQ(voltage->A, product->A);
  EXPECT_EQ(define_unit("m/s/s")->s, -2);
  EXPECT_EQ(define_unit("1/(m.s)")->m, -1);
  EXPECT_EQ(define_unit("rad/s")->rad, 1);
}

TEST(UnitDefinition, has_factors_and_offsets) {
  EXPECT_DOUBLE_EQ(define_unit("mm")->factor, 1e-3);
  EXPECT_DOUBLE_EQ(define_unit("km/h")->factor, 1.0 / 3.6);
  EXPECT_DOUBLE_EQ(define_unit("mm2")->factor, 1e-6);
  EXPECT_DOUBLE_EQ(define_unit("kPa")->factor, 1e3);
  EXPECT_DOUBLE_EQ(define_unit("bar")->factor, 1e5);
  EXPECT_DOUBLE_EQ(define_unit("g")->factor, 1e-3);
  EXPECT_DOUBLE_EQ(define_unit("kg")->factor, 1.0);
  EXPECT_DOUBLE_EQ(define_unit("rpm")->factor, std::numbers::pi / 30.0);
  EXPECT_DOUBLE_EQ(define_unit("degC")->offset, 273.15);
  EXPECT_DOUBLE_EQ(define_unit("W/degC")->offset, 0.0);  // a difference of temperatures
  // 32 degF are 0 degC
  EXPECT_NEAR(define_unit("degF")->factor * 32.0 + define_unit("degF")->offset, 273.15, 1e-10);
}

TEST(UnitDefinition, is_empty_for_what_is_not_known) {
  for (const std::string& text : {std::string(), std::string("furlong"), std::string("m/"), std::string("m s"),
                                  std::string("(m"), std::string(1000, '('), std::string("m2.5")})
    EXPECT_FALSE(define_unit(text)) << text;
}

}  // namespace
}  // namespace saltus
