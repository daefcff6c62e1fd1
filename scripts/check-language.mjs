// `npm run check:language`: counts words that the glossary in docs/language.md replaces by standard terms, in names, comments, messages,
// tests, pages and the public schemas, and fails when a group has more of them than its limit. A limit only ever goes down: lower it when
// you remove some. The newest commit subjects are checked too. `--list` prints every place.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const git = (...args) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 }).split('\n');
const tracked = git('ls-files').filter((file) => file !== '');

// prettier-ignore
const REPLACED = [
  'doors?', 'doorbells?', 'floors?', 'faces?', 'bells?', 'rings?', 'rung', 'seats?', 'desks?', 'nobody', 'somebody', 'whoever',
  'whatever', 'told', 'tells', 'telling', 'said', 'says', 'stillness', 'patience', 'boarding', 'aftermath', 'upkeep',
  'wish(?:es|ed)?', 'goes on', 'go on', 'went on', 'what becomes of', 'no longer wanted', 'beforehand', 'anew', 'to be had',
  'is no (?!longer|more|matter)[a-z]+', 'lately', 'overtaken', 'put right', 'tell(?! me)', '(?:is|start) news', 'held',
  'obey(?:s|ed)?', 'jobs? (?:above|below)', '(?:above|below) (?:its|the|this|a|another) (?:jobs?|chats?|parent)',
  '(?:find|watch|go|take|replace|started|waiting) below',
];
const pattern = new RegExp(`(?<![A-Za-z])(?:${REPLACED.join('|')})(?![A-Za-z])`, 'gi');

const isTest = (file) => /spec\.ts$|^test\/|\.contract\.ts$/.test(file);
const isGenerated = (file) => /(^|\/)generated\/|package-lock\.json/.test(file);
const isSchema = (file) => /schema\.gql$|openapi\.json$/.test(file);
const isCode = (file) => /\.(ts|mjs)$/.test(file) && !isGenerated(file) && file !== 'scripts/check-language.mjs';

/** The most places a group may have. Never raise one. */
const GROUPS = [
  { name: 'source', limit: 214, has: (file) => isCode(file) && !isTest(file) },
  { name: 'tests', limit: 192, has: (file) => isCode(file) && isTest(file) },
  { name: 'pages', limit: 1, has: (file) => file.endsWith('.md') && !/^docs\/(adr\/|language)/.test(file) },
  { name: 'schemas', limit: 0, has: isSchema },
];

/** `takeASeat` and `take-a-seat` are read as words too. */
const toWords = (text) => text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[_-]/g, ' ');

function placesIn(file) {
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  return lines.flatMap((line, i) => [...toWords(line).matchAll(pattern)].map(([word]) => `${file}:${i + 1} ${word}`));
}

let failed = false;
for (const { name, limit, has } of GROUPS) {
  const places = tracked.filter(has).flatMap(placesIn);
  const verdict = places.length > limit ? `more than its limit of ${limit}` : `limit ${limit}`;
  failed ||= places.length > limit;
  process.stdout.write(`${name}: ${places.length} replaced words, ${verdict}\n`);
  if (process.argv.includes('--list')) process.stdout.write(`${places.join('\n')}\n`);
}

const SUBJECTS = 20;
for (const subject of git('log', `-${SUBJECTS}`, '--no-merges', '--format=%s').filter((line) => line !== '')) {
  if (subject.length <= 60 && /^[a-z]+(\([a-z0-9, -]+\))?!?: [a-z]/.test(subject) && !toWords(subject).match(pattern))
    continue;
  process.stdout.write(`commit subject breaks the rules of docs/language.md: ${subject}\n`);
}
process.exitCode = failed ? 1 : 0;
