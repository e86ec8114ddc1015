// Throws random arguments at Scry's command: fuzz_arguments BIN_FOLDER SEED FIRST COUNT [SECONDS]
// Commands and options are those that --help names, and some that it does not. Whatever they are,
// the command ends in good time with exit code 0, 1 or 2, says in one line what is wrong, and
// touches no file but those that it is to write. Run i is a function of SEED and i alone. After
// SECONDS no run is begun; SCRY_FUZZ_GIGABYTES limits the memory of each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "tests/fuzz/child_process.h"

namespace fs = std::filesystem;
using namespace scry::test;
using Words = std::vector<std::string>;

namespace {

constexpr const char* kFull = "/dev/full";  // a disk without room

class Dice {
 public:
  Dice(uint64_t seed, uint64_t run) : engine_(seed * 0x9e3779b97f4a7c15 + run) {}
  size_t below(size_t end) { return static_cast<size_t>(engine_() % end); }
  bool chance(size_t percent) { return below(100) < percent; }
  template <class List>
  const auto& pick(const List& list) {
    return list[below(list.size())];
  }

 private:
  std::mt19937_64 engine_;
};

struct Option {
  std::string name;  ///< "--seed"
  std::string type;  ///< "N", "FILE", "a|b|c"; empty for a flag
  bool required = false;
};

struct Program {
  std::string path;
  std::string train;  ///< a line of examples of its model
  bool takes_model;
  std::map<std::string, std::vector<Option>> commands = {};
};

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// From a line of --help such as "  -o,--output FILE REQUIRED   Write here".
std::optional<Option> parse_option(const std::string& line) {
  const size_t at = line.find("--");
  if (!line.starts_with("  -") || at == std::string::npos) return std::nullopt;
  const size_t end = std::min(line.size(), line.find(' ', at));
  Option option{line.substr(at, end - at), "", line.find(" REQUIRED") != std::string::npos};
  std::istringstream rest(line.substr(end));
  std::string word;
  if (end + 1 < line.size() && line[end + 1] != ' ' && rest >> word && !word.ends_with(':'))
    option.type = word;
  return option;
}

class Fuzzer {
 public:
  Fuzzer(const std::string& bin, uint64_t seed, int max_gigabytes)
      : seed_(seed), max_gigabytes_(max_gigabytes) {
    setenv("SCRY_CACHE", folder_.file("cache").c_str(), 1);
    programs_ = {{bin + "/scry", "a\tb", true},
                 {bin + "/lesson_01_hmm", "1 2 3\tC H C", false},
                 {bin + "/lesson_03_stress_tagger", "B AE N D\t- 1 - -", false}};
    for (Program& program : programs_) learn(program);
  }

  /// What is wrong, or empty.
  std::string run(uint64_t number) {
    Dice dice(seed_, number);
    // A model's own program has everything; `scry` stands before it with the model's name.
    const Program& program = programs_[dice.chance(25) ? 0 : dice.chance(60) ? 1 : 2];
    make_files(program);
    const Words words = choose_words(program, dice);
    ChildOptions options = streams();
    if (dice.chance(50)) options.in = here_.file("train.tsv");
    if (dice.chance(10)) options.out = kFull;
    if (dice.chance(5)) options.err = kFull;
    shown_ = fmt::format("{} {} <{}{}{}", fs::path(program.path).filename().string(),
                         fmt::join(shown(words), " "), fs::path(options.in).filename().string(),
                         options.out == kFull ? " >/dev/full" : "",
                         options.err == kFull ? " 2>/dev/full" : "");
    Words all{program.path};
    all.insert(all.end(), words.begin(), words.end());
    const ChildResult result = run_child(all, options);
    ++num_by_code_[result.exit_code];
    return judge(result, words, options);
  }

  const std::string& shown() const { return shown_; }
  const std::map<int, int>& num_by_code() const { return num_by_code_; }

 private:
  ChildOptions streams() const {
    return {.folder = here_.path(),
            .out = folder_.file("out"),
            .err = folder_.file("err"),
            .max_gigabytes = max_gigabytes_};
  }

  /// The program's commands and options, from its help; and the parameters of its model.
  void learn(Program& program) {
    const auto help = [&](const Words& words) {
      Words all{program.path};
      all.insert(all.end(), words.begin(), words.end());
      if (run_child(all, streams()).exit_code != 0)
        throw std::runtime_error(fmt::format("{} does not run", fmt::join(all, " ")));
      return lines_of(read_bytes(folder_.file("out")));
    };
    bool after = false;
    for (const std::string& line : help({"--help"})) {
      std::istringstream stream(line);
      std::string name;
      if (after && line.starts_with("  ") && stream >> name) program.commands[name] = {};
      if (line == "Subcommands:") after = true;
      if (line.empty()) after = false;
    }
    size_t num_options = 0;
    for (auto& [name, options] : program.commands) {
      for (const std::string& line : help({name, "--help"})) {
        if (const std::optional<Option> option = parse_option(line)) options.push_back(*option);
      }
      num_options += options.size();
    }
    if (program.commands.size() < 5 || num_options < 50)
      throw std::runtime_error(program.path + ": its help cannot be read");
    if (!program.takes_model) {
      help({"init", "--overwrite", "-o", "init.safetensors"});
      params_[program.path] = read_bytes(here_.file("init.safetensors"));
    }
  }

