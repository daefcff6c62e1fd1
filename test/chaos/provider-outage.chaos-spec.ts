import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { type MemberPrincipal, scopeOf } from '#auth';
import { ChatService } from '#chat';
import { InterruptTimers } from '#jobs';
import { ModelProvidersService } from '#models';
import { Secret } from '#platform';

import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { startTestEngine, type TestEngine } from '../harness/engine.js';
import { eventually } from '../harness/eventually.js';
import { openTestIdentities } from '../harness/identities.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, errorReply, type Reply, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { chat } from './chat.js';

const jobs = 200;
const settings = {
  ...{ ON_PROVIDER_DOWN: 'wait', MODEL_RETRY_FOR_MS: '600000', MODEL_WAIT_FOR_MS: '86400000' },
  ...{ MODEL_BACKOFF_MS: '50', MODEL_RETRY_HOLD_MS: '60', MODEL_BREAKER_FAILURES: '5', MODEL_BREAKER_PAUSE_MS: '100' },
  ...{ MODEL_FIRST_BYTE_TIMEOUT_MS: '1000', WORKER_SLOTS: '20', LEASE_MS: '30000', ALLOW_PRIVATE_MODEL_URLS: 'true' },
};

describe('jobs during provider outages', () => {
  let database: TestDatabase;
  let failing: ScriptedModel;
  let healthy: ScriptedModel;
  let engine: TestEngine;
  let affected: MemberPrincipal;
  let others: MemberPrincipal;
  let phase: 'up' | 'down' | 'silent' | 'flapping';
  const seen = { requests: 0, silent: 0, answered: 0 };

  const open = async () => {
    const opened = await startTestEngine(database, { MODEL_BASE_URL: failing.url, ...settings });
    await opened.app.get(InterruptTimers).start();
    return opened;
  };
  const shut = async () => {
    await engine.app.get(InterruptTimers).stop();
    await engine.close();
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    failing = await ScriptedModel.start();
    healthy = await ScriptedModel.start();
    const call = toolCallReply([{ id: 'call_1', name: 'calculate', arguments: '{"expression":"6*7"}' }]);
    const answer = (body: string) => (body.includes('"role":"tool"') ? textReply(['42']) : call);
    const down: readonly Reply[] = [errorReply(503), { body: [], end: 'destroy' }, errorReply(500)];
    const silent: Reply = { body: [], before: createGate(), end: 'hang' };
    failing.stopRecording();
    failing.answer(({ body }) => {
      seen.requests += 1;
      const turn = seen.requests % 4;
      if (phase === 'down') return down[turn % down.length];
      if (phase === 'silent') {
        seen.silent += 1;
        return silent;
      }
      if (phase === 'flapping' && turn === 1) return errorReply(429, undefined, { 'retry-after': '1' });
      if (phase === 'flapping' && turn === 3) return down[seen.requests % down.length];
      seen.answered += 1;
      return answer(body);
    });
    healthy.answer(({ body }) => answer(body));
    const identities = openTestIdentities(database);
    ({ owner: affected } = await identities.workspaceOf('affected'));
    ({ owner: others } = await identities.workspaceOf('others'));
    identities.auth.close();
    for (const { workspaceId } of [affected, others]) {
      await database.postgres.withWorkspaceSql(workspaceId, (client) =>
        client.query('UPDATE workspace SET max_jobs = 1000, max_jobs_per_user = 1000'),
      );
    }
    engine = await open();
    await engine.app.get(ModelProvidersService).create(scopeOf(others), {
      ...{ name: 'healthy', baseUrl: healthy.url, defaultModel: 'scripted', apiKey: new Secret('sk-of-the-others-1') },
      isDefault: true,
    });
  });

  afterAll(async () => {
    await shut();
    await failing.close();
    await healthy.close();
    await database.close();
  });

  const count = async (sql: string, { workspaceId }: MemberPrincipal): Promise<number> => {
    const { rows } = await engine.platform.postgres.workerPool.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM ${sql} AND workspace_id = $1`,
      [workspaceId],
    );
    return rows[0]?.n ?? 0;
  };
  const reaches = (what: string, sql: string, { of, n }: { of: MemberPrincipal; n: number }) =>
    eventually(what, async () => ((await count(sql, of)) === n ? true : undefined), 240_000);
  const start = (who: MemberPrincipal, n: number) =>
    Promise.all(
      Array.from({ length: n }, (_, i) => engine.app.get(ChatService).start(who, chat(`job ${i}`, ['calculate']))),
    );

  it('complete 200 jobs with each round committed once, and do not delay jobs of another provider', async () => {
    phase = 'down';
    await start(affected, jobs);
    const isPaused = `interrupt WHERE kind = 'provider_unavailable' AND status = 'open'`;
    await eventually('nearly all jobs wait without a worker', async () =>
      (await count(isPaused, affected)) > 0.9 * jobs ? true : undefined,
    );
    const requests = seen.requests;
    expect(requests).toBeLessThan(jobs); // the breaker spares the provider

    await start(others, 20);
    await reaches('the jobs of the other provider have completed', `job WHERE status = 'completed'`, {
      of: others,
      n: 20,
    });
    expect(await count(`interrupt WHERE kind = 'provider_unavailable'`, others)).toBe(0);
    expect(await count(`job WHERE status IN ('completed', 'failed')`, affected)).toBe(0);

    await shut();
    engine = await open();
    phase = 'silent';
    await eventually('probes of the silent provider were sent', () =>
      Promise.resolve(seen.silent >= 8 ? true : undefined),
    );
    expect(await count(`job WHERE status IN ('completed', 'failed')`, affected)).toBe(0);
    const most = `(SELECT workspace_id FROM interrupt WHERE kind = 'provider_unavailable'
      GROUP BY workspace_id, job_id HAVING count(*) > 50) AS busy WHERE true`;
    expect(await count(most, affected)).toBe(0);
    phase = 'flapping';
    await reaches('all jobs have called their tool', `tool_call WHERE status = 'completed'`, {
      of: affected,
      n: jobs,
    });
    phase = 'up';
    await reaches('all jobs have completed', `job WHERE status = 'completed'`, { of: affected, n: jobs });
    expect(await count('round WHERE true', affected)).toBe(2 * jobs);
    expect(await count('tool_call WHERE true', affected)).toBe(jobs);
    expect(await count(`interrupt WHERE status = 'open'`, affected)).toBe(0);
    expect(await count('job WHERE rounds = 2 AND prompt_tokens = 22', affected)).toBe(jobs);
    expect(seen.answered).toBe(2 * jobs);
  });
});
