// Draws docs/images/terminal.svg, the picture in the README: starts a job on a new installation, kills the server with SIGKILL while the
// job runs, starts it again and attaches to the job. `npm run build && node scripts/picture.mjs`; needs util-linux's `script` for the colors.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const port = '4599';
const folder = mkdtempSync(join(tmpdir(), 'nightshift-picture-'));
const dataDir = join(folder, 'data');
const cli = 'node apps/cli/nightshift.mjs';
const prompt = "'What is 17 * 23, and what time is it in Tokyo?'";

const lines = [];
let server = await start();
try {
  // The first start runs a sample job of its own; the demo key exists from then on.
  const env = {
    ...process.env,
    NIGHTSHIFT_URL: `http://127.0.0.1:${port}`,
    NIGHTSHIFT_KEY: readFileSync(join(dataDir, 'demo-api-key'), 'utf8').trim(),
  };
  const job = show(`npx nightshift run ${prompt} -t calculate,get_current_time -d`, env).trim();
  command("kill -9 $(cut -d' ' -f1 .nightshift/serving) && npm start", '# while the job runs');
  process.kill(Number(readFileSync(join(dataDir, 'serving'), 'utf8').split(' ')[0]), 'SIGKILL');
  server = await start();
  lines.push([{ style: 'dim', text: 'Nightshift is ready' }]);
  show(`npx nightshift attach ${job}`, env);
} finally {
  process.kill(server.pid, 'SIGTERM');
  await new Promise((resolve) => server.once('exit', resolve));
  rmSync(folder, { recursive: true, force: true });
}
mkdirSync('docs/images', { recursive: true });
writeFileSync('docs/images/terminal.svg', toSvg(lines));

async function start() {
  const child = spawn(process.execPath, ['dist/apps/main.js', '--data-dir', dataDir, '--port', port], {
    stdio: 'ignore',
  });
  for (let tries = 0; tries < 300; tries++) {
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    if (ready?.ok) return child;
    await sleep(200);
  }
  throw new Error('the server did not become ready');
}

/** Runs a command of the CLI on a pseudo-terminal, and keeps the lines that stay on the screen. */
function show(line, env) {
  command(line);
  const run = line.replace(/^npx nightshift/, cli);
  const { stdout } = spawnSync('script', ['-qec', run, '/dev/null'], { env, encoding: 'utf8', input: '' });
  // A carriage return with "erase line" overwrites the progress line before it.
  const shown = stdout.split(/\r?\n/).map((text) => text.split('\u001b[K').at(-1).replaceAll('\r', ''));
  while (shown.at(-1) === '') shown.pop();
  for (const text of shown) lines.push(...wrapped(text));
  return shown.at(-1) ?? '';
}

function command(text, comment = '') {
  lines.push([
    { style: 'green', text: '$ ' },
    { style: 'plain', text: `${text} ` },
    { style: 'dim', text: comment },
  ]);
}

/** Lines of at most 100 characters, as spans of one style each. */
function wrapped(text) {
  const rows = [[]];
  let [style, column] = ['plain', 0];
  for (const part of text.split(/(\u001b\[\d+m)/)) {
    const code = part.startsWith('\u001b[') ? part.slice(2, -1) : null;
    if (code !== null) style = { 2: 'dim', 31: 'red', 32: 'green', 33: 'yellow', 36: 'cyan' }[code] ?? 'plain';
    else
      for (const word of part.match(/\S+\s*|\s+/g) ?? []) {
        if (column > 0 && column + word.trimEnd().length > 100) {
          rows.push([]);
          column = 0;
        }
        rows.at(-1).push({ style, text: word });
        column += word.length;
      }
  }
  return rows;
}

function toSvg(rows) {
  const [lineHeight, padding, top] = [20, 20, 44];
  const height = top + rows.length * lineHeight + padding;
  const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const spans = (row) => row.map(({ style, text }) => `<tspan class="${style}">${escape(text)}</tspan>`).join('');
  const text = rows
    .map((row, i) => `<text x="${padding}" y="${top + i * lineHeight + 14}">${spans(row)}</text>`)
    .join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="920" height="${height}" viewBox="0 0 920 ${height}" role="img"
  aria-label="A job keeps running while its server is killed and started again">
<style>
text { font: 13.5px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre; fill: #d7dae0 }
.dim { fill: #8b93a1 } .green { fill: #7fd38b } .cyan { fill: #6fc7d8 } .yellow { fill: #e5c07b } .red { fill: #f08080 }
</style>
<rect width="920" height="${height}" rx="10" fill="#16181d" />
<circle cx="22" cy="20" r="6" fill="#f0655b" /><circle cx="42" cy="20" r="6" fill="#f3bd4f" /><circle cx="62" cy="20" r="6" fill="#5fc454" />
${text}
</svg>
`;
}
