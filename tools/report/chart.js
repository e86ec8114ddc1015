// Lines with bands over linear or logarithmic axes. The picture is one stop of the Tab key; arrow
// keys go along a line and from line to line.

const seriesColor = (index) => `var(--s${index % 10})`;
const seriesDash = (index) => (index < 10 ? null : '6 3');
const seriesSymbol = (index, size = 55) => d3.symbol().type(d3.symbols[index % d3.symbols.length]).size(size)();

// What a logarithmic axis cannot show is drawn at its lower edge, hollow.
function makeScale(axis, values, range) {
  if (axis.log) {
    const shown = values.filter((value) => value > 0);
    const least = shown.length > 0 ? d3.min(shown) : 0.1;
    const most = shown.length > 0 ? d3.max(shown) : 1;
    const room = axis.snug ? 1.15 : 1.4;
    const scale = d3.scaleLog().domain(axis.domain || [least / room, most * room]).range(range);
    const floor = scale.domain()[0];
    return Object.assign((value) => scale(Math.max(floor, value > 0 ? value : floor)), {scale, holds: (value) => value >= floor});
  }
  let [low, high] = axis.domain || d3.extent(values);
  if (low === undefined) [low, high] = [0, 1];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const pad = axis.domain || axis.snug ? 0 : 0.06 * (high - low);
  const scale = d3.scaleLinear().domain([low - pad, high + pad]).range(range);
  return Object.assign((value) => scale(value), {scale, holds: () => true});
}

// spec: {label, height, x: {label, log, ticks, text}, y: {label, log, domain}, marks: [{x, text, dash}],
// series: [{name, points: [{x, y, low, high, text}]}], legend}. Points without a y are left out.
function lineChart(spec) {
  const host = el('div', {class: 'chart'});
  const root = el('div', {}, host);
  const hidden = new Set();
  const redraw = drawToWidth(host, (width) => drawLines(host, spec, hidden, width));
  if (spec.legend && spec.series.length > 1) root.append(makeLegend(spec, hidden, redraw));
  return root;
}

function makeLegend(spec, hidden, redraw) {
  const list = el('ul', {class: 'legend', 'aria-label': 'Lines shown'});
  spec.series.forEach((series, index) => {
    const button = el('button', {type: 'button', 'aria-pressed': 'true'});
    const svg = d3.select(button).append('svg').attr('width', 30).attr('height', 14).attr('aria-hidden', 'true');
    svg.append('line').attr('x2', 30).attr('y1', 7).attr('y2', 7).attr('stroke', seriesColor(index)).attr('stroke-width', 2).attr('stroke-dasharray', seriesDash(index));
    svg.append('path').attr('d', seriesSymbol(index)).attr('transform', 'translate(15,7)').attr('fill', seriesColor(index));
    button.append(el('bdi', {}, series.name));
    button.addEventListener('click', () => {
      if (!hidden.delete(index)) hidden.add(index);
      button.setAttribute('aria-pressed', String(!hidden.has(index)));
      redraw();
    });
    list.append(el('li', {}, button));
  });
  return list;
}

function drawAxes(svg, spec, x, y, box) {
  const {left, top, right, bottom} = box;
  const count = Math.max(3, Math.floor((bottom - top) / 50));
  const format = d3.format('~g');
  const plain = (scale) => (d3.max(scale.domain(), Math.abs) < 1e-3 ? d3.format('.3~g') : undefined);
  const yTicks = (axis) => (spec.y.log ? axis.ticks(count, format) : axis.ticks(count).tickFormat(plain(y.scale)));
  svg.append('g').attr('class', 'gridline').attr('transform', `translate(${left},0)`).call(yTicks(d3.axisLeft(y.scale)).tickSize(left - right).tickFormat(''));
  svg.append('g').attr('class', 'axis').attr('transform', `translate(${left},0)`).call(yTicks(d3.axisLeft(y.scale)));
  const bottomAxis = d3.axisBottom(x.scale);
  if (spec.x.ticks) {
    const room = Math.max(1, Math.floor((right - left) / (spec.x.pitch || 34)));
    const step = Math.ceil(spec.x.ticks.length / room);
    bottomAxis.tickValues(spec.x.ticks.filter((_, index) => index % step === 0)).tickFormat(spec.x.text || format);
  } else {
    bottomAxis.ticks(Math.max(2, Math.floor((right - left) / 70))).tickFormat(spec.x.log ? format : plain(x.scale));
  }
  svg.append('g').attr('class', 'axis').attr('transform', `translate(0,${bottom})`).call(bottomAxis);
  svg.append('text').attr('class', 'soft').attr('x', right).attr('y', bottom + 34).attr('text-anchor', 'end').text(spec.x.label);
  svg.append('text').attr('class', 'soft').attr('x', 2).attr('y', 12).text(spec.y.label);
}

function drawMarks(svg, spec, x, box) {
  const marks = spec.marks || [];
  const crowd = marks.length > 25;  // then they would hide the lines: short ones at the edge
  for (const mark of marks) {
    const at = x(mark.x);
    const group = svg.append('g').attr('class', mark.dash ? 'mark dash' : 'mark');
    group.append('line').attr('x1', at).attr('x2', at).attr('y1', crowd && !mark.text ? box.bottom - 9 : box.top).attr('y2', box.bottom);
    if (mark.text) group.append('text').attr('x', at).attr('y', box.top - 3).attr('text-anchor', at > (box.left + box.right) / 2 ? 'end' : 'start').text(mark.text);
  }
}

