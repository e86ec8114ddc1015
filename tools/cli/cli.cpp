#include "tools/cli/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>

#include "runtime/examples_file.h"
#include "runtime/version.h"
#include "tools/cli/command.h"
#include "tools/cli/model_build.h"
#include "tools/cli/output_file.h"

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
    Command{"version", "Print Scry's version", "version", false, declare_version},
};

constexpr const char* kExampleModel = "examples/03_stress_tagger.cpp";

bool is_model_file(const std::string& name) {
  return name.ends_with(".cpp") || name.ends_with(".cc") || name.ends_with(".cxx");
}

/// The command line of `scry`, where MODEL names a file, or of a model program, which has none.
class CommandLine {
 public:
  CommandLine(std::string program, Bundle (*make_model)())
      : program_(std::move(program)), make_model_(make_model), app_(describe(), program_) {
    app_.set_version_flag("--version", fmt::format("scry {}", version()));
    app_.require_subcommand(1);
    app_.footer(
        fmt::format("Each command has a --help of its own, such as {} graph --help.", program_));
    for (const Command& command : kCommands) add(command);
  }

  int run(int argc, const char* const* argv) {
    if (make_model_ == nullptr && is_model_file(program_)) {  // built on the fly, from that file
      throw BuildError(fmt::format(
          "{}: there is no SCRY_MODEL() in it: end it with SCRY_MODEL() {{ return {{model}}; }}",
          program_));
    }
    if (!parse(argc, argv)) return 0;
    for (const Parser& parser : parsers_) {
      if (!parser.app->parsed()) continue;
      if (!parser.command->takes_model) return parser.action({});
      if (make_model_ == nullptr) run_model_file(parser);
      const Bundle bundle = make_model_();
      if (bundle.model == nullptr) {
        throw BuildError(fmt::format("{}: its SCRY_MODEL() returns no model", program_));
      }
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

  std::string explain(const CLI::ParseError& error) const {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    std::string help = program_;
    const bool lacks_model = error.get_name() == "RequiredError" && message.starts_with("MODEL");
    for (const Parser& parser : parsers_) {
      if (parser.app->count() > 0) help += fmt::format(" {}", parser.command->name);
    }
    if (lacks_model) message = fmt::format("give a model file: {} MODEL.cpp", help);
    if (help == program_) {
      std::vector<const char*> names;
      for (const Command& command : kCommands) names.push_back(command.name);
      message = fmt::format("give one of the commands {}", fmt::join(names, ", "));
    }
    return fmt::format("{}; see {} --help", message, help);
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
  Bundle (*make_model_)();
  CLI::App app_;
  std::string model_file_;
  std::vector<Parser> parsers_;
};

/// One line, whatever the message holds.
int report(int exit_code, const char* prefix, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  fmt::print(stderr, "{}{}\n", prefix, message);
  return exit_code;
}

}  // namespace

int run(int argc, const char* const* argv, Bundle (*make_model)()) {
  // A program built from model.cpp is started under that name, which its messages should say whole.
  std::string program = argc > 0 && argv[0] != nullptr ? argv[0] : "scry";
  if (!is_model_file(program)) program = std::filesystem::path(program).filename().string();
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
  } catch (const std::bad_alloc&) {
    return report(1, "scry: ", "out of memory");
  } catch (const std::exception& error) {
    return report(1, "scry: ", error.what());
  }
}

}  // namespace scry::cli
