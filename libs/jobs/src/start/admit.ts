import { type AppError, isId } from '#platform';

import {
  admissionCancelled,
  idempotencyKeyMismatch,
  messageIdTaken,
  parentStopped,
  runningLimitReached,
  storedLimitReached,
  subJobTooDeep,
  threadBusy,
  threadNotFound,
  threadQueueFull,
  tooManySubJobs,
} from '../jobs.errors.js';
import {
  keyOwner,
  type KnownAgent,
  type KnownKey,
  type KnownThread,
  type Load,
  type StartDecision,
  type StartFacts,
  type StartRequest,
} from './start-request.js';

/** Limit of jobs queued behind the active one of a thread. */
export const maxQueued = 10;
/** A start supersedes at most the active job of its thread and the jobs queued behind it. */
export const maxSuperseded = maxQueued + 1;
/** Maximum depth of nested sub-jobs, and maximum number of sub-jobs of one job, including ended ones. */
export const subJobLimits = { depth: 2, width: 3 } as const;

export function ownedKey(owner: string, key: string): string {
  return `${owner} ${key}`;
}

/** A client's thread id is unique per user: two users may use the same id for different threads. */
export function threadKey(createdBy: string | null, ref: string): string {
  return `${createdBy ?? ''} ${ref}`;
}

const noLoad: Load = { unfinished: 0, active: 0 };

/** The facts of a workspace in which no row exists that a request refers to, and no limit is reached. */
const nothingKnown: StartFacts = {
  workspace: { maxJobs: Infinity, maxJobsPerUser: Infinity, whenFull: 'queue', whenBusy: 'reject' },
  stored: { workspace: Infinity, user: Infinity },
  total: noLoad,
  load: new Map(),
  agents: new Map(),
  keys: new Map(),
  threads: new Map(),
  takenMessages: new Set(),
  parents: new Map(),
};

/**
 * Decides starts of new conversations, or of jobs without one, before the facts are read: accepts all of them. The insert then checks that no
 * key is known and no limit is reached. Returns undefined if the facts are needed.
 */
export function admitOptimistically(
  requests: readonly StartRequest[],
  newThreadId: () => string,
): StartDecision[] | undefined {
  const isNew = ({ parent, startAt, thread }: StartRequest): boolean =>
    parent === undefined && startAt === undefined && (thread === null || thread.isNew === true);
  if (!requests.every(isNew)) return undefined;
  const decisions = admit(requests, nothingKnown, newThreadId);
  return decisions.every(({ type }) => type === 'accept') ? decisions : undefined;
}

/**
 * Decides a batch of starts of one workspace, in order, from facts that the workspace's lock keeps true. Pure except for `newThreadId`.
 * Replays and refusals use no capacity; each accepted start counts for the next request.
 */
export function admit(
  requests: readonly StartRequest[],
  facts: StartFacts,
  newThreadId: () => string,
): StartDecision[] {
  const users = new Map(facts.load);
  let { total } = facts;
  for (const [user, runs] of facts.expiring ?? []) {
    users.set(user, without(users.get(user) ?? noLoad, runs, facts.stored.user));
    total = without(total, runs, facts.stored.workspace);
  }
  const agents = new Map(facts.agents);
  const used = new Set<string>();
  return requests.map((request) => {
    const claims = [
      ...(request.idempotency === null ? [] : [`key ${ownedKey(keyOwner(request), request.idempotency.key)}`]),
      ...(request.thread === null ? [] : [`thread ${threadKey(request.createdBy, request.thread.ref)}`]),
      ...(request.parent === undefined ? [] : [`parent ${request.parent.jobId}`]),
    ];
    if (claims.some((claim) => used.has(claim))) return { type: 'again' };
    const user = request.createdBy ?? '';
    const own = users.get(user) ?? noLoad;
    const agent = agents.get(request.agentId ?? '');
    const decision = decide(request, facts, { load: { total, own, agent }, newThreadId });
    if (decision.type === 'accept') {
      for (const claim of claims) used.add(claim);
      const added = { unfinished: 1, active: decision.isDeferred ? 0 : 1 };
      users.set(user, plus(own, added));
      total = plus(total, added);
      if (agent !== undefined) agents.set(request.agentId ?? '', { ...agent, active: agent.active + added.active });
    }
    return decision;
  });
}

