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
import type { KnownAdmission, KnownThread, Load, StartDecision, StartFacts, StartRequest } from './start-request.js';

/** Jobs that may stand behind the active one of a thread. */
export const maxLine = 10;
/** A start cancels at most the active job of its thread and the jobs behind it. */
export const maxSuperseded = maxLine + 1;
/** How far a sub-job may be from the job that a person started, and how many one job may start, those that have ended included. */
export const subJobLimits = { depth: 2, width: 3 } as const;

export function admissionKey(principal: string, key: string): string {
  return `${principal} ${key}`;
}

/** A client's id of a thread means what its person has named so; other people's names are their own. */
export function threadKey(createdBy: string | null, ref: string): string {
  return `${createdBy ?? ''} ${ref}`;
}

const noLoad: Load = { unfinished: 0, active: 0 };

/** The facts of a workspace where nothing that a request names is known, and no limit is reached. */
const nothingKnown: StartFacts = {
  workspace: { maxJobs: Infinity, maxJobsPerUser: Infinity, whenFull: 'queue', whenBusy: 'reject' },
  stored: { workspace: Infinity, user: Infinity },
  total: noLoad,
  load: new Map(),
  admissions: new Map(),
  threads: new Map(),
  takenMessages: new Set(),
  parents: new Map(),
};

/**
 * What becomes of starts of new conversations, or of none, unless their keys are known or there are too many jobs by now: all are
 * accepted. Undefined where more has to be known.
 */
export function admitUnseen(requests: readonly StartRequest[], newThreadId: () => string): StartDecision[] | undefined {
  const isNew = ({ parent, thread }: StartRequest): boolean =>
    parent === undefined && (thread === null || thread.isNew === true);
  if (!requests.every(isNew)) return undefined;
  const decisions = admit(requests, nothingKnown, newThreadId);
  return decisions.every(({ type }) => type === 'accept') ? decisions : undefined;
}

/**
 * Decides a batch of starts of one workspace, in order, from facts that its lock keeps true. Pure: `newThreadId` is the
 * only thing it needs from outside. Replays and refusals cost no capacity; each acceptance counts for the next request.
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
  const used = new Set<string>();
  return requests.map((request) => {
    const claims = [
      ...(request.idempotency === null ? [] : [`key ${admissionKey(request.principal, request.idempotency.key)}`]),
      ...(request.thread === null ? [] : [`thread ${threadKey(request.createdBy, request.thread.ref)}`]),
      ...(request.parent === undefined ? [] : [`parent ${request.parent.jobId}`]),
    ];
    if (claims.some((claim) => used.has(claim))) return { type: 'again' };
    const user = request.createdBy ?? '';
    const own = users.get(user) ?? noLoad;
    const decision = decide(request, facts, { load: { total, own }, newThreadId });
    if (decision.type === 'accept') {
      for (const claim of claims) used.add(claim);
      const added = { unfinished: 1, active: decision.inLine ? 0 : 1 };
      users.set(user, plus(own, added));
      total = plus(total, added);
    }
    return decision;
  });
}

function plus(a: Load, b: Load): Load {
  return { unfinished: a.unfinished + b.unfinished, active: a.active + b.active };
}

/**
 * A load that `runs` fewer jobs count for. It counts from `bound` at most: a start takes the place of each of these runs, also while
 * earlier ones, whose places are taken too, have not ended yet.
 */
function without({ unfinished, active }: Load, runs: number, bound: number): Load {
  return { unfinished: Math.min(unfinished, bound) - runs, active };
}

/**
 * How many starts of each user the bounds on stored jobs refuse. Jobs without a user are left out: none of them is paused for a client.
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

/** What counts against the limits of one request. */
interface Loads {
  readonly total: Load;
  readonly own: Load;
}

type RequestLoads = Loads & { readonly hasUser: boolean };
type Accepted = Extract<StartDecision, { type: 'accept' }>;

function decide(
  request: StartRequest,
  facts: StartFacts,
  { load, newThreadId }: { readonly load: Loads; readonly newThreadId: () => string },
): StartDecision {
  const known =
    request.idempotency === null
      ? undefined
      : facts.admissions.get(admissionKey(request.principal, request.idempotency.key));
  const replay = known === undefined ? undefined : decideKnown(request, known);
  if (replay !== undefined) return replay;
  const place = placeBelow(request, facts, newThreadId) ?? placeInThread(request, facts, newThreadId);
  if (place.type !== 'accept') return place;
  const loads = { ...load, hasUser: request.createdBy !== null };
  // The caps come first: no paused run expires for a start that they refuse.
  const error = capReached(place, facts, loads);
  if (error !== undefined) return { type: 'refuse', error };
  const overBound = boundReached(place, facts, loads);
  return overBound === undefined ? place : { type: 'refuse', error: overBound, isOverBound: true };
}

