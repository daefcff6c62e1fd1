import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from '@jest/globals';

/** A process that runs `script`, in which `logger` writes to standard error. `redirect`: for the shell that starts it. */
function run(script: string, redirect = '') {
  const logger = fileURLToPath(new URL('../../../dist/libs/platform/src/logger.js', import.meta.url));
  const source = `import { createLogger } from ${JSON.stringify(logger)}; const logger = createLogger({ level: 'info' }); ${script}`;
  const node = [process.execPath, '--expose-gc', '--input-type=module', '-e', source];
  return spawn('sh', ['-c', `exec "$0" "$@" ${redirect}`, ...node], { stdio: ['ignore', 'pipe', 'pipe'] });
}

describe('createLogger', () => {
  it('writes all lines in order before the process exits', async () => {
    const child = run("for (let i = 0; i < 5_000; i++) logger.info('line ' + i); process.exit(0);");
    const lines = (await text(child.stderr)).trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(
      Array.from({ length: 5_000 }, (_, i) => `line ${i}`),
    );
  });

  it('writes the lines before a line that is too long, and those after it', async () => {
    const child = run("logger.info('before'); logger.info('x'.repeat(2_000_000)); logger.info('after');");
    const lines = (await text(child.stderr)).trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['before', 'after']);
  });

  it('cuts the message of an error at 4,000 characters', async () => {
    const child = run("logger.error({ err: new Error('x'.repeat(1_000_000)) }, 'failed');");
    const { err } = JSON.parse(await text(child.stderr)) as { err: { message: string } };
    expect(err.message).toHaveLength(4_000);
  });

  it('describes a plain object that has the fields of an error', async () => {
    const child = run("logger.warn({ err: { message: 'the server is shutting down', code: '57P01' } }, 'failed');");
    expect(JSON.parse(await text(child.stderr))).toMatchObject({
      err: { message: 'the server is shutting down', code: '57P01' },
    });
  });

  it('writes a fatal error before it returns', async () => {
    const child = run("logger.info('before'); logger.fatal('the end'); process.kill(process.pid, 'SIGKILL');");
    expect(await text(child.stderr)).toMatch(/before[^]*the end/);
  });

  it('keeps running after the reader of standard error has closed it', async () => {
    const child = run(`
      let ticks = 0;
      setInterval(() => {
        logger.info('x'.repeat(1_000));
        if (++ticks === 200) process.stdout.write('continues', () => process.exit(0));
      }, 1);`);
    child.stderr.destroy();
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number]>]);
    expect([output, code]).toEqual(['continues', 0]);
  });

  (existsSync('/dev/full') ? it : it.skip)('keeps at most a few MiB of lines while the disk is full', async () => {
    const child = run(
      `const before = process.memoryUsage().heapUsed;
      for (let turn = 0; turn < 50; turn++) {
        for (let i = 0; i < 200; i++) logger.info('x'.repeat(5_000));
        await new Promise((resolve) => setImmediate(resolve));
      }
      gc();
      process.stdout.write(String(process.memoryUsage().heapUsed - before), () => process.exit(0));`,
      '2>/dev/full',
    );
    expect(Number(await text(child.stdout))).toBeLessThan(8 * 1_048_576);
  });
});
