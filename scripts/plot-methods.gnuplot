# Draws the offset KL of every method against M, as the paper's figures have it (fig:div), from the
# numbers of `scry eval --csv`:
#   gnuplot -e "csv='eval.csv'; svg='figure.svg'; heading='stress'" scripts/plot-methods.gnuplot
set datafile separator ','
set datafile columnheaders
set datafile missing NaN  # of other methods: lines go on
set terminal svg size 760,420 dynamic font 'sans-serif,12' background rgb 'white'
set output svg
set title heading
set logscale x 2
set xlabel 'M'
set ylabel 'offset KL, bits per sequence'
set key outside right
set grid
set offsets graph 0.03, graph 0.03, graph 0.03, 0
set yrange [0:*]  # as no KL is below
names = "exact PF PF:R PS PS:R discrete discrete+lookahead beam beam+lookahead"
# Methods with the lookahead are drawn through, those without it dashed.
do for [i = 1:words(names)] {
  name = word(names, i)
  if (name[1:2] eq 'PS' || strstrt(name, '+lookahead') > 0) {
    set style line i linetype i dashtype 1 pointtype i pointsize 0.6
  } else {
    set style line i linetype i dashtype 2 pointtype i pointsize 0.6
  }
}
plot for [i = 1:words(names)] csv \
  using (stringcolumn('configuration') eq word(names, i) ? column('particles') : NaN): \
        (column('offset_kl_bits')):(1.96 * column('offset_kl_bits_error')) \
  with yerrorlines linestyle i title word(names, i)
