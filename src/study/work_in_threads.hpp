// Threads that run the members of a block.
#pragma once

#include <saltus/study/run_study.hpp>

#include <functional>
#include <vector>

namespace saltus {

/// Runs `work(failures)` in so many threads, reports meanwhile, and adds their failures to the result, in order.
/// Rethrows what one of them throws.
void work_in_threads(int threads, BlockResult& result, StudyMonitor& monitor,
                     const std::function<void(std::vector<MemberFailure>&)>& work);

/// The number of threads that is meant: 0 is as many as the machine has.
int number_of_threads(int wanted);

}  // namespace saltus
