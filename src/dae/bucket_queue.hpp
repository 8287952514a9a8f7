// A priority queue for small integer keys that never fall below the last key taken (Dial).
#pragma once

#include <cstddef>
#include <vector>

namespace saltus {

class BucketQueue {
 public:
  void clear() {
    for (std::size_t k = current_; k < used_; ++k) buckets_[k].clear();
    current_ = used_ = size_ = 0;
  }
  bool empty() const { return size_ == 0; }
  void push(int key, int item) {
    const auto k = static_cast<std::size_t>(key);
    if (k >= buckets_.size()) buckets_.resize(k + 1);
    if (k >= used_) used_ = k + 1;
    buckets_[k].push_back(item);
    ++size_;
  }
  /// The smallest key; the queue must not be empty.
  int key() {
    while (buckets_[current_].empty()) ++current_;
    return static_cast<int>(current_);
  }
  /// Removes an item with the smallest key.
  int pop() {
    key();
    const int item = buckets_[current_].back();
    buckets_[current_].pop_back();
    --size_;
    return item;
  }

 private:
  std::vector<std::vector<int>> buckets_;
  std::size_t current_ = 0, used_ = 0, size_ = 0;
};

}  // namespace saltus
