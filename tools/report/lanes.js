// One run over t: effective sample size and log Ẑ_t, with marks where it resampled or left out.

function drawLanes(run) {
  const steps = run.steps.map((step, index) => ({t: index + 1, symbol: run.x[index], ...step}));
  const marks = steps.filter((step) => step.resampled || step.left_out > 0).map((step) => ({x: step.t, dash: !step.resampled}));
  const ticks = steps.map((step) => step.t);
  const letters = String(steps.length).length + 1 + d3.max(run.x, (symbol) => [...shorten(symbol, 4)].length);
  const x = {label: 't, with x_t', ticks, pitch: 14 + 7 * letters, text: (t) => `${t} ${isolate(shorten(run.x[t - 1], 4))}`};
  const doings = (step) => [step.resampled ? 'resampled here' : '', step.left_out > 0 ? `${plural(step.left_out, 'child', 'children')} left out` : ''].filter((text) => text).map((text) => `\n${text}`).join('');
  const about = (step) => `t = ${step.t}, x = ${isolate(step.symbol)}\n${plural(step.rows, 'prefix', 'prefixes')} kept${doings(step)}`;
  const lane = (title, caption, series, y) => el('figure', {}, el('h3', {}, title), lineChart({label: title, height: 230, x, y, series, marks, legend: true}), el('figcaption', {}, caption));
  const grid = el('div', {class: 'grid'});
  const withEss = steps.filter((step) => isNumber(step.ess));
  if (withEss.length > 0 && run.particles > 0) {
    grid.append(lane('Effective sample size / M', `${run.ess_words} ${markWords(steps)}`, [{
      name: 'ESS / M', points: withEss.map((step) => ({x: step.t, y: step.ess / run.particles, text: `ESS ${num(step.ess)} of M = ${run.particles}\n${about(step)}`})),
    }], {label: 'ESS / M', domain: [0, 1.02]}));
  }
  const lines = [{name: 'log Ẑ_t', points: steps.map((step) => ({x: step.t, y: step.log_z, text: `log Ẑ_t ${num(step.log_z)}\n${about(step)}`}))}];
  if (steps.some((step) => isNumber(step.to_go))) {
    lines.push({name: 'log Ẑ_t + Ĥ_t', points: steps.map((step) => ({x: step.t, y: isNumber(step.to_go) ? step.log_z + step.to_go : null, text: `log Ẑ_t + Ĥ_t ${num(step.log_z + step.to_go)}\n${about(step)}`}))});
  }
  grid.append(lane('log Ẑ over t', `${run.log_z_words}${lines.length > 1 ? ' With Ĥ_t, the part of the lookahead that all prefixes share, it is an estimate of log Z at every t: level where the lookahead is good.' : ''}`, lines, {label: 'nats'}));
  const columns = [
    {head: 't', value: (step) => step.t, number: true}, {head: 'x_t', value: (step) => step.symbol},
    {head: 'ESS', value: (step) => step.ess, number: true}, {head: 'resampled', value: (step) => step.resampled},
    {head: 'prefixes kept', value: (step) => step.rows, number: true}, {head: 'children left out', value: (step) => step.left_out, number: true},
    {head: 'log Ẑ_t', value: (step) => step.log_z, number: true}, {head: 'Ĥ_t', value: (step) => step.to_go, number: true},
  ];
  return [grid, behind('Table of the steps', () => makeTable('Steps of the run', columns, steps))];
}

function markWords(steps) {
  const words = [];
  if (steps.some((step) => step.resampled)) words.push('Upright lines: it resampled.');
  if (steps.some((step) => step.left_out > 0)) words.push('Dashed lines: children of positive weight were left out.');
  return words.length > 0 ? words.join(' ') : 'It never resampled or left out anything.';
}

const shorten = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join('')}…` : text);
