// The reader that docs/python.md is.
#include "runtime/files/safetensors.h"
#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

std::string python_of(const std::string& page) {
  const std::string begin = "```python\n";
  const size_t first = page.find(begin) + begin.size();
  return page.substr(first, page.find("```\n", first) - first);
}

TEST_CASE("the Python page's reader has the numbers of tables and of parameters") {
  const test::Sandbox box;
  std::string python;
  for (const char* each : {"/usr/bin/python3", "python3"}) {
    if (box.run(std::string(each) + " -c 'import numpy'").exit_code == 0) python = each;
  }
  if (python.empty()) {
    WARN("SKIPPED: there is no Python with numpy");
    return;
  }
  const std::string page = test::read_file(test::source_dir() + "/docs/python.md");
  const std::string reader = python_of(page);
  CHECK(test::lines_of(reader).size() <= 25);
  test::write_text(box.path("reader.py"), reader);
  test::write_text(box.path("in.txt"), "1 2 3 1 2\n3 1\n2 2 1\n");
  for (const std::string precision : {"float", "double"}) {
    const std::string p = "p." + precision;
    REQUIRE(box.program("lesson_01_hmm init --precision " + precision + " -o " + p).exit_code == 0);
    for (const std::string format : {"csv", "json"}) {
      REQUIRE(box.program("lesson_01_hmm eval --input in.txt --params " + p + " -M 4,8 --runs 2 " +
                          "--methods PF,exact,beam --threads 1 --format " + format + " -o table." +
                          format)
                  .exit_code == 0);
    }
    test::write_text(box.path("use.py"),
                     "from reader import *\n"
                     "a, b = read_eval('table.csv'), read_eval('table.json')\n"
                     "assert len(a) == len(b) == 6, (len(a), len(b))\n"
                     "for x, y in zip(a, b):\n"
                     "    for k in x:\n"
                     "        same = k == 'seconds_per_input' or x[k] == y[k] or (x[k] != x[k] and "
                     "y[k] != y[k])\n"
                     "        assert same, (k, x[k], y[k])\n"
                     "assert {r['configuration'] for r in a} == {'PF', 'exact', 'beam'}\n"
                     "assert all(r['kl_bits'] >= 0 for r in a)\n"
                     "for name, t in read_parameters('" +
                         p +
                         "').items():\n"
                         "    print(name, 'x'.join(map(str, t.shape)), repr(float(t.sum())), "
                         "repr(float(t.flat[-1])))\n");
    const auto result = box.run(python + " use.py");
    CAPTURE(result.out, result.err);
    REQUIRE(result.exit_code == 0);
    // The same names, and their last elements to the bit.
    const TensorFile file = read_tensors(box.path(p).string());
    size_t num_found = 0;
    for (const Tensor& tensor : file.tensors) {
      int64_t size = 1;
      for (int64_t extent : tensor.shape) size *= extent;
      for (const std::string& line : test::lines_of(result.out)) {
        if (!line.starts_with(tensor.name + " ")) continue;
        ++num_found;
        CHECK(std::stod(line.substr(line.rfind(' '))) == tensor.value(size - 1));
      }
    }
    CHECK(num_found == file.tensors.size());
    CHECK(num_found > 0);
  }
}

}  // namespace
}  // namespace scry