function newSvg(host, width, height, label) {
  host.replaceChildren();
  return d3.select(host).append('svg').attr('viewBox', `0 0 ${width} ${height}`).attr('width', width).attr('height', height).attr('role', 'group').attr('aria-label', label);
}

function drawLines(host, spec, hidden, width) {
  const height = spec.height || Math.min(400, Math.max(240, width * 0.5));
  const box = {left: 52, top: 28, right: width - 14, bottom: height - 42};
  const shown = spec.series.map((series, index) => ({
    index, name: series.name, points: series.points.filter((point) => isNumber(point.y)),
  })).filter((series) => !hidden.has(series.index));
  const points = shown.flatMap((series) => series.points);
  const xs = spec.x.ticks || points.map((point) => point.x);
  const ys = points.flatMap((point) => [point.y, point.low, point.high]).filter(isNumber);
  const x = makeScale({snug: true, ...spec.x}, xs, [box.left + 8, box.right - 8]);
  // A band that reaches below every value would squeeze all else: values decide the lower edge.
  const y = makeScale(spec.y, spec.y.log ? points.map((point) => point.y).concat(ys.filter((value) => value > (d3.min(points, (p) => (p.y > 0 ? p.y : null)) || 0) / 3)) : ys, [box.bottom, box.top]);
  const svg = newSvg(host, width, height, spec.label);
  if (points.length === 0) svg.append('text').attr('x', box.left + 12).attr('y', box.top + 24).text('There is nothing to draw.');
  drawAxes(svg, spec, x, y, box);
  drawMarks(svg, spec, x, box);
  const stops = [];
  // Methods that stand over a single M stand side by side.
  const alone = spec.x.ticks && spec.x.ticks.length === 1;
  const beside = alone ? Math.min(30, (box.right - box.left) / (shown.length + 1)) : 0;
  shown.forEach((series, order) => {
    const shift = beside * (order - (shown.length - 1) / 2);
    stops.push(drawSeries(svg, series, (value) => x(value) + shift, y));
  });
  walkPoints(svg.node(), stops.filter((line) => line.length > 0));
}

function drawSeries(svg, series, x, y) {
  const color = seriesColor(series.index);
  const group = svg.append('g').attr('class', 'series');
  const {points} = series;
  const withBand = points.filter((point) => isNumber(point.low) && isNumber(point.high));
  if (points.length > 1) {
    if (withBand.length > 1) group.append('path').attr('class', 'band').attr('fill', color).attr('d', d3.area().x((p) => x(p.x)).y0((p) => y(p.low)).y1((p) => y(p.high))(withBand));
    group.append('path').attr('class', 'line').attr('stroke', color).attr('stroke-dasharray', seriesDash(series.index)).attr('d', d3.line().x((p) => x(p.x)).y((p) => y(p.y))(points));
  }
  for (const point of withBand) group.append('line').attr('class', 'bar').attr('stroke', color).attr('x1', x(point.x)).attr('x2', x(point.x)).attr('y1', y(point.low)).attr('y2', y(point.high));
  const many = points.length > 60;
  return points.map((point) => {
    const text = `${series.name}\n${point.text}${y.holds(point.y) ? '' : '\n(below the axis)'}`;
    const mark = group.append('g').attr('class', 'stop').attr('transform', `translate(${x(point.x)},${y(point.y)})`).attr('role', 'img').attr('aria-label', text);
    mark.append('circle').attr('r', many ? 5 : 11).attr('fill', 'transparent');
    mark.append('path').attr('class', y.holds(point.y) && !point.hollow ? 'point' : 'point hollow').attr('d', seriesSymbol(series.index, many ? 14 : 55)).attr('fill', color).attr('stroke', color);
    explain(mark.node(), text);
    return {node: mark.node(), x: point.x};
  });
}

// lines: for each line its stops from left to right.
function walkPoints(svg, lines) {
  if (lines.length === 0) return;
  let at = [0, 0];
  const node = () => lines[at[0]][at[1]].node;
  node().setAttribute('tabindex', '0');
  const go = (line, index) => {
    node().setAttribute('tabindex', '-1');
    at = [line, index];
    node().setAttribute('tabindex', '0');
    node().focus();
  };
  lines.forEach((line, l) => line.forEach((stop, i) => {
    if (stop.node !== node()) stop.node.setAttribute('tabindex', '-1');
    stop.node.addEventListener('pointerdown', () => go(l, i));
  }));
  svg.addEventListener('keydown', (event) => {
    const [line, index] = at;
    if (event.key === 'ArrowRight') go(line, Math.min(index + 1, lines[line].length - 1));
    else if (event.key === 'ArrowLeft') go(line, Math.max(index - 1, 0));
    else if (event.key === 'Home') go(line, 0);
    else if (event.key === 'End') go(line, lines[line].length - 1);
    else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      const next = (line + (event.key === 'ArrowDown' ? 1 : lines.length - 1)) % lines.length;
      const here = lines[line][index].x;
      const far = (stop) => Math.abs(stop.x - here);
      go(next, lines[next].reduce((best, stop, i) => (far(stop) < far(lines[next][best]) ? i : best), 0));
    } else if (event.key === 'Escape') { tip.hide(); return; } else return;
    event.preventDefault();
  });
}
