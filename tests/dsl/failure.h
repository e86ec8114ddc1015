// FAILURE(expression): the message of the ModelError that the expression throws at this very line.
#pragma once
#include <string>

#include "base/error.h"

namespace scry::testing {

template <typename Body>
std::string failure(Body&& body, Where here) {
  try {
    body();
  } catch (const ModelError& error) {
    const bool at_caller =
        std::string(error.where().file) == here.file && error.where().line == here.line;
    return at_caller ? error.message() : "reported at another line: " + std::string(error.what());
  }
  return "no error";
}

}  // namespace scry::testing

#define FAILURE(...) scry::testing::failure([&] { (void)(__VA_ARGS__); }, scry::Where::here())
