import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestServer } from '@nightshift/plugin/testing';

import { runCli } from '../harness/cli.js';
import { type NightshiftProcess, serveEntry, startProcess } from '../harness/processes.js';

const plugin = `import { definePlugin, defineTool } from '@nightshift/plugin';
const ping = defineTool({ name: 'ping', description: 'Pings.', input: { type: 'object' }, execute: () => 'pong' });
export default definePlugin({
  name: 'mode', version: '1.0.0', tools: [ping],
  setup({ config, logger }) {
    logger.info({ mode: config.NAME ?? 'none' }, 'setting up');
    if (config.NAME === 'closed') throw new Error('the mode is closed');
  },
});
`;

/** A folder of a user, with `.env`. */
let folder: string;
let server: NightshiftProcess;
const reads = { READ_ENV_FILE: 'true' };
const modes = (lines: readonly object[]) =>
  lines.flatMap((line) => ('msg' in line && line.msg === 'setting up' && 'details' in line ? [line.details] : []));

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-env-file-'));
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins', 'mode.mjs'), plugin);
  writeFileSync(join(folder, '.env'), `PLUGIN_MODE_NAME=file\nDATA_DIR=${join(folder, 'data')}\n`);
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
  server = await startProcess({ role: 'all', entry: serveEntry, cwd: folder, env: reads });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('the file .env in the working directory', () => {
  it('configures a server and its plugins', () => {
    expect(modes(server.logs())).toEqual([{ mode: 'file' }]);
  });

  it('configures the command line, which finds the server of its DATA_DIR and lists the plugins', async () => {
    const { code, stdout } = await runCli(['plugins', 'list', '--json'], { cwd: folder, env: reads });
    expect({
      code,
      plugins: stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    }).toEqual({
      code: 0,
      plugins: [
        {
          ...{ name: 'mode', version: '1.0.0', hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
          ...{ tools: ['ping'], hooks: [], nodes: [] },
        },
      ],
    });
    const { stdout: table } = await runCli(['plugins', 'list'], { cwd: folder, env: reads });
    expect(table).toMatch(/^PLUGIN +VERSION +HASH +TOOLS +HOOKS +NODES *\nmode +1\.0\.0 +[0-9a-f]{12} +ping *\n$/);
  });

  it('configures the plugin that `plugins check` loads', async () => {
    const path = join('plugins', 'mode.mjs');
    expect((await runCli(['plugins', 'check', path], { cwd: folder, env: reads })).code).toBe(0);
    const closed = await runCli(['plugins', 'check', path], { cwd: folder, env: { PLUGIN_MODE_NAME: 'closed' } });
    expect({ ...closed, code: 2 }).toMatchObject({ stderr: expect.stringContaining('the mode is closed') });
    writeFileSync(join(folder, 'plugins', '.env'), 'PLUGIN_MODE_NAME=closed\n');
    const below = await runCli(['plugins', 'check', 'mode.mjs'], { cwd: join(folder, 'plugins'), env: reads });
    expect(below.code).toBe(2);
  });

  it('configures the commands of operators', async () => {
    writeFileSync(join(folder, 'plugins', '.env'), 'JWT_SECRET=too-short\n');
    const { code, stderr } = await runCli(['admin', 'token'], { cwd: join(folder, 'plugins'), env: reads });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('JWT_SECRET must be') });
  });

  it('does not configure a server of createTestServer', async () => {
    const tested = await createTestServer({ server: process.cwd(), workingDirectory: folder });
    try {
      expect(modes(tested.logs())).toEqual([{ mode: 'none' }]);
    } finally {
      await tested.close();
    }
  });
});
