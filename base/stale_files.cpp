#include "base/stale_files.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

namespace scry {
namespace {

namespace fs = std::filesystem;

constexpr double kLongestPause = 3600;  // in seconds, of a folder that is in use

/// Takes the number of a process from the front of a name; none if there is no such number.
std::optional<pid_t> take_process(std::string_view& name) {
  pid_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  if (error != std::errc() || process <= 0 || name.front() == '0') return std::nullopt;
  name.remove_prefix(static_cast<size_t>(end - name.data()));
  return process;
}

bool is_random_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
}

/// The process that made a temporary of `target`, by its name; none if it is no such name.
std::optional<pid_t> maker_of(std::string_view name, std::string_view target) {
  constexpr std::string_view kSuffix = ".tmp";
  if (!name.starts_with(target) || !name.ends_with(kSuffix)) return std::nullopt;
  if (name.size() <= target.size() + kSuffix.size()) return std::nullopt;
  name.remove_prefix(target.size());
  name.remove_suffix(kSuffix.size());
  if (name.front() != '.') return std::nullopt;
  name.remove_prefix(1);
  const std::optional<pid_t> process = take_process(name);
  if (!process || name.empty()) return process;
  return name.front() == '.' && is_random_word(name.substr(1)) ? process : std::nullopt;
}

/// The process that made a folder named PREFIX-PID-RANDOM.
std::optional<pid_t> maker_of_folder(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  if (!name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  const std::optional<pid_t> process = take_process(name);
  return process && name.starts_with('-') && is_random_word(name.substr(1)) ? process
                                                                            : std::nullopt;
}

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
double seconds_on(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return seconds_of(now);
}

double age_of(const struct stat& file) {
  return seconds_on(CLOCK_REALTIME) - seconds_of(file.st_mtim);
}

struct Process {
  bool is_over;  ///< though its parent has not noticed yet
  double age;    ///< in seconds
};
/// None if it cannot be told.
std::optional<Process> find_process(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  double ticks = 0;
  if (!(fields >> ticks)) return std::nullopt;
  return Process{state == "Z" || state == "X",
                 seconds_on(CLOCK_BOOTTIME) - ticks / static_cast<double>(sysconf(_SC_CLK_TCK))};
}

/// Whether the process may still be writing the file: there is one of that number, and it is older
/// than the last write. (Numbers come again: in a container always the same ones.)
bool is_alive(pid_t process, const struct stat& file) {
  if (kill(process, 0) != 0 && errno == ESRCH) return false;
  const std::optional<Process> found = find_process(process);
  if (!found) return true;
  return !found->is_over && age_of(file) <= found->age + 0.1;
}

}  // namespace

void remove_stale_temporaries(const std::string& target) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(target, error), error);
  if (error || path.filename().empty()) return;
  const std::string name = path.filename().string();
  fs::directory_iterator entry(path.parent_path(), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::optional<pid_t> process = maker_of(entry->path().filename().native(), name);
    if (!process) continue;
    struct stat file {};
    if (lstat(entry->path().c_str(), &file) != 0 || !S_ISREG(file.st_mode)) continue;
    if (!is_alive(*process, file)) unlink(entry->path().c_str());
  }
}

std::string make_temporary_folder(const std::string& parent, const std::string& prefix) {
  std::string path =
      (fs::path(parent) / (prefix + "-" + std::to_string(getpid()) + "-XXXXXX")).string();
  return mkdtemp(path.data()) == nullptr ? "" : path;
}

void remove_stale_folders(const std::string& parent, const std::string& prefix) {
  std::error_code error, ignored;
  fs::directory_iterator entry(parent, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto process = maker_of_folder(entry->path().filename().native(), prefix);
    if (!process) continue;
    struct stat folder {};
    if (lstat(entry->path().c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode)) continue;
    if (folder.st_uid != geteuid() || age_of(folder) < kLongestPause) continue;
    if (!is_alive(*process, folder)) fs::remove_all(entry->path(), ignored);
  }
}

}  // namespace scry
