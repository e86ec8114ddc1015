#include "runtime/decode/decide.h"
#include "runtime/files/examples_file.h"
#include "runtime/smc/rescore.h"
#include "tests/fuzz/reader_fuzz.h"

using namespace scry;

/// A file of ensembles, as decode and rescore read it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Task task{Alphabet::of("1 2 3"), Alphabet::of("O B-X I-X").with_eos()};
  FileFormat format;
  format.layout = FileLayout::kEnsembles;
  const std::string& path = test::write_input(test::text_of(data, size));
  test::is_read([&] { read_examples(path, task, format); });
  std::vector<InputLine> lines;
  test::is_read([&] { lines = read_inputs(path, task, false, format); });
  for (const InputLine& line : lines) {
    test::demand(line.is_of_ensembles, "every line is of an ensemble");
    test::demand(line.error.find('\n') == std::string::npos, "an error is one line");
    test::demand(line.ensemble.has_value() == line.error.empty(), "an ensemble or an error");
    if (!line.ensemble) continue;
    const Ensemble& ensemble = *line.ensemble;
    test::demand(line.x.size() == static_cast<size_t>(ensemble.length), "as many tags as symbols");
    for (int32_t tag : ensemble.tags)
      test::demand(tag >= 0 && tag < 3, "tags are the alphabet's, and not EOS");
    const std::string written = to_json(ensemble, task);
    const Ensemble again = ensemble_from_json(written, task);
    test::demand(again.tags == ensemble.tags && again.log_weights == ensemble.log_weights &&
                     again.log_z == ensemble.log_z && to_json(again, task) == written,
                 "an ensemble comes back");
    for (const LossKind kind : {LossKind::kHamming, LossKind::kWhole, LossKind::kSpans}) {
      test::is_read([&] {
        const Decision decision = Decider(kind, task).decide(ensemble, {.max_candidates = 8});
        test::demand(decision.tags.size() == line.x.size(), "a decision is as long");
        test::demand(decision.expected_loss >= 0, "no expected loss is below 0");
      });
    }
    test::is_read([&] {
      const Rescored rescored = rescore(ensemble, ensemble.log_scores);
      test::demand(rescored.overlap >= 0 && rescored.overlap <= 1, "the overlap is a share");
    });
  }
  return 0;
}
