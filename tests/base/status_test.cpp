#include <gtest/gtest.h>
#include <saltus/base/status.hpp>

namespace saltus {
namespace {

TEST(Status, OnlySuccessAndTerminatedAreOk) {
  EXPECT_TRUE(Status{}.ok());
  EXPECT_TRUE((Status{.code = StatusCode::terminated}.ok()));
  for (int code = static_cast<int>(StatusCode::cancelled); code <= static_cast<int>(StatusCode::equation_violated);
       ++code)
    EXPECT_FALSE((Status{.code = static_cast<StatusCode>(code)}.ok()));
}

TEST(Status, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(StatusCode::equation_violated); ++code)
    EXPECT_NE(to_string(static_cast<StatusCode>(code)), "unknown");
}

TEST(Status, EveryCodeIsListedAndExplained) {
  int next = 0;
  for (const StatusCode code : all_status_codes) {
    EXPECT_EQ(static_cast<int>(code), next++);
    EXPECT_FALSE(explain(code).meaning.empty());
    EXPECT_EQ(explain(code).advice.empty(), Status{.code = code}.ok()) << to_string(code);
  }
  EXPECT_EQ(next, static_cast<int>(StatusCode::equation_violated) + 1);
}

}  // namespace
}  // namespace saltus