  /// The same files for every run.
  void make_files(const Program& program) {
    for (const auto& entry : fs::directory_iterator(here_.path())) fs::remove_all(entry.path());
    std::string params = params_[program.path];
    files_ = {{"train.tsv", program.train + "\n" + program.train + "\n"},
              {"bad.tsv", program.train + "\n" + program.train + " " + program.train + "\n"},
              {"empty", ""},
              {"notes.txt", "3 2\nnot a model\n"},
              {"bytes", "\xff\xfe\x00\t\x01\n"},
              {"broken.cpp", "int x = ;\n"},
              {"-x.cpp", "int y = ;\n"},
              {"params.safetensors", params}};
    if (!params.empty()) params[params.size() / 2] ^= 1;
    files_["damaged.safetensors"] = params;
    for (const auto& [name, bytes] : files_) here_.write(name, bytes);
    fs::create_directory(here_.file("folder"));
    fs::create_symlink("loop", here_.file("loop"));
  }

  static std::string number(Dice& dice) {
    static const Words usual{"0", "1", "2", "3", "7"};
    // No number that is in order but asks for hours of work.
    static const Words odd{"-1",  "",    "x",      "1.5",
                           "0.5", "1e1", "nan",    "inf",
                           "-0",  " 1",  "0x10",   "99999999999999999999",
                           "+1",  "1 ",  "1e-300", "-99999999999999999999",
                           "1,2", "１",  "1e999",  "18446744073709551616"};
    return dice.pick(dice.chance(75) ? usual : odd);
  }

  std::string value(const Option& option, Dice& dice) const {
    static const Words junk{
        "",    "-",  "--", "a b",    "\xff", "1-2,3",      "%s%n",
        "a=b", "\n", "*",  "--help", "é",    "model.emit", std::string(5000, 'x')};
    static const Words names{"train.tsv", "params.safetensors", "new.safetensors", "new"};
    static const Words places{"bad.tsv",    "empty",     "notes.txt", "bytes",
                              "broken.cpp", "folder",    "loop",      "missing",
                              "missing/x",  "/dev/null", kFull,       "damaged.safetensors",
                              "-",          "a\nb",      "folder/",   "/"};
    static const Words lists{
        "1", "1-2", "1,3", "0", "3-1", "1,,2", "1-", "-", "2-99999999999999999999"};
    if (dice.chance(5)) return dice.pick(junk);
    if (option.type.find('|') != std::string::npos) {
      Words choices;
      std::istringstream stream(option.type.substr(0, option.type.find('=')));
      for (std::string each; std::getline(stream, each, '|');) choices.push_back(each);
      return dice.pick(choices);
    }
    if (option.type == "FILE") return dice.pick(dice.chance(50) ? names : places);
    if (option.type.starts_with("LIST")) return dice.pick(lists);
    if (option.type == "PARAMETER=FILE")
      return dice.pick(Words{"emission=notes.txt", "model.emb.weight=notes.txt",
                             "model.emission=empty", "=", "x="});
    if (option.type == "NAME")
      return dice.pick(Words{"extend", "score", "model.emission", "model.emb.weight"});
    return number(dice);
  }

  void add(Words& words, const Option& option, const std::string& value, Dice& dice) const {
    if (option.type.empty()) {
      words.push_back(option.name);
    } else if (dice.chance(50)) {
      words.push_back(option.name + "=" + value);
    } else {
      words.push_back(option.name);
      words.push_back(value);
    }
  }

