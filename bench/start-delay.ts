import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { ScriptedModel } from '../test/harness/scripted-model.js';
import { textReply } from '../test/harness/scripted-reply.js';
import { type Aim, atMost, type BenchMode } from './bench.js';
import { GraphqlClient } from './clients/graphql-client.js';
import { percentile, rounded } from './measure/statistics.js';
import type { BenchPostgres } from './stack/bench-postgres.js';
import { startNightshift } from './stack/nightshift.js';

/** How long an idle Nightshift takes from the commit of a start to its model request. */
export interface StartDelay {
  readonly shape: 'one process' | 'two processes';
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Both shapes: role `all` over the memory bus, and api and worker over NOTIFY. */
export async function measureStartDelays(mode: BenchMode, postgres: BenchPostgres): Promise<StartDelay[]> {
  mode.say('commit to model request, idle');
  return [await measure(mode, postgres, 'one process'), await measure(mode, postgres, 'two processes')];
}

export function startDelayAim({ shape, p50Ms }: StartDelay): Aim {
  const targetMs = shape === 'one process' ? 5 : 15;
  return atMost(`commit to model request when idle, ${shape}, p50`, rounded(p50Ms), [targetMs, 'ms']);
}

async function measure(mode: BenchMode, postgres: BenchPostgres, shape: StartDelay['shape']): Promise<StartDelay> {
  await using cleanUp = new AsyncDisposableStack();
  const model = await ScriptedModel.start();
  cleanUp.defer(() => model.close());
  model.stopRecording();
  let heard: (at: number) => void = () => undefined;
  model.answer(() => {
    heard(performance.timeOrigin + performance.now());
    return answer;
  });
  const dataDir = await mkdtemp(join(tmpdir(), 'nightshift-bench-data-'));
  cleanUp.defer(() => rm(dataDir, { recursive: true, force: true }));
  const roles = shape === 'one process' ? (['all'] as const) : (['api', 'worker'] as const);
  const nightshift = await startNightshift(postgres, { modelUrl: model.url, roles, env: { DATA_DIR: dataDir } });
  cleanUp.defer(() => nightshift.close());
  const client = new GraphqlClient(nightshift, 0);
  cleanUp.defer(() => client.close());
  const warmUp = 10;
  const delays: number[] = [];
  for (let i = 0; i < warmUp + (mode.quick ? 20 : 100); i++) {
    const asked = new Promise<number>((resolve) => (heard = resolve));
    const jobId = await client.start();
    const askedAt = await asked;
    delays.push(askedAt - (await committedAt(postgres, jobId)));
    await pause(30);
  }
  const counted = delays.slice(warmUp);
  return { shape, p50Ms: percentile(counted, 50), p99Ms: percentile(counted, 99) };
}

const answer = textReply(['Done.']);

/**
 * When the start was committed, by the server's own record: the first event of a job is never updated, so its `xmin` is the
 * transaction that accepted it. The stamp is taken before the commit is flushed, so the flush counts as delay.
 */
async function committedAt(postgres: BenchPostgres, jobId: string): Promise<number> {
  const { rows } = await postgres.admin.query<{ at: number }>(
    `SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8 * 1000 AS at FROM job_event WHERE job_id = $1 AND seq = 1`,
    [jobId],
  );
  if (rows[0] === undefined) throw new Error(`job ${jobId} has no first event`);
  return rows[0].at;
}
