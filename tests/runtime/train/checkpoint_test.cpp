#include "runtime/train/checkpoint.h"

#include <cmath>
#include <limits>

#include "runtime/files/parameters_file.h"
#include "runtime/train/run_record.h"
#include "tests/catch.h"
#include "tests/runtime/files/safetensors_layout.h"
#include "tests/support/fake_training.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/temp_folder.h"

using namespace scry;
using test::bits_of;
using test::fake_identity;
using test::fake_program;
using test::FakeRun;

namespace {

constexpr int64_t kUpdates = 2;  // of an epoch: 23 examples in minibatches of 16

/// A state whose every number is its own, with all that JSON is bad at.
TrainState odd_state(const Program& program) {
  TrainState state(program, Parameters::fresh(program, 1));
  state.parameters = Parameters::fresh(program, 2);
  for (const Block& block : program.params) {
    for (int64_t k = block.offset; k < block.offset + block.shape.size(); ++k) {
      state.adam.first.set(k, 0.1 * static_cast<double>(k));
      state.adam.second.set(k, 1e-30 / static_cast<double>(k + 1));
    }
  }
  state.adam.num_updates = 2 * kUpdates + 1;
  state.memories["an objective"] = {-0.1 - 0.2, 0, 1e-300};
  state.epoch = 3;
  state.update = 1;
  state.tally.add(Tally::kLoss, 1.0 / 3);
  state.tally.add(Tally::kKl, std::numeric_limits<double>::denorm_min());
  state.tally.add("divergence", -0.0);
  state.tally.add(Tally::kRows, 0x1p53);
  state.tally.add("mine", 1e308);
  state.best_score = -std::nextafter(1.0, 2.0);
  state.best_epoch = 1;
  for (int epoch = 0; epoch < 3; ++epoch) {
    EpochReport& report = state.history.emplace_back();
    report.epoch = epoch;
    report.total_updates = kUpdates * epoch;
    report.train.add(Tally::kLoss, INFINITY);
    report.train.add(Tally::kKl, -INFINITY);
    report.dev_score = epoch == 0 ? NAN : epoch == 1 ? state.best_score : 1.0 / 9;
    report.dev_failed = 4;
    report.dev_sequences = 6;
    report.dev_overshot = 5;
    report.is_reliable = epoch != 2;
    report.is_best = epoch == 1;
    report.likelihood = Likelihood::kConditional;
  }
  state.likelihood = Likelihood::kConditional;
  return state;
}

std::string fault_of(const std::string& path, const Program& program, const RunIdentity& identity) {
  try {
    read_checkpoint(path, program, identity);
    return "";
  } catch (const DataError& error) {
    const std::string message = error.what();
    CHECK(message.starts_with(path + ": "));
    CHECK(message.find('\n') == std::string::npos);
    return message.substr(std::min(message.size(), path.size() + 2));
  }
}

}  // namespace

TEST_CASE("a checkpoint gives back every bit of a run's state") {
  const test::TempFolder folder;
  const Program program = fake_program();
  const RunIdentity identity = fake_identity(program, {});
  const TrainState state = odd_state(program);
  write_checkpoint(folder.file("c"), program, identity, state);
  const TrainState read = read_checkpoint(folder.file("c"), program, identity);
  CHECK(bits_of(program, read) == bits_of(program, state));
  CHECK(std::signbit(read.tally["divergence"]));
  CHECK(std::isnan(read.history[0].dev_score));
  CHECK(read.tally[Tally::kKl] == std::numeric_limits<double>::denorm_min());
  write_checkpoint(folder.file("d"), program, identity, read);
  CHECK(test::read_bytes(folder.file("c")) == test::read_bytes(folder.file("d")));
}

TEST_CASE("a checkpoint is a parameters file of the best parameters") {
  const test::TempFolder folder;
  const Program program = fake_program();
  write_checkpoint(folder.file("c"), program, fake_identity(program, {}), odd_state(program));
  const Parameters read = read_parameters(folder.file("c"), program);
  const Parameters best = Parameters::fresh(program, 1);
  for (int64_t k = 0; k < best.values.size(); ++k) CHECK(read.values.get(k) == best.values.get(k));

  Program other = program;
  other.task.x = Alphabet::numbered(8);
  CHECK_THROWS_WITH(read_parameters(folder.file("c"), other),
                    Catch::Contains("made for another input alphabet"));
}

