#include "runtime/kernels/workers.h"

#include <algorithm>
#include <utility>

namespace scry {

Workers::Workers(int count) {
  if (count <= 0) count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  try {
    for (int worker = 1; worker < count; ++worker)
      threads_.emplace_back([this, worker] { work(worker); });
  } catch (const std::exception&) {  // those that could be started will do
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::work(int worker) {
  std::unique_lock lock(mutex_);
  while (true) {
    begin_.wait(lock, [this] { return stop_ || next_ < count_; });
    if (stop_) return;
    take_tasks(worker, lock);
  }
}

void Workers::take_tasks(int worker, std::unique_lock<std::mutex>& lock) {
  ++num_busy_;
  while (next_ < count_) {
    const int64_t task = next_++;
    lock.unlock();
    std::exception_ptr error;
    try {
      (*run_)(worker, task);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      if (!error_) error_ = error;
      count_ = next_;  // no further ones
    }
  }
  if (--num_busy_ == 0) end_.notify_all();
}

void Workers::for_each(int64_t count, const std::function<void(int, int64_t)>& run) {
  if (threads_.empty() || count == 1) {
    for (int64_t i = 0; i < count; ++i) run(0, i);
    return;
  }
  std::unique_lock lock(mutex_);
  run_ = &run;
  next_ = 0;
  count_ = count;
  begin_.notify_all();
  take_tasks(0, lock);
  end_.wait(lock, [this] { return num_busy_ == 0; });
  next_ = count_ = 0;
  run_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace scry
