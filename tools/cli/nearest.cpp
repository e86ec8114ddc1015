#include "tools/cli/nearest.h"

#include <algorithm>
#include <cctype>

namespace scry::cli {
namespace {

std::string plain(std::string_view word) {
  std::string text(word.substr(std::min(word.size(), word.find_first_not_of('-'))));
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Typing mistakes between two words (Damerau and Levenshtein's distance, without edits of what was
/// swapped).
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = above, above = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool equal = a[i - 1] == b[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (equal ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view given, const std::vector<std::string>& words) {
  constexpr size_t kMaxSize = 64, kMinPrefix = 3;
  const std::string typed = plain(given);
  if (typed.empty() || typed.size() > kMaxSize) return "";
  const size_t most = typed.size() < 3 ? 0 : (typed.size() + 2) / 3;
  std::string best;
  size_t least = most + 1, num_best = 0;
  for (const std::string& word : words) {
    const std::string known = plain(word);
    size_t mistakes = distance(typed, known);
    if (typed.size() >= kMinPrefix && known.starts_with(typed)) mistakes = std::min(mistakes, most);
    if (mistakes > least || mistakes > most) continue;
    num_best = mistakes < least ? 1 : num_best + 1;
    least = mistakes;
    best = word;
  }
  return num_best == 1 ? best : "";
}

}  // namespace scry::cli
