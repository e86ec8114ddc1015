// How far a command is, on a terminal.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>

namespace scry::cli {

/// A line on standard error that is written over, and gone when it is done. Nothing is written
/// where standard error is no terminal.
class ProgressBar {
 public:
  ProgressBar(std::string noun, size_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(size_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string noun_;
  size_t total_;
  bool on_;
  Clock::time_point start_ = Clock::now(), last_;
  bool shown_ = false;
};

/// "[=====     ]  120 of 240 sequences, 3 s left".
std::string format_progress(size_t done, size_t total, const std::string& noun, double seconds);

}  // namespace scry::cli
