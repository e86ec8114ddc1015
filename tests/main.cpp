// The main of the test programs under Catch2 2.13; 3.x brings its own.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
