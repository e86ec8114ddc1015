#include "dsl/task.h"

#include <fmt/format.h>

#include <sstream>

namespace scry {

Alphabet::Alphabet(std::vector<std::string> symbols, Where where) {
  for (std::string& symbol : symbols) add(std::move(symbol), where);
}

Alphabet Alphabet::of(std::string_view symbols, Where where) {
  Alphabet alphabet;
  std::istringstream words{std::string(symbols)};
  for (std::string word; words >> word;) alphabet.add(std::move(word), where);
  return alphabet;
}

Alphabet Alphabet::numbered(int size) {
  Alphabet alphabet;
  for (int i = 0; i < size; ++i) alphabet.add(std::to_string(i), {});
  return alphabet;
}

int Alphabet::add(std::string symbol, Where where) {
  if (symbol.empty()) throw ModelError(where, "alphabet: a symbol is empty");
  if (!ids_.emplace(symbol, size()).second) {
    throw ModelError(where, fmt::format("alphabet: the symbol '{}' stands twice", symbol));
  }
  symbols_.push_back(std::move(symbol));
  return size() - 1;
}

Alphabet Alphabet::with_unknown(std::string symbol, Where where) const {
  if (unknown_) {
    throw ModelError(
        where, fmt::format("alphabet: '{}' stands for unknown symbols already", name(*unknown_)));
  }
  Alphabet copy = *this;
  copy.unknown_ = copy.add(std::move(symbol), where);
  return copy;
}

Alphabet Alphabet::with_eos(std::string symbol, Where where) const {
  if (eos_) {
    throw ModelError(where, fmt::format("alphabet: '{}' ends sequences already", name(*eos_)));
  }
  Alphabet copy = *this;
  copy.eos_ = copy.add(std::move(symbol), where);
  return copy;
}

const std::string& Alphabet::name(int id) const {
  if (id < 0 || id >= size()) {
    throw Error(fmt::format("alphabet: there is no symbol {} among {}", id, size()));
  }
  return symbols_[static_cast<size_t>(id)];
}

std::optional<int> Alphabet::find(std::string_view symbol) const {
  const auto found = ids_.find(std::string(symbol));
  return found == ids_.end() ? unknown_ : std::optional(found->second);
}

bool Alphabet::operator==(const Alphabet& other) const {
  return symbols_ == other.symbols_ && eos_ == other.eos_ && unknown_ == other.unknown_;
}

}  // namespace scry
