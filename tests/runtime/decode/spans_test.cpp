#include "runtime/decode/spans.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/support/taggings.h"

using namespace scry;

namespace {

std::vector<int32_t> numbers(const Alphabet& alphabet, const std::string& words) {
  std::vector<int32_t> tags;
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    tags.push_back(*alphabet.find(words.substr(at, end - at)));
    at = end + 1;
  }
  return tags;
}

/// "0-1 PER, 3-3 LOC".
std::string spans_in(const Alphabet& alphabet, const std::string& words) {
  const SpanTags tags(alphabet);
  std::string text;
  for (const Span& span : tags.spans_of(numbers(alphabet, words))) {
    text += (text.empty() ? "" : ", ") + std::to_string(span.first) + "-" +
            std::to_string(span.last) + " " + tags.labels()[static_cast<size_t>(span.label)];
  }
  return text;
}

/// A tag as conlleval splits it: at the first hyphen.
struct Cut {
  std::string tag, type;
};
Cut cut(const std::string& name) {
  const size_t hyphen = name.find('-');
  if (hyphen == std::string::npos) return {name, ""};
  return {name.substr(0, hyphen), name.substr(hyphen + 1)};
}

/// conlleval.pl's endOfChunk and startOfChunk, and what its successors add for S, rule by rule.
bool end_of_chunk(const Cut& previous, const Cut& here) {
  const auto is = [&](const char* a, const char* b) { return previous.tag == a && here.tag == b; };
  bool end = is("B", "B") || is("B", "O") || is("I", "B") || is("I", "O");
  end = end || is("E", "E") || is("E", "I") || is("E", "O");
  end = end || is("B", "S") || is("I", "S") || previous.tag == "S";
  end = end || (previous.tag == "E" && (here.tag == "B" || here.tag == "S"));
  return end || (previous.tag != "O" && previous.type != here.type);
}
bool start_of_chunk(const Cut& previous, const Cut& here) {
  const auto is = [&](const char* a, const char* b) { return previous.tag == a && here.tag == b; };
  bool start = is("B", "B") || is("I", "B") || is("O", "B") || is("O", "I");
  start = start || is("E", "E") || is("E", "I") || is("O", "E");
  start = start || here.tag == "S" || is("S", "B") || is("S", "I") || is("S", "E") || is("E", "B");
  return start || (here.tag != "O" && previous.type != here.type);
}

struct Counts {
  int guessed = 0, gold = 0, right = 0;
};
/// conlleval.pl's loop over the tokens of one sentence, with the boundary line at its end.
Counts conlleval(const std::vector<std::string>& guessed, const std::vector<std::string>& gold) {
  Counts counts;
  bool in_correct = false;
  Cut last_guessed{"O", ""}, last_correct{"O", ""};
  for (size_t t = 0; t <= gold.size(); ++t) {
    const Cut here = t < gold.size() ? cut(guessed[t]) : Cut{"O", ""};
    const Cut correct = t < gold.size() ? cut(gold[t]) : Cut{"O", ""};
    if (in_correct) {
      const bool both = end_of_chunk(last_correct, correct) && end_of_chunk(last_guessed, here);
      const bool either = end_of_chunk(last_correct, correct) != end_of_chunk(last_guessed, here);
      if (both && last_guessed.type == last_correct.type) {
        in_correct = false;
        ++counts.right;
      } else if (either || here.type != correct.type) {
        in_correct = false;
      }
    }
    const bool start_correct = start_of_chunk(last_correct, correct);
    const bool start_guessed = start_of_chunk(last_guessed, here);
    if (start_correct && start_guessed && here.type == correct.type) in_correct = true;
    counts.gold += start_correct ? 1 : 0;
    counts.guessed += start_guessed ? 1 : 0;
    last_guessed = here;
    last_correct = correct;
  }
  return counts;
}

}  // namespace

