import { defined } from '#platform';

import type { Hitl } from '../definition/node-fields.js';
import type { NodeContext, NodeOutcome, PersonAnswer, Question } from '../engine/node-executor.js';
import { toOptions, YES_OR_NO } from './question-options.js';
import { givenText, handOn, leadsOn, rejectedBefore, requestRejected } from './settlements.js';

/** The work of a node itself. `rejections`: how often a person has rejected the result; each attempt is a conversation of its own. */
export type Work = (input: string, rejections: number) => Promise<NodeOutcome>;

interface Asking {
  readonly context: NodeContext;
  readonly hitl: Hitl;
  readonly work: Work;
  /** The edges that a skipped node takes. */
  readonly onward: readonly string[];
}

type Answered = Extract<PersonAnswer, { type: 'answered' }>;

const MAX_RERUNS = 10;

/** Runs the work of a node, with a person before it (`approval`, `input`) or after it (`review`), as the node's settings require. */
export async function withPerson(
  context: NodeContext,
  hitl: Hitl | undefined,
  { work, onward }: { readonly work: Work; readonly onward: readonly string[] },
): Promise<NodeOutcome> {
  if (hitl?.enabled !== true) return work(context.input, 0);
  const asking = { context, hitl, work, onward };
  return hitl.mode === 'review' ? reviewed(asking) : permitted(asking);
}

async function permitted({ context, hitl, work, onward }: Asking): Promise<NodeOutcome> {
  const answer = await context.ports.ask({ ...toQuestion(context, hitl), key: 'before' });
  if (answer.type === 'waiting') return answer;
  switch (verdictOf(answer)) {
    case 'reject':
      return rejectedBefore(context);
    case 'skip':
      return handOn(context.input, onward, { note: 'HITL: Skipped' });
    case 'continue':
      return work(givenText(answer.data) ?? context.input, 0);
  }
}

async function reviewed({ context, hitl, work }: Asking): Promise<NodeOutcome> {
  for (let rejections = 0; ; rejections++) {
    const outcome = await work(context.input, rejections);
    if (outcome.type === 'waiting') return outcome;
    const key = `review@${rejections + 1}`;
    const answer = await context.ports.ask({ ...toQuestion(context, hitl), key, output: outcome.output });
    if (answer.type === 'waiting') return answer;
    const extra = { ...outcome.extra, ...(rejections === 0 ? {} : { rejections }) };
    if (verdictOf(answer) !== 'reject') {
      const edited = answer.action === 'modify' ? givenText(answer.data) : null;
      return edited === null ? { ...outcome, extra } : { ...outcome, output: edited, handOn: 'output', extra };
    }
    if (leadsOn(context, 'rejected')) {
      return handOn(outcome.output, ['rejected'], { ...extra, rejections: rejections + 1 });
    }
    if (rejections === MAX_RERUNS) throw requestRejected();
  }
}

function verdictOf({ action }: Answered): 'continue' | 'reject' | 'skip' {
  switch (action) {
    case 'approve':
    case 'submit':
    case 'modify':
    case 'custom':
      return 'continue';
    case 'skip':
      return 'skip';
    case 'reject':
    case 'timeout': // this request does not offer it
      return 'reject';
  }
}

function toQuestion({ node }: NodeContext, hitl: Hitl): Omit<Question, 'key'> {
  const { mode, prompt, inputSchema, timeout, defaultAction } = hitl;
  const options = hitl.options === undefined ? undefined : toOptions(hitl.options);
  const offered = options ?? (mode === 'approval' ? YES_OR_NO : undefined);
  return {
    mode,
    title: node.label,
    prompt: prompt ?? defaultPrompt(mode, node.label),
    ...defined({ options: offered, inputSchema, timeoutMs: timeout }),
    defaultAction,
  };
}

function defaultPrompt(mode: Hitl['mode'], label: string): string {
  switch (mode) {
    case 'approval':
      return `May "${label}" continue?`;
    case 'input':
      return `"${label}" needs your input.`;
    case 'review':
      return `Please review what "${label}" wrote.`;
  }
}
