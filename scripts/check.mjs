// `npm run check`: every check that needs no database, as many at once as there are cores, the longest first. Prints a line for each with
// its time, and the output of those that fail.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

const checks = [
  'check:lint',
  'test:unit',
  'check:types',
  'check:cruise',
  'check:format',
  'check:knip',
  'check:language',
];

function run(check) {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn('npm', ['run', '--silent', check], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
    child.on('error', (error) => (output += error.message));
    child.on('close', (code) => {
      const seconds = Math.round((performance.now() - started) / 1_000);
      process.stdout.write(`${code === 0 ? 'ok    ' : 'FAILED'} ${check} (${seconds} s)\n`);
      if (code !== 0) {
        process.stdout.write(output);
        process.exitCode = 1;
      }
      resolve();
    });
  });
}

async function runNext() {
  for (let check = checks.shift(); check !== undefined; check = checks.shift()) await run(check);
}

await Promise.all(Array.from({ length: availableParallelism() }, runNext));
