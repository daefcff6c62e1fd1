import { describe, expect, it } from '@jest/globals';

import { admit, admitOptimistically, maxQueued, ownedKey, refusedByBound, threadKey } from './admit.js';
import type { KnownParent, KnownThread, Load, StartFacts, StartRequest } from './start-request.js';

const alice = 'a0000000-0000-7000-8000-000000000001';
const threadId = 'b0000000-0000-7000-8000-000000000001';

const request = (changes: Partial<StartRequest> = {}): StartRequest => ({
  jobId: 'job',
  workspaceId: 'workspace',
  kind: 'chat',
  principal: `user:${alice}`,
  createdBy: alice,
  thread: null,
  messageClientId: null,
  model: 'm',
  input: {},
  keyCipher: null,
  retryOf: null,
  idempotency: null,
  ...changes,
});

const thread = (changes: Partial<KnownThread> = {}): KnownThread => ({
  id: threadId,
  clientId: null,
  createdBy: alice,
  whenBusy: null,
  nextPosition: 3,
  activeJobId: null,
  queuedJobIds: [],
  ...changes,
});

const load = (unfinished: number, active = unfinished): Load => ({ unfinished, active });
const full = { maxJobs: 100, maxJobsPerUser: 5, whenFull: 'reject', whenBusy: 'reject' } as const;

const facts = (changes: Partial<StartFacts> = {}): StartFacts => ({
  workspace: { ...full, whenFull: 'queue' },
  stored: { workspace: 10_000, user: 1_000 },
  total: [...(changes.load ?? new Map<string, Load>()).values()].reduce(
    (sum, own) => load(sum.unfinished + own.unfinished, sum.active + own.active),
    load(0),
  ),
  load: new Map(),
  agents: new Map(),
  keys: new Map(),
  threads: new Map([[threadKey(alice, threadId), thread()]]),
  takenMessages: new Set(),
  parents: new Map(),
  ...changes,
});

const types = (requests: readonly StartRequest[], given: StartFacts) =>
  admit(requests, given, () => 'new').map((d) => (d.type === 'refuse' ? d.error.code : d.type));

