import { defined } from '#platform';

import type { NodeOutcome, Question } from '../engine/node-executor.js';
import { type ContextOf } from './define-node.js';
import { givenText, handOn, leadsOn, rejectedBefore } from './settlements.js';
import { refusal } from './to-node-error.js';

type Asking = ContextOf<'approval'> | ContextOf<'input'>;
type Asked = Pick<Question, 'mode' | 'options' | 'inputSchema' | 'dataRequired' | 'decidableBy' | 'fourEyes'>;

/** A node that asks a person. Its output is the data of the answer, or its input if the answer has none. */
export async function askAtNode(context: Asking, asked: Asked): Promise<NodeOutcome> {
  const { node, input, ports } = context;
  const { prompt, timeout, defaultAction = 'timeout' } = node.data;
  const answer = await ports.ask({
    ...asked,
    key: 'node',
    title: node.label,
    prompt,
    ...defined({ timeoutMs: timeout }),
    defaultAction,
  });
  if (answer.type === 'waiting') return answer;
  switch (answer.action) {
    case 'approve':
    case 'submit':
    case 'modify':
    case 'custom':
      return handOn(givenText(answer.data) ?? input);
    case 'skip':
      return handOn(input, ['output'], { note: 'HITL: Skipped' });
    case 'reject':
      return rejectedBefore(context);
    case 'timeout':
      return timedOut(context);
  }
}

/** An expired request is not an approval. */
function timedOut(context: Asking): NodeOutcome {
  if (leadsOn(context, 'timeout')) return handOn(context.input, ['timeout']);
  throw refusal('HITL: Request timed out');
}
