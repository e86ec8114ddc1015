#include "tools/cli/progress_bar.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace scry::cli {
namespace {

constexpr size_t kMaxBar = 30, kMinBar = 8;

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

/// A line that fills the last column would be broken.
size_t columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return (known ? size.ws_col : 80U) - 1U;
}

std::string format_time(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", std::ceil(seconds));
  const auto minutes = static_cast<int64_t>(seconds / 60);
  return minutes < 60 ? fmt::format("{} min", minutes)
                      : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace

std::string format_progress(const Progress& progress, const std::string& noun, double seconds,
                            size_t width) {
  const auto [done, total, heading, details, given_part] = progress;
  const double counted = total == 0 ? NAN : static_cast<double>(done) / static_cast<double>(total);
  const double part = std::isnan(given_part) ? counted : given_part;
  const double filled = total == 0 ? part : counted;
  const std::string before = heading.empty() ? "" : heading + " ";
  const std::string count =
      total == 0 ? fmt::format(" {} {}", done, noun)
                 : fmt::format(" {:>{}} of {} {}", done, std::to_string(total).size(), total, noun);
  const std::string left =
      part > 0 && part < 1 ? fmt::format(", {} left", format_time(seconds * (1 / part - 1))) : "";
  if (std::isnan(filled)) return before + count.substr(1);
  std::string text;
  size_t bar = 0;
  for (size_t first = 0; first <= details.size(); ++first) {
    text = count;
    for (const std::string& detail : std::span(details).subspan(first)) text += ", " + detail;
    text += left;
    const size_t others = before.size() + text.size() + 2;
    bar = std::clamp(others < width ? width - others : 0, kMinBar, kMaxBar);
    if (others + bar <= width) break;
  }
  const auto num_full = static_cast<size_t>(filled * static_cast<double>(bar));
  return fmt::format("{}[{:=<{}}{: <{}}]{}", before, "", num_full, "", bar - num_full, text);
}

ProgressBar::ProgressBar(std::string noun) : noun_(std::move(noun)), on_(is_terminal()) {}

bool ProgressBar::is_due() const {
  const Clock::time_point now = Clock::now();
  return on_ && now - start_ > std::chrono::milliseconds(300) &&  // a short run needs none
         (!shown_ || now - last_ >= std::chrono::milliseconds(100));
}

void ProgressBar::show(const Progress& progress) {
  if (!is_due()) return;
  last_ = Clock::now();
  const double seconds = std::chrono::duration<double>(last_ - start_).count();
  // A terminal that is gone is no reason to stop.
  std::fputs(
      fmt::format("\r{}\033[K", format_progress(progress, noun_, seconds, columns())).c_str(),
      stderr);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressBar::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace scry::cli
