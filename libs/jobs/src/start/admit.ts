import { isId } from '#platform';

import {
  admissionCancelled,
  idempotencyKeyMismatch,
  jobLimitReached,
  messageIdTaken,
  parentStopped,
  subJobTooDeep,
  threadBusy,
  threadNotFound,
  tooManySubJobs,
} from '../jobs.errors.js';
import type { KnownAdmission, KnownThread, StartDecision, StartFacts, StartRequest } from './start-request.js';

/** Jobs that may stand behind the active one of a thread. */
export const maxLine = 10;
/** How far a sub-job may be from the job that a person started, and how many one job may start, those that have ended included. */
export const subJobLimits = { depth: 2, width: 3 } as const;

export function admissionKey(principal: string, key: string): string {
  return `${principal} ${key}`;
}

/** A client's id of a thread means what its person has named so; other people's names are their own. */
export function threadKey(createdBy: string | null, ref: string): string {
  return `${createdBy ?? ''} ${ref}`;
}

/** What holds where nothing that a request names is known, and nobody has too many jobs. */
const nothingKnown: StartFacts = {
  workspace: { maxJobs: Infinity, maxJobsPerUser: Infinity, whenBusy: 'reject' },
  unfinished: new Map(),
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
  const unfinished = new Map(facts.unfinished);
  let total = [...unfinished.values()].reduce((sum, n) => sum + n, 0);
  const used = new Set<string>();
  return requests.map((request) => {
    const claims = [
      ...(request.idempotency === null ? [] : [`key ${admissionKey(request.principal, request.idempotency.key)}`]),
      ...(request.thread === null ? [] : [`thread ${threadKey(request.createdBy, request.thread.ref)}`]),
      ...(request.parent === undefined ? [] : [`parent ${request.parent.jobId}`]),
    ];
    if (claims.some((claim) => used.has(claim))) return { type: 'again' };
    const load = { total, own: unfinished.get(request.createdBy ?? '') ?? 0 };
    const decision = decide(request, facts, { load, newThreadId });
    if (decision.type === 'accept') {
      for (const claim of claims) used.add(claim);
      const user = request.createdBy ?? '';
      unfinished.set(user, (unfinished.get(user) ?? 0) + 1);
      total += 1;
    }
    return decision;
  });
}

interface Load {
  readonly total: number;
  readonly own: number;
}

function decide(
  request: StartRequest,
  facts: StartFacts,
  { load, newThreadId }: { readonly load: Load; readonly newThreadId: () => string },
): StartDecision {
  const known =
    request.idempotency === null
      ? undefined
      : facts.admissions.get(admissionKey(request.principal, request.idempotency.key));
  const replay = known === undefined ? undefined : decideKnown(request, known);
  if (replay !== undefined) return replay;
  const place = placeBelow(request, facts, newThreadId) ?? placeInThread(request, facts, newThreadId);
  if (place.type !== 'accept') return place;
  const freed = place.supersedes.length;
  const { maxJobs, maxJobsPerUser } = facts.workspace;
  const full = load.total - freed >= maxJobs || (request.createdBy !== null && load.own - freed >= maxJobsPerUser);
  return full ? { type: 'refuse', error: jobLimitReached() } : place;
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
  if (thread.activeJobId === null && thread.lineJobIds.length === 0) {
    return { type: 'accept', thread: place, inLine: false, supersedes: [] };
  }
  const line = thread.lineJobIds.length;
  switch (request.whenBusy ?? thread.whenBusy ?? facts.workspace.whenBusy) {
    case 'reject':
      return { type: 'refuse', error: threadBusy() };
    case 'enqueue':
      return line >= maxLine
        ? { type: 'refuse', error: threadBusy() }
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