function plus(a: Load, b: Load): Load {
  return { unfinished: a.unfinished + b.unfinished, active: a.active + b.active };
}

/**
 * The load without the `runs` paused jobs that are being expired. Jobs that earlier starts expired may still count, so the load is first reduced
 * to `bound`, the limit of stored jobs.
 */
function without({ unfinished, active }: Load, runs: number, bound: number): Load {
  return { unfinished: Math.min(unfinished, bound) - runs, active };
}

/**
 * The number of starts of each user that a limit of stored jobs refused. Starts without a user are skipped, because only users have paused `/v1`
 * runs, which can be expired for them.
 */
export function refusedByBound(
  requests: readonly StartRequest[],
  decisions: readonly StartDecision[],
): ReadonlyMap<string, number> {
  const refused = new Map<string, number>();
  for (const [i, { createdBy }] of requests.entries()) {
    const decision = decisions[i];
    if (decision?.type !== 'refuse' || decision.isOverBound !== true || createdBy === null) continue;
    refused.set(createdBy, (refused.get(createdBy) ?? 0) + 1);
  }
  return refused;
}

/** The numbers of jobs that count against the limits of one request. */
interface Loads {
  readonly total: Load;
  readonly own: Load;
  /** Undefined if no cap of an agent can refuse the request. */
  readonly agent: KnownAgent | undefined;
}

type RequestLoads = Loads & { readonly hasUser: boolean };
type Accepted = Extract<StartDecision, { type: 'accept' }>;

function decide(
  request: StartRequest,
  facts: StartFacts,
  { load, newThreadId }: { readonly load: Loads; readonly newThreadId: () => string },
): StartDecision {
  const known =
    request.idempotency === null ? undefined : facts.keys.get(ownedKey(keyOwner(request), request.idempotency.key));
  const replay = known === undefined ? undefined : decideKnown(request, known);
  if (replay !== undefined) return replay;
  const place = placeSubJob(request, facts, newThreadId) ?? placeInThread(request, facts, newThreadId);
  if (place.type !== 'accept') return place;
  const loads = { ...load, hasUser: request.createdBy !== null };
  // Checks the caps on running jobs before the limits of stored jobs: a start over such a limit expires a paused `/v1` run, which must not
  // happen for a start that a cap refuses anyway.
  const error = capReached(place, facts, loads);
  if (error !== undefined) return { type: 'refuse', error };
  const overBound = boundReached(place, facts, loads);
  return overBound === undefined ? place : { type: 'refuse', error: overBound, isOverBound: true };
}

/** The error of a limit of stored unfinished jobs, if the request exceeds one. */
function boundReached(
  { supersedes }: Accepted,
  { stored }: StartFacts,
  { total, own, hasUser }: RequestLoads,
): AppError | undefined {
  const freed = supersedes.length;
  if (hasUser && own.unfinished - freed >= stored.user) return storedLimitReached('user', stored.user);
  return total.unfinished - freed >= stored.workspace ? storedLimitReached('workspace', stored.workspace) : undefined;
}

/**
 * The error of a cap on running jobs, if the request exceeds one. Claims enforce these caps; a start is refused only if the workspace
 * rejects starts over a cap, and never if it is queued behind another job of its thread.
 */
function capReached(
  { isDeferred }: Accepted,
  { workspace }: StartFacts,
  { total, own, agent, hasUser }: RequestLoads,
): AppError | undefined {
  if (workspace.whenFull === 'queue' || isDeferred) return undefined;
  if (hasUser && own.active >= workspace.maxJobsPerUser) return runningLimitReached('user', workspace.maxJobsPerUser);
  if (agent !== undefined && agent.active >= agent.maxRunningJobs) {
    return runningLimitReached('agent', agent.maxRunningJobs);
  }
  return total.active >= workspace.maxJobs ? runningLimitReached('workspace', workspace.maxJobs) : undefined;
}

