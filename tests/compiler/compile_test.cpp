#include "compiler/compile.h"

#include <set>

#include "compiler/stages.h"
#include "tests/catch.h"
#include "tests/support/call_kernel.h"
#include "tests/support/run_kernel.h"
#include "tests/support/small_models.h"
#include "tests/support/temp_folder.h"

using namespace scry;
using namespace scry::test;

namespace {

/// A compilation of the small tagger with its lookahead, in a cache of its own.
struct Compilation {
  SmallTagger model;
  SmallLookahead proposal;
  CompileOptions options;
  CompileReport report;
  std::vector<std::string> warnings;

  explicit Compilation(const TempFolder& cache, const Task& task = small_task(), int d = 5,
                       double scale = 1)
      : model(task, d, scale),
        proposal(task, d),
        options{.differentiator = Differentiator::kAdjoint, .cache_folder = cache.path()} {
    options.warn = [this](const std::string& message) { warnings.push_back(message); };
  }
  Program run() { return compile(model, &proposal, options, &report); }
};

/// By the adjoint, in float.
const Program& small_program() {
  static const Program program = Compilation(TempFolder()).run();
  return program;
}

std::vector<const Kernel*> kernels_of(const Program& program) {
  std::vector<const Kernel*> kernels;
  const auto add = [&](const Stage& stage) {
    kernels.push_back(&stage.forward), kernels.push_back(&stage.gradient);
  };
  for (const Stage* stage : {&program.prepare, &program.prepare_proposal, &program.encode,
                             &program.start, &program.end, &program.back, &program.root,
                             &program.score, &program.score_tag, &program.advance, &program.extend})
    add(*stage);
  for (const PlaceStage* stage : {&program.place, &program.back_in, &program.ahead}) add(*stage);
  for (const ScanStage& scan : program.scans) add(scan), add(scan.in);
  std::erase_if(kernels, [](const Kernel* kernel) { return !*kernel; });
  return kernels;
}
std::set<std::string> slot_names(const Kernel& kernel, std::initializer_list<SlotRole> roles) {
  std::set<std::string> names;
  for (const Slot& slot : kernel.slots) {
    if (std::find(roles.begin(), roles.end(), slot.role) != roles.end()) names.insert(slot.name);
  }
  return names;
}

/// When the generated code was seen, and held no call that allocates.
std::set<std::string> moments_without_allocation(Differentiator differentiator) {
  std::set<std::string> seen;
  CompileOptions options{.differentiator = differentiator};
  options.on_ir = [&](const std::string& when, const std::string& ir) {
    if (when == "emitted") return;
    seen.insert(when);
    for (const char* name :
         {"@malloc", "@calloc", "@realloc", "@free", "@_Znw", "@_Zna", "@posix_memalign"}) {
      const size_t at = ir.find(name);
      INFO(when << ": " << name << (at == std::string::npos ? "" : ": " + ir.substr(at, 200)));
      CHECK(at == std::string::npos);
    }
  };
  const SmallLookahead lookahead;
  compile(SmallTagger(), lookahead, options);
  options.precision = Precision::kDouble;
  compile(EncoderTagger(), options);
  return seen;
}

}  // namespace

TEST_CASE("the second compilation of a model is loaded from the cache, and does the same",
          "[compile]") {
  const TempFolder cache;
  Compilation first(cache), second(cache);
  const Program compiled = first.run(), loaded = second.run();
  CHECK_FALSE(first.report.from_cache);
  CHECK(second.report.from_cache);
  CHECK(first.report.cache_file == second.report.cache_file);
  CHECK(std::filesystem::is_regular_file(first.report.cache_file));
  CHECK(cache.names().size() == 1);
  const auto a = kernels_of(compiled), b = kernels_of(loaded);
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    INFO(a[i]->name);
    CHECK(call_kernel(compiled, *a[i]) == call_kernel(loaded, *b[i]));
  }
  CHECK(first.warnings.empty());
  CHECK(second.warnings.empty());
}