describe('admit', () => {
  const eight = Array.from({ length: 8 }, () => request());

  it('accepts starts over the running caps with whenFull `queue`', () => {
    const given = facts({ load: new Map([[alice, load(900)]]) });
    expect(types(eight, given)).toEqual(eight.map(() => 'accept'));
  });

  it("accepts exactly as many jobs of a batch as the user's cap allows with whenFull `reject`", () => {
    const given = facts({ workspace: full, load: new Map([[alice, load(3)]]) });
    expect(types(eight, given)).toEqual(['accept', 'accept', ...Array.from({ length: 6 }, () => 'job_limit_reached')]);
  });

  it('counts the jobs of all users against the cap of the workspace', () => {
    const given = facts({ workspace: { ...full, maxJobs: 4 }, load: new Map([['another user', load(4)]]) });
    expect(types([request()], given)).toEqual(['job_limit_reached']);
  });

  it('does not count waiting jobs against the running caps', () => {
    const given = facts({ workspace: { ...full, maxJobs: 5 }, load: new Map([[alice, load(500, 4)]]) });
    expect(types([request()], given)).toEqual(['accept']);
  });

  it.each([
    [{ stored: { workspace: 99, user: 3 } }, { limit: 'MAX_UNFINISHED_JOBS_PER_USER', raisedBy: 'operator' }],
    [{ stored: { workspace: 3, user: 99 } }, { limit: 'MAX_UNFINISHED_JOBS', raisedBy: 'operator' }],
    [{ workspace: { ...full, maxJobsPerUser: 3 } }, { limit: 'maxJobsPerUser', raisedBy: 'workspace_admin' }],
    [{ workspace: { ...full, maxJobs: 3 } }, { limit: 'maxJobs', raisedBy: 'workspace_admin' }],
  ] as const)(
    'refuses a start over the limits %j by naming the limit, its value and who can raise it',
    (limits, named) => {
      const [decision] = admit([request()], facts({ ...limits, load: new Map([[alice, load(3)]]) }), () => 'new');
      const retryAfterSeconds = named.raisedBy === 'operator' ? undefined : 5; // stored jobs may wait for days
      const expected = { code: 'job_limit_reached', retryAfterSeconds, details: { ...named, limitValue: 3 } };
      expect(decision).toMatchObject({ type: 'refuse', error: expected });
      expect(decision?.type === 'refuse' && decision.error.message).toMatch(
        new RegExp(`at most 3 .*\\(${named.limit}\\)\\. .* can raise it\\.$`),
      );
    },
  );

  it.each([
    ['at the bound of the user', { stored: { workspace: 99, user: 5 } }, 5],
    ['far over the bound of the user', { stored: { workspace: 99, user: 5 } }, 50],
    ['at the bound of the workspace', { stored: { workspace: 5, user: 99 } }, 5],
    ['far over both bounds', { stored: { workspace: 5, user: 5 } }, 50],
  ] as const)('accepts one start for each paused run that expires, %s', (_, limits, stored) => {
    const given = facts({ ...limits, load: new Map([[alice, load(stored, 0)]]), expiring: new Map([[alice, 3]]) });
    expect(types(eight, given).filter((type) => type === 'accept')).toHaveLength(3);
  });

  it('counts per user only the starts that a limit of stored jobs refuses', () => {
    const system = request({ createdBy: null });
    const requests = [request({ thread: { ref: 'unknown' } }), request(), request(), system];
    const given = facts({ stored: { workspace: 99, user: 5 }, load: new Map([[alice, load(4)]]) });
    expect(
      refusedByBound(
        requests,
        admit(requests, given, () => 'new'),
      ),
    ).toEqual(new Map([[alice, 1]]));
  });

  it('refuses exactly the starts over the cap of an agent, names the cap, and accepts jobs of other agents', () => {
    const agents = new Map([['clerk', { maxRunningJobs: 3, active: 1 }]]);
    const given = facts({ workspace: full, agents });
    const clerk = request({ agentId: 'clerk' });
    const decisions = admit([clerk, clerk, clerk, request({ agentId: 'other' }), request()], given, () => 'new');
    expect(decisions.map(({ type }) => type)).toEqual(['accept', 'accept', 'refuse', 'accept', 'accept']);
    expect(decisions[2]).toMatchObject({
      error: {
        code: 'job_limit_reached',
        details: { limit: 'maxRunningJobs', limitValue: 3, raisedBy: 'workspace_admin' },
      },
    });
  });

  it('returns the job of a repeated key, also over a limit', () => {
    const job = { jobId: 'first', status: 'completed', threadId: null, messageId: null } as const;
    const given = facts({
      stored: { workspace: 5, user: 5 },
      load: new Map([[alice, load(5)]]),
      keys: new Map([[ownedKey(`user:${alice}`, 'k'), { requestHash: 'h', cancelled: false, job }]]),
    });
    const idempotency = { key: 'k', requestHash: 'h' };
    expect(admit([request({ idempotency })], given, () => 'new')).toEqual([{ type: 'replay', job }]);
    expect(types([request({ idempotency: { key: 'k', requestHash: 'other' } })], given)).toEqual([
      'idempotency_key_mismatch',
    ]);
  });

  it('refuses an idempotency key that was cancelled before its start', () => {
    const key = ownedKey(`user:${alice}`, 'k');
    const given = facts({ keys: new Map([[key, { requestHash: null, cancelled: true, job: null }]]) });
    expect(types([request({ idempotency: { key: 'k', requestHash: 'h' } })], given)).toEqual(['admission_cancelled']);
  });

  it('decides a second start with the same key or thread after the first is stored', () => {
    const idempotency = { key: 'k', requestHash: 'h' };
    expect(types([request({ idempotency }), request({ idempotency })], facts())).toEqual(['accept', 'again']);
    const target = { ref: threadId };
    expect(types([request({ thread: target }), request({ thread: target })], facts())).toEqual(['accept', 'again']);
  });

  it('reports the thread of another user as absent, also to a caller who could read it', () => {
    const given = facts({ threads: new Map([[threadKey(alice, threadId), thread({ createdBy: 'another user' })]]) });
    expect(types([request({ thread: { ref: threadId, createTitle: 'mine?' } })], given)).toEqual(['not_found']);
  });

  it('creates a thread for an unknown id only if the request has a title', () => {
    expect(types([request({ thread: { ref: 'theirs' } })], facts())).toEqual(['not_found']);
    const [decision] = admit([request({ thread: { ref: 'theirs', createTitle: 'Hi' } })], facts(), () => 'new');
    expect(decision).toMatchObject({
      type: 'accept',
      thread: { id: 'new', isNew: true, position: 1 },
      isDeferred: false,
    });
  });

  it('applies whenBusy of the request, else of the thread, else of the workspace', () => {
    const busy = (changes: Partial<KnownThread>) =>
      facts({ threads: new Map([[threadKey(alice, threadId), thread({ activeJobId: 'active', ...changes })]]) });
    const target = { thread: { ref: threadId } };
    expect(types([request(target)], busy({}))).toEqual(['thread_busy']);
    expect(admit([request(target)], busy({ whenBusy: 'enqueue' }), () => 'new')).toMatchObject([
      { type: 'accept', isDeferred: true, queuePosition: 1 },
    ]);
    expect(
      admit([request({ ...target, whenBusy: 'interrupt' })], busy({ queuedJobIds: ['waiting'] }), () => 'new'),
    ).toMatchObject([{ type: 'accept', isDeferred: true, supersedes: ['active', 'waiting'] }]);
  });

  it('refuses a message id that exists in the thread', () => {
    const given = facts({ takenMessages: new Set(['job']) });
    expect(types([request({ thread: { ref: threadId }, messageClientId: 'm1' })], given)).toEqual(['conflict']);
  });

  it('limits the queue of a thread', () => {
    const queuedJobIds = Array.from({ length: maxQueued }, (_, i) => `job ${i}`);
    const given = facts({
      threads: new Map([[threadKey(alice, threadId), thread({ activeJobId: 'active', queuedJobIds })]]),
    });
    expect(types([request({ thread: { ref: threadId }, whenBusy: 'enqueue' })], given)).toEqual(['thread_busy']);
  });

  describe('of a sub-job', () => {
    const parent = { jobId: 'parent', callId: 'call' };
    const known = (changes: Partial<KnownParent> = {}): KnownParent => ({
      ...{ depth: 0, rootJobId: 'root', isOpen: true, subJobs: 0 },
      ...changes,
    });
    const below = (changes: Partial<KnownParent>, given: Partial<StartFacts> = {}) =>
      facts({ parents: new Map([['call', known(changes)]]), ...given });

    it('gives the sub-job the depth after that of its parent, the same root and no thread', () => {
      const [decision] = admit([request({ parent })], below({ depth: 1 }), () => 'new');
      expect(decision).toMatchObject({ type: 'accept', thread: null, ancestry: { rootJobId: 'root', depth: 2 } });
    });

    it.each([
      ['refuses a third level', { depth: 2 }, 'sub_job_limit'],
      ['refuses a fourth sub-job of a job', { subJobs: 3 }, 'sub_job_limit'],
      ['refuses a sub-job of a cancelled parent', { isOpen: false }, 'sub_job_unwanted'],
    ])('%s', (_, changes, code) => {
      expect(types([request({ parent })], below(changes))).toEqual([code]);
    });

    it('refuses a sub-job whose parent call does not exist', () => {
      expect(types([request({ parent })], facts())).toEqual(['sub_job_unwanted']);
    });

    it("counts the sub-job against its user's cap", () => {
      const given = { workspace: full, load: new Map([[alice, load(5)]]) };
      expect(types([request({ parent })], below({}, given))).toEqual(['job_limit_reached']);
    });

    it('decides one sub-job of a parent at a time', () => {
      expect(types([request({ parent }), request({ parent })], below({ subJobs: 2 }))).toEqual(['accept', 'again']);
    });
  });
});

describe('admitOptimistically', () => {
  const unseen = (...requests: readonly Partial<StartRequest>[]) =>
    admitOptimistically(requests.map(request), () => 'new')?.map(({ type }) => type);
  const fresh = (ref: string) => ({ thread: { ref, isNew: true, createTitle: 'T' } });

  it('accepts new conversations and jobs without one', () => {
    const key = { idempotency: { key: 'k', requestHash: 'ab' } };
    expect(unseen({}, fresh('a'), { ...fresh('b'), ...key })).toEqual(['accept', 'accept', 'accept']);
  });

  it('decides no batch in which a start may refer to existing rows', () => {
    const known = { thread: { ref: 'a', createTitle: 'T' } };
    const below = { parent: { jobId: 'j', callId: 'c' } };
    const twice = { idempotency: { key: 'k', requestHash: 'ab' } };
    expect([unseen(known), unseen(below), unseen(twice, twice), unseen({}, known)]).toEqual(Array(4).fill(undefined));
    expect(unseen({ thread: { ref: 'a', isNew: true } })).toBeUndefined(); // without a title it must exist
  });
});
