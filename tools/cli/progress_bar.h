// How far a command is, on a terminal.
#pragma once
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace scry::cli {

/// What a bar shows.
struct Progress {
  size_t done = 0, total = 0;             ///< the total is 0 if it is not known
  std::string heading = {};               ///< before the bar, such as "epoch 2/20"
  std::vector<std::string> details = {};  ///< after it; where there is little room the first go
  /// Of all that there is to do, which says how long it will take; NaN: done / total. Where neither
  /// is known, there is a count and no bar.
  double part = NAN;
};

/// A line on standard error that is written over, and gone when it is done. Nothing is written
/// where standard error is no terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::string noun);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Whether show would write, so that what it shows need not be made in vain.
  bool is_due() const;
  void show(const Progress& progress);
  /// Takes the line away, so that others can be written; the next show brings it back.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string noun_;
  bool on_;
  Clock::time_point start_ = Clock::now(), last_;
  bool shown_ = false;
};

/// "epoch 2/20 [=====     ] 120 of 240 updates, loss 4.21, 3 s left", in at most `width` columns if
/// the bar can be made so short and details left out.
std::string format_progress(const Progress& progress, const std::string& noun, double seconds,
                            size_t width = 200);

}  // namespace scry::cli
