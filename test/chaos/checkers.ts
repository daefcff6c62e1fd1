import type { JobEvent } from '#jobs';

import type { TestDatabase } from '../harness/database.js';
import { everyEvent } from '../harness/every-event.js';
import { type Check, rows, type Seen } from './check.js';
import { checkNodeRuns } from './node-run-checkers.js';
import { isOnce, remoteTools } from './remote-tools.js';
import { checkDecisions, checkRequests } from './request-checkers.js';
import type { LedgerEntry } from './tool-ledger.js';

/** Everything that any checker has to say about a database after a chaos run; nothing: all is well. */
export async function problemsOf(database: TestDatabase, seen: Seen): Promise<string[]> {
  const checks: Check[] = [
    ...[checkLiveness, checkLog, checkText, checkEffects, checkFence, checkView],
    ...[checkRequests, checkDecisions, checkNodeRuns],
  ];
  return (await Promise.all(checks.map((check) => check(database, seen)))).flat();
}

/**
 * Every accepted job has ended, or rightly waits: for an answer that can still be given, or for a call that runs elsewhere.
 * One that has an approved call, or one to be called again, had to be woken.
 */
export const checkLiveness: Check = async (database) => {
  const stuck = await rows<{ id: string; status: string; runnable: boolean }>(
    database,
    `SELECT j.id, j.status, r.runnable FROM job j,
       LATERAL (SELECT EXISTS (SELECT 1 FROM tool_call c WHERE c.workspace_id = j.workspace_id AND c.job_id = j.id
         AND (c.status = 'pending' OR (c.status = 'awaiting_approval' AND c.approved_at IS NOT NULL))) AS runnable) r
      WHERE j.finished_at IS NULL AND NOT (j.status = 'waiting' AND NOT r.runnable AND (
        EXISTS (SELECT 1 FROM interrupt i
          WHERE i.workspace_id = j.workspace_id AND i.job_id = j.id AND i.status = 'open')
        OR EXISTS (SELECT 1 FROM tool_call c WHERE c.workspace_id = j.workspace_id AND c.job_id = j.id
          AND c.status = 'running' AND c.executor IN ('queue', 'client', 'job'))))`,
  );
  return stuck.map(({ id, status, runnable }) => {
    const why = runnable ? ' although a call of it may run' : '';
    return `liveness: job ${id} is still ${status}${why}`;
  });
};

/** Numbers 1, 2, 3 … up to the number in the job row, and one end, which is last. */
export const checkLog: Check = async (database) => {
  const wrong = await rows<{ id: string; found: string }>(
    database,
    `SELECT j.id, format('%s events, numbers %s to %s of %s, %s ends', count(e.seq), min(e.seq), max(e.seq), j.last_seq,
              count(*) FILTER (WHERE e.type = 'job-finished')) AS found
       FROM job j LEFT JOIN ${everyEvent} e ON e.workspace_id = j.workspace_id AND e.job_id = j.id
      GROUP BY j.workspace_id, j.id
     HAVING (NOT j.deltas_trimmed AND count(e.seq) <> j.last_seq) OR min(e.seq) <> 1 OR max(e.seq) <> j.last_seq
         OR count(*) FILTER (WHERE e.type = 'job-finished') <> CASE WHEN j.finished_at IS NULL THEN 0 ELSE 1 END
         OR (j.finished_at IS NOT NULL AND max(e.seq) FILTER (WHERE e.type = 'job-finished') <> max(e.seq))`,
  );
  return wrong.map(({ id, found }) => `log: job ${id} has ${found}`);
};

interface TextRow {
  readonly id: string;
  readonly events: readonly Pick<JobEvent, 'type' | 'body'>[] | null;
  readonly text: string;
  readonly reasoning: string;
  readonly length: number;
}

/** What a viewer has put together from the deltas that were not withdrawn is what the rounds hold, but for those of nodes. */
export const checkText: Check = async (database) => {
  const jobs = await rows<TextRow>(
    database,
    `SELECT j.id, j.content_length AS length,
       (SELECT json_agg(json_build_object('type', e.type, 'body', e.body) ORDER BY e.seq) FROM ${everyEvent} e
         WHERE e.workspace_id = j.workspace_id AND e.job_id = j.id) AS events,
       coalesce((SELECT string_agg(r.text, '' ORDER BY r.number) FROM round r
         WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.node_run IS NULL), '') AS text,
       coalesce((SELECT string_agg(r.reasoning, '' ORDER BY r.number) FROM round r
         WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.node_run IS NULL), '') AS reasoning
       FROM job j WHERE j.finished_at IS NOT NULL AND NOT j.deltas_trimmed`,
  );
  return jobs.flatMap(({ id, events, text, reasoning, length }) => {
    const shown = replay((events ?? []) as JobEvent[]); // in the order of the log
    return [
      ...shown.problems.map((problem) => `text: job ${id}: ${problem}`),
      ...(shown.text === text ? [] : [`text: job ${id} showed ${quote(shown.text)} and stored ${quote(text)}`]),
      ...(shown.reasoning === reasoning ? [] : [`text: job ${id} reasoned otherwise than it stored`]),
      ...(text.length === length ? [] : [`text: job ${id} holds ${text.length} of ${length} units`]),
    ];
  });
};

