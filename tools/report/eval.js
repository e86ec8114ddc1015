// Methods compared: a measure against M, both logarithmic, with bands of ± 1.96 standard errors.

function drawEval(section) {
  const {rows} = section.table;
  const names = [...new Set(rows.map((row) => row.configuration))];
  const sizes = [...new Set(rows.map((row) => row.particles))].sort((a, b) => a - b);
  const measures = section.measures.filter((measure) => rows.some((row) => isNumber(row[measure.key])));
  const host = el('div');
  const caption = el('figcaption');
  const show = (key) => {
    const measure = measures.find((each) => each.key === key);
    const isBias = key === 'bias_log_z';
    const pointOf = (row) => {
      const value = row[key], error = row[`${key}_error`];
      const y = isNumber(value) && isBias ? Math.abs(value) : value;
      const has = isNumber(value) && isNumber(error);
      const about = row.exact_references < row.inputs && measure.by_reference ? ' (p is estimated)' : '';
      return {
        x: row.particles, y, low: has ? y - 1.96 * error : null, high: has ? y + 1.96 * error : null,
        text: `M = ${row.particles}: ${measure.heading} ${num(value)}${has ? ` ± ${num(1.96 * error)} (95 %)` : ''}${about}\n${plural(row.inputs, 'input')}, ${plural(row.runs, 'run')}`,
      };
    };
    const series = names.map((name) => ({name, points: rows.filter((row) => row.configuration === name).map(pointOf).sort((a, b) => a.x - b.x)}));
    const zeros = series.flatMap((line) => line.points).filter((point) => isNumber(point.y) && point.y <= 0).length;
    caption.textContent = `${measure.heading}: ${measure.summary}. ${isBias ? 'Drawn without its sign. ' : ''}Both axes are logarithmic; bands and bars are ± 1.96 standard errors, cut off at the lower edge.` +
      (zeros > 0 ? ` ${plural(zeros, 'value')} of 0 or below: drawn hollow at the lower edge.` : '');
    host.replaceChildren(lineChart({
      label: `${measure.heading} against M for ${plural(names.length, 'method')}`, legend: true, series,
      x: {label: 'M, particles', log: true, ticks: sizes, text: (value) => String(value)},
      y: {label: measure.heading, log: true},
    }));
  };
  const select = makeSelect('Measure', measures.map((measure) => [measure.key, `${measure.heading}: ${measure.summary}`]), show);
  const columns = [
    {head: 'M', value: (row) => row.particles, number: true},
    {head: 'method', value: (row) => row.configuration},
    ...measures.map((measure) => ({
      head: measure.heading, number: true,
      value: (row) => (isNumber(row[`${measure.key}_error`]) ? `${num(row[measure.key])} ±${num(row[`${measure.key}_error`])}` : row[measure.key]),
    })),
    {head: 'ms per input', value: (row) => (isNumber(row.seconds_per_input) ? 1000 * row.seconds_per_input : null), number: true},
    {head: 'inputs', value: (row) => row.inputs, number: true},
    {head: 'with exact p', value: (row) => row.exact_references, number: true},
    {head: 'runs', value: (row) => row.runs, number: true},
    {head: 'runs without mass', value: (row) => row.empty_runs, number: true},
  ];
  const parts = [];
  if (measures.length === 0) parts.push(el('p', {class: 'note'}, 'No input could be evaluated, so there is nothing to draw.'));
  else {
    show(measures[0].key);
    parts.push(el('figure', {}, el('div', {class: 'controls'}, select), host, caption));
  }
  for (const each of section.table.left_out.slice(0, 20)) parts.push(el('p', {class: 'note'}, `Input ${each.input} was left out: ${each.why}`));
  if (section.table.left_out.length > 20) parts.push(el('p', {class: 'note'}, `${section.table.left_out.length - 20} more inputs were left out.`));
  parts.push(behind('The whole table; ± is one standard error', () => makeTable('All methods and M with all measures', columns, rows), true));
  return parts;
}
