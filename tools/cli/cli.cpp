#include "tools/cli/cli.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/version.h"
#include "compiler/cache.h"
#include "runtime/files/examples_file.h"
#include "tools/cli/command.h"
#include "tools/cli/model_build.h"
#include "tools/cli/nearest.h"
#include "tools/cli/output_file.h"
#include "tools/cli/output_rule.h"
#include "tools/cli/settings_option.h"

namespace scry::cli {
namespace {

constexpr std::array kCommands{
    Command{"info", "Show what this installation has: LLVM, CPU, Enzyme, caches", "info --json",
            false, declare_info},
    Command{"graph", "Show what a model computes, and how often", "graph MODEL --stage extend",
            true, declare_graph},
    Command{"check", "Compare a model's gradients with finite differences",
            "check MODEL --lengths 1-5", true, declare_check},
    Command{"init", "Write fresh parameters of a model to a safetensors file",
            "init MODEL --seed 1 -o params.safetensors", true, declare_init},
    Command{"fit", "Fit a model to tagged sequences",
            "fit MODEL --train data/stress/train.tsv -o fitted.safetensors", true, declare_fit},
    Command{"learn", "Learn a model's proposal for its parameters as they are",
            "learn MODEL --params fitted.safetensors --train data/stress/train.tsv -o "
            "learned.safetensors",
            true, declare_learn},
    Command{"score", "Score given taggings under fresh or saved parameters",
            "score MODEL --input data/stress/dev1.tsv", true, declare_score},
    Command{"sample", "Sample taggings of sequences, or search for the best",
            "sample MODEL --input data/stress/dev1.tsv -M 128 --stats", true, declare_sample},
    Command{"impute", "Write complete versions of a partly tagged file, each tag a draw",
            "impute MODEL --params fitted.safetensors --input partly.tsv -m 5 -o complete.tsv",
            true, declare_impute},
    Command{"decode", "Decide for the taggings of least expected loss",
            "decode MODEL --params learned.safetensors --input data/stress/test.tsv --loss hamming",
            true, declare_decode},
    Command{"rescore", "Weigh the taggings that another model found",
            "rescore MODEL --params fitted.safetensors --input ensembles.jsonl", true,
            declare_rescore},
    Command{"eval", "Compare methods: how far their samples are from the model",
            "eval MODEL --params learned.safetensors --input data/stress/test.tsv --methods "
            "PF,PS,beam -M 8,32",
            true, declare_eval},
    Command{"vocab", "Write the symbols of a file of sequences, for Alphabet::from_file",
            "vocab --input data/stress/train.tsv -o phonemes.txt", false, declare_vocab},
    Command{"version", "Print Scry's version", "version", false, declare_version},
};

constexpr const char* kExampleModel = "examples/03_stress_tagger.cpp";

bool is_model_file(const std::string& name) {
  return name.ends_with(".cpp") || name.ends_with(".cc") || name.ends_with(".cxx");
}

/// A cache that others could have put code into is told of once, and used neither here nor by a
/// model's program that this process becomes.
void leave_unsafe_cache() {
  const std::string folder = default_cache_folder();
  const std::string refusal = folder.empty() ? "" : cache_refusal(folder);
  if (refusal.empty()) return;
  tell("scry: " + refusal);
  setenv("SCRY_CACHE", "off", 1);
}

/// The command line of `scry`, where MODEL names a file, or of a model program, which has none.
class CommandLine {
 public:
  CommandLine(std::string program, MakeModel make_model)
      : program_(std::move(program)), make_model_(make_model), app_(describe(), program_) {
    app_.set_version_flag("--version", fmt::format("scry {}", version()));
    app_.require_subcommand(1);
    app_.footer(fmt::format(
        "Each command has a --help of its own, such as {} graph --help. What model files can\n"
        "use is in docs/reference.md, what is printed in docs/output.md, and files of\n"
        "sequences in docs/files.md.",
        program_));
    for (const Command& command : kCommands) add(command);
    help_ = app_.add_subcommand("help", "Show the help of a command");
    help_->add_option("COMMAND", helped_, "Of which")->type_name("NAME");
  }

