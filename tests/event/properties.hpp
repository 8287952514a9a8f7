// Running a property more often than RapidCheck's default.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>

namespace saltus::testing {

/// Checks a property for `cases` random inputs from a fixed seed.
template <class Property>
void check_property(int cases, Property&& property) {
  rc::detail::TestParams params;
  params.seed = 20240229;
  params.maxSuccess = cases;
  const auto result = rc::detail::checkTestable(std::forward<Property>(property), rc::detail::TestMetadata(), params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  ASSERT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
  EXPECT_EQ(result.template get<rc::detail::SuccessResult>().numSuccess, cases);
}

/// A whole number in [low, high), over the whole range from the first case on.
inline std::int64_t number_in(std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high));
}

/// A number in [low, high] on a grid fine enough to look real; shrinks towards low.
inline double real_in(double low, double high) {
  return low + (high - low) * static_cast<double>(number_in(0, (std::int64_t{1} << 40) + 1)) / 0x1p40;
}

}  // namespace saltus::testing
