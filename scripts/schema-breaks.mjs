// Compares apps/api/schema.gql with that of the last release (packages/client/schema.baseline.gql): what would break a client has
// to stand in CHANGELOG.md under "Unreleased", word for word. A release rewrites the baseline with --release.
// Other files may be named for trying out: schema-breaks.mjs <baseline> <schema> <changelog>
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { buildSchema, findBreakingChanges } from 'graphql';

const [baseline, schema, changelog] = [
  'packages/client/schema.baseline.gql',
  'apps/api/schema.gql',
  'CHANGELOG.md',
].map(
  (usual, index) => process.argv.slice(2).filter((word) => !word.startsWith('--'))[index] ?? join(...usual.split('/')),
);

if (process.argv.includes('--release')) copyFileSync(schema, baseline);

const [before, after] = [baseline, schema].map((file) => buildSchema(readFileSync(file, 'utf8')));
const unreleased = /## Unreleased\n([^]*?)(\n## |$)/.exec(readFileSync(changelog, 'utf8'))?.[1] ?? '';
const noted = unreleased.replaceAll(/\s+/g, ' ');
const breaks = findBreakingChanges(before, after).map(({ description }) => description);
const silent = breaks.filter((description) => !noted.includes(description));
if (silent.length === 0) {
  process.stdout.write(`schema breaks no client of the last release${breaks.length > 0 ? ' without a word' : ''}\n`);
} else {
  process.stderr
    .write(`These changes break clients of the last release. Add instead of changing, deprecate instead of removing;
or list them in ${changelog} under "Unreleased", "Breaking":\n${silent.map((line) => `- ${line}\n`).join('')}`);
  process.exitCode = 1;
}
