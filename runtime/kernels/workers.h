// A team of threads.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace scry {

/// Threads that share out numbered tasks. The caller is worker 0.
class Workers {
 public:
  /// 0: as many as the machine has cores. Where the system refuses so many threads, those that
  /// could be started: see size().
  explicit Workers(int count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  /// Calls run(worker, i) once for each i below `count`, in any order, and returns when all are
  /// done. If one throws, no further ones start, and its exception is thrown here. Not for use
  /// inside `run`.
  void for_each(int64_t count, const std::function<void(int worker, int64_t i)>& run);

 private:
  void work(int worker);
  void take_tasks(int worker, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(int, int64_t)>* run_ = nullptr;
  int64_t next_ = 0, count_ = 0;
  int num_busy_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

}  // namespace scry
