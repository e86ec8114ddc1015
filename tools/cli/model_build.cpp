#include "tools/cli/model_build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/own_folder.h"
#include "base/stale_files.h"
#include "compiler/cache.h"
#include "compiler/cache_prune.h"
#include "tools/cli/compiler_log.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process.h"
#include "tools/cli/sealed.h"

namespace scry::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxBuilds = 3;

/// Tells one version of a library or compiler from another, without reading it.
std::string identify(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return path;
  return fmt::format("{} {} {}", path, size,
                     fs::last_write_time(path, error).time_since_epoch().count());
}

/// A folder of this process alone, removed with all in it at the end of the scope; or, if the
/// process was killed, by a later build.
class BuildFolder {
 public:
  BuildFolder() {
    constexpr const char* kPrefix = "scry-build";
    std::error_code error;
    const std::string place = fs::temp_directory_path(error).string();
    if (!error) {
      remove_stale_folders(place, kPrefix);  // of builds that were killed
      path_ = make_temporary_folder(place, kPrefix);
    }
    if (path_.empty()) {
      throw Error(fmt::format("there is no room to build in ({}); set TMPDIR to another folder",
                              error ? error.message() : std::strerror(errno)));
    }
  }
  ~BuildFolder() { remove(); }
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;

  void remove() const {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string program() const { return path_ + "/program"; }
  std::string rule() const { return path_ + "/rule"; }
  /// The program, which outlives its name.
  Descriptor open_program() const {
    const OwnFolder folder(path_);
    std::string problem;
    Descriptor program = folder.open("program", problem);
    if (!program.is_open()) throw Error(fmt::format("{} {}", this->program(), problem));
    if (folder.is_noexec()) {
      throw Error(fmt::format(
          "programs cannot be run in {}, which is mounted noexec; set TMPDIR or SCRY_CACHE",
          fs::path(path_).parent_path().string()));
    }
    return program;
  }

 private:
  std::string path_;
};

/// In the folder, for each model file: NAME-BASE.deps lists what it included when last built, and
/// NAME-KEY are its programs, where KEY is a digest of BASE and the texts of all of these. A
/// program thus never belongs to other texts than its name says, whoever else builds at the same
/// time. (prune_cache knows files by these names.)
class ModelBuilder {
 public:
  ModelBuilder(const std::string& file, const BuildConf& conf, const OwnFolder& folder)
      : file_(file), conf_(conf), folder_(folder) {
    // The file's name as given is in the program's messages, so it is part of its identity.
    std::vector<std::string> parts{file, fs::absolute(file).string(), conf.text,
                                   identify(conf.compiler)};
    for (const std::string& lib : conf.libs) parts.push_back(identify(lib));
    base_ = cache_key(parts);
  }

  Descriptor run() const {
    std::optional<std::string> known = key_of(known_dependencies());
    std::string problem;
    if (Descriptor program = find(known, problem); program.is_open()) return program;
    tell(problem.empty() ? fmt::format("scry: building {} …", file_)
                         : fmt::format("scry: the cached {}; building {} again …", problem, file_));
    const BuildFolder place;
    for (int attempt = 0; attempt < kMaxBuilds; ++attempt) {
      timespec start{};
      clock_gettime(CLOCK_REALTIME_COARSE, &start);  // the clock of the files' times
      compile(place);
      const std::string rule = read_text(place.rule());
      const std::vector<std::string> dependencies = parse_dependencies(rule);
      const std::optional<std::string> key = key_of(dependencies);
      if (!key) return place.open_program();  // without its sources it cannot be known again
      // Equal texts before and after are what was built, whatever the clocks say.
      if (key == known || !changed_since(start, dependencies)) {
        if (!store(place, *key, rule)) return place.open_program();
        Descriptor program = find(key, problem);
        return program.is_open() ? std::move(program) : place.open_program();
      }
      known = key;
    }
    throw Error(fmt::format("{} changed while it was built; run the command again", file_));
  }

 private:
  std::string name(const std::string& key, const char* suffix = "") const {
    const std::string stem = fs::path(file_).stem().string().substr(0, 64);
    return fmt::format("{}-{}{}", stem, key.substr(0, 32), suffix);
  }

  /// As of the last build; of a first one, none.
  std::vector<std::string> known_dependencies() const {
    if (!folder_.is_open()) return {};
    std::string ignored;
    const Descriptor rule = folder_.open(name(base_, ".deps"), ignored);
    return rule.is_open() ? parse_dependencies(read_whole(rule).value_or(""))
                          : std::vector<std::string>();
  }