TEST_CASE(
    "a checkpoint has the layout of safetensors files, as a reader of the tests' own sees it") {
  const test::TempFolder folder;
  const Program program = fake_program();
  const TrainState state = odd_state(program);
  write_checkpoint(folder.file("c"), program, fake_identity(program, {}), state);
  const test::SafetensorsLayout layout =
      test::read_safetensors_layout(test::read_bytes(folder.file("c")));
  for (const char* key : {"scry.x", "scry.y", "scry.options", "scry.training"})
    CHECK(layout.metadata.contains(key));
  const auto check = [&](const std::string& name, const Block& block, const RealBuffer& values) {
    CAPTURE(name);
    REQUIRE(layout.tensors.contains(name));
    const test::LayoutTensor& tensor = layout.tensors.at(name);
    CHECK(tensor.dtype == (program.precision == Precision::kDouble ? "F64" : "F32"));
    std::vector<int64_t> shape;
    for (int axis = 0; axis < block.shape.rank(); ++axis) shape.push_back(block.shape[axis]);
    CHECK(tensor.shape == shape);
    std::vector<double> expected;
    for (int64_t k = 0; k < block.shape.size(); ++k)
      expected.push_back(values.get(block.offset + k));
    CHECK(tensor.values() == expected);
  };
  for (const size_t index : fake_identity(program, {}).blocks) {
    const Block& block = program.params[index];
    check(block.name, block, state.best.values);
    check("train.now." + block.name, block, state.parameters.values);
    check("train.first." + block.name, block, state.adam.first);
    check("train.second." + block.name, block, state.adam.second);
  }
}

TEST_CASE("parameters that are not trained stand in the checkpoint once") {
  const test::TempFolder folder;
  const Program program = fake_program();
  FakeRun run;
  run.groups = {ParamGroup::kModel};
  run.options.frozen = {"model.a"};
  TrainState state(program, Parameters::fresh(program, 1));
  state.history.resize(1);
  state.parameters.values.set(16, 42);
  write_checkpoint(folder.file("c"), program, fake_identity(program, run), state);
  std::vector<std::string> names;
  for (const Tensor& tensor : read_tensors(folder.file("c")).tensors) names.push_back(tensor.name);
  CHECK(names == std::vector<std::string>{"model.a", "model.b", "proposal.c", "train.now.model.b",
                                          "train.first.model.b", "train.second.model.b"});
  const TrainState read = read_checkpoint(folder.file("c"), program, fake_identity(program, run));
  CHECK(bits_of(program, read) == bits_of(program, state));
}

TEST_CASE("a checkpoint that was cut off anywhere is refused") {
  const test::TempFolder folder;
  const Program program = fake_program();
  const RunIdentity identity = fake_identity(program, {});
  write_checkpoint(folder.file("c"), program, identity, odd_state(program));
  const std::string bytes = test::read_bytes(folder.file("c"));
  for (size_t length = 0; length < bytes.size(); length += 7) {
    folder.write("cut", bytes.substr(0, length));
    CHECK_FALSE(fault_of(folder.file("cut"), program, identity).empty());
  }
  folder.write("cut", bytes + '\0');
  CHECK_FALSE(fault_of(folder.file("cut"), program, identity).empty());
}

TEST_CASE("a checkpoint with any wrong byte is refused or means the same") {
  const test::TempFolder folder;
  const Program program = fake_program();
  const RunIdentity identity = fake_identity(program, {});
  const TrainState state = odd_state(program);
  const std::string expected = bits_of(program, state);
  write_checkpoint(folder.file("c"), program, identity, state);
  const std::string bytes = test::read_bytes(folder.file("c"));
  int num_accepted = 0;
  for (size_t i = 0; i < bytes.size(); i += 5) {
    std::string spoiled = bytes;
    spoiled[i] = static_cast<char>(spoiled[i] ^ (1 << i % 8));
    folder.write("bad", spoiled);
    try {
      const TrainState read = read_checkpoint(folder.file("bad"), program, identity);
      REQUIRE(bits_of(program, read) == expected);
      ++num_accepted;
    } catch (const DataError&) {
    }
  }
  CHECK(num_accepted < 3);  // spaces
}

