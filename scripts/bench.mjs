// `npm run bench -- NAME [--json]`: builds what changed, then runs the bench on the pinned Node.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { bootstrap, pinnedNode } from './bootstrap.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
await bootstrap({ say: (text) => process.stderr.write(text) });
const bench = spawn(pinnedNode, [join(root, 'dist', 'bench', 'main.js'), ...process.argv.slice(2)], {
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => bench.kill(signal));
bench.once('error', (error) => {
  process.stderr.write(`nightshift: ${error.message}\n`);
  process.exitCode = 1;
});
bench.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
