import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

import { runToEnd } from '../harness/processes.js';

const entry = join('test', 'demo-triggers.main.js');

it('npm run demo:triggers -- --once prints each step from the message to the reply, and leaves nothing behind', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'nightshift-demo-'));
  const { code, stdout, stderr } = await runToEnd(['--once'], { TMPDIR: folder }, entry);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const steps = [
    /The user asks: What is 17 \* 23\?/,
    /on-user-message delivers m1: accepted \(200\)/,
    /A round asks for the tool calculate .*pending\)/,
    /on-tool-pending delivers call_\w+: accepted \(200\)/,
    /The tool calculate has run: 391 .*success\)/,
    /on-tool-success delivers call_\w+: accepted \(200\)/,
    /A round ends with the reply: .*391.*\(document msg_\w+\)/,
    /^Done: 3 deliveries, 3 jobs, 1 tool call and one reply in [\d.]+ s\.$/m,
  ];
  for (const text of steps) expect(stdout).toMatch(text);
  expect(await readdir(folder)).toEqual([]);
  const servers = stdout.match(/http:\/\/127\.0\.0\.1:\d+/g) ?? [];
  expect(servers).toHaveLength(2);
  for (const url of servers) await expect(fetch(url)).rejects.toThrow();
  await rm(folder, { recursive: true });
});

it('npm run demo:triggers exits with 1 and a reason when it cannot start', async () => {
  const { code, stderr } = await runToEnd(['--once'], { TMPDIR: '/no/such/folder' }, entry);
  expect(code).toBe(1);
  expect(stderr).toContain('Failed: ENOENT');
});