TEST_CASE("spans are read from tags of every scheme") {
  const Alphabet bio = Alphabet::of("O B-PER I-PER B-LOC I-LOC");
  CHECK(spans_in(bio, "B-PER I-PER O B-LOC") == "0-1 PER, 3-3 LOC");
  CHECK(spans_in(bio, "I-PER I-PER B-PER O") == "0-1 PER, 2-2 PER");  // IOB1
  CHECK(spans_in(bio, "O I-LOC I-PER I-PER") == "1-1 LOC, 2-3 PER");
  CHECK(spans_in(bio, "B-PER I-LOC I-LOC") == "0-0 PER, 1-2 LOC");
  CHECK(spans_in(bio, "O O O") == "");
  CHECK(spans_in(bio, "B-LOC") == "0-0 LOC");
  const Alphabet iobes = Alphabet::of("O B-X I-X E-X S-X S-Y-Z");
  CHECK(spans_in(iobes, "S-X S-X B-X I-X E-X S-Y-Z") == "0-0 X, 1-1 X, 2-4 X, 5-5 Y-Z");
  const Alphabet bilou = Alphabet::of("O B-X I-X L-X U-X");
  CHECK(spans_in(bilou, "U-X B-X I-X L-X U-X") == "0-0 X, 1-3 X, 4-4 X");
  const Alphabet bmew = Alphabet::of("O B-X M-X E-X W-X");
  CHECK(spans_in(bmew, "W-X B-X M-X E-X") == "0-0 X, 1-3 X");
  CHECK(spans_in(Alphabet::of("B I O"), "B I B O I") == "0-1 , 2-2 , 4-4 ");
}

TEST_CASE("spans are counted as conlleval counts them, for all pairs of tag sequences") {
  for (const char* symbols :
       {"O B-X I-X B-Y I-Y", "O I-X E-X I-Y E-Y", "O B-X I-X E-X S-X", "B I O"}) {
    const Alphabet alphabet = Alphabet::of(symbols);
    const SpanTags tags(alphabet);
    const auto named = [&](const std::vector<int>& y) {
      std::vector<std::string> names;
      for (int tag : y) names.push_back(alphabet.name(tag));
      return names;
    };
    const auto all = test::all_taggings(alphabet.size(), alphabet.size() > 3 ? 3 : 5);
    int num_wrong = 0;
    for (const std::vector<int>& decided : all) {
      const std::vector<Span> of_decided = tags.spans_of(decided);
      for (const std::vector<int>& truth : all) {
        const Counts expected = conlleval(named(decided), named(truth));
        const SpanCounts counts = tags.count(decided, truth);
        const std::vector<Span> of_truth = tags.spans_of(truth);
        const auto both = std::count_if(of_decided.begin(), of_decided.end(), [&](const Span& s) {
          return std::find(of_truth.begin(), of_truth.end(), s) != of_truth.end();
        });
        const bool right = counts.decided == expected.guessed && counts.truth == expected.gold &&
                           counts.both == expected.right && counts.both == both &&
                           counts.decided == static_cast<int64_t>(of_decided.size());
        num_wrong += right ? 0 : 1;
      }
    }
    CAPTURE(symbols);
    CHECK(num_wrong == 0);
  }
}

TEST_CASE("F1 is the harmonic mean of precision and recall, and 1 where there are no spans") {
  const SpanCounts counts{.decided = 4, .truth = 6, .both = 3};
  const double precision = 3 / 4.0, recall = 3 / 6.0;
  CHECK(counts.f1() == Approx(2 * precision * recall / (precision + recall)));
  CHECK(SpanCounts{}.f1() == 1);
  CHECK(SpanCounts{.decided = 1}.f1() == 0);
  SpanCounts sum = counts;
  sum += counts;
  CHECK(sum.truth == 12);
  CHECK(sum.f1() == counts.f1());
}

TEST_CASE("an alphabet that is none of spans is refused by the name of a tag") {
  CHECK_THROWS_WITH(SpanTags(Alphabet::of("O B-X 1")),
                    "labelled spans: the tag '1' is neither O nor B-, I-, E- or S- and a label");
  CHECK(!SpanTags::fits(Alphabet::of("- 0 1 2")));
  CHECK(!SpanTags::fits(Alphabet::of("O")));  // there is no span
  CHECK(SpanTags::fits(Alphabet::of("O B-X").with_eos()));
}
