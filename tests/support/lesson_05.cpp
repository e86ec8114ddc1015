#include <scry.h>
#undef SCRY_MODEL
#define SCRY_MODEL() scry::Bundle make_lesson()
namespace {
#include "examples/05_source_separation.cpp"
}
#include "tests/support/lessons.h"

namespace scry::test {
Bundle lesson_05() { return make_lesson(); }
}  // namespace scry::test