TEST_CASE("metadata that says nonsense is refused, even with a right checksum") {
  const Program program = fake_program();
  TrainState state(program, Parameters::fresh(program, 1));
  const std::string good = training_json(program, {}, odd_state(program));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string json = good;
    const size_t at = json.find(from);
    REQUIRE(at != std::string::npos);
    return json.replace(at, from.size(), to);
  };
  for (const std::string& json :
       {std::string("{}"),
        std::string("[]"),
        std::string("null"),
        std::string("{"),
        replaced("\"epoch\":3", "\"epoch\":4"),
        replaced("\"epoch\":3", "\"epoch\":0"),
        replaced("\"epoch\":3", "\"epoch\":-3"),
        replaced("\"epoch\":3", "\"epoch\":3e9"),
        replaced("\"epoch\":3", "\"epoch\":99999999999999999999"),
        replaced("\"epoch\":1", "\"epoch\":2"),
        replaced("\"best_epoch\":1", "\"best_epoch\":3"),
        replaced("\"update\":1}", "\"update\":-1}"),
        replaced("\"update\":1}", "\"update\":\"1\"}"),
        replaced("\"update\":1}", "\"update\":2}"),
        replaced("\"update\":1}", "\"update\":0}"),
        replaced("\"total_updates\":5", "\"total_updates\":9223372036854775807"),
        replaced("\"total_updates\":5", "\"total_updates\":18446744073709551615"),
        replaced("\"total_updates\":5", "\"total_updates\":-5"),
        replaced("\"total_updates\":5", "\"total_updates\":6"),
        replaced("\"total_updates\":4", "\"total_updates\":3"),
        replaced("\"total_updates\":0", "\"total_updates\":1"),
        replaced("\"mine\":1e+308", "\"mine\":[]"),
        replaced("[-0.30000000000000004,", "[\"nan\","),
        replaced("[-0.30000000000000004,", "[\"inf\","),
        replaced("[-0.30000000000000004,", "[1e999,"),
        replaced("[-0.30000000000000004,0.0,1e-300]", "-0.30000000000000004"),
        replaced("\"best_score\":-1.0000000000000002", "\"best_score\":\"nan\""),
        replaced("\"best_score\":-1.0000000000000002", "\"best_score\":\"-inf\""),
        replaced("\"best_score\":-1.0000000000000002", "\"best_score\":-1.0"),
        replaced("\"is_best\":true", "\"is_best\":false"),
        replaced("\"history\":[", "\"histories\":["),
        replaced("\"inf\"", "\"INF\""),
        replaced("\"inf\"", "null"),
        replaced("\"conditional\"", "\"marginal\""),
        replaced("\"is_best\":false", "\"is_best\":0")}) {
    TrainState copy(program, Parameters::fresh(program, 1));
    CAPTURE(json);
    CHECK_THROWS_AS(read_training(json, kUpdates, copy), Error);
  }
  TrainState copy(program, Parameters::fresh(program, 1));
  CHECK_NOTHROW(read_training(good, kUpdates, copy));
  TrainState longer(program, Parameters::fresh(program, 1));
  CHECK_THROWS_AS(read_training(good, kUpdates + 1, longer), Error);
}

TEST_CASE("metadata that is nested deeply is refused and does not exhaust the stack") {
  const Program program = fake_program();
  const auto nest = [](const std::string& open, const std::string& close) {
    std::string text;
    for (int i = 0; i < 300000; ++i) text += open;
    for (int i = 0; i < 300000; ++i) text += close;
    return text;
  };
  const std::string ours = options_json(program, {});
  for (const std::string& value : {nest("[", "]"), nest("{\"a\":", "}").insert(300000 * 5, "1")}) {
    for (const char* name : {"freeze", "rate", "unknown"}) {
      std::string theirs = ours;
      theirs.insert(1, std::string("\"") + name + "\":" + value + ",");
      CHECK_THROWS_WITH(find_difference(theirs, ours), "nested too deeply");
      TrainState state(program, Parameters::fresh(program, 1));
      std::string training = training_json(program, {}, odd_state(program));
      training.insert(1, std::string("\"") + name + "\":" + value + ",");
      CHECK_THROWS_WITH(read_training(training, kUpdates, state), "nested too deeply");
      CHECK_THROWS_WITH(read_head(training), "nested too deeply");
    }
  }
}

