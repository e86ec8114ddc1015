#include "runtime/train/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/quote.h"
#include "source_id.h"

namespace scry {
namespace {

using Json = nlohmann::json;

/// JSON has no infinities and no NaN; finite doubles it writes so that they come back exactly.
Json encode(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}
Json encode(bool value) { return value; }
Json encode(int value) { return value; }
Json encode(int64_t value) { return value; }
Json encode(Likelihood value) { return name_of(value); }
Json encode(const std::map<std::string, std::vector<double>>& lists) {
  Json json = Json::object();
  for (const auto& [name, numbers] : lists) {
    json[name] = Json::array();
    for (double number : numbers) json[name].push_back(encode(number));
  }
  return json;
}
Json encode(const Tally& tally);
Json encode(const EpochReport& report);
Json encode(const std::vector<EpochReport>& reports) {
  Json list = Json::array();
  for (const EpochReport& report : reports) list.push_back(encode(report));
  return list;
}

[[noreturn]] void fail() { throw Error("a value of another kind"); }

void decode(const Json& json, double& value) {
  if (json.is_number()) {
    value = json.get<double>();
  } else if (json == "nan") {
    value = NAN;
  } else if (json == "inf" || json == "-inf") {
    value = json == "inf" ? INFINITY : -INFINITY;
  } else {
    fail();
  }
}
void decode(const Json& json, bool& value) {
  if (!json.is_boolean()) fail();
  value = json.get<bool>();
}
/// Counts, with so much room that no run that goes on adds too much to them.
void decode(const Json& json, int64_t& value) {
  constexpr uint64_t kMax = uint64_t{1} << 53;
  if (!json.is_number_unsigned() || json.get<uint64_t>() > kMax) fail();
  value = json.get<int64_t>();
}
void decode(const Json& json, int& value) {
  int64_t wide = 0;
  decode(json, wide);
  if (wide > std::numeric_limits<int>::max()) fail();
  value = static_cast<int>(wide);
}
void decode(const Json& json, Likelihood& value) {
  for (Likelihood each :
       {Likelihood::kAuto, Likelihood::kJoint, Likelihood::kConditional, Likelihood::kExact}) {
    if (json == name_of(each)) {
      value = each;
      return;
    }
  }
  fail();
}
void decode(const Json& json, std::map<std::string, std::vector<double>>& lists) {
  if (!json.is_object()) fail();
  for (const auto& [name, list] : json.items()) {
    if (!list.is_array()) fail();
    std::vector<double>& numbers = lists[name];
    for (const Json& number : list) {
      decode(number, numbers.emplace_back());
      if (!std::isfinite(numbers.back())) fail();
    }
  }
}
void decode(const Json& json, Tally& tally);
void decode(const Json& json, EpochReport& report);
void decode(const Json& json, std::vector<EpochReport>& reports) {
  if (!json.is_array()) fail();
  for (const Json& entry : json) decode(entry, reports.emplace_back());
}

struct Writer {
  Json json = Json::object();
  template <class T>
  void operator()(const char* key, const T& value) {
    json[key] = encode(value);
  }
};
struct Reader {
  const Json& json;
  template <class T>
  void operator()(const char* key, T& value) {
    decode(json.at(key), value);
  }
};

template <class Visitor, class T>
void visit_report(Visitor& visit, T& report) {
  visit("epoch", report.epoch);
  visit("total_updates", report.total_updates);
  visit("train", report.train);
  visit("perplexity", report.perplexity);
  visit("offset_kl", report.offset_kl);
  visit("dev_kl", report.dev_kl);
  visit("dev_ess", report.dev_ess);
  visit("dev_residual_rms", report.dev_residual_rms);
  visit("dev_to_go_rmse", report.dev_to_go_rmse);
  visit("dev_failed", report.dev_failed);
  visit("dev_sequences", report.dev_sequences);
  visit("dev_overshot", report.dev_overshot);
  visit("dev_gap", report.dev_gap);
  visit("dev_drift", report.dev_drift);
  visit("dev_estimated", report.dev_estimated);
  visit("is_reliable", report.is_reliable);
  visit("dev_score", report.dev_score);
  visit("is_best", report.is_best);
  visit("likelihood", report.likelihood);
}
template <class Visitor, class T>
void visit_state(Visitor& visit, T& state) {
  visit("total_updates", state.adam.num_updates);
  visit("memories", state.memories);
  visit("epoch", state.epoch);
  visit("update", state.update);
  visit("tally", state.tally);
  visit("best_score", state.best_score);
  visit("best_epoch", state.best_epoch);
  visit("history", state.history);
  visit("likelihood", state.likelihood);
}

Json encode(const Tally& tally) {
  Json json = Json::object();
  for (const Tally::Sum& sum : tally.sums()) json[sum.name] = encode(sum.value);
  return json;
}
Json encode(const EpochReport& report) {
  Writer writer;
  visit_report(writer, report);
  return writer.json;
}
void decode(const Json& json, Tally& tally) {
  if (!json.is_object()) fail();
  tally = {};
  for (const auto& [name, sum] : json.items()) {
    double value = 0;
    decode(sum, value);
    tally.add(name, value);
  }
}
void decode(const Json& json, EpochReport& report) {
  Reader reader{json};
  visit_report(reader, report);
}

/// Refuses deep nests, which comparing and printing would walk down recursively.
Json parse(const std::string& text) {
  constexpr int kMaxDepth = 4;  // a tally in a report in the history
  const auto check = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) throw Error("nested too deeply");
    return true;
  };
  Json json = Json::parse(text, check, false);
  if (!json.is_object()) throw Error("not a JSON object");
  return json;
}

