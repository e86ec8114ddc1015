// English stress (sec:tagging): which vowels of a word are stressed? x is a word's phonemes; y
// marks each vowel with its stress 0, 1 or 2 and each consonant with "-".
#include "pair_lm.h"

SCRY_MODEL(Settings& settings) {
  const int d = settings.number("d", 32, "units of every GRU");
  const Task task{Alphabet::from_file(settings.file("vocab", "", "phonemes, one a line")),
                  Alphabet::of("- 0 1 2")};
  return {std::make_shared<tasks::PairLm>(task, d),
          std::make_shared<tasks::Lookahead>(task, d, d, d, task.y.size())};
}
