// Members in processes of their own: what becomes of members that crash, hang or are ended by the system.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <saltus/base/error.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "study/models.hpp"

namespace saltus {
namespace {

/// der(x) = -x, by a function that misbehaves for some values of a.
Model foreign(const std::function<void(double a)>& misbehave) {
  Model m("foreign");
  const Expr a = m.parameter("a", 0.0), x = m.variable("x", 1.0, {.fixed = true});
  const auto slope = std::make_shared<ExternalFunction>(
      ExternalFunction{.name = "slope",
                       .inputs = 2,
                       .outputs = 1,
                       .values = [misbehave](std::span<const double> in, std::span<double> out) {
                         misbehave(in[1]);
                         out[0] = -in[0];
                       }});
  const std::vector<Expr> arguments{x, a};
  m.equation(der(x) == call(slope, arguments)[0]);
  return m;
}

StudyPlan plan(std::int64_t members) {
  return {.axes = {{"a", 0.0, static_cast<double>(members - 1), members}},
          .simulate = {.stop = 1.0, .method = Method::dopri5},
          .collect = {{Collect::final_value, "x"}}};
}

StudyResult in_processes(const Model& model, const StudyPlan& plan, int processes = 3, std::int64_t block = 0) {
  return run_study(model, plan, {.block = block, .executor = make_process_executor(processes)});
}

TEST(Processes, GiveTheBitsOfThreads) {
  const StudyPlan impacts = testing::impact_plan(40);
  const StudyResult threads = run_study(testing::impact_oscillator(), impacts, {.threads = 2});
  for (const int processes : {1, 3})
    EXPECT_EQ(testing::bits(in_processes(testing::impact_oscillator(), impacts, processes, 16)),
              testing::bits(threads));
  // members that follow each other, and some that fail
  StudyPlan following = testing::impact_plan(10);
  following.follow = Follow::both;
  following.simulate.max_steps = 150;
  EXPECT_EQ(testing::bits(in_processes(testing::impact_oscillator(), following)),
            testing::bits(run_study(testing::impact_oscillator(), following, {.threads = 1})));
}

TEST(Processes, RecordMembersThatCrashOrAreKilled) {
  const Model model = foreign([](double a) {
    if (a == 3.0) ::raise(SIGKILL);
    if (a == 7.0) ::raise(SIGSEGV);
    if (a == 8.0) ::_exit(5);
  });
  const StudyResult result = in_processes(model, plan(14), 2, 6);
  const std::vector<double> status = result.values("status"), x = result.values("final(x)");
  for (std::size_t k = 0; k < status.size(); ++k) {
    const bool killed = k == 3 || k == 7 || k == 8;
    EXPECT_EQ(status[k], killed ? member_killed : 0.0) << k;
    if (!killed)
      EXPECT_NEAR(x[k], std::exp(-1.0), 1e-5) << k;
    else
      EXPECT_TRUE(std::isnan(x[k])) << k;
  }
  const auto failures = result.failures(10);
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_NE(failures[0].message.find("ended by signal 9"), std::string::npos) << failures[0].message;
  EXPECT_NE(failures[1].message.find("ended by signal 11"), std::string::npos) << failures[1].message;
  EXPECT_NE(failures[2].message.find("ended with code 5"), std::string::npos) << failures[2].message;
  EXPECT_EQ(member_status_text(member_killed), "killed");
}

// Functions of others are called by native code, which exceptions do not pass: the reason is lost, not the failure.
TEST(Processes, RecordMembersThatFindNoMemory) {
  const Model model = foreign([](double a) {
    if (a == 2.0) std::vector<char> all(std::size_t{1} << 46, 'x');
  });
  for (const bool processes : {false, true}) {
    StudyOptions options{.threads = 2};
    if (processes) options.executor = make_process_executor(2);
    const StudyResult result = run_study(model, plan(5), options);
    const auto not_finite = static_cast<double>(StatusCode::not_finite);
    EXPECT_EQ(result.values("status"), (std::vector<double>{0.0, 0.0, not_finite, 0.0, 0.0}));
    EXPECT_TRUE(std::isnan(result.values("final(x)")[2]));
    EXPECT_EQ(result.failures(9).size(), 1u);
  }
}

// A function that never returns: no clock inside of the process can help.
TEST(Processes, EndMembersThatHang) {
  const Model model = foreign([](double a) {
    while (a == 2.0) ::usleep(1000);
  });
  StudyPlan limited = plan(5);
  limited.member_seconds = 0.2;
  const auto began = std::chrono::steady_clock::now();
  const StudyResult result = in_processes(model, limited);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
  EXPECT_LT(passed.count(), 60.0);
  EXPECT_EQ(result.values("status"), (std::vector<double>{0.0, 0.0, member_out_of_time, 0.0, 0.0}));
  EXPECT_NE(result.failures(1).front().message.find("not ended after 0.2 s"), std::string::npos);
}

// The system may end any process to get memory: a member that is lost once is run again, with its neighbours where
// these follow each other.
TEST(Processes, RepeatMembersThatWereLostOnce) {
  auto* const lost = static_cast<std::atomic<int>*>(
      ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(lost, MAP_FAILED);
  for (const Follow follow : {Follow::none, Follow::up}) {
    StudyPlan members = plan(6);
    members.follow = follow;
    const StudyResult undisturbed = run_study(foreign([](double) {}), members, {.threads = 1});
    new (lost) std::atomic<int>(0);
    const Model model = foreign([lost](double a) {
      if (a == 4.0 && lost->fetch_add(1) == 0) ::raise(SIGKILL);
    });
    EXPECT_EQ(testing::bits(in_processes(model, members)), testing::bits(undisturbed));
    EXPECT_GT(lost->load(), 0);
  }
  ::munmap(lost, sizeof(std::atomic<int>));
}

TEST(Processes, StopWhenTheyAreAsked) {
  const Model model = foreign([](double) { ::usleep(20'000); });
  StudyOptions options{.executor = make_process_executor(2)};
  options.progress = [](const StudyProgress& p) { return p.done < 3; };
  const StudyResult result = run_study(model, plan(5000), options);
  EXPECT_EQ(result.members_done(), 0);
}

}  // namespace
}  // namespace saltus
