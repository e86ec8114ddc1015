#include "runtime/train/run_record.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

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
void decode(const Json& json, int64_t& value) {
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
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
  for (Likelihood each : {Likelihood::kAuto, Likelihood::kJoint, Likelihood::kConditional}) {
    if (json == name_of(each)) {
      value = each;
      return;
    }
  }
  fail();
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
void visit_tally(Visitor& visit, T& tally) {
  visit("num_sequences", tally.num_sequences);
  visit("num_symbols", tally.num_symbols);
  visit("num_failed", tally.num_failed);
  visit("loss", tally.loss);
  visit("negative_log_p", tally.negative_log_p);
  visit("kl", tally.kl);
  visit("divergence", tally.divergence);
  visit("ess", tally.ess);
  visit("num_rows", tally.num_rows);
  visit("num_particle_steps", tally.num_particle_steps);
}
template <class Visitor, class T>
void visit_report(Visitor& visit, T& report) {
  visit("epoch", report.epoch);
  visit("total_updates", report.total_updates);
  visit("train", report.train);
  visit("perplexity", report.perplexity);
  visit("offset_kl", report.offset_kl);
  visit("dev_kl", report.dev_kl);
  visit("dev_ess", report.dev_ess);
  visit("dev_failed", report.dev_failed);
  visit("dev_score", report.dev_score);
  visit("is_best", report.is_best);
}
template <class Visitor, class T>
void visit_state(Visitor& visit, T& state) {
  visit("total_updates", state.adam.num_updates);
  visit("baseline", state.baseline);
  visit("epoch", state.epoch);
  visit("update", state.update);
  visit("tally", state.tally);
  visit("best_score", state.best_score);
  visit("best_epoch", state.best_epoch);
  visit("history", state.history);
  visit("likelihood", state.likelihood);
}

Json encode(const Tally& tally) {
  Writer writer;
  visit_tally(writer, tally);
  return writer.json;
}
Json encode(const EpochReport& report) {
  Writer writer;
  visit_report(writer, report);
  return writer.json;
}
void decode(const Json& json, Tally& tally) {
  Reader reader{json};
  visit_tally(reader, tally);
}
void decode(const Json& json, EpochReport& report) {
  Reader reader{json};
  visit_report(reader, report);
}

Json parse(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw Error("not a JSON object");
  return json;
}

/// As a person would type it.
std::string shown(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (!value.is_array()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (value.empty()) return "nothing";
  std::vector<std::string> entries;
  for (const Json& entry : value) entries.push_back(shown(entry));
  return fmt::format("{}", fmt::join(entries, ","));
}

}  // namespace

const char* name_of(Likelihood likelihood) {
  constexpr std::array kNames{"auto", "joint", "conditional"};
  return kNames.at(static_cast<size_t>(likelihood));
}

std::string options_json(const Program& program, const TrainOptions& options) {
  const std::set<std::string> frozen(options.frozen.begin(), options.frozen.end());
  const AdamOptions& adam = options.adam;
  return Json{{"lambda", options.lambda},
              {"particles", options.particles},
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

std::string training_json(const RunIdentity& identity, const TrainState& state) {
  Writer writer;
  visit_state(writer, state);
  writer.json["goal"] = identity.goal;
  writer.json["data_hash"] = hash_text(identity.data_hash);
  return writer.json.dump();
}

RecordHead read_head(const std::string& json) {
  try {
    const Json record = parse(json);
    return {record.at("goal").get<std::string>(), record.at("data_hash").get<std::string>()};
  } catch (const Json::exception&) {
    throw Error("something is missing");
  }
}

void read_training(const std::string& json, TrainState& state) {
  try {
    const Json record = parse(json);
    Reader reader{record};
    visit_state(reader, state);
  } catch (const Json::exception&) {
    throw Error("something is missing");
  }
  const auto num_epochs = static_cast<size_t>(state.epoch);
  bool is_right = state.epoch >= 1 && state.history.size() == num_epochs &&
                  state.best_epoch < state.epoch && std::isfinite(state.baseline);
  for (size_t epoch = 0; is_right && epoch < num_epochs; ++epoch)
    is_right = state.history[epoch].epoch == static_cast<int>(epoch);
  if (!is_right) throw Error("its numbers contradict each other");
}

}  // namespace scry
