import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestIdentities } from '../harness/identities.js';
import { startProcess } from '../harness/processes.js';

const trigger = { triggerId: 'one', collection: 'messages', events: ['create'], url: '/webhook/llm' };

describe('TRIGGERS_PATH of a process', () => {
  let database: TestDatabase;
  let folder: string;
  let workspaceId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = mkdtempSync(join(tmpdir(), 'nightshift-reload-'));
    const identities = openTestIdentities(database);
    workspaceId = (await identities.workspaceOf('acme')).owner.workspaceId;
    identities.auth.close();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await database.close();
  });

  const write = (...triggers: object[]) => {
    writeFileSync(join(folder, 'own.json'), JSON.stringify(triggers));
  };
  const start = () => {
    const env = { TRIGGERS_PATH: folder };
    return startProcess({ role: 'api', databaseUrl: database.urls.owner, secret: TEST_SECRET, env });
  };
  const stored = () =>
    database.postgres.withWorkspaceSql(workspaceId, async (client) => {
      const { rows } = await client.query<{ id: string }>('SELECT trigger_id AS id FROM trigger_definition ORDER BY 1');
      return rows.map(({ id }) => id);
    });

  it('reloads at SIGHUP; a bad file changes nothing, and the log has its name and reason', async () => {
    write(trigger);
    const api = await start();
    expect(await stored()).toEqual(['one']);
    write(trigger, { ...trigger, triggerId: 'two' });
    api.kill('SIGHUP');
    await eventually('the second trigger is loaded', async () => ((await stored()).length === 2 ? true : undefined));
    write({ ...trigger, triggerId: 'three' }, { ...trigger, events: ['read'] });
    api.kill('SIGHUP');
    const line = await eventually('the problem is logged', () =>
      api.logs().find(({ msg }) => msg === 'the trigger files were not reloaded'),
    );
    expect(JSON.stringify(line)).toMatch(/own\.json.*invalid event type: read/);
    expect(await stored()).toEqual(['one', 'two']);
    expect((await api.stop()).code).toBe(0);
  });

  it('ends a start with status 1 and the name and reason of a bad file', async () => {
    write({ ...trigger, condition: 'role ==' });
    await expect(start()).rejects.toThrow(/own\.json.*invalid condition/);
    expect(await stored()).toEqual(['one', 'two']);
  });
});