  Words choose_words(const Program& program, Dice& dice) const {
    static const Words wrong{"",          "smaple", "-",          "--",      "help",
                             "--version", "-h",     "--nonsense", "fit fit", "\xff"};
    Words words;
    if (dice.chance(4)) words.push_back(dice.pick(wrong));
    if (dice.chance(3)) return words;
    auto command = program.commands.begin();
    std::advance(command, static_cast<std::ptrdiff_t>(dice.below(program.commands.size())));
    words.push_back(command->first);
    if (program.takes_model && dice.chance(80)) {
      words.push_back(dice.pick(Words{"broken.cpp", "missing.cpp", "notes.txt", "folder", "-x.cpp",
                                      "@x.cpp", "", "loop", "folder/x.cpp"}));
    }
    for (const Option& option : command->second) {
      if (!option.required || !dice.chance(95)) continue;
      const bool reads = option.name == "--train" || option.name == "--input";
      add(words, option, dice.chance(85) ? reads ? "train.tsv" : "new" : value(option, dice), dice);
    }
    // Without it, check takes its time.
    if (command->first == "check") words.push_back("--lengths=" + value({"", "LIST"}, dice));
    for (size_t count = dice.below(5); count > 0 && !command->second.empty(); --count) {
      const Option& option = dice.pick(command->second);
      if (option.name == "--help" && !dice.chance(20)) continue;
      const bool stands = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return word.starts_with(option.name);
      });
      if (!stands || dice.chance(5)) add(words, option, value(option, dice), dice);
    }
    if (dice.chance(5)) words.push_back(dice.pick(wrong));
    if (dice.chance(10))
      std::shuffle(words.begin() + 1, words.end(), std::mt19937_64(dice.below(99)));
    return words;
  }

  std::string judge(const ChildResult& result, const Words& words,
                    const ChildOptions& options) const {
    if (result.timed_out) return "it did not end in time";
    const bool is_mute = options.err == kFull;
    const std::string err = is_mute ? "(full)\n" : read_bytes(options.err);
    const std::string out = options.out == kFull ? "" : read_bytes(options.out);
    const std::string last = err.empty() ? "(no word)" : lines_of(err).back();
    if (result.signal != 0) return fmt::format("signal {}: {}", result.signal, last);
    if (result.exit_code > 2 || result.exit_code < 0)
      return fmt::format("exit code {}: {}", result.exit_code, last);
    for (const char* sign : {"terminate called", "Sanitizer", "runtime error:", "std::"}) {
      if (err.find(sign) != std::string::npos) return "standard error says: " + last;
    }
    const size_t num_lines = lines_of(err).size();
    if (result.exit_code == 2 && (num_lines != 1 || !out.empty()))
      return fmt::format("a usage error of {} lines: {}", num_lines, err);
    if (result.exit_code == 1 && num_lines == 0 && out.empty()) return "it failed without a word";
    if (result.exit_code == 0 && !words.empty() && (words[0] == "score" || words[0] == "sample") &&
        out.find("nan") != std::string::npos)
      return "it prints nan and says that all is well";
    for (const auto& [name, bytes] : files_) {
      if (!is_output(words, name) && read_bytes(here_.file(name)) != bytes)
        return fmt::format("it changed {}", name);
    }
    for (const std::string& name : here_.names()) {
      if (name.ends_with(".tmp")) return fmt::format("it left {}", name);
    }
    return "";
  }

  /// Whether the file may be written: it stands in an option that names an output.
  static bool is_output(const Words& words, const std::string& name) {
    for (size_t i = 0; i < words.size(); ++i) {
      for (const char* option : {"--output", "--log", "--csv"}) {
        if (words[i] == fmt::format("{}={}", option, name)) return true;
        if (words[i] == option && i + 1 < words.size() && words[i + 1] == name) return true;
      }
    }
    return false;
  }

  static Words shown(const Words& words) {
    Words result;
    for (const std::string& word : words) {
      result.push_back("'");
      for (char c : word.substr(0, 200)) {
        const auto byte = static_cast<unsigned char>(c);
        result.back() +=
            byte < 0x20 || byte > 0x7e ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
      }
      result.back() += "'";
    }
    return result;
  }

  uint64_t seed_;
  int max_gigabytes_;
  TempFolder folder_, here_;  // of the streams and the cache; where the command runs
  std::vector<Program> programs_;
  std::map<std::string, std::string> params_;  // by program
  std::map<std::string, std::string> files_;   // of the run, by name
  std::string shown_;
  std::map<int, int> num_by_code_;
};

int fuzz(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    fmt::print(stderr, "usage: fuzz_arguments BIN_FOLDER SEED FIRST COUNT [SECONDS]\n");
    return 2;
  }
  const uint64_t seed = std::stoull(argv[2]), first = std::stoull(argv[3]);
  const uint64_t count = std::stoull(argv[4]);
  const auto seconds = std::chrono::seconds(argc == 6 ? std::stoi(argv[5]) : 1'000'000);
  const char* gigabytes = std::getenv("SCRY_FUZZ_GIGABYTES");
  Fuzzer fuzzer(fs::absolute(argv[1]).string(), seed,
                gigabytes == nullptr ? 0 : std::stoi(gigabytes));
  const auto start = std::chrono::steady_clock::now();
  int num_found = 0;
  uint64_t number = first;
  for (; number < first + count && std::chrono::steady_clock::now() - start < seconds; ++number) {
    const std::string fault = fuzzer.run(number);
    if (fault.empty()) continue;
    ++num_found;
    fmt::print("found: {}\n  by: {}\n  again: fuzz_arguments {} {} {} 1\n", fault, fuzzer.shown(),
               argv[1], seed, number);
    std::fflush(stdout);
  }
  fmt::print("arguments: {} runs (exit codes:", number - first);
  for (const auto& [code, num] : fuzzer.num_by_code()) fmt::print(" {} of {}", num, code);
  fmt::print("), {} found\n", num_found);
  return num_found == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return fuzz(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fuzz_arguments: {}\n", error.what());
    return 2;
  }
}
