// Curves over epochs: what an epoch's line of JSON has, figures of one kind together.

const kPanels = [
  {title: 'Loss', keys: ['loss'], unit: ''},
  {title: 'Perplexity', keys: ['perplexity', 'dev_perplexity'], unit: ''},
  {title: 'KL divergences', keys: ['kl_bits', 'dev_kl_bits', 'dev_offset_kl_bits'], unit: 'bits'},
  {title: 'Effective sample size', keys: ['ess', 'dev_ess'], unit: 'share of M'},
  {title: 'Consistency: root mean square of r_t', keys: ['residual_rms', 'dev_residual_rms'], unit: 'nats'},
  {title: 'C_0 + Ĥ_0 against log Ẑ', keys: ['to_go_rmse', 'dev_to_go_rmse'], unit: 'nats'},
  {title: 'How far estimates of log Z agree', keys: ['dev_gap', 'dev_drift'], unit: 'nats a symbol'},
  {title: 'Sequences that failed or overshot', keys: ['failed', 'overshot', 'dev_failed', 'dev_overshot'], unit: 'sequences', onlyIfAny: true},
  {title: 'Prefixes computed per particle and step', keys: ['rows_per_particle_step'], unit: ''},
  {title: 'Time', keys: ['seconds'], unit: 'seconds an epoch'},
];
const kCurveNames = {
  kl_bits: 'KL(q‖p), training', dev_kl_bits: 'KL(q‖p), development', dev_offset_kl_bits: 'offset KL, development',
  dev_gap: 'gap: with y* less without', dev_drift: 'drift from M to 4M', failed: 'failed, training', overshot: 'overshot, training',
  dev_failed: 'failed, development', dev_overshot: 'overshot, development',
};
const curveName = (key) => kCurveNames[key] || (key.startsWith('dev_') ? 'development' : 'training');

function drawTraining(section) {
  const {epochs} = section;
  if (epochs.length === 0) return [el('p', {class: 'note'}, 'No epoch was finished, so there are no curves.')];
  const best = epochs.filter((epoch) => epoch.best).map((epoch) => epoch.epoch).pop();
  const doubtful = epochs.filter((epoch) => epoch.unreliable || epoch.dev_unreliable).map((epoch) => epoch.epoch);
  const marks = doubtful.map((epoch) => ({x: epoch, dash: true})).concat(best === undefined ? [] : [{x: best, text: `best: ${best}`}]);
  const words = [section.summary];
  if (doubtful.length > 0) words.push(`Dashed: ${plural(doubtful.length, 'epoch')} whose figures cannot be trusted, which are left out.`);
  const parts = words.filter((text) => text).map((text) => el('p', {}, text));
  const controls = el('div', {class: 'controls'});
  const grid = el('div', {class: 'grid'});
  const draw = (isLog) => grid.replaceChildren(...kPanels.map((panel) => drawPanel(panel, epochs, marks, isLog)).filter((each) => each));
  controls.append(makeSelect('Vertical axes', [['linear', 'linear'], ['log', 'logarithmic']], (value) => draw(value === 'log')));
  draw(false);
  const keys = [...new Set(epochs.flatMap((epoch) => Object.keys(epoch)))];
  const columns = keys.map((key) => ({head: key, value: (epoch) => epoch[key], number: epochs.some((epoch) => isNumber(epoch[key]))}));
  parts.push(controls, grid, behind('Table of all epochs', () => makeTable('All epochs', columns, epochs, (epoch) => epoch.epoch === best), epochs.length <= 30));
  return parts;
}

function drawPanel(panel, epochs, marks, isLog) {
  const keys = panel.keys.filter((key) => epochs.some((epoch) => isNumber(epoch[key]) && (!panel.onlyIfAny || epoch[key] !== 0)));
  if (keys.length === 0) return null;
  const series = keys.map((key) => ({
    name: curveName(key),
    points: epochs.map((epoch) => ({x: epoch.epoch, y: epoch[key], text: `epoch ${epoch.epoch}: ${num(epoch[key])}${panel.unit ? ` ${panel.unit}` : ''}${epoch.best ? '\nbest so far' : ''}`})),
  }));
  const chart = lineChart({
    label: `${panel.title} over ${plural(epochs.length, 'epoch')}`, height: 250, series, marks, legend: true,
    x: {label: 'epoch', ticks: epochs.length > 20 ? null : epochs.map((epoch) => epoch.epoch), text: (value) => String(value)}, y: {label: panel.unit, log: isLog},
  });
  return el('figure', {}, el('h3', {}, panel.title), chart);
}
