import { setTimeout } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { createGate, type Gate, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { type RestartablePostgres, startRestartablePostgres } from './restartable-postgres.js';
import { Stage } from './stage.js';
import type { Viewer } from './viewer.js';

const jobs = 12;
const pieces = Array.from({ length: 100 }, (_, n) => `piece ${n}, `);

/** Leases are to be lost while Postgres is down. They may be lost at any time, and no job is given up for it. */
const hasty = { LEASE_MS: '1500', MAX_ATTEMPTS: '100' };

describe('repeated Postgres crashes:', () => {
  let postgres: RestartablePostgres;
  let stage: Stage;
  let workers: NightshiftProcess[];
  let viewers: Viewer[];
  /** Until it is opened answers come piece by piece, and none is over. */
  const hurry = createGate();
  const pause: Gate = {
    get opened() {
      return Promise.race([setTimeout(80), hurry.opened]);
    },
    open: () => {
      hurry.open();
    },
  };

  beforeAll(async () => {
    postgres = await startRestartablePostgres();
    stage = await Stage.open(postgres.database);
    workers = await Promise.all([stage.startWorker(hasty), stage.startWorker(hasty)]);
    const { body } = textReply(pieces);
    const slowly = { body: [...body.slice(0, -3).flatMap((piece) => [pause, piece]), hurry, ...body.slice(-3)] };
    const call = toolCallReply([{ id: 'call_1', name: 'charge', arguments: '{}' }], { text: 'Paying. ' });
    stage.model.answer(({ body }) => (body.includes('"role":"tool"') ? slowly : call));
  });

  afterAll(async () => {
    await stage.close();
  });

  const seen = () =>
    viewers.reduce((sum, { events }) => sum + events.filter(({ type }) => type === 'text-delta').length, 0);
  const textFlows = async () => {
    const before = seen();
    await eventually('text flows', () => (seen() > before + jobs ? true : undefined));
    expect(viewers.some(({ events }) => events.some(({ type }) => type === 'job-finished'))).toBe(false);
  };
  const leasesAreLost = () =>
    eventually('a lease was not renewed in time', () =>
      workers.some((worker) => worker.logs().some(({ msg }) => String(msg).startsWith('lease not renewed in time')))
        ? true
        : undefined,
    );

  it('jobs complete with their whole text', async () => {
    viewers = await Promise.all(Array.from({ length: jobs }, (_, n) => stage.ask(`job ${n}`, ['charge'])));
    await textFlows();
    await postgres.crash();
    await textFlows();
    await postgres.crash(leasesAreLost);
    hurry.open();
    await Promise.all(viewers.map(({ ended }) => ended));
    for (const { jobId } of viewers)
      expect(await stage.snapshot(jobId)).toMatchObject({ status: 'completed', content: `Paying. ${pieces.join('')}` });
  });

  it('worker processes survive', async () => {
    expect(await Promise.all(workers.map((worker) => worker.stop()))).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
  });

  it('viewers get the events 1 to N from any cursor, and no side effect is repeated', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