TEST_CASE("whatever changes the code changes its file in the cache", "[compile]") {
  const TempFolder cache;
  std::set<std::string> files;
  const auto add = [&](Compilation compilation,
                       const std::function<void(CompileOptions&)>& change = {}) {
    compilation.options.gradients = false;  // for the time
    if (change) change(compilation.options);
    compilation.run();
    CHECK_FALSE(compilation.report.from_cache);
    CHECK(files.insert(compilation.report.cache_file).second);
  };
  add(Compilation(cache));
  add(Compilation(cache, small_task(), 5, 2));
  add(Compilation(cache, small_task(), 5, 1 + 1e-15));
  add(Compilation(cache, small_task(5, 3)));
  add(Compilation(cache, small_task(4, 2)));
  add(Compilation(cache, small_task(), 6));
  add(Compilation(cache), [](CompileOptions& options) { options.precision = Precision::kDouble; });
  add(Compilation(cache), [](CompileOptions& options) { options.gradients = true; });
  if (has_enzyme()) {
    add(Compilation(cache), [](CompileOptions& options) {
      options.gradients = true;
      options.differentiator = Differentiator::kEnzyme;
    });
  }
  CompileReport report;
  compile(SmallTagger(), nullptr, {.gradients = false, .cache_folder = cache.path()}, &report);
  CHECK(files.insert(report.cache_file).second);
}

