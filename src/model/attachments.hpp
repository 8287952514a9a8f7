// What other layers have made of a compiled model, kept with its code.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace saltus {

/// For any number of threads. Two that ask for the same at the same time may both make it; one of them is kept.
class Attachments {
 public:
  using Thing = std::shared_ptr<void>;

  Thing get(const std::vector<double>& key, const std::function<Thing()>& make) {
    constexpr std::size_t most = 64;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = things_.find(key); found != things_.end()) return found->second;
    }
    Thing made = make();
    const std::lock_guard lock(mutex_);
    if (things_.size() >= most) return made;
    return things_.try_emplace(key, std::move(made)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<double>, Thing> things_;
};

}  // namespace saltus
