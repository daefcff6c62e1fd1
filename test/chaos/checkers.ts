import type { JobEvent } from '#jobs';

import type { TestDatabase } from '../harness/database.js';
import type { LedgerEntry } from './tool-ledger.js';
import type { Viewer } from './viewer.js';

/** What was seen from outside. */
export interface Seen {
  readonly viewers: readonly Viewer[];
  readonly ledger: { readonly calls: readonly LedgerEntry[]; readonly effects: readonly LedgerEntry[] };
}

type Check = (database: TestDatabase, seen: Seen) => Promise<string[]>;

/** Everything that any checker has to say about a database after a chaos run; nothing: all is well. */
export async function problemsOf(database: TestDatabase, seen: Seen): Promise<string[]> {
  const checks: Check[] = [checkLiveness, checkLog, checkText, checkEffects, checkFence, checkView];
  return (await Promise.all(checks.map((check) => check(database, seen)))).flat();
}

async function rows<Row extends object>(database: TestDatabase, sql: string): Promise<Row[]> {
  return (await database.postgres.engine.query<Row>(sql)).rows;
}

/** Every accepted job has ended, or waits for an answer that can still be given. */
export const checkLiveness: Check = async (database) => {
  const stuck = await rows<{ id: string; status: string }>(
    database,
    `SELECT j.id, j.status FROM job j WHERE j.finished_at IS NULL AND NOT (j.status = 'waiting' AND EXISTS (
       SELECT 1 FROM interrupt i WHERE i.workspace_id = j.workspace_id AND i.job_id = j.id AND i.status = 'open'))`,
  );
  return stuck.map(({ id, status }) => `liveness: job ${id} is still ${status}`);
};

/** Numbers 1, 2, 3 … as far as the job row says, and one end, which is last. */
export const checkLog: Check = async (database) => {
  const wrong = await rows<{ id: string; found: string }>(
    database,
    `SELECT j.id, format('%s events, numbers %s to %s of %s, %s ends', count(e.seq), min(e.seq), max(e.seq), j.last_seq,
              count(*) FILTER (WHERE e.type = 'job-finished')) AS found
       FROM job j LEFT JOIN job_event e ON e.workspace_id = j.workspace_id AND e.job_id = j.id
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

/** What a viewer has put together from the deltas that were not withdrawn is what the rounds hold. */
export const checkText: Check = async (database) => {
  const jobs = await rows<TextRow>(
    database,
    `SELECT j.id, j.content_length AS length,
       (SELECT json_agg(json_build_object('type', e.type, 'body', e.body) ORDER BY e.seq) FROM job_event e
         WHERE e.workspace_id = j.workspace_id AND e.job_id = j.id) AS events,
       coalesce((SELECT string_agg(r.text, '' ORDER BY r.number) FROM round r
         WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id), '') AS text,
       coalesce((SELECT string_agg(r.reasoning, '' ORDER BY r.number) FROM round r
         WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id), '') AS reasoning
       FROM job j WHERE j.finished_at IS NOT NULL AND NOT j.deltas_trimmed`,
  );
  return jobs.flatMap(({ id, events, text, reasoning, length }) => {
    const shown = replay((events ?? []) as JobEvent[]); // as they stand in the log
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
    if (offset !== shown[field].length)
      shown.problems.push(`${field} at ${offset} follows ${shown[field].length} units`);
    shown[field] += text;
  }
  return shown;
}

/** At most one effect per key, at most one call per key of a `once` tool, and no result without a call. */
export const checkEffects: Check = async (database, { ledger }) => {
  const { calls, effects } = ledger;
  const twice = (entries: readonly LedgerEntry[], what: string) =>
    entries
      .filter(({ key }, i) => entries.findIndex((other) => other.key === key) !== i)
      .map(({ tool, key }) => `effects: ${tool} ${key} ${what} twice`);
  const letters = calls.filter(({ tool }) => tool === 'send_letter');
  const completed = await rows<{ key: string; name: string }>(
    database,
    `SELECT idem_key AS key, name FROM tool_call WHERE status = 'completed' AND name IN ('look_up', 'charge', 'send_letter')`,
  );
  return [
    ...twice(effects, 'was done'),
    ...twice(letters, 'was called'),
    ...completed
      .filter(({ key }) => !calls.some((call) => call.key === key))
      .map(({ key, name }) => `effects: ${name} ${key} has a result and was never called`),
  ];
};

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
    'SELECT job_id AS id, array_agg(seq ORDER BY seq) AS seqs, array_agg(type ORDER BY seq) AS types FROM job_event GROUP BY 1',
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
