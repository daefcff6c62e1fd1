import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { busContract, quietLogger } from '../../../../test/contracts/bus.contract.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { ManualClock } from '../clock.js';
import { createLogger } from '../logger.js';
import type { BusMessages } from './bus.js';
import { PostgresBus } from './postgres.bus.js';

const WORKSPACE = '0190a0a0-0000-7000-8000-000000000001';
let database: TestDatabase;
let admin: pg.Client;
let bus: PostgresBus;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = new pg.Client({ connectionString: database.urls.owner });
  await admin.connect();
});

afterAll(async () => {
  await admin.end();
  await database.close();
});

const createBus = () => new PostgresBus({ url: database.urls.worker, logger: quietLogger });

/** The session ids of the buses of this database, oldest first. */
async function busSessions(): Promise<number[]> {
  const { rows } = await admin.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'nightshift:bus'
      ORDER BY backend_start`,
  );
  return rows.map(({ pid }) => pid);
}

describe('PostgresBus', () => {
  busContract({
    create: () => Promise.resolve([createBus(), createBus()]),
    breakConnection: async () => {
      await admin.query('SELECT pg_terminate_backend($1)', [(await busSessions()).at(-1)]);
    },
  });
});

describe('hints on the wire', () => {
  it('need one statement per burst', async () => {
    const bus = createBus();
    await bus.start();
    const listener = new pg.Client({ connectionString: database.urls.worker });
    await listener.connect();
    const payloads: string[] = [];
    const last = new Promise<void>((resolve) => {
      listener.on('notification', ({ payload }) => {
        payloads.push(payload ?? '');
        if (payload?.includes('"a"') === true) resolve();
      });
    });
    await listener.query('LISTEN nightshift_bus');
    for (let i = 0; i < 300; i += 1) {
      const jobId = `0190a0a0-0000-7000-8000-${String(i).padStart(12, '0')}`;
      bus.publish('job-events', { workspaceId: WORKSPACE, jobId, seq: i });
    }
    bus.publish('access-changed', { workspaceId: WORKSPACE });
    await last;
    expect(payloads.length).toBeLessThan(6);
    expect(Math.max(...payloads.map((payload) => payload.length))).toBeLessThan(7_901);
    await bus.stop();
    await listener.end();
  });

  it('of other senders and of newer builds are skipped', async () => {
    const bus = createBus();
    await bus.start();
    const seen: unknown[] = [];
    bus.subscribe('job-events', (message) => seen.push(message));
    const known = new Promise<BusMessages['access-changed']>((resolve) => {
      bus.subscribe('access-changed', resolve);
    });
    const wild = ['', '{', '7', '[["z",1]]', '[["e","x","y",1]]', `[["new","${WORKSPACE}"],["a","${WORKSPACE}"]]`];
    for (const payload of wild) await admin.query("SELECT pg_notify('nightshift_bus', $1)", [payload]);
    await expect(known).resolves.toEqual({ workspaceId: WORKSPACE });
    expect(seen).toEqual([]);
    await bus.stop();
  });
});

it('PostgresBus keeps hints while the connection is down, and sends them when it is back', async () => {
  const clock = new ManualClock();
  const there = createBus();
  await there.start();
  const noticed = new Promise<void>((resolve) => {
    const logger = createLogger({ level: 'silent' });
    logger.warn = () => {
      resolve();
    };
    bus = new PostgresBus({ url: database.urls.worker, logger, clock });
  });
  await bus.start();
  await admin.query('SELECT pg_terminate_backend($1)', [(await busSessions()).at(-1)]);
  await noticed;
  const arrived = new Promise<BusMessages['job-cancel']>((resolve) => {
    there.subscribe('job-cancel', resolve);
  });
  const message = { workspaceId: WORKSPACE, jobId: WORKSPACE, why: 'requested' };
  bus.publish('job-cancel', message);
  clock.advance(100);
  await expect(arrived).resolves.toEqual(message);
  await there.stop();
  await bus.stop();
  expect(clock.pending).toBe(0);
});

it('PostgresBus closes its database session', async () => {
  // The server notices a moment later that a client has gone.
  const sessions = (count: number) =>
    eventually(`there are ${count} sessions`, async () => ((await busSessions()).length === count ? true : undefined));
  await sessions(0);
  const bus = createBus();
  await bus.start();
  expect(await busSessions()).toHaveLength(1);
  await bus.stop();
  await sessions(0);
});

it('PostgresBus fails to start when the database is unreachable', async () => {
  const bus = new PostgresBus({ url: 'postgres://nobody:x@127.0.0.1:1/none', logger: quietLogger });
  await expect(bus.start()).rejects.toThrow('ECONNREFUSED');
  await bus.stop();
});
