// scripts/get-data without a network, and the sample that it made.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/files/examples_file.h"
#include "tests/catch.h"
#include "tests/cli/shell.h"
#include "tests/support/lessons.h"

namespace scry {
namespace {

using test::lines_of;
using test::Sandbox;

const std::vector<std::string> kSplits{"train", "dev1", "dev2", "test"};

Sandbox::Result get_data(const Sandbox& box, const std::string& words) {
  return box.run(test::source_dir() + "/scripts/get-data " + words);
}

/// A program that get-data will find instead of the real one.
void fake(const Sandbox& box, const std::string& name, const std::string& script) {
  std::filesystem::create_directory(box.path("bin"));
  test::write_text(box.path("bin/" + name), "#!/bin/sh\n" + script + "\n");
  std::filesystem::permissions(box.path("bin/" + name), std::filesystem::perms::owner_all);
}
Sandbox::Result get_with_fakes(const Sandbox& box, const std::string& words) {
  return box.run("env PATH=\"$PWD/bin:$PATH\" " + test::source_dir() + "/scripts/get-data " +
                 words);
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

/// Four small splits in the folder `name`.
void write_splits(const Sandbox& box, const std::string& name) {
  std::filesystem::create_directory(box.path(name));
  for (const std::string& split : kSplits) {
    test::write_text(box.path(name + "/" + split + ".tsv"),
                     "K AW CH\t- 1 -\nK AH\t- 0\nK AH\t- 1\nAY\t1\n");
  }
}

}  // namespace

TEST_CASE("the stress sample has every symbol in its training split, and no word in two splits") {
  const Task task = test::lesson_03().model->task();
  std::set<std::string> seen;
  for (const std::string& split : kSplits) {
    const std::vector<Example> examples =
        read_examples(test::source_dir() + "/data/stress/" + split + ".tsv", task);
    CAPTURE(split);
    CHECK(examples.size() == (split == "train" ? 8000 : 500));
    std::set<std::string> here, lines;
    std::set<int> symbols, tags;
    for (const Example& example : examples) {
      here.insert(example.symbols);
      CHECK(lines.insert(example.symbols + "\t" + example.tags).second);
      symbols.insert(example.x.begin(), example.x.end());
      tags.insert(example.y.begin(), example.y.end());
    }
    if (split == "train") {
      CHECK(symbols.size() == 39);
      CHECK(tags.size() == 4);
    }
    for (const std::string& word : here) CHECK(seen.insert(word).second);
  }
}

TEST_CASE("last-char lowers a word or copies it, as its last symbol says, by a fair coin") {
  const Sandbox box;
  const auto result = get_data(box, "last-char made");
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  CHECK(result.out == "get-data: made: train 7942, dev1 496, dev2 497, test 497 examples\n");
  CHECK(names_in(box.path("made")).size() == 4);
  int num_lines = 0, num_copies = 0;
  for (const std::string& split : kSplits) {
    for (const std::string& line : lines_of(test::read_file(box.path("made/" + split + ".tsv")))) {
      const size_t tab = line.find('\t');
      REQUIRE(tab != std::string::npos);
      std::string x = line.substr(0, tab);
      const std::string y = line.substr(tab + 1);
      const bool copied = x.ends_with(" 1");
      if (!copied) {
        REQUIRE(x.ends_with(" 0"));
        std::transform(x.begin(), x.end(), x.begin(), [](unsigned char c) { return tolower(c); });
      }
      if (x != y) FAIL(line);
      ++num_lines;
      num_copies += copied;
    }
  }
  // Three standard deviations of a fair coin.
  CHECK(std::abs(2.0 * num_copies - num_lines) < 3 * std::sqrt(num_lines));
}

TEST_CASE("last-char is made of any stress splits, alike each time, and not made over") {
  const Sandbox box;
  write_splits(box, "from");
  REQUIRE(get_data(box, "last-char --from from one").exit_code == 0);
  REQUIRE(get_data(box, "last-char --from from/ two/").exit_code == 0);
  const std::string train = test::read_file(box.path("one/train.tsv"));
  CHECK(lines_of(train).size() == 3);
  CHECK(test::read_file(box.path("two/train.tsv")) == train);
  CHECK(test::read_file(box.path("one/test.tsv")) == train);

  test::write_text(box.path("one/train.tsv"), "mine");
  const auto again = get_data(box, "last-char --from from one");
  CHECK(again.exit_code == 0);
  CHECK(again.out == "get-data: one is there already; remove it to make it anew\n");
  CHECK(test::read_file(box.path("one/train.tsv")) == "mine");
}

TEST_CASE(
    "words of at most five phonemes are mixed by five, alike for a seed and not for another") {
  const Sandbox box;
  const auto result = get_data(box, "words one");
  CHECK(result.err.empty());
  CHECK(result.out ==
        "get-data: one: strings-train 2634, strings-dev1 174, train 2634, dev2 500, test 500 "
        "examples\n");
  std::set<std::string> known;  // the phonemes of the test split's words
  for (const std::string& line :
       lines_of(test::read_file(test::source_dir() + "/data/stress/test.tsv")))
    known.insert(line.substr(0, line.find('\t')));
  int num_first = 0, num_symbols = 0;
  for (const std::string& line : lines_of(test::read_file(box.path("one/test.tsv")))) {
    std::istringstream x(line.substr(0, line.find('\t'))), y(line.substr(line.find('\t') + 1));
    std::map<std::string, std::string> words;
    std::map<std::string, int> lengths;
    for (std::string symbol, tag; x >> symbol && y >> tag;) {
      words[tag] += (words[tag].empty() ? "" : " ") + symbol;
      ++lengths[tag];
      ++num_symbols;
      if (tag == "1") ++num_first;
    }
    REQUIRE(words.size() == 5);
    for (const auto& [tag, word] : words) {
      if (!known.contains(word) || lengths[tag] > 5) FAIL(line);
    }
  }
  CHECK(std::abs(5.0 * num_first / num_symbols - 1) < 0.05);
  for (const std::string& line : lines_of(test::read_file(box.path("one/strings-train.tsv")))) {
    const std::string tags = line.substr(line.find('\t') + 1);
    if (tags.find_first_not_of("1 ") != std::string::npos) FAIL(line);
  }
  REQUIRE(get_data(box, "words --seed 1 two").exit_code == 0);
  REQUIRE(get_data(box, "words --seed 2 three").exit_code == 0);
  const std::string test = test::read_file(box.path("one/test.tsv"));
  CHECK(test::read_file(box.path("two/test.tsv")) == test);
  CHECK(test::read_file(box.path("three/test.tsv")) != test);
  CHECK(test::read_file(box.path("three/strings-train.tsv")) ==
        test::read_file(box.path("one/strings-train.tsv")));
}

TEST_CASE("sentences that are too long are left out, and Weibo's characters lose their digits") {
  const Sandbox box;
  std::filesystem::create_directory(box.path("english"));
  std::filesystem::create_directory(box.path("chinese"));
  for (const std::string& split : kSplits) {
    test::write_text(box.path("english/" + split + ".txt"),
                     "\xef\xbb\xbfhi  there\r\n\r\na b c d e f g h\r\na b c d e f g h i\r\nno\r\n");
  }
  REQUIRE(get_data(box, "sentences --from english out").exit_code == 0);
  CHECK(test::read_file(box.path("out/strings-train.tsv")) ==
        "hi there\t1 1\na b c d e f g h\t1 1 1 1 1 1 1 1\nno\t1\n");
  CHECK(lines_of(test::read_file(box.path("out/train.tsv"))).size() == 3);
  for (const std::string split : {"train", "dev", "test"}) {
    test::write_text(box.path("chinese/" + split + ".conll"),
                     "科0\tO\r\n11\tB-X\r\n\r\n\r\n。0\tO\r\n\r\n技0\tO");
  }
  const auto weibo = get_data(box, "weibo --from chinese weibo");
  CHECK(weibo.out == "get-data: weibo: train 3, dev1 2, dev2 1, test 3 examples\n");
  CHECK(test::read_file(box.path("weibo/train.conll")) == "科\tO\n1\tB-X\n\n。\tO\n\n技\tO\n\n");
  CHECK(test::read_file(box.path("weibo/dev1.conll")) == "科\tO\n1\tB-X\n\n技\tO\n\n");
  CHECK(test::read_file(box.path("weibo/dev2.conll")) == "。\tO\n\n");
}

TEST_CASE("what get-data cannot do is one line, and leaves nothing behind") {
  const Sandbox box;
  const std::string usage =
      "; usage: scripts/get-data cmudict [FOLDER] | last-char [--from FOLDER] [FOLDER] | words "
      "[--from FOLDER] [--seed N] [FOLDER] | sentences --from FOLDER [--seed N] [FOLDER] | weibo "
      "--from FOLDER [FOLDER]\n";
  test::write_text(box.path("file"), "");
  write_splits(box, "full");
  write_splits(box, "bad");
  test::write_text(box.path("bad/dev2.tsv"), "K AH\t- 0\nK AH - 0\n");
  write_splits(box, "less");
  std::filesystem::remove(box.path("less/test.tsv"));
  for (const char* folder : {"long", "marked"}) std::filesystem::create_directory(box.path(folder));
  for (const std::string& split : kSplits) {
    test::write_text(box.path("long/" + split + ".txt"),
                     split == "dev1" ? "1 2 3 4 5 6 7 8 9\n" : "1 2\n");
  }
  for (const std::string split : {"train", "dev", "test"}) {
    test::write_text(box.path("marked/" + split + ".conll"),
                     split == "dev" ? "科0\tO\n技\tO\n" : "科0\tO\n");
  }
  struct Case {
    std::string words;
    int exit_code;
    std::string err;
  };
  const std::vector<Case> cases{
      {"", 2, "name a data set" + usage},
      {"cmu", 2, "there is no data set 'cmu'" + usage},
      {"cmudict a b", 2, "cmudict takes one folder" + usage},
      {"cmudict --force", 2, "there is no option '--force'" + usage},
      {"last-char --to a", 2, "there is no option '--to'" + usage},
      {"last-char --from", 2, "--from needs a folder" + usage},
      {"last-char --seed 2", 2, "last-char draws nothing: leave out --seed" + usage},
      {"words --seed x", 2, "--seed needs a whole number below 10^9" + usage},
      {"sentences out", 2, "sentences needs --from and the folder of its corpus" + usage},
      {"weibo --from none out", 1, "none/train.conll cannot be read\n"},
      {"words --from bad out", 1, "bad/dev2.tsv:2: a line is phonemes, a tab, and tags\n"},
      {"words --from full out", 1, "full: 3 strings are too few to mix 5\n"},
      {"sentences --from long out", 1,
       "long/dev1.txt: there is no sentence of at most 8 words in it\n"},
      {"weibo --from marked out", 1,
       "marked/dev.conll:2: a line is a character with a digit, a tab, and a tag\n"},
      {"last-char a b", 2, "last-char takes one folder" + usage},
      {"last-char --from none out", 1, "none/train.tsv cannot be read\n"},
      {"last-char --from less out", 1, "less/test.tsv cannot be read\n"},
      {"last-char --from bad out", 1, "bad/dev2.tsv:2: a line is phonemes, a tab, and tags\n"},
      {"last-char --from full file", 1, "file is not a folder\n"},
      {"last-char --from full file/out", 1, "file/out cannot be made: File exists\n"},
      {"last-char --from full less", 1,
       "less has other files in it; remove it or name another folder\n"},
  };
  const std::set<std::string> before = names_in(box.path("."));
  for (const Case& one : cases) {
    const auto result = get_data(box, one.words);
    CAPTURE(one.words);
    CHECK(result.exit_code == one.exit_code);
    CHECK(result.err == "get-data: " + one.err);
    CHECK(result.out.empty());
    for (const std::string& name : names_in(box.path("."))) {
      CHECK((before.contains(name) || name == ".out" || name == ".err"));
    }
  }
}

TEST_CASE("a download that fails or is not the package that was meant leaves nothing behind") {
  const Sandbox box;
  fake(box, "node", "exit 1");
  fake(box, "npm", "echo 'npm error code ENOTFOUND' >&2; echo 'npm error at host' >&2; exit 1");
  const auto offline = get_with_fakes(box, "cmudict out");
  CHECK(offline.exit_code == 1);
  CHECK(offline.err ==
        "get-data: npm could not download cmu-pronouncing-dictionary@3.0.0 (ENOTFOUND); is the "
        "network there?\n");
  fake(box, "npm", "echo damaged >cmu-pronouncing-dictionary-3.0.0.tgz");
  const auto damaged = get_with_fakes(box, "cmudict out");
  CHECK(damaged.exit_code == 1);
  CHECK(damaged.err ==
        "get-data: cmu-pronouncing-dictionary-3.0.0.tgz has another SHA-512 than the one in "
        "scripts/get-data\n");
  CHECK(names_in(box.path(".")) == std::set<std::string>{".err", ".out", "bin"});
}

TEST_CASE("the dictionary's entries become examples, each in the split of its phonemes") {
  const Sandbox box;
  if (box.run("node --version").exit_code != 0) {
    WARN("SKIPPED: node, which comes with npm, is not installed");
    return;
  }
  std::filesystem::create_directory(box.path("package"));
  test::write_text(box.path("package/package.json"), R"({"type": "module"})");
  const auto split = [&](const std::string& entries) {
    test::write_text(box.path("package/index.js"), "export const dictionary = {" + entries + "}");
    return box.run("node " + test::source_dir() + "/scripts/split-cmudict.mjs package out");
  };
  const auto made = split(R"js("model": "M AA1 D AH0 L", "model(2)": "M AA1 D EH0 L",
      "s": "EH1 S # a letter", "ess": "EH1 S",
      "record": "R IH0 K AO1 R D", "recorded": "R IH2 K AO1 R D")js");
  CHECK(made.err.empty());
  REQUIRE(made.exit_code == 0);
  // SHA-256 starts with a6 for "M AA D AH L", with 0c for "EH S" and with 29 for "R IH K AO R D".
  CHECK(test::read_file(box.path("out/train.tsv")) == "M AA D AH L\t- 1 - 0 -\n");
  CHECK(test::read_file(box.path("out/dev2.tsv")) ==
        "R IH K AO R D\t- 0 - 1 - -\nR IH K AO R D\t- 2 - 1 - -\n");
  CHECK(test::read_file(box.path("out/dev1.tsv")).empty());
  CHECK(test::read_file(box.path("out/test.tsv")) == "EH S\t1 -\n");
  CHECK(test::read_file(box.path("out/sample/train.tsv")) ==
        test::read_file(box.path("out/train.tsv")));

  const auto bad = split(R"("model": "M AA9 D")");
  CHECK(bad.exit_code == 1);
  CHECK(bad.err == "get-data: the entry of 'model' is not made of phonemes: M AA9 D\n");
}

}  // namespace scry
