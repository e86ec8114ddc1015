// Goes through the sections of the data.

const kDrawers = {eval: drawEval, calibration: drawCalibration, training: drawTraining, run: drawRun};

function drawRun(run) {
  const parts = [makeFacts(run.facts)];
  if (run.note) parts.push(el('p', {class: 'note'}, run.note));
  if (run.steps.length > 0) parts.push(...drawLanes(run));
  if (run.nodes.length > 1) parts.push(...drawForest(run));
  if (run.taggings.length > 0) parts.push(drawTaggings(run));
  return parts;
}

function drawTaggings(run) {
  const columns = [
    {head: 'y', value: (tagging) => prefixText(tagging.tags)}, {head: run.share_name, value: (tagging) => tagging.share, text: percent, number: true},
    {head: 'G', value: (tagging) => tagging.score, number: true}, {head: 'particles', value: (tagging) => tagging.count, number: true},
  ].filter((column) => run.taggings.some((tagging) => column.value(tagging) !== null));
  const more = run.num_taggings > run.taggings.length ? ` (the first ${run.taggings.length} of ${run.num_taggings})` : '';
  return el('div', {}, el('h3', {}, `Taggings${more}`), makeTable('Taggings', columns, run.taggings));
}

function makeFacts(facts) {
  return el('dl', {class: 'facts'}, ...facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {dir: 'auto'}, value)]));
}

function main() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const report = document.getElementById('report');
  document.getElementById('facts').append(makeFacts(data.facts));
  const links = el('ul');
  data.sections.forEach((section, index) => {
    const id = `section-${index + 1}`;
    const heading = el('h2', {id, dir: 'auto'}, section.title);
    report.append(el('section', {'aria-labelledby': id}, heading, ...kDrawers[section.kind](section)));
    links.append(el('li', {}, el('a', {href: `#${id}`, dir: 'auto'}, section.title)));
  });
  if (data.sections.length > 1) document.getElementById('contents').append(links);
}

main();
