#include <scry.h>

int main() { return scry::version()[0] == '\0'; }
