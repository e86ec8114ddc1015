// Turns the npm package cmu-pronouncing-dictionary into examples for the stress tagger:
//   node split-cmudict.mjs PACKAGE FOLDER
// Writes FOLDER/{train,dev1,dev2,test}.tsv and the first lines of each to FOLDER/sample/.
//
// The SHA-256 of an example's phonemes says which split it is in and where it stands there. So a
// pronunciation is in one split only, however it is spelt or stressed; a larger dictionary moves no
// example to another split; and the first lines of a split are a random sample of it.
import {createHash} from 'node:crypto';
import {mkdirSync, writeFileSync} from 'node:fs';
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

// Up to which share of all hashes, and how many lines the sample has.
const splits = [
  {name: 'test', upTo: 0.1, sample: 500},
  {name: 'dev1', upTo: 0.15, sample: 500},
  {name: 'dev2', upTo: 0.2, sample: 500},
  {name: 'train', upTo: 1, sample: 8000},
];

function readExamples(dictionary) {
  const lines = new Map();  // line -> hash of its phonemes
  for (const [word, entry] of Object.entries(dictionary)) {
    if (/\(\d+\)$/.test(word)) continue;  // an alternative pronunciation
    const sounds = entry.replace(/#.*/, '').trim().split(/\s+/);
    if (!sounds.every((sound) => /^[A-Z]{1,2}[012]?$/.test(sound))) {
      throw new Error(`the entry of '${word}' is not made of phonemes: ${entry}`);
    }
    const phonemes = sounds.map((sound) => sound.replace(/\d/, '')).join(' ');
    const tags = sounds.map((sound) => sound.match(/\d/)?.[0] ?? '-').join(' ');
    lines.set(`${phonemes}\t${tags}\n`, createHash('sha256').update(phonemes).digest('hex'));
  }
  const keyed = [...lines].map(([line, hash]) => ({line, hash}));
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return keyed.sort((a, b) => order(a.hash, b.hash) || order(a.line, b.line));
}

async function main([packageFolder, folder]) {
  const {dictionary} = await import(pathToFileURL(resolve(packageFolder, 'index.js')));
  const examples = readExamples(dictionary);
  mkdirSync(`${folder}/sample`, {recursive: true});
  let from = 0;
  for (const {name, upTo, sample} of splits) {
    const isHere = ({hash}) => {
      const share = parseInt(hash.slice(0, 8), 16) / 2 ** 32;
      return share >= from && share < upTo;
    };
    const lines = examples.filter(isHere).map(({line}) => line);
    writeFileSync(`${folder}/${name}.tsv`, lines.join(''));
    writeFileSync(`${folder}/sample/${name}.tsv`, lines.slice(0, sample).join(''));
    from = upTo;
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`get-data: ${error.message.split('\n')[0]}`);
  process.exit(1);
});