TEST_CASE("options of another kind than ours are an error, and their texts one line") {
  const Program program = fake_program();
  const std::string ours = options_json(program, {});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string theirs = ours;
    return theirs.replace(theirs.find(from), from.size(), to);
  };
  CHECK_THROWS_AS(find_difference(with("\"freeze\":[]", "\"freeze\":{}"), ours), Error);
  CHECK_THROWS_AS(find_difference(with("\"freeze\":[]", "\"freeze\":[[1]]"), ours), Error);
  CHECK_THROWS_AS(find_difference(with("\"freeze\":[]", "\"freeze\":null"), ours), Error);
  CHECK(find_difference(with("\"freeze\":[]", "\"freeze\":[\"a\\nb\"]"), ours) ==
        "--freeze a\\x0ab, not nothing");
}

TEST_CASE("a run goes on with the program that it began with, and says why not with another") {
  const test::TempFolder folder;
  Program program = fake_program();
  program.differentiator = "adjoint";
  program.origin = {"the model", "the build", "the machine"};
  const RunIdentity identity = fake_identity(program, {});
  const std::string path = folder.file("c");
  write_checkpoint(path, program, identity, odd_state(program));
  CHECK(fault_of(path, program, identity).empty());
  const auto with = [&](const std::function<void(Program&)>& change) {
    Program other = program;
    change(other);
    return fault_of(path, other, identity);
  };
  const std::string advice =
      "start a new one from its parameters by --params and another output file";
  CHECK(with([](Program& p) { p.differentiator = "enzyme"; }) ==
        "its run has gradients by 'adjoint', not 'enzyme'; use that again, or " + advice);
  CHECK(with([](Program& p) { p.origin.build = "another"; }) ==
        "its run is of another build of Scry; " + advice);
  CHECK(with([](Program& p) { p.origin.model = "another"; }) ==
        "its run is of another model, or of this one before it was changed; " + advice);

  std::string noted;
  TrainHooks hooks;
  hooks.note = [&](const std::string& text) { noted += text; };
  Program elsewhere = program;
  elsewhere.origin.machine = "another";
  read_checkpoint(path, elsewhere, identity, hooks);
  CHECK(noted == path +
                     ": the run began on another CPU ('the machine'); it goes on, but not to the "
                     "last bit as it would have there");
}

