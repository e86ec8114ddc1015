#include <map>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::Sandbox;
using Json = nlohmann::json;

/// The stages of a lesson, by name.
std::map<std::string, Json> stages_of(const std::string& lesson, const std::string& options = "") {
  const Sandbox box;
  const auto result = box.program(lesson + " graph --format json " + options);
  REQUIRE(result.exit_code == 0);
  std::map<std::string, Json> stages;
  const Json json = Json::parse(result.out);
  for (const Json& stage : json["stages"]) stages[stage["name"]] = stage;
  return stages;
}

bool is_of(const Json& node, const std::string& prefix) {
  if (!node.contains("parameters")) return false;
  for (const std::string name : node["parameters"]) {
    if (!name.starts_with(prefix)) return false;
  }
  return true;
}

TEST_CASE("the stress tagger has no matrix product of a GRU for each prefix and tag") {
  auto stages = stages_of("lesson_03_stress_tagger");
  int num_per_tag = 0;
  for (const std::string name : {"score", "advance", "extend"}) {
    for (const Json& node : stages.at(name)["nodes"]) {
      if (node["op"] != "matmul" || node["axes"] != "prefix×tag") continue;
      CAPTURE(name, node.dump());
      CHECK(is_of(node, "proposal.c."));
      ++num_per_tag;
    }
  }
  CHECK(num_per_tag == 4);
}

TEST_CASE("the stress tagger's input projections are tables of parameters only") {
  auto stages = stages_of("lesson_03_stress_tagger");
  for (const char* stage : {"prepare", "prepare.proposal"}) {
    int num_projections = 0;
    for (const Json& node : stages.at(stage)["nodes"]) {
      CHECK(node["axes"] == "parameters");
      if (node["op"] == "matmul") ++num_projections;
    }
    CHECK(num_projections == 1);
  }
  const auto has_table_of = [&](const std::string& stage, const std::string& weight) {
    for (const Json& node : stages.at(stage)["nodes"]) {
      if (node["op"] != "input" || !node.contains("parameters")) continue;
      for (const std::string name : node["parameters"]) {
        if (name == weight && node["parameters"].size() == 3) return true;  // with emb and the bias
      }
    }
    return false;
  };
  CHECK(has_table_of("extend", "model.cell.weight_ih"));
  CHECK(has_table_of("back", "proposal.rnn.weight_ih_l0"));
}

