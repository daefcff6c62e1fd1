import { interruptOpened, type JobRun, type NewInterrupt, openInterruptRow } from '#jobs';
import { defined, newId, toStorable, toStorableText } from '#platform';
import { projectResult } from '#tools';

import type { PersonAnswer, Question, ScopeView } from '../engine/node-executor.js';
import type { NodeRunRow } from '../engine/node-run.js';
import type { StoredQuestion } from './node-runs.repository.js';

/** The node run that asks. */
export interface Asker {
  readonly row: Pick<NodeRunRow, 'ordinal' | 'nodeId' | 'path' | 'label' | 'input'>;
  readonly view: Pick<ScopeView, 'workflowName' | 'sessionId'>;
}

/** What a wait node waits for: an event, or an instant. */
interface Awaited {
  readonly event: string | null;
  readonly at: number | null;
}

/** The fields of a question that its answer depends on. */
type Keyed = Pick<Question, 'key' | 'defaultAction'>;

const defaultWaitMs = 7 * 86_400_000;
const actions = ['approve', 'reject', 'submit', 'modify', 'skip', 'custom'] as const;
type Action = (typeof actions)[number];

/** The questions of one run's nodes to people. A question is asked once, and its answer is kept, however often its node runs. */
export class NodeQuestions {
  /** By node run, then by key. */
  private readonly known = new Map<number, Map<string, StoredQuestion>>();

  constructor(private readonly run: JobRun) {}

  /** Loads the stored requests. */
  load(stored: readonly StoredQuestion[]): void {
    for (const question of stored) {
      const { nodeRun, key } = question;
      this.known.set(nodeRun, (this.known.get(nodeRun) ?? new Map<string, StoredQuestion>()).set(key, question));
    }
  }

  /** Returns the requests of a node run, oldest first. */
  of(nodeRun: number): readonly StoredQuestion[] {
    return [...(this.known.get(nodeRun)?.values() ?? [])];
  }

  /** Returns the answer or the open request. The run's next commit stores a new request. */
  ask(asker: Asker, question: Question, now: number): PersonAnswer {
    return this.once(asker, question, () => toQuestion(this.run.job, { asker, question, now }));
  }

  /** Returns the answer or the open request of a wait for an event, or for an instant (ms since the epoch; null: the default). */
  wait(asker: Asker, { event, at }: Awaited, now: number): PersonAnswer {
    const question = { key: 'wait', defaultAction: 'timeout' } as const;
    return this.once(asker, question, () => toWait(this.run.job, { asker, question, event, at, now }));
  }

  /** How many request keys of a node run begin with this text. */
  count(nodeRun: number, prefix: string): number {
    return this.of(nodeRun).filter(({ key }) => key.startsWith(prefix)).length;
  }

  find(nodeRun: number, key: string): StoredQuestion | null {
    return this.known.get(nodeRun)?.get(key) ?? null;
  }

  /** The current state of a request of any kind. A new request, whose `request` names the node run and the key, is stored in the run's next commit. */
  request(nodeRun: number, key: string, create: () => NewInterrupt): StoredQuestion {
    const known = this.find(nodeRun, key);
    if (known !== null) return known;
    const interrupt = create();
    this.run.append({ rows: [openInterruptRow(this.run.job, interrupt)], events: [interruptOpened(interrupt)] });
    const opened = { id: interrupt.id, nodeRun, key, status: 'open', outcome: null } as const;
    this.load([opened]);
    return opened;
  }

  private once({ row }: Asker, question: Keyed, create: () => NewInterrupt): PersonAnswer {
    return answerOf(this.request(row.ordinal, question.key, create), question);
  }
}

/** When a question expires, its default action counts as the answer. */
function answerOf({ id, status, outcome }: StoredQuestion, { defaultAction }: Keyed): PersonAnswer {
  if (status === 'open') return { type: 'waiting', interruptIds: [id] };
  const action = actions.find((word): word is Action => word === outcome?.outcome);
  if (status !== 'resolved' || action === undefined) {
    return { type: 'answered', action: defaultAction, data: undefined };
  }
  // Null and absent both mean that the answer has no data.
  return { type: 'answered', action, data: outcome?.answer?.data ?? undefined };
}

interface Asked {
  readonly asker: Asker;
  readonly question: Question;
  readonly now: number;
}

function toQuestion(job: JobRun['job'], { asker, question, now }: Asked): NewInterrupt {
  const { row, view } = asker;
  const { timeoutMs = 0, decidableBy, fourEyes, output, options, inputSchema } = question;
  const expiresAt = now + (timeoutMs > 0 ? timeoutMs : defaultWaitMs);
  const about = {
    mode: question.mode,
    prompt: question.prompt,
    context: {
      input: projectResult(row.input, 'ui'),
      ...(output === undefined ? {} : { output: projectResult(output, 'ui') }),
      ...{ workflowName: view.workflowName, sessionId: view.sessionId },
    },
    ...defined({ options, inputSchema }),
    ...(question.dataRequired === true ? { dataRequired: true } : {}),
  };
  return {
    ...toInterrupt(job, { asker, question, about, now, expiresAt }),
    kind: 'human_input',
    title: toStorableText(question.title),
    ...defined({ decidableBy, fourEyes }),
    expireAction: question.defaultAction === 'skip' ? 'skip' : 'deny',
  };
}

function toWait(
  job: JobRun['job'],
  { asker, question, event, at, now }: Awaited & Omit<Asked, 'question'> & { readonly question: Keyed },
): NewInterrupt {
  const { label } = asker.row;
  const expiresAt = at === null ? now + defaultWaitMs : Math.max(at, now + 1);
  return {
    ...toInterrupt(job, { asker, question, about: { event }, now, expiresAt }),
    kind: 'wait',
    title: toStorableText(event === null ? `${label} waits` : `${label} waits for "${event}"`),
  };
}

interface About extends Omit<Asked, 'question'> {
  readonly question: Keyed & Pick<Question, 'requestId'>;
  readonly about: Readonly<Record<string, unknown>>;
  readonly expiresAt: number;
}

/** The fields that all requests have. */
function toInterrupt(job: JobRun['job'], { asker, question, about, now, expiresAt }: About) {
  const { row } = asker;
  const id = newId();
  return {
    id,
    request: storable({
      id: question.requestId ?? `hitl_${now.toString(36)}_${id.slice(-12)}`,
      ...{ nodeRun: row.ordinal, key: question.key, nodeId: row.nodeId, nodeLabel: row.label },
      ...{ ...about, defaultAction: question.defaultAction },
      ...{ createdAt: new Date(now).toISOString(), expiresAt: new Date(expiresAt).toISOString() },
    }),
    nodeId: row.nodeId,
    path: row.path,
    threadId: job.threadId,
    requester: job.createdBy,
    expiresAt,
  };
}

/** Cleans the texts, which come from workflows and nodes; the structure does not change. */
function storable(request: Readonly<Record<string, unknown>>): NewInterrupt['request'] {
  return toStorable(request) as NewInterrupt['request']; // an object stays one
}
