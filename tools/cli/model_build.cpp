#include "tools/cli/model_build.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>

#include "compiler/cache.h"
#include "runtime/write_file.h"
#include "tools/cli/compiler_log.h"
#include "tools/cli/process.h"

namespace scry::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxBuilds = 3;
constexpr auto kKeptUnused = std::chrono::hours(24 * 30);

/// Tells one version of a library or compiler from another, without reading it.
std::string identify(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return path;
  return fmt::format("{} {} {}", path, size,
                     fs::last_write_time(path, error).time_since_epoch().count());
}

/// In the folder, for each model file: NAME-BASE.deps lists what it included when last built, and
/// NAME-KEY are its programs, where KEY is a digest of BASE and the texts of all of these. A
/// program thus never belongs to other texts than its name says, whoever else builds at the same
/// time.
class ModelBuilder {
 public:
  ModelBuilder(const std::string& file, const BuildConf& conf, std::string folder)
      : file_(file), conf_(conf), folder_(std::move(folder)) {
    // The file's name as given is in the program's messages, so it is part of its identity.
    std::vector<std::string> parts{file, fs::absolute(file).string(), conf.text,
                                   identify(conf.compiler)};
    for (const std::string& lib : conf.libs) parts.push_back(identify(lib));
    base_ = cache_key(parts);
  }

  std::string run() const {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (access(folder_.c_str(), W_OK) != 0) {
      throw Error(fmt::format("models cannot be built in {}: {}; set SCRY_CACHE to another folder",
                              folder_, std::strerror(errno)));
    }
    if (const std::optional<std::string> program = find()) {
      fs::last_write_time(*program, fs::file_time_type::clock::now(),
                          error);  // keeps it from prune()
      return *program;
    }
    fmt::print(stderr, "scry: building {} …\n", file_);
    prune();
    for (int attempt = 0; attempt < kMaxBuilds && !build(); ++attempt) {
    }
    if (const std::optional<std::string> program = find()) return *program;
    throw Error(fmt::format("{} changed while it was built; run the command again", file_));
  }

 private:
  std::string path(const std::string& key, const char* suffix = "") const {
    const std::string stem = fs::path(file_).stem().string().substr(0, 64);
    return fmt::format("{}/{}-{}{}", folder_, stem, key.substr(0, 32), suffix);
  }

  std::string program_for(const std::vector<std::string>& dependencies) const {
    std::vector<std::string> parts{base_};
    for (const std::string& file : dependencies) {
      parts.push_back(file);
      parts.push_back(read_text(file));
    }
    return path(cache_key(parts));
  }

  std::optional<std::string> find() const {
    try {
      const std::string program = program_for(parse_dependencies(read_text(path(base_, ".deps"))));
      if (access(program.c_str(), X_OK) == 0) return program;
    } catch (const Error&) {  // never built, or an included file is gone
    }
    return std::nullopt;
  }

  /// False if a source was saved during the build: it may or may not be in the program.
  bool build() const {
    const auto start = fs::file_time_type::clock::now();
    const std::string beside = path(base_, fmt::format(".{}.tmp", getpid()).c_str());
    const std::string rule_file = beside + ".deps";
    std::vector<std::string> command{conf_.compiler};
    command.insert(command.end(), conf_.flags.begin(), conf_.flags.end());
    // A model file's code runs once, to be traced; what must be fast is compiled from its graph.
    for (const char* flag : {"-O0", "-fdiagnostics-color=never", "-MMD", "-MT", "model", "-MF"}) {
      command.emplace_back(flag);
    }
    command.push_back(rule_file);
    for (const std::string& folder : conf_.include) command.push_back("-I" + folder);
    command.push_back(file_);
    command.insert(command.end(), conf_.libs.begin(), conf_.libs.end());
    command.insert(command.end(), {"-o", beside});

    const ProcessResult result = run_process(command);
    std::error_code ignored;
    if (result.exit_code != 0) {
      fs::remove(beside, ignored);
      fs::remove(rule_file, ignored);
      const std::string log = path(base_, ".log");
      write_file(log, fmt::format("{}\n\n{}", fmt::join(command, " "), result.output));
      throw BuildError(fmt::format("{} (full log: {})", first_error(result.output, file_), log));
    }
    const std::vector<std::string> dependencies = parse_dependencies(read_text(rule_file));
    for (const std::string& file : dependencies) {
      if (fs::last_write_time(file, ignored) <= start) continue;
      fs::remove(beside, ignored);
      fs::remove(rule_file, ignored);
      return false;
    }
    fs::rename(beside, program_for(dependencies));
    fs::rename(rule_file, path(base_, ".deps"));
    return true;
  }

  /// Every edit leaves a program behind: those unused for long are removed.
  void prune() const {
    std::error_code error;
    const auto oldest = fs::file_time_type::clock::now() - kKeptUnused;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
      if (entry.is_regular_file(error) && entry.last_write_time(error) < oldest) {
        fs::remove(entry.path(), error);
      }
    }
  }

  const std::string& file_;
  const BuildConf& conf_;
  std::string folder_, base_;
};

}  // namespace

std::string models_folder() {
  const std::string cache = default_cache_folder();
  return cache.empty() ? "" : (fs::path(cache) / "models").string();
}

std::string build_model(const std::string& file, const BuildConf& conf) {
  const std::string folder = models_folder();
  if (folder.empty()) throw Error("there is no folder to build models in: set SCRY_CACHE");
  return ModelBuilder(file, conf, folder).run();
}

void run_model(const std::string& file, const std::vector<std::string>& arguments) {
  const std::string program = build_model(file, read_build_conf());
  std::vector<char*> argv{const_cast<char*>(file.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  throw Error(fmt::format("{} cannot be run: {}", program, std::strerror(errno)));
}

}  // namespace scry::cli