/// As a person would type it.
std::string shown(const Json& value) {
  if (value.is_string()) {
    const std::string quoted = quote(value.get_ref<const std::string&>(), 100);
    return quoted.substr(1, quoted.size() - 2);
  }
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (value.is_number_integer()) return value.dump();
  if (!value.is_array()) fail();
  if (value.empty()) return "nothing";
  std::vector<std::string> entries;
  for (const Json& entry : value) {
    if (!entry.is_string()) fail();
    if (entries.size() == 20) {
      entries.emplace_back("…");
      break;
    }
    entries.push_back(shown(entry));
  }
  return fmt::format("{}", fmt::join(entries, ","));
}

/// Whether the best epoch is the last that was called so, and its score the best.
bool is_best_right(const TrainState& state) {
  const auto last = std::find_if(state.history.rbegin(), state.history.rend(),
                                 [](const EpochReport& report) { return report.is_best; });
  if (last == state.history.rend()) return state.best_epoch == 0 && state.best_score == INFINITY;
  const bool is_same = last->dev_score == state.best_score ||
                       (std::isnan(last->dev_score) && std::isnan(state.best_score));
  return state.best_epoch == last->epoch && is_same;
}

/// How far the run is, by every number that says so.
bool is_progress_right(const TrainState& state, int64_t updates_per_epoch) {
  const auto num_done = static_cast<int64_t>(state.history.size()) - 1;  // without the start
  if (num_done < 0 || state.epoch != num_done + 1 || state.update > updates_per_epoch) return false;
  for (int64_t epoch = 0; epoch <= num_done; ++epoch) {
    const EpochReport& report = state.history[static_cast<size_t>(epoch)];
    if (report.epoch != epoch || report.total_updates != epoch * updates_per_epoch) return false;
  }
  return state.adam.num_updates == num_done * updates_per_epoch + state.update;
}

}  // namespace

const char* name_of(Likelihood likelihood) {
  constexpr std::array kNames{"auto", "joint", "conditional", "exact"};
  return kNames.at(static_cast<size_t>(likelihood));
}

namespace {
/// With what the rate at an update depends on.
std::string describe(const TrainOptions& options) {
  const std::string name = name_of(options.schedule);
  return options.schedule == RateSchedule::kConstant
             ? name
             : fmt::format("{} over --epochs {}", name, options.epochs);
}
}  // namespace

std::string options_json(const Program& program, const TrainOptions& options) {
  const std::set<std::string> frozen(options.frozen.begin(), options.frozen.end());
  const AdamOptions& adam = options.adam;
  return Json{{"gradient", name_of(options.contrast)},
              {"lambda", options.lambda},
              {"particles", options.particles},
              {"calibrate", options.calibrate},
              {"baseline", name_of(options.baseline)},
              {"schedule", describe(options)},
              {"select", options.selection == Selection::kKl ? "kl" : "offset-kl"},
              {"batch", options.batch},
              {"shard", options.shard},
              {"rate", adam.rate},
              {"beta1", adam.beta1},
              {"beta2", adam.beta2},
              {"epsilon", adam.epsilon},
              {"l2", adam.l2},
              {"clip", adam.clip},
              {"freeze", frozen},
              {"seed", options.seed},
              {"precision", program.precision == Precision::kDouble ? "double" : "float"}}
      .dump();
}

std::string find_difference(const std::string& theirs, const std::string& ours) {
  const Json their_options = parse(theirs), our_options = parse(ours);
  for (const auto& [name, value] : our_options.items()) {
    const auto found = their_options.find(name);
    if (found == their_options.end()) throw Error("an option is missing");
    if (*found != value) return fmt::format("--{} {}, not {}", name, shown(*found), shown(value));
  }
  return "";
}

std::string hash_text(uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string describe_build(const Program& program) {
  return fmt::format("{}-{:.16}", program.origin.build, kRuntimeId);
}

std::string training_json(const Program& program, const RunIdentity& identity,
                          const TrainState& state) {
  Writer writer;
  visit_state(writer, state);
  writer.json["format"] = kCheckpointFormat;
  writer.json["goal"] = identity.goal;
  writer.json["data_hash"] = hash_text(identity.data_hash);
  writer.json["differentiator"] = program.differentiator;
  writer.json["build"] = describe_build(program);
  writer.json["model"] = program.origin.model;
  writer.json["machine"] = program.origin.machine;
  return writer.json.dump();
}

RecordHead read_head(const std::string& json) {
  const Json record = parse(json);
  RecordHead head;
  if (!record.contains("format")) return head;
  decode(record["format"], head.format);
  if (head.format != kCheckpointFormat) return head;
  for (const auto& [key, value] : {std::pair{"goal", &head.goal},
                                   {"data_hash", &head.data_hash},
                                   {"differentiator", &head.differentiator},
                                   {"build", &head.build},
                                   {"model", &head.model},
                                   {"machine", &head.machine}}) {
    const auto found = record.find(key);
    if (found == record.end()) throw Error("something is missing");
    if (!found->is_string()) fail();
    *value = found->get<std::string>();
  }
  return head;
}

Likelihood read_likelihood(const std::string& json) {
  const Json record = parse(json);
  Likelihood likelihood = Likelihood::kAuto;
  if (record.contains("likelihood")) decode(record["likelihood"], likelihood);
  return likelihood;
}

void read_training(const std::string& json, int64_t updates_per_epoch, TrainState& state) {
  try {
    const Json record = parse(json);
    Reader reader{record};
    visit_state(reader, state);
  } catch (const Json::exception&) {
    throw Error("something is missing");
  }
  if (!is_progress_right(state, updates_per_epoch) || !is_best_right(state))
    throw Error("its numbers contradict each other");
}

}  // namespace scry
