# Mixes strings, one a line, as examples for source separation (app:sourcesep-generation):
#   awk -v file=NAME -v J=5 -v count=500 -v seed=1 -f mix-strings.awk NAME
# Each of `count` examples interleaves J different lines, drawn at random; every interleaving is
# equally likely. Its tags say which string a symbol belongs to, numbered in a random order.
# The generator is Lehmer's; its products stay below 2^53, so that every awk draws the same.
function random(n) {
  state = (state * 48271) % 2147483647
  return int(state / 2147483647 * n)
}
{ strings[NR] = $0 }
END {
  if (NR < J) {
    print "get-data: " file ": " NR " strings are too few to mix " J > "/dev/stderr"
    exit 1
  }
  state = (seed * 7919 + 2018) % 2147483646 + 1
  for (i = 0; i < 20; ++i) random(2)
  while (count-- > 0) {
    split("", drawn)
    length_all = 0
    for (j = 1; j <= J; ++j) {
      do { line = 1 + random(NR) } while (line in drawn)
      drawn[line]
      num = split(strings[line], symbols, " ")
      for (i = 1; i <= num; ++i) {
        y[++length_all] = j
        text[j, i] = symbols[i]
      }
    }
    for (i = length_all; i > 1; --i) {  # a random order of the tags
      k = 1 + random(i)
      swapped = y[i]; y[i] = y[k]; y[k] = swapped
    }
    split("", used)
    x_text = y_text = ""
    for (i = 1; i <= length_all; ++i) {
      x_text = x_text (i > 1 ? " " : "") text[y[i], ++used[y[i]]]
      y_text = y_text (i > 1 ? " " : "") y[i]
    }
    print x_text "\t" y_text
  }
}
