// Calling what a user wrote.
#pragma once
#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "base/error.h"
#include "dsl/settings.h"

namespace scry {

/// What `function`, which the user calls `name`, returns. An exception that names no line or file
/// of its own, nor a setting, becomes a ModelError at `where`.
template <typename Function>
auto ask(const char* name, Where where, Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const ModelError&) {
    throw;
  } catch (const DataError&) {
    throw;
  } catch (const SettingError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw ModelError(where, fmt::format("{}() threw an exception: {}", name, error.what()));
  } catch (...) {
    throw ModelError(where, fmt::format("{}() threw something that is no std::exception", name));
  }
}

}  // namespace scry