TEST_CASE("a particle-step's FLOPs are those per prefix and, for each tag, per prefix and tag") {
  auto stages = stages_of("lesson_03_stress_tagger");
  const Json& extend = stages.at("extend");
  const double expected =
      extend["flops"]["prefix"].get<double>() + 4 * extend["flops"]["prefix×tag"].get<double>();
  CHECK(extend["flops_per_particle_step"] == expected);
  CHECK(expected < 70'000);  // of which 48 Ki in matrix products
}

TEST_CASE("FLOPs over the length of the sequence are polynomials in T") {
  auto stages = stages_of("lesson_04_encoder_tagger");
  const Json& prefix = stages.at("extend")["flops"]["prefix"];
  REQUIRE(prefix.is_array());
  CHECK(prefix[1].get<double>() > 0);
  CHECK(prefix[2] == 0);
}

TEST_CASE("the text shows every stage, its matrix products and its FLOPs") {
  const Sandbox box;
  const auto result = box.program("lesson_03_stress_tagger graph");
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  CHECK(result.out.find('\x1b') == std::string::npos);  // not a terminal
  for (const char* part : {"prepare  the model's parameters → tables", "extend  s, s̄, x → score",
                           "matmul(s.h, table.", "◆ Matrix products", "with model.cell.weight_hh",
                           "FLOPs per", "particle-step", " per (prefix, tag)"}) {
    CAPTURE(part);
    CHECK(result.out.find(part) != std::string::npos);
  }
}

TEST_CASE("one stage can be shown alone") {
  const auto stages = stages_of("lesson_03_stress_tagger", "--stage back");
  REQUIRE(stages.size() == 1);
  CHECK(stages.begin()->first == "back");
}

TEST_CASE("the adjoint's graphs are shown when gradients are asked for") {
  CHECK(stages_of("lesson_01_hmm").count("compat.gradient") == 0);
  const auto stages = stages_of("lesson_03_stress_tagger", "--gradients");
  CHECK(stages.count("compat.gradient") == 1);
  CHECK(stages.count("score_tag.gradient") == 1);
  CHECK(stages.count("ahead.gradient") == 1);
}

TEST_CASE("the DOT text is one digraph that Graphviz accepts") {
  const Sandbox box;
  for (const std::string lesson : {"lesson_03_stress_tagger", "lesson_04_encoder_tagger"}) {
    REQUIRE(box.program(lesson + " graph --gradients --format dot -o graph.dot").exit_code == 0);
    const std::string dot = test::read_file(box.path("graph.dot"));
    CHECK(dot.starts_with("digraph scry {"));
    CHECK(std::count(dot.begin(), dot.end(), '{') == std::count(dot.begin(), dot.end(), '}'));
    CHECK(std::count(dot.begin(), dot.end(), '"') % 2 == 0);
    CHECK(dot.find("label=\"extend: ") != std::string::npos);
    CHECK(dot.find("computed once per") != std::string::npos);
    if (box.run("command -v dot").exit_code == 0) {
      const auto drawn = box.run("dot -Tcanon graph.dot");
      CHECK(drawn.exit_code == 0);
      CHECK(drawn.err.empty());
    }
  }
}

TEST_CASE("passes are dumped where they change something") {
  const Sandbox box;
  const std::string out = box.program("lesson_03_stress_tagger graph --passes --stage extend").out;
  const size_t traced = out.find("extend: traced, "), lifted = out.find(", lift_lookups, "),
               hoisted = out.find("extend: after hoist_tables, ");
  CHECK(traced == 0);
  CHECK(traced < lifted);
  CHECK(lifted < hoisted);
  CHECK(hoisted != std::string::npos);
  CHECK(out.find("back: ") == std::string::npos);
  std::string previous;
  size_t at = 0;
  while (at != std::string::npos) {  // no two dumps in a row are alike
    const size_t end = out.find("\n\n", at);
    const std::string dump =
        out.substr(out.find('\n', at), end == std::string::npos ? end : end - out.find('\n', at));
    CHECK(dump != previous);
    previous = dump;
    at = end == std::string::npos ? end : end + 2;
  }
}

TEST_CASE("LLVM's code is shown for one stage and for all") {
  const Sandbox box;
  const std::string all = box.program("lesson_01_hmm graph --ir --differentiator adjoint").out;
  CHECK(all.starts_with("; ---- emitted\n; ModuleID"));
  CHECK(all.find("define void @extend(") != std::string::npos);
  CHECK(all.find("; ---- optimized") == std::string::npos);
  const std::string one = box.program("lesson_01_hmm graph --ir=optimized --stage back").out;
  CHECK(one.starts_with("; ---- optimized\n"));
  CHECK(one.find("define void @back(") != std::string::npos);
  CHECK(one.find("@extend") == std::string::npos);
}

TEST_CASE("LLVM's code is shown before and after Enzyme") {
  const Sandbox box;
  const Json info = Json::parse(box.program("scry info --json", "").out);
  if (info["differentiator"]["auto"] != "enzyme") {
    WARN("SKIPPED: " << info["differentiator"]["reason"]);
    return;
  }
  const std::string out =
      box.program("lesson_01_hmm graph --ir --stage score_tag --differentiator enzyme", "").out;
  const size_t emitted = out.find("; ---- emitted"),
               differentiated = out.find("; ---- differentiated");
  REQUIRE(emitted == 0);
  REQUIRE(differentiated != std::string::npos);
  CHECK(out.substr(0, differentiated).find("__enzyme_autodiff") != std::string::npos);
  CHECK(out.find("@diffescore_tag.gradient.body", differentiated) != std::string::npos);
  CHECK(out.find("__enzyme_autodiff", differentiated) == std::string::npos);
}

TEST_CASE("an output file is written whole and replaces what was there") {
  const Sandbox box;
  test::write_text(box.path("graph.txt"), "old");
  REQUIRE(box.program("lesson_01_hmm graph -o graph.txt").exit_code == 0);
  CHECK(test::read_file(box.path("graph.txt")).starts_with("prepare"));
  const auto result = box.program("lesson_01_hmm graph -o nowhere/graph.txt");
  CHECK(result.exit_code == 1);
  CHECK(result.err == "scry: nowhere/graph.txt cannot be written: No such file or directory\n");
  for (const auto& entry : std::filesystem::directory_iterator(box.path(""))) {
    CHECK(entry.path().extension() != ".tmp");
  }
}

}  // namespace
}  // namespace scry