/** The bound on stored unfinished jobs that refuses a request. */
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
 * The cap that refuses a request. Running jobs are limited when the job is claimed; a start is refused for them only where the
 * workspace wants that, and never one that is queued behind another job of its thread.
 */
function capReached(
  { inLine }: Accepted,
  { workspace }: StartFacts,
  { total, own, hasUser }: RequestLoads,
): AppError | undefined {
  if (workspace.whenFull === 'queue' || inLine) return undefined;
  if (hasUser && own.active >= workspace.maxJobsPerUser) return runningLimitReached('user', workspace.maxJobsPerUser);
  return total.active >= workspace.maxJobs ? runningLimitReached('workspace', workspace.maxJobs) : undefined;
}

/** What becomes of a start whose key is known; undefined: as if it were not. */
export function decideKnown(
  request: Pick<StartRequest, 'idempotency'>,
  known: KnownAdmission,
): Extract<StartDecision, { type: 'refuse' | 'replay' }> | undefined {
  if (known.job !== null) {
    return known.requestHash === request.idempotency?.requestHash
      ? { type: 'replay', job: known.job }
      : { type: 'refuse', error: idempotencyKeyMismatch() };
  }
  return known.cancelled ? { type: 'refuse', error: admissionCancelled() } : undefined;
}

/** Undefined: the job is nobody's sub-job. It never stands in the thread of its parent: what it says does not enter that. */
function placeBelow(request: StartRequest, facts: StartFacts, newThreadId: () => string): StartDecision | undefined {
  if (request.parent === undefined) return undefined;
  const known = facts.parents.get(request.parent.callId);
  if (known?.isOpen !== true) return { type: 'refuse', error: parentStopped() };
  const depth = known.depth + 1;
  if (depth > subJobLimits.depth) return { type: 'refuse', error: subJobTooDeep(subJobLimits.depth) };
  if (known.subJobs >= subJobLimits.width) return { type: 'refuse', error: tooManySubJobs(subJobLimits.width) };
  const line = { rootJobId: known.rootJobId, depth };
  const place = placeInThread(request, facts, newThreadId);
  return place.type === 'accept' ? { ...place, line } : place;
}

function placeInThread(request: StartRequest, facts: StartFacts, newThreadId: () => string): StartDecision {
  if (request.thread === null) return { type: 'accept', thread: null, inLine: false, supersedes: [] };
  const thread = facts.threads.get(threadKey(request.createdBy, request.thread.ref));
  if (thread === undefined) {
    if (request.thread.createTitle === undefined || request.createdBy === null) {
      return { type: 'refuse', error: threadNotFound() };
    }
    const { ref } = request.thread;
    return {
      type: 'accept',
      // As it is read from its row: what is begun without that compares it with what others read.
      thread: { id: isId(ref) ? ref.toLowerCase() : newThreadId(), isNew: true, position: 1 },
      inLine: false,
      supersedes: [],
    };
  }
  // What one member's thread holds enters nobody else's prompt: absent and foreign look the same.
  if (thread.createdBy !== request.createdBy) return { type: 'refuse', error: threadNotFound() };
  if (facts.takenMessages.has(request.jobId)) return { type: 'refuse', error: messageIdTaken() };
  return placeInKnown(request, facts, thread);
}

function placeInKnown(request: StartRequest, facts: StartFacts, thread: KnownThread): StartDecision {
  const place = { id: thread.id, isNew: false, position: thread.nextPosition };
  const first = thread.activeJobId ?? thread.lineJobIds[0];
  if (first === undefined) return { type: 'accept', thread: place, inLine: false, supersedes: [] };
  const line = thread.lineJobIds.length;
  switch (request.whenBusy ?? thread.whenBusy ?? facts.workspace.whenBusy) {
    case 'reject':
      return { type: 'refuse', error: threadBusy(first) };
    case 'enqueue':
      return line >= maxLine
        ? { type: 'refuse', error: threadQueueFull(first, maxLine) }
        : { type: 'accept', thread: place, inLine: true, queuePosition: line + 1, supersedes: [] };
    case 'interrupt': {
      const active = thread.activeJobId === null ? [] : [thread.activeJobId];
      return {
        type: 'accept',
        thread: place,
        inLine: true,
        queuePosition: 1,
        supersedes: [...active, ...thread.lineJobIds],
      };
    }
  }
}
