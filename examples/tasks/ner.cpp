// Named entities in Chinese (sec:tagging): x is a sentence's characters, y says which are parts of
// names. Both alphabets come from files, as `scry vocab` makes them of a corpus; characters may
// begin with vectors from elsewhere: --embed model.emb.weight=FILE --embed
// proposal.emb.weight=FILE.
#include "pair_lm.h"

SCRY_MODEL(Settings& settings) {
  const int d = settings.number("d", 32, "units of every GRU");
  const int e = settings.number("e", 32, "numbers that embed a character");
  const Task task{
      Alphabet::from_file(settings.file("vocab", "", "characters, one a line")).with_unknown(),
      Alphabet::from_file(settings.file("tags", "", "tags, one a line"))};
  return {std::make_shared<tasks::SymbolAndTagLm>(task, e, d),
          std::make_shared<tasks::Lookahead>(task, e, d, d, task.y.size())};
}