TEST_CASE("a checkpoint of another format is refused, and what forges one is found out") {
  const test::TempFolder folder;
  const Program program = fake_program();
  const RunIdentity identity = fake_identity(program, {});
  write_checkpoint(folder.file("c"), program, identity, odd_state(program));
  const auto with = [&](const std::function<void(TensorFile&)>& change) {
    TensorFile file = read_tensors(folder.file("c"));
    change(file);
    add_checksum(file);
    folder.write("d", to_bytes(file));
    return fault_of(folder.file("d"), program, identity);
  };
  const auto replace = [](std::string& text, const std::string& from, const std::string& to) {
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  const std::string build = "\"build\":\"" + describe_build(program) + "\"";
  CHECK(with([](TensorFile&) {}).empty());
  CHECK(with([&](TensorFile& file) {
          replace(file.metadata["scry.training"], "\"format\":5", "\"format\":6");
        }).starts_with("its run is of another version of Scry (format 6, not 5); start a new"));
  CHECK(with([&](TensorFile& file) {
          replace(file.metadata["scry.training"], "\"format\":5,", "");
        }).starts_with("its run is of another version of Scry (format 1, not 5); start a new"));
  CHECK(with([&](TensorFile& file) {
          replace(file.metadata["scry.training"], build, "\"build\":7");
        }) == "the checkpoint is damaged (a value of another kind)");
  CHECK(with([&](TensorFile& file) {  // such as by a trainer that was changed since
          replace(file.metadata["scry.training"], build, "\"build\":\"-0123456789abcdef\"");
        })
            .starts_with("its run is of another build of Scry; start a new"));
  CHECK(with([&](TensorFile& file) {
          for (Tensor& tensor : file.tensors) {
            if (tensor.name == "train.second.model.b") tensor.bytes[3] = '\x80';  // its sign
          }
        }) == "the checkpoint is damaged ('train.second.model.b' is negative)");
}

TEST_CASE("parameters are not taken from a checkpoint with a wrong bit, wherever it is") {
  const test::TempFolder folder;
  const Program program = fake_program();
  write_checkpoint(folder.file("c"), program, fake_identity(program, {}), odd_state(program));
  const std::string bytes = test::read_bytes(folder.file("c"));
  const Parameters best = read_parameters(folder.file("c"), program);
  int num_accepted = 0;
  for (size_t i = 0; i < bytes.size(); i += 5) {
    std::string spoiled = bytes;
    spoiled[i] = static_cast<char>(spoiled[i] ^ (1 << i % 8));
    folder.write("bad", spoiled);
    for (const bool with_proposal : {false, true}) {
      try {
        const Parameters read =
            with_proposal ? read_model_parameters(folder.file("bad"), program, 1).parameters
                          : read_parameters(folder.file("bad"), program);
        for (int64_t k = 0; k < best.values.size(); ++k)
          REQUIRE(read.values.get(k) == best.values.get(k));
        ++num_accepted;
      } catch (const DataError&) {
      }
    }
  }
  CHECK(num_accepted < 6);  // spaces
}

TEST_CASE("a save and a run that begins remove what a killed process left of the file") {
  const test::TempFolder folder;
  const Program program = fake_program();
  FakeRun run;
  run.options.checkpoint = folder.file("c");
  const RunIdentity identity = fake_identity(program, run);
  folder.write("c.999999999.tmp", "half");
  write_checkpoint(folder.file("c"), program, identity, odd_state(program));
  CHECK(folder.names() == std::vector<std::string>{"c"});
  run.options.resume = true;
  folder.write("c.999999999.ab12_.tmp", "half");
  begin_run(program, Parameters::fresh(program, 1), fake_identity(program, run), {});
  CHECK(folder.names() == std::vector<std::string>{"c"});
}

TEST_CASE("a run goes on with its own options, data, goal and model only") {
  const test::TempFolder folder;
  const Program program = fake_program();
  const RunIdentity identity = fake_identity(program, {});
  const std::string path = folder.file("theta.safetensors");
  write_checkpoint(path, program, identity, odd_state(program));
  const auto with = [&](const std::function<void(RunIdentity&)>& change) {
    RunIdentity other = identity;
    change(other);
    return fault_of(path, program, other);
  };
  const std::string advice = "; give the same options or another output file";
  CHECK(with([](RunIdentity& r) { r.options.lambda = 0; }) ==
        "it was trained with --lambda 0.5, not 0" + advice);
  CHECK(with([](RunIdentity& r) { r.options.particles = 64; }) ==
        "it was trained with --particles 32, not 64" + advice);
  CHECK(with([](RunIdentity& r) { r.options.batch = 1; }) ==
        "it was trained with --batch 16, not 1" + advice);
  CHECK(with([](RunIdentity& r) { r.options.shard = 16; }) ==
        "it was trained with --shard 0, not 16" + advice);
  CHECK(with([](RunIdentity& r) { r.options.adam.rate = 0.1; }) ==
        "it was trained with --rate 0.001, not 0.1" + advice);
  CHECK(with([](RunIdentity& r) { r.options.adam.beta1 = 0; }) ==
        "it was trained with --beta1 0.9, not 0" + advice);
  CHECK(with([](RunIdentity& r) { r.options.adam.beta2 = 0; }) ==
        "it was trained with --beta2 0.999, not 0" + advice);
  CHECK(with([](RunIdentity& r) { r.options.adam.epsilon = 1; }) ==
        "it was trained with --epsilon 1e-08, not 1" + advice);
  CHECK(with([](RunIdentity& r) { r.options.adam.l2 = 0; }) ==
        "it was trained with --l2 1e-05, not 0" + advice);
  CHECK(with([](RunIdentity& r) { r.options.adam.clip = 0; }) ==
        "it was trained with --clip 5, not 0" + advice);
  CHECK(with([](RunIdentity& r) { r.options.seed = 2; }) ==
        "it was trained with --seed 1, not 2" + advice);
  CHECK(with([](RunIdentity& r) {
          r.options.frozen = {"model.b", "model.a"};
        }) == "it was trained with --freeze nothing, not model.a,model.b" + advice);
  CHECK(with([](RunIdentity& r) { r.options.likelihood = Likelihood::kJoint; }) ==
        "it was trained with --objective conditional, not joint" + advice);
  CHECK(with([](RunIdentity& r) { r.options.likelihood = Likelihood::kConditional; }).empty());
  CHECK(with([](RunIdentity& r) { r.data_hash = 2; }) ==
        "it was trained on other examples; give the same files or another output file");
  CHECK(with([](RunIdentity& r) { r.goal = "learn"; }) ==
        "it is of a run to 'fake', not to 'learn'; give another output file");
  CHECK(with([](RunIdentity& r) { r.options.calibrate = 0; }) ==
        "it was trained with --calibrate 1, not 0" + advice);
  CHECK(with([](RunIdentity& r) { r.options.baseline = Baseline::kAverage; }) ==
        "it was trained with --baseline leave-one-out, not average" + advice);
  CHECK(with([](RunIdentity& r) {
          r.options.schedule = RateSchedule::kLinear;
          r.options.epochs = 9;
        }) == "it was trained with --schedule constant, not linear over --epochs 9" + advice);
  CHECK(with([](RunIdentity& r) {
          r.options.epochs = 9;
          r.options.patience = 9;
          r.options.threads = 9;
          r.options.checkpoint = "elsewhere";
          r.options.save_seconds = 9;
          r.options.save_updates = 9;
          r.options.resume = true;
        }).empty());

  Program larger = program;
  larger.params[1].shape = {6};
  CHECK(fault_of(path, larger, identity) == "tensor 'model.b' is [5] but the model's is [6]");
  const Program hmm = test::hand_hmm();
  RunIdentity all = identity;
  all.blocks = {0, 1, 2, 3};
  CHECK_FALSE(fault_of(path, hmm, all).empty());
}

TEST_CASE("a file of parameters alone is no run to resume") {
  const test::TempFolder folder;
  const Program program = fake_program();
  write_parameters(folder.file("p"), program, Parameters::fresh(program, 1));
  CHECK(fault_of(folder.file("p"), program, fake_identity(program, {})) ==
        "it holds no training run that could go on; give another output file");
}

TEST_CASE("a run begins afresh, or with the file that it may go on with or replace") {
  const test::TempFolder folder;
  const Program program = fake_program();
  const Parameters start = Parameters::fresh(program, 3);
  FakeRun run;
  std::string noted;
  run.hooks.note = [&](const std::string& text) { noted += text; };
  const auto begin = [&] {
    return begin_run(program, start, fake_identity(program, run), run.hooks);
  };
  const std::string fresh = bits_of(program, TrainState(program, start));
  const std::string path = folder.file("c");
  CHECK(bits_of(program, begin()) == fresh);
  run.options.resume = true;
  CHECK_THROWS_WITH(begin(), "there is no checkpoint file to resume from");
  run.options.checkpoint = path;
  CHECK(noted.empty());
  CHECK(bits_of(program, begin()) == fresh);
  CHECK(noted == path + ": no such file yet; training starts afresh");
  run.options.resume = false;
  CHECK(bits_of(program, begin()) == fresh);

  write_checkpoint(path, program, fake_identity(program, run), odd_state(program));
  CHECK_THROWS_WITH(begin(),
                    path + ": exists already; --resume goes on with it, --overwrite replaces it");
  run.options.overwrite = true;
  CHECK(bits_of(program, begin()) == fresh);
  run.options.overwrite = false;
  run.options.resume = true;
  CHECK(bits_of(program, begin()) == bits_of(program, odd_state(program)));
}

TEST_CASE("a checkpoint that could not be written is reported before training") {
  const test::TempFolder folder;
  const Program program = fake_program();
  FakeRun run;
  run.hooks.progress = [](const TrainProgress&) { FAIL("it trained"); };
  run.options.checkpoint = folder.file("missing/c");
  CHECK_THROWS_WITH(test::train_fake(program, run),
                    folder.file("missing/c") + " cannot be written: " + folder.file("missing") +
                        ": No such file or directory");
  run.options.checkpoint = folder.path();
  CHECK_THROWS_WITH(test::train_fake(program, run), folder.path() + " is a folder");
  folder.write("file", "");
  run.options.checkpoint = folder.file("file/c");
  CHECK_THROWS_AS(test::train_fake(program, run), Error);
  if (geteuid() != 0) {
    std::filesystem::create_directory(folder.file("locked"));
    std::filesystem::permissions(folder.file("locked"), std::filesystem::perms::owner_read);
    run.options.checkpoint = folder.file("locked/c");
    CHECK_THROWS_WITH(test::train_fake(program, run), Catch::Contains("Permission denied"));
  }
}
