import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { type Logger, Metrics } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import type { PluginRegistry } from './plugin.registry.js';
import { PluginDifferences } from './plugin-differences.js';

let database: TestDatabase;
/** Two processes, each with a connection of its own. */
let processes: TestJobs[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  processes = [await openTestJobs(database, { BUS: 'postgres' }), await openTestJobs(database, { BUS: 'postgres' })];
});
afterAll(async () => {
  for (const each of processes) await each.close();
  await database.close();
});

/** A process that has loaded the plugins, each with its hash. */
function start(process: TestJobs | undefined, plugins: Readonly<Record<string, string>>) {
  const metrics = new Metrics();
  const lines: object[] = [];
  const logger = { warn: (line: object) => lines.push(line) } as unknown as Logger; // uses no other method
  const list = () => Object.entries(plugins).map(([name, hash]) => ({ name, hash }));
  const bus = process?.platform.bus;
  if (bus === undefined) throw new Error('the process is not open');
  const differences = new PluginDifferences({ list } as unknown as PluginRegistry, bus, logger, metrics);
  differences.onApplicationBootstrap();
  return {
    lines,
    counted: async () => /^nightshift_plugin_differences_total\{.*$/m.exec(await metrics.registry.metrics())?.[0],
    stop: () => {
      differences.onModuleDestroy();
    },
  };
}

describe('two processes with different code of a plugin', () => {
  it('each log a warning with both hashes once, and count it', async () => {
    const first = start(processes[0], { acme: 'a1', same: 's1' });
    const second = start(processes[1], { acme: 'a2', same: 's1' });
    await eventually('both processes have noticed the difference', () =>
      first.lines.length > 0 && second.lines.length > 0 ? true : undefined,
    );
    const counted = 'nightshift_plugin_differences_total{plugin="acme"} 1';
    expect(await Promise.all([first.counted(), second.counted()])).toEqual([counted, counted]);
    expect(first.lines).toEqual([{ plugin: 'acme', hash: 'a1', otherHash: 'a2' }]);
    expect(second.lines).toEqual([{ plugin: 'acme', hash: 'a2', otherHash: 'a1' }]);
    first.stop();
    second.stop();
  });
});