  /// Nothing if a file is gone.
  std::optional<std::string> key_of(const std::vector<std::string>& dependencies) const {
    if (dependencies.empty()) return std::nullopt;
    try {
      std::vector<std::string> parts{base_, read_text(file_)};
      for (const std::string& file : dependencies) {
        parts.push_back(file);
        parts.push_back(read_text(file));
      }
      return cache_key(parts);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  /// The program of that key. If there is one that cannot be trusted, `problem` says so.
  Descriptor find(const std::optional<std::string>& key, std::string& problem) const {
    if (!key || !folder_.is_open()) return {};
    std::string fault;
    Descriptor program = folder_.open(name(*key), fault);
    if (program.is_open()) fault = fault_of_sealed(read_whole(program).value_or(""), *key);
    if (!fault.empty()) {
      problem = fmt::format("program {}/{} {}", folder_.path(), name(*key), fault);
      return {};
    }
    if (program.is_open()) mark_used(program);
    return program;
  }

  void compile(const BuildFolder& place) const {
    // A name that the compiler would take for an option is given as a path.
    const bool is_path = file_.front() != '-' && file_.front() != '@';
    const std::string source = is_path ? file_ : "./" + file_;
    std::vector<std::string> command{conf_.compiler};
    command.insert(command.end(), conf_.flags.begin(), conf_.flags.end());
    // A model file's code runs once, to be traced; what must be fast is compiled from its graph.
    for (const char* flag : {"-O0", "-fdiagnostics-color=never", "-MMD", "-MT", "model", "-MF"}) {
      command.emplace_back(flag);
    }
    command.push_back(place.rule());
    for (const std::string& folder : conf_.include) command.push_back("-I" + folder);
    command.push_back(source);
    command.insert(command.end(), conf_.libs.begin(), conf_.libs.end());
    command.insert(command.end(), {"-o", place.program()});

    const ProcessResult result = run_process(command, place.path());
    if (result.exit_code == 0) return;
    for (const int interrupt : {SIGINT, SIGQUIT}) {
      if (result.exit_code != 128 + interrupt) continue;
      place.remove();
      std::signal(interrupt, SIG_DFL);
      std::raise(interrupt);
    }
    std::string message = first_error(result.output, source);
    const std::string log = name(base_, ".log");
    const std::string text = fmt::format("{}\n\n{}\nexit code {}\n", fmt::join(command, " "),
                                         result.output, result.exit_code);
    if (folder_.is_open() && folder_.write(log, text, 0644)) {
      message += fmt::format(" (full log: {}/{})", folder_.path(), log);
    }
    throw BuildError(message);
  }

  /// Saved in the meantime, so that the new text may or may not be in the program. By the time of
  /// the last change to the file and not by one that users set.
  static bool changed_since(const timespec& start, const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      struct stat status {};
      if (stat(file.c_str(), &status) != 0) return true;
      const timespec& changed = status.st_ctim;
      if (std::pair(changed.tv_sec, changed.tv_nsec) >= std::pair(start.tv_sec, start.tv_nsec))
        return true;
    }
    return false;
  }

  /// The program before the list, which makes it known.
  bool store(const BuildFolder& place, const std::string& key, const std::string& rule) const {
    if (!folder_.is_open()) return false;
    if (!folder_.write(name(key), seal(read_text(place.program()), key), 0755) ||
        !folder_.write(name(base_, ".deps"), rule, 0644)) {
      tell(fmt::format("scry: {} cannot be written ({}); the next start builds again",
                       folder_.path(), std::strerror(errno)));
      return false;
    }
    std::string problem;
    prune_cache(default_cache_folder(), cache_size_limit(problem));
    if (!problem.empty()) tell("scry: " + problem);
    return true;
  }

  const std::string& file_;
  const BuildConf& conf_;
  const OwnFolder& folder_;
  std::string base_;
};

/// Why programs cannot be kept in a folder that was just opened, if there is one: in a line that
/// says what to do.
std::string refusal_of(const OwnFolder& models) {
  std::string fault = models.refusal();
  if (fault.empty() && !models.is_open() && errno != ENOENT)
    fault = fmt::format("cannot be opened ({})", std::strerror(errno));
  if (models.is_open() && models.is_noexec()) fault = "is mounted noexec";
  if (fault.empty()) return "";
  return fmt::format("{} is not used, as it {}; set SCRY_CACHE to another folder", models.path(),
                     fault);
}

/// Not open, and said why, if programs cannot be kept there.
OwnFolder open_models_folder() {
  const OwnFolder cache = OwnFolder::make(default_cache_folder());
  if (!cache.is_open()) return {};
  OwnFolder models = cache.inside("models", true);
  const std::string refusal = refusal_of(models);
  if (refusal.empty()) return models;
  tell("scry: " + refusal);
  return {};
}

}  // namespace

std::string models_folder() {
  const std::string cache = default_cache_folder();
  return cache.empty() ? "" : (fs::path(cache) / "models").string();
}

std::string models_refusal() {
  const OwnFolder cache(default_cache_folder());
  if (!cache.is_open()) return "";
  const OwnFolder models = cache.inside("models", false);
  return refusal_of(models);
}

Descriptor build_model(const std::string& file, const BuildConf& conf) {
  const OwnFolder folder = open_models_folder();
  return ModelBuilder(file, conf, folder).run();
}

void run_model(const std::string& file, const std::vector<std::string>& arguments) {
  const Descriptor program = build_model(file, read_build_conf());
  std::vector<char*> argv{const_cast<char*>(file.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  fexecve(program.get(), argv.data(), environ);
  throw Error(fmt::format("the program of {} cannot be run: {}", file, std::strerror(errno)));
}

}  // namespace scry::cli
