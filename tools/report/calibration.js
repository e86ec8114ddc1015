// The lookahead by itself: C_t + Ĥ_t against the exact H_t, and how r_t is distributed.

function drawCalibration(section) {
  const {points} = section;
  if (points.length === 0) return [el('p', {class: 'note'}, section.why_none)];
  const host = el('div', {class: 'chart'});
  let isCentred = true;
  const valuesOf = (point) => (isCentred ? [point.to_go - point.to_go_mean, point.lookahead - point.lookahead_mean] : [point.to_go, point.lookahead]);
  const redraw = drawToWidth(host, (width) => drawScatter(host, points, valuesOf, isCentred, width));
  const select = makeSelect('Show', [['yes', 'centred within (x, t): what comparing prefixes depends on'], ['no', 'as they are: how well the lookahead tells log Z']], (value) => {
    isCentred = value === 'yes';
    redraw();
  });
  const columns = [
    {head: 'input', value: (point) => point.input, number: true}, {head: 't', value: (point) => point.t, number: true},
    {head: 'share of p(y₁…y_t | x)', value: (point) => point.share, text: percent, number: true},
    {head: 'H_t, exact', value: (point) => point.to_go, number: true}, {head: 'C_t + Ĥ_t', value: (point) => point.lookahead, number: true},
    {head: 'H_t, mean of (x, t)', value: (point) => point.to_go_mean, number: true}, {head: 'C_t + Ĥ_t, mean', value: (point) => point.lookahead_mean, number: true},
    {head: 'r_{t+1}', value: (point) => point.residual, number: true},
  ];
  const scatter = el('figure', {}, el('h3', {}, 'C_t + Ĥ_t against H_t'), el('div', {class: 'controls'}, select), host,
    el('figcaption', {}, `${plural(points.length, 'prefix', 'prefixes')} of ${plural(new Set(points.map((p) => p.input)).size, 'input')}, chosen evenly by p(y₁…y_t | x), in nats. A larger circle stands for a larger share. On the diagonal the lookahead is exact.`));
  const grid = el('div', {class: 'grid'}, scatter);
  const residuals = points.filter((point) => isNumber(point.residual));
  if (residuals.length > 0) grid.append(drawResiduals(residuals));
  const parts = [grid];
  if (residuals.length === 0) parts.push(el('p', {}, 'There is no r_t: it is measured at temperature 1, where it is finite.'));
  parts.push(behind('Table of the prefixes', () => makeTable('Prefixes with H_t, C_t + Ĥ_t and r', columns, points)));
  return parts;
}

function drawScatter(host, points, valuesOf, isCentred, width) {
  const height = Math.min(420, Math.max(280, width * 0.8));
  const box = {left: 52, top: 28, right: width - 14, bottom: height - 42};
  const all = points.flatMap(valuesOf);
  const domain = d3.extent(all);
  const pad = 0.05 * (domain[1] - domain[0] || 1);
  const shared = {domain: [domain[0] - pad, domain[1] + pad]};
  const x = makeScale(shared, [], [box.left, box.right]), y = makeScale(shared, [], [box.bottom, box.top]);
  const what = isCentred ? ', less its mean' : '';
  const svg = newSvg(host, width, height, `Scatter of C_t + Ĥ_t against H_t${what}; the table below has the numbers`).attr('role', 'img');
  drawAxes(svg, {x: {label: `H_t${what}, nats`}, y: {label: `C_t + Ĥ_t${what}, nats`}}, x, y, box);
  const [low, high] = x.scale.domain();
  svg.append('line').attr('class', 'diagonal').attr('x1', x(low)).attr('y1', y(low)).attr('x2', x(high)).attr('y2', y(high));
  const dots = svg.append('g').attr('class', 'dots');
  for (const point of points) {
    const [h, c] = valuesOf(point);
    const dot = dots.append('circle').attr('cx', x(h)).attr('cy', y(c)).attr('r', 1.5 + 5 * Math.sqrt(point.share)).node();
    explain(dot, `input ${point.input}, t = ${point.t}, ${percent(point.share)} of p\nH ${num(point.to_go)}, C + Ĥ ${num(point.lookahead)}`);
  }
}

function drawResiduals(points) {
  const host = el('div', {class: 'chart'});
  const total = d3.sum(points, (point) => point.share);
  const mean = d3.sum(points, (point) => point.share * point.residual) / total;
  const rms = Math.sqrt(d3.sum(points, (point) => point.share * point.residual ** 2) / total);
  const [low, high] = d3.extent(points, (point) => point.residual);
  const count = 30, step = (high - low) / count || 1e-9;
  const bins = d3.range(low === high ? 1 : count).map((i) => ({from: low + i * step, to: low + (i + 1) * step, share: 0}));
  for (const point of points) bins[Math.min(bins.length - 1, Math.floor((point.residual - low) / step))].share += point.share / total;
  drawToWidth(host, (width) => {
    const height = Math.min(420, Math.max(240, width * 0.8));
    const box = {left: 52, top: 28, right: width - 14, bottom: height - 42};
    const svg = newSvg(host, width, height, `Histogram of r_t: mean ${num(mean)}, root mean square ${num(rms)} nats`).attr('role', 'img');
    const x = makeScale({snug: true}, bins.flatMap((bin) => [bin.from, bin.to]).concat([0]), [box.left, box.right]);
    const y = makeScale({domain: [0, 1.05 * d3.max(bins, (bin) => bin.share)]}, [], [box.bottom, box.top]);
    drawAxes(svg, {x: {label: 'r, nats'}, y: {label: 'share of prefixes'}}, x, y, box);
    const bars = svg.append('g').attr('class', 'bars');
    for (const bin of bins) {
      const bar = bars.append('rect').attr('x', x(bin.from)).attr('width', Math.max(1, x(bin.to) - x(bin.from) - 1)).attr('y', y(bin.share)).attr('height', y(0) - y(bin.share)).node();
      explain(bar, `r from ${num(bin.from)} to ${num(bin.to)} nats: ${percent(bin.share)}`);
    }
    drawMarks(svg, {marks: [{x: 0, dash: true, text: 'consistent'}]}, x, box);
  });
  const table = behind('Table of the histogram', () => makeTable('Histogram of r', [
    {head: 'from, nats', value: (bin) => bin.from, number: true}, {head: 'to', value: (bin) => bin.to, number: true},
    {head: 'share', value: (bin) => bin.share, text: percent, number: true}], bins));
  return el('figure', {}, el('h3', {}, 'r_t: is the lookahead consistent?'), host,
    el('figcaption', {}, `r_t = C_{t−1} + h − log Σ_y exp(g + C_t) at the same prefixes: mean ${num(mean)}, root mean square ${num(rms)} nats. The exact lookahead has 0 everywhere.`), table);
}