/** Decides a start whose key is known. Returns undefined if the key counts as unknown. */
export function decideKnown(
  request: Pick<StartRequest, 'idempotency'>,
  known: KnownKey,
): Extract<StartDecision, { type: 'refuse' | 'replay' }> | undefined {
  if (known.job !== null) {
    return known.requestHash === request.idempotency?.requestHash
      ? { type: 'replay', job: known.job }
      : { type: 'refuse', error: idempotencyKeyMismatch() };
  }
  return known.cancelled ? { type: 'refuse', error: admissionCancelled() } : undefined;
}

/**
 * Places a sub-job. Returns undefined if the request has no parent. A sub-job never joins its parent's thread: its messages do not belong
 * there.
 */
function placeSubJob(request: StartRequest, facts: StartFacts, newThreadId: () => string): StartDecision | undefined {
  if (request.parent === undefined) return undefined;
  const known = facts.parents.get(request.parent.callId);
  if (known?.isOpen !== true) return { type: 'refuse', error: parentStopped() };
  const depth = known.depth + 1;
  if (depth > subJobLimits.depth) return { type: 'refuse', error: subJobTooDeep(subJobLimits.depth) };
  if (known.subJobs >= subJobLimits.width) return { type: 'refuse', error: tooManySubJobs(subJobLimits.width) };
  const ancestry = { rootJobId: known.rootJobId, depth };
  const place = placeInThread(request, facts, newThreadId);
  return place.type === 'accept' ? { ...place, ancestry } : place;
}

function placeInThread(request: StartRequest, facts: StartFacts, newThreadId: () => string): StartDecision {
  // A delayed job is not active, and its thread is not busy before its instant.
  const isDelayed = request.startAt !== undefined;
  if (request.thread === null) return { type: 'accept', thread: null, isDeferred: isDelayed, supersedes: [] };
  const thread = facts.threads.get(threadKey(request.createdBy, request.thread.ref));
  if (thread === undefined) {
    if (request.thread.createTitle === undefined || request.createdBy === null) {
      return { type: 'refuse', error: threadNotFound() };
    }
    const { ref } = request.thread;
    return {
      type: 'accept',
      // Lower case, because Postgres returns ids in lower case.
      thread: { id: isId(ref) ? ref.toLowerCase() : newThreadId(), isNew: true, position: 1 },
      isDeferred: isDelayed,
      supersedes: [],
    };
  }
  // One member's thread must not enter another member's prompt. The error is the same for an absent thread and for a forbidden one.
  if (thread.createdBy !== request.createdBy) return { type: 'refuse', error: threadNotFound() };
  if (facts.takenMessages.has(request.jobId)) return { type: 'refuse', error: messageIdTaken() };
  return placeInKnown(request, facts, thread);
}

function placeInKnown(request: StartRequest, facts: StartFacts, thread: KnownThread): StartDecision {
  const place = { id: thread.id, isNew: false, position: thread.nextPosition };
  if (request.startAt !== undefined) return { type: 'accept', thread: place, isDeferred: true, supersedes: [] };
  const first = thread.activeJobId ?? thread.queuedJobIds[0];
  if (first === undefined) return { type: 'accept', thread: place, isDeferred: false, supersedes: [] };
  const queued = thread.queuedJobIds.length;
  switch (request.whenBusy ?? thread.whenBusy ?? facts.workspace.whenBusy) {
    case 'reject':
      return { type: 'refuse', error: threadBusy(first) };
    case 'enqueue':
      return queued >= (request.maxQueued ?? maxQueued)
        ? { type: 'refuse', error: threadQueueFull(first, request.maxQueued ?? maxQueued) }
        : { type: 'accept', thread: place, isDeferred: true, queuePosition: queued + 1, supersedes: [] };
    case 'interrupt': {
      const active = thread.activeJobId === null ? [] : [thread.activeJobId];
      return {
        type: 'accept',
        thread: place,
        isDeferred: true,
        queuePosition: 1,
        supersedes: [...active, ...thread.queuedJobIds],
      };
    }
  }
}
