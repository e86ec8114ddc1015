// A task that cannot be done without looking ahead (app:lastchar): x is a word's phonemes and then
// 0 or 1. y is x in lower case if the last symbol is 0, and a copy of x if it is 1.
#include <cctype>

#include "pair_lm.h"

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

SCRY_MODEL(Settings& settings) {
  const int d = settings.number("d", 32, "units of every GRU");
  std::vector<std::string> x =
      Alphabet::from_file(settings.file("vocab", "", "phonemes, one a line")).symbols();
  std::vector<std::string> y;
  for (const std::string& phoneme : x) y.push_back(lower(phoneme));
  for (const char* digit : {"0", "1"}) x.emplace_back(digit);
  y.insert(y.end(), x.begin(), x.end());
  const Task task{Alphabet(x), Alphabet(y)};
  return {std::make_shared<tasks::PairLm>(task, d),
          std::make_shared<tasks::Lookahead>(task, d, d, d, task.y.size())};
}
