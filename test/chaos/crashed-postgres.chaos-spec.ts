import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { type RestartablePostgres, startRestartablePostgres } from './restartable-postgres.js';
import { Stage } from './stage.js';
import type { Viewer } from './viewer.js';

const jobs = 12;
const pieces = Array.from({ length: 20 }, (_, n) => `piece ${n}, `);

describe('when Postgres crashes again and again while jobs run', () => {
  let postgres: RestartablePostgres;
  let stage: Stage;
  let workers: NightshiftProcess[];
  let viewers: Viewer[];

  beforeAll(async () => {
    postgres = await startRestartablePostgres();
    stage = await Stage.open(postgres.database);
    workers = await Promise.all([stage.startWorker(), stage.startWorker()]);
    const call = toolCallReply([{ id: 'call_1', name: 'charge', arguments: '{}' }], { text: 'Paying. ' });
    stage.model.answer(({ body }) => (body.includes('"role":"tool"') ? textReply(pieces, { delayMs: 80 }) : call));
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

  it('every job ends, completed and whole', async () => {
    viewers = await Promise.all(Array.from({ length: jobs }, (_, n) => stage.ask(`job ${n}`, ['charge'])));
    await textFlows();
    await postgres.crash();
    await textFlows();
    await postgres.crash(leasesAreLost);
    await Promise.all(viewers.map(({ ended }) => ended));
    for (const { jobId } of viewers)
      expect(await stage.snapshot(jobId)).toMatchObject({ status: 'completed', content: `Paying. ${pieces.join('')}` });
  });

  it('no worker died of it', async () => {
    expect(await Promise.all(workers.map((worker) => worker.stop()))).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
  });

  it('every viewer, from whatever number on, has seen 1 to N, and nothing was done twice', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
