#include <algorithm>
#include <array>

#include "runtime/files/examples_file.h"
#include "tests/fuzz/reader_fuzz.h"

using namespace scry;

namespace {

void check_ids(const std::vector<int>& ids, const Alphabet& alphabet) {
  for (int id : ids) test::demand(id >= 0 && id < alphabet.size(), "symbols are the alphabet's");
}

void check_examples(const std::vector<Example>& examples, const Task& task) {
  test::demand(!examples.empty(), "a file without examples is refused");
  for (const Example& example : examples) {
    test::demand(!example.x.empty() && example.x.size() == example.y.size(),
                 "an example has as many tags as symbols");
    check_ids(example.x, task.x);
    check_ids(example.y, task.y);
    test::demand(example.line > 0, "lines are counted from 1");
  }
}

void check_inputs(const std::vector<InputLine>& lines, const Task& task, bool constrained) {
  test::demand(!lines.empty(), "a file without sequences is refused");
  for (const InputLine& line : lines) {
    check_ids(line.x, task.x);
    test::demand(line.error.find('\n') == std::string::npos, "an error is one line");
    if (!line.error.empty()) continue;
    test::demand(!line.x.empty(), "a sequence has symbols");
    if (!constrained || line.allowed.empty()) continue;
    const auto length = static_cast<int>(line.x.size());
    test::demand(line.allowed.length() == length, "tags are allowed at every position");
    test::demand(line.allowed.num_tags() == task.y.size(), "allowed tags are the alphabet's");
  }
}

/// How a file is read; the input's first byte chooses. A new format is a new line here.
using Format = void (*)(const std::string& path, const Task& task);
constexpr std::array<Format, 7> kFormats{
    [](const std::string& path, const Task& task) {
      check_examples(read_examples(path, task), task);
    },
    [](const std::string& path, const Task& task) {
      check_inputs(read_inputs(path, task, false), task, false);
    },
    [](const std::string& path, const Task& task) {
      check_inputs(read_inputs(path, task, true), task, true);
    },
    [](const std::string& path, const Task& task) {
      check_examples(read_examples(path, task, {FileLayout::kConll}), task);
    },
    [](const std::string& path, const Task& task) {
      check_inputs(read_inputs(path, task, true, {FileLayout::kConll}), task, true);
    },
    [](const std::string& path, const Task& task) {
      check_examples(read_examples(path, task, {FileLayout::kConll, 2, 4}), task);
    },
    [](const std::string& path, const Task& task) {
      check_examples(read_examples(path, task, {.has_comments = true}), task);
    },
};

}  // namespace

/// The first byte's last digit, so that seeds are readable, is the format; from 'A' on the input
/// alphabet knows unknown symbols.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Task task{Alphabet::of("a b c"), Alphabet::of("D N V|W *")};
  static const Task open_task{task.x.with_unknown(), task.y};
  if (size == 0) return 0;
  const bool is_open = data[0] >= 'A';
  const Format format = kFormats[(data[0] - (is_open ? 'A' : '0') + 256U) % kFormats.size()];
  const std::string& path = test::write_input(test::text_of(data + 1, size - 1));
  test::is_read([&] { format(path, is_open ? open_task : task); });
  return 0;
}
