// The states s_t and s̄_t: named components, each a real tensor or an integer.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "dsl/expr.h"

namespace scry {

/// The declared components of a state: state("h", 32).and_state("c", 32).and_symbol("tag", 5).
class StateSpec {
 public:
  struct Component {
    std::string name;
    Type type;
  };

  StateSpec() = default;
  StateSpec and_state(std::string name, Shape shape, Where where = Where::here()) const;
  StateSpec and_state(std::string name, int size, Where where = Where::here()) const;
  /// An integer component in [0, size), such as an HMM's last tag.
  StateSpec and_symbol(std::string name, int size, Where where = Where::here()) const;

  const std::vector<Component>& components() const { return components_; }

 private:
  StateSpec with(Component component, Where where) const;
  std::vector<Component> components_;
};

StateSpec state(std::string name, int size, Where where = Where::here());
StateSpec state(std::string name, Shape shape, Where where = Where::here());
StateSpec symbol_state(std::string name, int size, Where where = Where::here());

/// A component's value.
class Value {
 public:
  Value(const Expr& expr, Where where = Where::here())
      : node_(expr.node()), where_(where) {}  // NOLINT
  Value(const Sym& sym, Where where = Where::here())
      : node_(sym.node()), where_(where) {}                   // NOLINT
  Value(const Parameter& param, Where where = Where::here())  // NOLINT
      : Value(Operand(param, where).expr, where) {}
  /// A fixed symbol, or a fixed scalar.
  Value(int symbol, Where where = Where::here())
      : Value(SymOperand(symbol, where).sym, where) {}  // NOLINT
  Value(double scalar, Where where = Where::here())
      : Value(Operand(scalar, where).expr, where) {}  // NOLINT
  const TracedPtr& node() const { return node_; }
  Where where() const { return where_; }

 private:
  TracedPtr node_;
  Where where_;
};

/// A component's name, with the caller's line.
struct NameAt {
  NameAt(const char* name, Where where = Where::here()) : name(name), where(where) {}  // NOLINT
  NameAt(const std::string& name, Where where = Where::here())
      : name(name), where(where) {}  // NOLINT
  std::string name;
  Where where;
};

/// The components' values, in the order of the StateSpec.
class State {
 public:
  State() = default;
  State(std::initializer_list<Value> values, Where where = Where::here())
      : values_(values), where_(where) {}
  explicit State(std::vector<Value> values, Where where = Where::here())
      : values_(std::move(values)), where_(where) {}

  /// The real component of that name.
  Expr operator[](const NameAt& name) const;
  /// The integer component of that name.
  Sym sym(const NameAt& name) const;

  const std::vector<Value>& values() const { return values_; }
  Where where() const { return where_; }
  /// This state with the component names of `spec`, which must fit: else a ModelError at the line
  /// that made the state. `what` says which state it is.
  State checked(const StateSpec& spec, const char* what) const;

 private:
  const Value& find(const NameAt& name) const;
  std::vector<Value> values_;
  std::vector<std::string> names_;
  Where where_;
};

}  // namespace scry
