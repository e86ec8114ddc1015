// Checkpoints of compiled programs: what they belong to.
#include "runtime/train/checkpoint.h"

#include <scry.h>

#include "tests/catch.h"
#include "tests/support/run_kernel.h"
#include "tests/support/small_models.h"
#include "tests/support/temp_folder.h"

using namespace scry;
using namespace scry::test;

namespace {

/// One scan over x, this way or that.
struct ScanTagger : Model {
  Embedding symbol;
  Gru gru;
  Linear out;
  Direction direction;
  explicit ScanTagger(Direction direction)
      : Model(small_task(), symbol_state("tag", 3)),
        symbol(*this, "symbol", 4, 3),
        gru(*this, "gru", 3, 3),
        out(*this, "out", 3, 3),
        direction(direction) {}
  Encoding encode(const Sym& x) const override { return {{"e", gru.scan(symbol[x], direction)}}; }
  Step step(const State&, const Input& x, const Sym& y) const override {
    return {.score = log_softmax(out(x.at("e")))[y], .state = {y}};
  }
};

}  // namespace

TEST_CASE("the origin of a program tells models and differentiators' plugins apart") {
  const CompileOptions adjoint{.differentiator = Differentiator::kAdjoint};
  const SmallTagger one(small_task(), 5, 1), again(small_task(), 5, 1), other(small_task(), 5, 2);
  const Origin origin = compile(one, adjoint).origin;
  for (const std::string& part : {origin.model, origin.build, origin.machine})
    CHECK_FALSE(part.empty());
  CHECK(compile(again, adjoint).origin.model == origin.model);
  CHECK(compile(other, adjoint).origin.model != origin.model);
  CHECK(compile(other, adjoint).origin.build == origin.build);
  CHECK(compile(other, adjoint).origin.machine == origin.machine);
  const ScanTagger right(Direction::kLeftToRight), left(Direction::kRightToLeft);
  CHECK(compile(right, adjoint).origin.model != compile(left, adjoint).origin.model);
  if (has_enzyme()) {
    CHECK(compile(one, {.differentiator = Differentiator::kEnzyme}).origin.build != origin.build);
  }
}

TEST_CASE("a run is not resumed with a changed model of equal shapes or another differentiator") {
  const TempFolder folder;
  const Program program =
      compile(SmallTagger(small_task(), 5, 1), {.differentiator = Differentiator::kAdjoint});
  std::vector<Example> train(6);
  for (Example& example : train) {
    example.x = {1, 2, 3};
    example.y = {0, 1, 2};
  }
  TrainOptions options;
  options.epochs = 1;
  options.checkpoint = folder.file("c");
  const Parameters start = Parameters::fresh(program, 1);
  fit(program, start, train, {}, options);
  options.resume = true;
  options.epochs = 2;
  const Program changed =
      compile(SmallTagger(small_task(), 5, 1.5), {.differentiator = Differentiator::kAdjoint});
  CHECK_THROWS_WITH(fit(changed, start, train, {}, options),
                    Catch::Contains("its run is of another model, or of this one before"));
  if (has_enzyme()) {
    const Program enzyme =
        compile(SmallTagger(small_task(), 5, 1), {.differentiator = Differentiator::kEnzyme});
    CHECK_THROWS_WITH(fit(enzyme, start, train, {}, options),
                      Catch::Contains("its run has gradients by 'adjoint', not 'enzyme'"));
  }
  CHECK(fit(program, start, train, {}, options).history.size() == 3);
}
