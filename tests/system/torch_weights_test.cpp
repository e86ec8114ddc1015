// Weights from PyTorch, and the log p(x, y) that PyTorch computes with them: tests/fixtures.
#include <scry.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/cli/shell.h"

using namespace scry;

namespace {

const Task kTask{Alphabet::numbered(5), Alphabet::numbered(3)};

/// Lesson 3's model.
struct CellTagger : Model {
  Embedding emb;
  Gru cell;
  Linear out;

  CellTagger()
      : Model(kTask, state("h", 6)),
        emb(*this, "emb", 15, 6),
        cell(*this, "cell", 6, 6),
        out(*this, "out", 6, 15) {}
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym xy = x * task().y.size() + y;
    return {.score = log_softmax(out(s["h"]))[xy], .state = {cell(s["h"], emb[xy])}};
  }
};

struct StackedTagger : Model {
  Embedding emb;
  StackedGru rnn;
  Linear out;

  StackedTagger()
      : Model(kTask, StackedGru::state(6, 2)),
        emb(*this, "emb", 15, 4),
        rnn(*this, "rnn", 4, 6, 2),
        out(*this, "out", 6, 15) {}
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym xy = x * task().y.size() + y;
    return {.score = log_softmax(out(s["h1"]))[xy], .state = rnn(s, emb[xy])};
  }
};

struct TorchScore {
  std::vector<int> x, y;
  double cell, stacked;
};

std::vector<TorchScore> torch_scores() {
  const auto numbers = [](const std::string& text) {
    std::vector<int> result;
    std::istringstream stream(text);
    for (int number; stream >> number;) result.push_back(number);
    return result;
  };
  std::vector<TorchScore> scores;
  for (const std::string& line :
       test::lines_of(test::read_file(test::source_dir() + "/tests/fixtures/torch_scores.tsv"))) {
    std::istringstream cells(line);
    std::string x, y, cell, stacked;
    std::getline(cells, x, '\t');
    std::getline(cells, y, '\t');
    std::getline(cells, cell, '\t');
    std::getline(cells, stacked, '\t');
    scores.push_back({numbers(x), numbers(y), std::stod(cell), std::stod(stacked)});
  }
  return scores;
}

void check_same_scores(const std::shared_ptr<Model>& model, const std::string& file,
                       double TorchScore::*expected) {
  const std::vector<TorchScore> scores = torch_scores();
  REQUIRE(scores.size() == 12);
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const Program program =
        compile({model, nullptr}, {.precision = precision, .gradients = false, .use_cache = false});
    const Parameters parameters =
        read_parameters(test::source_dir() + "/tests/fixtures/" + file, program);
    TaggingScorer scorer(program, parameters);
    for (const TorchScore& score : scores) {
      CAPTURE(score.x.size(), precision);
      const double difference = scorer.score(score.x, score.y).log_score - score.*expected;
      CHECK(std::abs(difference) < (precision == Precision::kFloat ? 1e-5 : 1e-11));
    }
  }
}

}  // namespace

TEST_CASE("weights of PyTorch's GRUCell give the same G_T here as log p(x, y) there") {
  check_same_scores(std::make_shared<CellTagger>(), "torch_cell.safetensors", &TorchScore::cell);
}

TEST_CASE("weights of PyTorch's GRU of two layers give the same G_T here as log p(x, y) there") {
  check_same_scores(std::make_shared<StackedTagger>(), "torch_stacked.safetensors",
                    &TorchScore::stacked);
}
