#include "tools/cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace scry::cli {
namespace {

constexpr int kWidth = 30;

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

std::string format_time(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", std::ceil(seconds));
  const auto minutes = static_cast<int64_t>(seconds / 60);
  return minutes < 60 ? fmt::format("{} min", minutes)
                      : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace

std::string format_progress(size_t done, size_t total, const std::string& noun, double seconds) {
  const double part = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  const auto filled = static_cast<int>(part * kWidth);
  std::string text =
      fmt::format("[{}{}] {:>{}} of {} {}", std::string(static_cast<size_t>(filled), '='),
                  std::string(static_cast<size_t>(kWidth - filled), ' '), done,
                  std::to_string(total).size(), total, noun);
  if (part > 0 && part < 1) text += fmt::format(", {} left", format_time(seconds * (1 / part - 1)));
  return text;
}

ProgressBar::ProgressBar(std::string noun, size_t total)
    : noun_(std::move(noun)), total_(total), on_(is_terminal()) {}

ProgressBar::~ProgressBar() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::show(size_t done) {
  const Clock::time_point now = Clock::now();
  if (!on_ || (shown_ && now - last_ < std::chrono::milliseconds(100))) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (seconds < 0.3) return;  // a short run needs none
  fmt::print(stderr, "\r{}\033[K", format_progress(done, total_, noun_, seconds));
  std::fflush(stderr);
  last_ = now;
  shown_ = true;
}

}  // namespace scry::cli