/** What a viewer shows after these events, by the rules of the protocol. */
export function replay(events: readonly JobEvent[]): { text: string; reasoning: string; problems: string[] } {
  const shown = { text: '', reasoning: '', problems: [] as string[] };
  for (const event of events) {
    if (event.type === 'round-restarted') {
      shown.text = shown.text.slice(0, event.body.contentLength);
      shown.reasoning = shown.reasoning.slice(0, event.body.reasoningLength);
    }
    if (event.type !== 'text-delta' && event.type !== 'reasoning-delta') continue;
    const field = event.type === 'text-delta' ? 'text' : 'reasoning';
    const { offset, text } = event.body;
    if (offset === undefined) continue;
    if (offset !== shown[field].length)
      shown.problems.push(`${field} at ${offset} follows ${shown[field].length} units`);
    shown[field] += text;
  }
  return shown;
}

/**
 * At most one effect per key, at most one call per key of a `once` tool, and no result without a call; each decision of a
 * person to repeat a `once` call allows one more.
 */
export const checkEffects: Check = async (database, { ledger }) => {
  const { calls, effects } = ledger;
  const decided = await rows<{ key: string; repeats: number; vouched: boolean }>(
    database,
    `SELECT c.idem_key AS key, (count(*) FILTER (WHERE i.outcome->>'outcome' = 'repeat'))::int AS repeats,
            bool_or(i.outcome->>'outcome' = 'happened') AS vouched
       FROM tool_call c JOIN interrupt i ON i.workspace_id = c.workspace_id AND i.tool_call_id = c.id
      WHERE i.kind = 'unknown_outcome' AND i.status = 'resolved' GROUP BY 1`,
  );
  const byKey = new Map(decided.map((one) => [one.key, one]));
  const tooOften = (entries: readonly LedgerEntry[], what: string) =>
    [...Map.groupBy(entries, ({ key }) => key)].flatMap(([key, of]) => {
      const allowed = 1 + (isOnce(of[0]?.tool ?? '') ? (byKey.get(key)?.repeats ?? 0) : 0);
      return of.slice(allowed).map(({ tool }) => `effects: ${tool} ${key} ${what} ${of.length} times`);
    });
  const completed = await rows<{ key: string; name: string }>(
    database,
    `SELECT idem_key AS key, name FROM tool_call WHERE status = 'completed' AND name IN (${remoteNames})`,
  );
  return [
    ...tooOften(effects, 'was done'),
    ...tooOften(
      calls.filter(({ tool }) => isOnce(tool)),
      'was called',
    ),
    ...completed
      .filter(({ key }) => !calls.some((call) => call.key === key) && byKey.get(key)?.vouched !== true)
      .map(({ key, name }) => `effects: ${name} ${key} has a result and was never called`),
  ];
};

const remoteNames = Object.keys(remoteTools)
  .map((name) => `'${name}'`)
  .join();

/** No event of an older epoch after one of a newer, and nothing beyond the job's own epoch. */
export const checkFence: Check = async (database) => {
  const fallen = await rows<{ id: string; seq: number }>(
    database,
    `SELECT job_id AS id, seq FROM (SELECT job_id, seq, epoch, lag(epoch) OVER (PARTITION BY workspace_id, job_id ORDER BY seq) AS
       before FROM job_event) e WHERE epoch < before`,
  );
  const beyond = await rows<{ id: string }>(
    database,
    `SELECT j.id FROM job j WHERE EXISTS (SELECT 1 FROM job_event e WHERE e.workspace_id = j.workspace_id AND e.job_id = j.id
        AND e.epoch > j.lease_epoch)
      OR EXISTS (SELECT 1 FROM tool_call c WHERE c.workspace_id = j.workspace_id AND c.job_id = j.id
        AND c.started_epoch > j.lease_epoch)`,
  );
  return [
    ...fallen.map(({ id, seq }) => `fence: job ${id} has an older epoch at ${seq}`),
    ...beyond.map(({ id }) => `fence: job ${id} has rows beyond its epoch`),
  ];
};

/** What each viewer saw is the log after its cursor, in order, each number once. */
export const checkView: Check = async (database, { viewers }) => {
  const log = await rows<{ id: string; seqs: number[]; types: string[] }>(
    database,
    `SELECT job_id AS id, array_agg(seq ORDER BY seq) AS seqs, array_agg(type ORDER BY seq) AS types FROM ${everyEvent} e GROUP BY 1`,
  );
  const byJob = new Map(log.map(({ id, seqs, types }) => [id, seqs.map((seq, i) => `${seq} ${types[i] ?? ''}`)]));
  return viewers.flatMap(({ jobId, after, events, snapshots }) => {
    const wanted = (byJob.get(jobId) ?? []).slice(after);
    const got = events.map(({ seq, type }) => `${seq} ${type}`);
    return snapshots.length > 0 || got.join() === wanted.join()
      ? []
      : [`view: job ${jobId} after ${after} was seen as [${got.join()}] and is [${wanted.join()}]`];
  });
};

function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