  int run(int argc, const char* const* argv) {
    if (make_model_ == nullptr && is_model_file(program_)) {  // built on the fly, from that file
      throw BuildError(fmt::format(
          "{}: there is no SCRY_MODEL() in it: end it with SCRY_MODEL() {{ return {{model}}; }}",
          program_));
    }
    if (!parse(argc, argv)) return 0;
    if (help_->parsed()) return show_help();
    for (const Parser& parser : parsers_) {
      if (!parser.app->parsed()) continue;
      check_output(*parser.app);
      if (!parser.command->takes_model) return parser.action({});
      leave_unsafe_cache();
      if (make_model_ == nullptr) run_model_file(parser);
      const Bundle bundle = make_model_with(make_model_, settings_);
      if (bundle.model == nullptr) {
        throw BuildError(fmt::format("{}: its SCRY_MODEL() returns no model", program_));
      }
      check_output(*parser.app, bundle.settings);
      return parser.action(bundle);
    }
    throw UsageError("no command was given");  // not reached: a command is required
  }

 private:
  struct Parser {
    const Command* command;
    CLI::App* app;
    Action action;
  };

  std::string describe() const {
    return make_model_ == nullptr ? "Scry: sequence models, traced, compiled and sampled"
                                  : fmt::format("Scry, with the model of {}", program_);
  }

  void add(const Command& command) {
    CLI::App* app = app_.add_subcommand(command.name, command.summary);
    if (command.takes_model && make_model_ == nullptr) {
      app->add_option("MODEL", model_file_, "A model file; it is built when it has changed")
          ->type_name("FILE.cpp")
          ->required();
    }
    std::string example = command.example;
    if (const size_t at = example.find("MODEL"); at != std::string::npos) {
      const bool shown = make_model_ == nullptr;
      example.replace(at, shown ? 5 : 6, shown ? kExampleModel : "");
    }
    parsers_.push_back({&command, app, command.declare(*app)});
    if (command.takes_model) add_settings(*app, settings_);
    app->footer(fmt::format("Example:\n  {} {}", program_, example));
  }

  /// False if that was all: help or the version was asked for.
  bool parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
      return true;
    } catch (const CLI::CallForHelp&) {
      write_result("", app_.help());
    } catch (const CLI::CallForVersion& version) {
      write_result("", fmt::format("{}\n", version.what()));
    } catch (const CLI::ParseError& error) {
      throw UsageError(explain(error));
    }
    return false;
  }

  int show_help() {
    const std::string name = helped_;
    const Parser* parser = find_parser(name);
    if (parser == nullptr && !name.empty() && name != "help")
      throw UsageError(explain_unknown_command(name));
    app_.clear();  // which else shows the help of the command that was given
    write_result("", parser == nullptr ? app_.help() : parser->app->help(program_));
    return 0;
  }

  const Parser* find_parser(const std::string& name) const {
    for (const Parser& parser : parsers_) {
      if (parser.command->name == name) return &parser;
    }
    return nullptr;
  }

  std::string explain(const CLI::ParseError& error) const {
    const Parser* parser = nullptr;
    for (const Parser& each : parsers_) {
      if (each.app->count() > 0) parser = &each;
    }
    // What nobody asked for may be why something else is missing.
    const std::vector<std::string> strangers = app_.remaining(true);
    for (const std::string& word : strangers) {
      if (!word.starts_with('-')) continue;
      if (const std::string message = explain_unknown_option(word, parser); !message.empty())
        return message;
    }
    if (parser == nullptr && help_->count() == 0) {
      for (const std::string& word : strangers) {
        if (!word.starts_with('-')) return explain_unknown_command(word);
      }
      return explain_unknown_command("");
    }
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    const std::string help = name_of(parser);
    if (error.get_name() == "RequiredError" && message.starts_with("MODEL"))
      message = fmt::format("give a model file: {} MODEL.cpp", help);
    return fmt::format("{}; see {} --help", message, help);
  }

  std::string name_of(const Parser* parser) const {
    return parser == nullptr ? program_ : fmt::format("{} {}", program_, parser->command->name);
  }

