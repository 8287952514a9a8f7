// Who evaluates the model for those who read a result.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hybrid/consistency.hpp"

namespace saltus {

/// Lends a hybrid system to each reader, in any number of threads. Nothing that one of them reads is changed by
/// another.
class ResultReaders {
 public:
  explicit ResultReaders(std::shared_ptr<HybridSystem> system) : system_(std::move(system)) {
    if (auto own = system_->instance()) {
      system_ = std::move(own);
      independent_ = true;
    }
  }

  /// For names and texts.
  const HybridSystem& system() const { return *system_; }

  /// Calls `read` with a system that no other reader uses meanwhile, and with what is known about its modes.
  template <class Read>
  void with_system(Read&& read) {
    if (!independent_) {  // there is one system: its readers wait for each other
      const std::lock_guard lock(mutex_);
      return read(*system_, consistency_);
    }
    Reader reader = borrow();
    read(*reader.system, reader.consistency);
    give_back(std::move(reader));
  }

 private:
  struct Reader {
    std::unique_ptr<HybridSystem> system;
    Consistency consistency = {};
    int reads = 0;
  };

  Reader borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Reader reader = std::move(idle_.back());
        idle_.pop_back();
        return reader;
      }
    }
    return {system_->instance()};
  }

  /// A reader keeps the systems of all modes that it has met. Now and then it is replaced, or a long result would be in
  /// memory twice.
  void give_back(Reader reader) {
    constexpr int enough = 10000;
    if (++reader.reads >= enough) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(reader));
  }

  std::shared_ptr<HybridSystem> system_;
  bool independent_ = false;  // system_ makes as many others as are needed, and is not evaluated itself
  Consistency consistency_;   // of that one, otherwise
  std::mutex mutex_;
  std::vector<Reader> idle_;
};

}  // namespace saltus
