#include "dsl/state.h"

#include <fmt/format.h>

namespace scry {

StateSpec StateSpec::with(Component component, Where where) const {
  for (const Component& c : components_) {
    if (c.name == component.name) {
      throw ModelError(where, fmt::format("the state component '{}' stands twice", c.name));
    }
  }
  const auto& [name, type] = component;
  if (!type.shape.is_positive() || (type.is_int() && type.hi < 1)) {
    throw ModelError(
        where, fmt::format("the state component '{}' has the size {}; it must be positive", name,
                           type.is_int() ? std::to_string(type.hi) : to_string(type.shape)));
  }
  StateSpec copy = *this;
  copy.components_.push_back(std::move(component));
  return copy;
}
StateSpec StateSpec::and_state(std::string name, Shape shape, Where where) const {
  return with({std::move(name), Type::real(shape)}, where);
}
StateSpec StateSpec::and_state(std::string name, int size, Where where) const {
  return and_state(std::move(name), Shape{size}, where);
}
StateSpec StateSpec::and_symbol(std::string name, int size, Where where) const {
  return with({std::move(name), Type::integer(0, size)}, where);
}
StateSpec state(std::string name, int size, Where where) {
  return StateSpec().and_state(std::move(name), size, where);
}
StateSpec state(std::string name, Shape shape, Where where) {
  return StateSpec().and_state(std::move(name), shape, where);
}
StateSpec symbol_state(std::string name, int size, Where where) {
  return StateSpec().and_symbol(std::move(name), size, where);
}

const Value& State::find(const NameAt& name) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name.name) return values_[i];
  }
  throw ModelError(name.where, fmt::format("the state has no component '{}'; it has: {}", name.name,
                                           fmt::join(names_, ", ")));
}
Expr State::operator[](const NameAt& name) const {
  const Value& value = find(name);
  if (value.node()->type.is_int()) {
    throw ModelError(
        name.where,
        fmt::format("the state component '{0}' is a symbol: use sym(\"{0}\")", name.name));
  }
  return Expr(value.node());
}
Sym State::sym(const NameAt& name) const {
  const Value& value = find(name);
  if (!value.node()->type.is_int()) {
    throw ModelError(
        name.where,
        fmt::format("the state component '{0}' is a real tensor: use [\"{0}\"]", name.name));
  }
  return Sym(value.node());
}

State State::checked(const StateSpec& spec, const char* what) const {
  const auto& components = spec.components();
  if (values_.size() != components.size()) {
    throw ModelError(where_, fmt::format("{} has {} components, but {} are declared", what,
                                         values_.size(), components.size()));
  }
  State named = *this;
  named.names_.clear();
  for (size_t i = 0; i < components.size(); ++i) {
    const auto& [name, declared] = components[i];
    const Value& value = values_[i];
    if (value.node() == nullptr) {
      throw ModelError(where_,
                       fmt::format("{}: the component '{}' was never given a value", what, name));
    }
    const Type& given = value.node()->type;
    const bool fits = declared.is_int() ? given.is_int() && given.lo >= 0 && given.hi <= declared.hi
                                        : given == declared;
    if (!fits) {
      throw ModelError(value.where().line != 0 ? value.where() : where_,
                       fmt::format("{}: the component '{}' is a {}, but is declared as {}", what,
                                   name, to_string(given), to_string(declared)));
    }
    named.names_.push_back(name);
  }
  return named;
}

}  // namespace scry