  /// Empty if it is near to none that there is.
  std::string explain_unknown_option(const std::string& given, const Parser* parser) const {
    const std::string name = given.substr(0, given.find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : (parser == nullptr ? &app_ : parser->app)->get_options()) {
      for (const std::string& each : option->get_lnames()) names.push_back("--" + each);
      for (const std::string& each : option->get_snames()) names.push_back("-" + each);
    }
    if (std::find(names.begin(), names.end(), name) != names.end())
      return fmt::format("the option '{}' goes after the command: {} {}", name, name_of(parser),
                         given);
    const std::string meant = nearest(name, names);
    if (meant.empty()) return "";
    return fmt::format("there is no option '{}'; did you mean {}? See {} --help", name, meant,
                       name_of(parser));
  }

  std::string explain_unknown_command(const std::string& given) const {
    std::vector<std::string> names;
    for (const Command& command : kCommands) names.emplace_back(command.name);
    const std::string all = fmt::format("{}", fmt::join(names, ", "));
    names.emplace_back("help");
    const std::string meant = nearest(given, names);
    if (meant.empty())
      return fmt::format("give one of the commands {}; see {} --help", all, program_);
    return fmt::format("there is no command '{}'; did you mean {}? See {} --help", given, meant,
                       program_);
  }

  /// Replaces this process by the model's own program, with the same options.
  [[noreturn]] void run_model_file(const Parser& parser) const {
    const std::string name = parser.command->name;
    std::error_code ignored;
    if (!std::filesystem::exists(model_file_, ignored)) {
      throw UsageError(fmt::format("there is no file '{}'", model_file_));
    }
    if (!is_model_file(model_file_) || !std::filesystem::is_regular_file(model_file_, ignored)) {
      throw UsageError(
          fmt::format("'{}' is not a model file: its name must end in .cpp", model_file_));
    }
    // Options are passed on as they were understood, so that MODEL may stand anywhere among them.
    std::vector<std::string> arguments{name};
    for (const CLI::Option* option : parser.app->get_options()) {
      if (option->get_positional() || option->count() == 0) continue;
      for (const std::string& value : option->results()) {
        arguments.push_back(fmt::format("--{}={}", option->get_lnames().front(), value));
      }
    }
    run_model(model_file_, arguments);
  }

  std::string program_;
  MakeModel make_model_;
  CLI::App app_;
  CLI::App* help_ = nullptr;  // a command like the others, but for all of them
  std::string model_file_, helped_;
  std::vector<std::string> settings_;  // as given
  std::vector<Parser> parsers_;
};

int report(int exit_code, const char* prefix, const char* message) {
  tell(fmt::format("{}{}", prefix, message));
  return exit_code;
}

/// A file that is opened in the place of a closed standard one would be taken for it, and written
/// to. What is opened here cannot be written, so that results do not vanish in silence.
void fill_standard_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) < 0 && errno == EBADF) open("/dev/null", O_RDONLY);
  }
}

}  // namespace

int run(int argc, const char* const* argv, MakeModel make_model) {
  // A program built from model.cpp is started under that name, which its messages should say whole.
  std::string program = argc > 0 && argv[0] != nullptr ? argv[0] : "scry";
  if (!is_model_file(program)) program = std::filesystem::path(program).filename().string();
  fill_standard_files();
  // What cannot be written is an error like others, with words and things put in order.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // The system knows a program that was built on the fly by no name (model_build.h).
  if (is_model_file(program)) {
    prctl(PR_SET_NAME, std::filesystem::path(program).filename().c_str());
  }
  try {
    return CommandLine(program, make_model).run(argc, argv);
  } catch (const UsageError& error) {
    return report(2, "scry: ", error.what());
  } catch (const ModelError& error) {  // file:line: stands first, where editors look for it
    return report(1, "", error.what());
  } catch (const DataError& error) {
    return report(1, "", error.what());
  } catch (const BuildError& error) {
    return report(1, "", error.what());
  } catch (const ReaderGone& error) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
    return report(1, "scry: ", error.what());  // if it is blocked
  } catch (const std::bad_alloc&) {
    return report(1, "scry: ", "out of memory");
  } catch (const std::exception& error) {
    return report(1, "scry: ", error.what());
  }
}

}  // namespace scry::cli