TEST_CASE("a damaged kernel in the cache is compiled again, with one warning", "[compile]") {
  const TempFolder cache;
  Compilation first(cache), second(cache), third(cache);
  first.run();
  const std::string file = first.report.cache_file, bytes = read_bytes(file);
  std::ofstream(file, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  second.run();
  CHECK_FALSE(second.report.from_cache);
  REQUIRE(second.warnings.size() == 1);
  CHECK(second.warnings[0] == "the cached kernel " + file + " is damaged; compiling again");
  CHECK(read_bytes(file) == bytes);
  third.run();
  CHECK(third.report.from_cache);
  CHECK(third.warnings.empty());
}

TEST_CASE("a cache that cannot be written is warned of, and the program works", "[compile]") {
  const TempFolder folder;
  Compilation compilation(folder);
  compilation.options.cache_folder = folder.write("file", "");
  CHECK(static_cast<bool>(compilation.run().extend.forward));
  REQUIRE(compilation.warnings.size() == 1);
  CHECK(compilation.warnings[0].find("cannot be written") != std::string::npos);
}

TEST_CASE("without the cache nothing is written", "[compile]") {
  const TempFolder cache;
  Compilation compilation(cache);
  compilation.options.use_cache = false;
  compilation.run();
  CHECK(compilation.report.cache_file == "");
  CHECK(cache.names().empty());
}

TEST_CASE("without gradients there are no gradient kernels", "[compile]") {
  const TempFolder cache;
  Compilation compilation(cache);
  compilation.options.gradients = false;
  const Program program = compilation.run();
  CHECK(program.differentiator == "none");
  for (const Kernel* kernel : kernels_of(program)) {
    CHECK(kernel->name.find("gradient") == std::string::npos);
    CHECK(slot_names(*kernel, {SlotRole::kSeed, SlotRole::kGradient}).empty());
  }
  CHECK_FALSE(static_cast<bool>(program.extend.gradient));
  CHECK(static_cast<bool>(program.extend.forward));
}

TEST_CASE("the adjoint's code allocates no memory", "[compile]") {
  CHECK(moments_without_allocation(Differentiator::kAdjoint) == std::set<std::string>{"optimized"});
}

TEST_CASE("Enzyme's code allocates no memory", "[compile][enzyme]") {
  if (skip_without_enzyme()) return;
  CHECK(moments_without_allocation(Differentiator::kEnzyme) ==
        std::set<std::string>{"differentiated", "optimized"});
}

TEST_CASE("parameters and tables stand in blocks of 16, model and proposal apart", "[compile]") {
  const Program& program = small_program();
  const auto check_layout = [](const std::vector<Block>& blocks, int64_t num_elements) {
    int64_t end = 0;
    for (const Block& block : blocks) {
      INFO(block.name);
      CHECK(block.offset % 16 == 0);
      CHECK(block.offset >= end);
      CHECK(block.offset < end + 16);  // and no gaps but for alignment
      end = block.offset + block.shape.size();
    }
    CHECK(num_elements >= end);
    CHECK(num_elements < end + 16);
  };
  check_layout(program.params, program.num_param_elements);
  check_layout(program.tables, program.num_table_elements);
  std::vector<std::string> names;
  for (const Block& block : program.params) {
    names.push_back(block.name);
    CHECK((block.group == ParamGroup::kModel) == block.name.starts_with("model."));
    CHECK((block.group == ParamGroup::kProposal) == block.name.starts_with("proposal."));
  }
  CHECK(names == std::vector<std::string>{
                     "model.pair.weight", "model.gru.weight_ih", "model.gru.weight_hh",
                     "model.gru.bias_ih", "model.gru.bias_hh", "model.next.weight",
                     "model.next.bias", "proposal.symbol.weight", "proposal.gru.weight_ih",
                     "proposal.gru.weight_hh", "proposal.gru.bias_ih", "proposal.gru.bias_hh",
                     "proposal.c.0.weight", "proposal.c.0.bias", "proposal.c.2.weight",
                     "proposal.c.2.bias"});
}

TEST_CASE("a table is the proposal's exactly if it is made of the proposal's parameters",
          "[compile]") {
  const Program& program = small_program();
  const auto groups_in = [&](const Kernel& kernel) {
    std::set<ParamGroup> groups;
    for (const std::string& name : slot_names(kernel, {SlotRole::kInput})) {
      for (const Block& table : program.tables) {
        if (table.name == name) groups.insert(table.group);
      }
    }
    return groups;
  };
  CHECK(groups_in(program.score.forward) == std::set{ParamGroup::kModel});
  CHECK(groups_in(program.advance.forward) == std::set{ParamGroup::kModel});
  CHECK(groups_in(program.back.forward) == std::set{ParamGroup::kProposal});
  CHECK(groups_in(program.extend.forward) == std::set{ParamGroup::kModel, ParamGroup::kProposal});
  CHECK(groups_in(program.score_tag.forward) == std::set{ParamGroup::kModel});
  // A table is as `prepare` makes it.
  std::set<std::string> by_model, by_proposal;
  for (const Block& table : program.tables)
    (table.group == ParamGroup::kModel ? by_model : by_proposal).insert(table.name);
  CHECK(slot_names(program.prepare.forward, {SlotRole::kOutput}) == by_model);
  CHECK(slot_names(program.prepare_proposal.forward, {SlotRole::kOutput}) == by_proposal);
}

TEST_CASE("a stage has the slots that its part of the model names", "[compile]") {
  const Program& program = small_program();
  using Names = std::set<std::string>;
  const auto outputs = [](const Kernel& kernel) { return slot_names(kernel, {SlotRole::kOutput}); };
  CHECK(outputs(program.start.forward) == Names{"s.h", "s.tag"});
  CHECK(outputs(program.end.forward) == Names{"later.later"});
  CHECK(outputs(program.back.forward) == Names{"next.later", "to_go"});
  CHECK(outputs(program.score.forward) == Names{"score"});
  CHECK(outputs(program.score_tag.forward) == Names{"score"});
  CHECK_FALSE(static_cast<bool>(program.score.gradient));  // its states are not finite
  CHECK(outputs(program.advance.forward) == Names{"next.h", "next.tag"});
  CHECK(outputs(program.extend.forward) == Names{"score", "next.h", "next.tag", "compat"});
  CHECK(slot_names(program.advance.forward, {SlotRole::kInput}).contains("y"));
  CHECK(slot_names(program.score_tag.forward, {SlotRole::kInput}).contains("y"));
  CHECK(slot_names(program.score_tag.gradient, {SlotRole::kSeed}) == Names{"d.score"});
  CHECK(slot_names(program.advance.gradient, {SlotRole::kSeed}) == Names{"d.next.h"});
  CHECK(slot_names(program.extend.gradient, {SlotRole::kSeed}) == Names{"d.compat"});
  for (const std::string& name : slot_names(program.extend.gradient, {SlotRole::kGradient})) {
    CHECK_FALSE(name.starts_with("d.model."));
    CHECK(name != "d.s.h");
  }
  for (const Slot& slot : program.extend.forward.slots) {
    if (slot.role == SlotRole::kOutput) CHECK(slot.axes == (Axes::prefix() | Axes::tag()));
  }
}

TEST_CASE("stages that a model lacks have no code", "[compile]") {
  const Program plain = compile(SmallTagger(), {.use_cache = false});
  for (const Stage* stage : {&plain.encode, &plain.end, &plain.back, &plain.extend}) {
    CHECK_FALSE(static_cast<bool>(stage->forward));
    CHECK_FALSE(static_cast<bool>(stage->gradient));
  }
  CHECK(plain.scans.empty());
  CHECK_FALSE(plain.has_proposal());
  const Program encoder = compile(EncoderTagger(), {.use_cache = false});
  CHECK(static_cast<bool>(encoder.encode.forward));
  REQUIRE(encoder.scans.size() == 2);
  CHECK(encoder.scans[0].direction == Direction::kLeftToRight);
  CHECK(encoder.scans[1].direction == Direction::kRightToLeft);
  CHECK(encoder.scans[0].sizes == std::vector{4});
  CHECK(encoder.features == std::vector<std::pair<std::string, int>>{{"e", 8}});
}

TEST_CASE("Enzyme's kernels fill the same slots with the same gradients as the adjoint's",
          "[compile][enzyme]") {
  if (skip_without_enzyme()) return;
  const TempFolder cache;
  Compilation by_adjoint(cache), by_enzyme(cache);
  by_enzyme.options.differentiator = Differentiator::kEnzyme;
  by_adjoint.options.precision = by_enzyme.options.precision = Precision::kDouble;
  const Program a = by_adjoint.run(), b = by_enzyme.run();
  CHECK(a.differentiator == "adjoint");
  CHECK(b.differentiator == "enzyme");
  const auto tables_of = [](const Program& program) {
    NamedValues tables = call_kernel(program, program.prepare.forward);
    tables.merge(call_kernel(program, program.prepare_proposal.forward));
    return tables;
  };
  const NamedValues tables_of_a = tables_of(a), tables_of_b = tables_of(b);
  for (const Kernel* kernel : kernels_of(a)) {
    const auto others = kernels_of(b);
    const auto other = std::find_if(others.begin(), others.end(),
                                    [&](const Kernel* k) { return k->name == kernel->name; });
    INFO(kernel->name);
    REQUIRE(other != others.end());
    const NamedValues x = call_kernel(a, *kernel, tables_of_a),
                      y = call_kernel(b, **other, tables_of_b);
    for (const auto& [name, values] : x) {
      INFO(name);
      if (is_prepare(kernel->name) && !y.contains(name)) continue;  // a table for the adjoint alone
      REQUIRE(y.contains(name));
      for (size_t k = 0; k < values.size(); ++k) {
        if (!name.starts_with("d.") && values[k] == y.at(name)[k]) continue;
        CHECK(y.at(name)[k] == Approx(values[k]).margin(1e-12));
      }
    }
  }
}

TEST_CASE("a mistake in the model is reported at its line, whatever the differentiator",
          "[compile]") {
  struct NoScore : SmallTagger {
    Step step(const State& s, const Input&, const Sym&) const override {
      return {.state = {s["h"], s.sym("tag")}};
    }
  };
  for (const Differentiator differentiator : {Differentiator::kAuto, Differentiator::kAdjoint}) {
    CHECK_THROWS_AS(compile(NoScore(), {.differentiator = differentiator}), ModelError);
  }
}
