import { interruptOpened, type JobRun, type NewInterrupt, openInterruptRow } from '#jobs';
import { newId, toStorable, toStorableText } from '#platform';
import { projectResult } from '#tools';

import type { NodeRunRow } from '../engine/node-run.js';
import type { PersonAnswer, Question, ScopeView } from '../nodes/node-executor.js';
import type { StoredQuestion } from './node-runs.repository.js';

/** Who asks. */
export interface Asker {
  readonly row: Pick<NodeRunRow, 'ordinal' | 'nodeId' | 'path' | 'label' | 'input'>;
  readonly view: Pick<ScopeView, 'workflowName' | 'sessionId'>;
}

const defaultWaitMs = 7 * 86_400_000;
const actions = ['approve', 'reject', 'submit', 'modify', 'skip', 'custom'] as const;
type Action = (typeof actions)[number];

/** What the nodes of one run ask people. A question is asked once, and its answer kept, however often its node is run. */
export class NodeQuestions {
  private known = new Map<string, StoredQuestion>();

  constructor(private readonly run: JobRun) {}

  /** What the database knows. */
  load(stored: readonly StoredQuestion[]): void {
    for (const question of stored) this.known.set(keyOf(question), question);
  }

  /** All that were asked by a node run, oldest first. */
  of(nodeRun: number): readonly StoredQuestion[] {
    return [...this.known.values()].filter((question) => question.nodeRun === nodeRun);
  }

  /** The answer, or the request that is open. A new one goes with the run's next commit. */
  ask(asker: Asker, question: Question, now: number): PersonAnswer {
    const { ordinal: nodeRun } = asker.row;
    const known = this.known.get(keyOf({ nodeRun, key: question.key }));
    if (known !== undefined) return answerOf(known, question);
    const interrupt = toInterrupt(this.run.job, { asker, question, now });
    this.run.append({ rows: [openInterruptRow(this.run.job, interrupt)], events: [interruptOpened(interrupt)] });
    this.load([{ id: interrupt.id, nodeRun, key: question.key, status: 'open', outcome: null }]);
    return { type: 'waiting', interruptIds: [interrupt.id] };
  }
}

function keyOf({ nodeRun, key }: Pick<StoredQuestion, 'nodeRun' | 'key'>): string {
  return `${nodeRun}:${key}`;
}

/** Nobody answering in time counts as what the question says. */
function answerOf({ id, status, outcome }: StoredQuestion, { defaultAction }: Question): PersonAnswer {
  if (status === 'open') return { type: 'waiting', interruptIds: [id] };
  const action = actions.find((word): word is Action => word === outcome?.outcome);
  if (status !== 'resolved' || action === undefined) {
    return { type: 'answered', action: defaultAction, data: undefined };
  }
  // Null and absent both mean that none was given.
  return { type: 'answered', action, data: outcome?.answer?.data ?? undefined };
}

interface Asked {
  readonly asker: Asker;
  readonly question: Question;
  readonly now: number;
}

function toInterrupt(job: JobRun['job'], { asker, question, now }: Asked): NewInterrupt {
  const { row, view } = asker;
  const { timeoutMs = 0, decidableBy, fourEyes, output, options, inputSchema } = question;
  const id = newId();
  const expiresAt = now + (timeoutMs > 0 ? timeoutMs : defaultWaitMs);
  return {
    id,
    kind: 'human_input',
    title: toStorableText(question.title),
    request: storable({
      id: question.requestId ?? `hitl_${now.toString(36)}_${id.slice(-12)}`,
      ...{ nodeRun: row.ordinal, key: question.key, nodeId: row.nodeId, nodeLabel: row.label },
      ...{ mode: question.mode, prompt: question.prompt, defaultAction: question.defaultAction },
      context: {
        input: projectResult(row.input, 'ui'),
        ...(output === undefined ? {} : { output: projectResult(output, 'ui') }),
        ...{ workflowName: view.workflowName, sessionId: view.sessionId },
      },
      ...(options === undefined ? {} : { options }),
      ...(inputSchema === undefined ? {} : { inputSchema }),
      ...{ createdAt: new Date(now).toISOString(), expiresAt: new Date(expiresAt).toISOString() },
    }),
    nodeId: row.nodeId,
    path: row.path,
    threadId: job.threadId,
    requester: job.createdBy,
    ...(decidableBy === undefined ? {} : { decidableBy }),
    ...(fourEyes === undefined ? {} : { fourEyes }),
    expireAction: question.defaultAction === 'skip' ? 'skip' : 'deny',
    expiresAt,
  };
}

/** Texts in it are a workflow's own, and a node's; the members stay what they are. */
function storable(request: Readonly<Record<string, unknown>>): NewInterrupt['request'] {
  return toStorable(request) as NewInterrupt['request']; // an object stays one
}
