#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "compiler/codegen.h"
#include "compiler/gemm.h"
#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::Sandbox;
using Json = nlohmann::json;

TEST_CASE("info says what this installation has") {
  const Sandbox box;
  const auto result = box.program("scry info");
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  for (const std::string& part :
       {std::string(version()), llvm_version(), host_cpu(), std::string(gemm_isa()),
        box.cache().string(), std::string("the built-in adjoint: switched off by SCRY_ENZYME=off"),
        std::string("C++ compiler")}) {
    CAPTURE(part);
    CHECK(result.out.find(part) != std::string::npos);
  }
}

TEST_CASE("info --json is one object with the same facts") {
  const Sandbox box;
  const Json json = Json::parse(box.program("scry info --json").out);
  CHECK(json["scry"] == version());
  CHECK(json["llvm"] == llvm_version());
  CHECK(json["cpu"]["name"] == host_cpu());
  CHECK(json["gemm"] == gemm_isa());
  CHECK(json["differentiator"]["auto"] == "adjoint");
  CHECK(json["kernel_cache"]["files"] == 0);
  CHECK(json["compiler"]["problem"] == "");
}

TEST_CASE("info counts the kernels and models in the cache") {
  const Sandbox box;
  test::write_text(box.path("taggings"), "1 2\tC H\n");
  REQUIRE(box.program("lesson_01_hmm score --input taggings").exit_code == 0);
  const Json json = Json::parse(box.program("lesson_01_hmm info --json").out);
  CHECK(json["kernel_cache"]["files"] == 1);
  CHECK(json["kernel_cache"]["bytes"].get<int>() > 1000);
  CHECK(json["model_cache"]["files"] == 0);
}

TEST_CASE("info says that a cache is refused, and why") {
  const Sandbox box;
  const std::string cache = box.cache().string(), models = cache + "/models";
  std::filesystem::create_directories(models);
  test::write_text(box.cache() / "00000000000000000000000000000000.kernels", "planted");
  const auto refusals = [&](const std::string& set = "") {
    const auto json = Json::parse(box.program("scry info --json", "SCRY_ENZYME=off " + set).out);
    const auto text = box.program("scry info", "SCRY_ENZYME=off " + set);
    CHECK(text.exit_code == 0);
    bool any = false;
    for (const char* key : {"kernel_cache", "model_cache"}) {
      const std::string refusal = json[key]["refusal"];
      if (refusal.empty()) continue;
      any = true;
      CHECK(text.out.find("none: " + refusal) != std::string::npos);
      CHECK(json[key]["files"] == 0);
    }
    CHECK((text.out.find("none: ") != std::string::npos) == any);
    return std::pair<std::string, std::string>(json["kernel_cache"]["refusal"],
                                               json["model_cache"]["refusal"]);
  };
  using Pair = std::pair<std::string, std::string>;
  chmod(cache.c_str(), 0700);
  chmod(models.c_str(), 0700);
  CHECK(refusals() == Pair("", ""));

  const std::string others = " is not used, as it can be written by others (mode 0777); ";
  chmod(models.c_str(), 0777);
  CHECK(refusals() == Pair("", models + others + "set SCRY_CACHE to another folder"));
  chmod(cache.c_str(), 0777);
  const std::string whole =
      "the cache " + cache + others + "make it yours alone, or set SCRY_CACHE";
  CHECK(refusals() == Pair(whole, whole));

  chmod(cache.c_str(), 0700);
  std::filesystem::remove(models);
  CHECK(refusals() == Pair("", ""));  // it will be made
  test::write_text(models, "a file");
  CHECK(refusals().second == models +
                                 " is not used, as it cannot be opened (Not a directory); set "
                                 "SCRY_CACHE to another folder");
  const std::string file = box.path("file").string();
  test::write_text(file, "a file");
  CHECK(refusals("SCRY_CACHE=" + file).first.starts_with("the cache " + file + " is not used"));
}

TEST_CASE("the version is printed by the command and by the option") {
  const Sandbox box;
  CHECK(box.program("scry version").out == std::string("scry ") + version() + "\n");
  CHECK(box.program("scry --version").out == std::string("scry ") + version() + "\n");
}

TEST_CASE("every command has a help with an example") {
  const Sandbox box;
  for (const std::string command :
       {"info", "graph", "check", "init", "fit", "learn", "score", "sample", "version"}) {
    CAPTURE(command);
    const auto result = box.program("scry " + command + " --help");
    CHECK(result.exit_code == 0);
    CHECK(result.out.find("Example:\n  scry " + command) != std::string::npos);
    const auto of_model = box.program("lesson_01_hmm " + command + " --help");
    CHECK(of_model.out.find("Example:\n  lesson_01_hmm " + command) != std::string::npos);
    CHECK(of_model.out.find("MODEL") == std::string::npos);
  }
}

TEST_CASE("a usage error is one line and exit code 2") {
  const Sandbox box;
  test::write_text(box.path("notes.txt"), "no model\n");
  test::write_text(box.path("x.tsv"), "1\tC\n");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"scry",
       "give one of the commands info, graph, check, init, fit, learn, score, sample, impute, "
       "decode, "
       "rescore, eval, vocab, version"},
      {"scry sing", "give one of the commands"},
      {"scry graph", "give a model file: scry graph MODEL.cpp"},
      {"scry graph missing.cpp", "there is no file 'missing.cpp'"},
      {"scry graph notes.txt", "'notes.txt' is not a model file"},
      {"scry info --loud", "--loud"},
      {"lesson_01_hmm graph other.cpp", "other.cpp"},
      {"lesson_01_hmm graph --format png", "--format: 'png' is none of text, dot, json"},
      {"lesson_01_hmm graph --ir=late", "--ir: 'late' is none of"},
      {"lesson_01_hmm graph --stage middle",
       "--stage: there is no 'middle'; this model has prepare"},
      {"lesson_01_hmm graph --passes --format dot", "--passes and --ir are text"},
      {"lesson_01_hmm check --lengths 3-1", "--lengths: '3-1' is not a list of lengths"},
      {"lesson_01_hmm check --lengths 0", "--lengths: '0'"},
      {"lesson_01_hmm check --lengths 1,,2", "--lengths: '1,,2'"},
      {"lesson_01_hmm init", "--output is required"},
      {"lesson_01_hmm init -o p.safetensors --precision half", "--precision: 'half' is none of"},
      {"lesson_01_hmm score --input x.tsv --params missing.safetensors", "missing.safetensors"},
      {"lesson_01_hmm score --input x.tsv --params x.tsv --seed 1", "--seed excludes --params"},
      {"lesson_01_hmm score", "--input is required"},
      {"lesson_01_hmm score --input missing.tsv", "missing.tsv"},
      {"lesson_01_hmm score --input x.tsv --seed many", "--seed"},
      {"lesson_01_hmm score --input x.tsv --seed -1", "--seed"},
  };
  for (const auto& [command, message] : cases) {
    const auto result = box.program(command);
    CAPTURE(command, result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(test::lines_of(result.err).size() == 1);
    CHECK(result.err.starts_with("scry: "));
    CHECK(result.err.find(message) != std::string::npos);
  }
}

}  // namespace
}  // namespace scry
