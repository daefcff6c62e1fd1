/**
 * `npm run bench -- NAME [--json] [--quick] [--profile]`. Prints a table; with --json the last line is one JSON object. Ends with 0 only
 * if the bench ran; whether its aims are met is part of the result, not of the exit code.
 */
import { parseArgs } from 'node:util';

import { attacks } from './attacks.bench.js';
import type { Bench } from './bench.js';
import { engine } from './engine.bench.js';
import { history } from './history.bench.js';
import { hooks } from './hooks.bench.js';
import { memory } from './memory.bench.js';
import { toText, versions } from './report.js';
import { triggers } from './triggers.bench.js';
import { v1 } from './v1.bench.js';
import { w1 } from './w1.bench.js';
import { w1Live } from './w1-live.bench.js';
import { w2 } from './w2.bench.js';
import { w3 } from './w3.bench.js';

const benches: readonly Bench[] = [w1, w1Live, w2, w3, memory, engine, history, v1, attacks, triggers, hooks];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
});
const bench = benches.find(({ name }) => name === positionals[0]);

if (bench === undefined) {
  const known = benches.map(({ name, about }) => `  ${name.padEnd(8)} ${about}`).join('\n');
  process.stderr.write(`Usage: npm run bench -- NAME [--json] [--quick] [--profile]\n${known}\n`);
  process.exitCode = 2;
} else {
  const say = (text: string) => process.stderr.write(`${text}\n`);
  const report = await bench.run({ quick: values.quick, profile: values.profile, say });
  process.stdout.write(`${toText(report)}\n`);
  if (values.json) process.stdout.write(`${JSON.stringify({ name: bench.name, ...report, versions: versions() })}\n`);
}
