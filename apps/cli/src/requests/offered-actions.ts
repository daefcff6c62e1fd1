import type { Asked } from './asked.js';

/** What a question may be answered with, in the order in which it is offered. */
export const questionActions = ['APPROVE', 'SUBMIT', 'MODIFY', 'CUSTOM', 'SKIP', 'REJECT'] as const;
export type QuestionAction = (typeof questionActions)[number];

/** What makes sense here beside a question's own answers; what has to be filled in cannot be skipped. */
export function offeredActions(asked: Asked): readonly QuestionAction[] {
  const actions = sensibleActions(asked);
  return asked.isDataRequired ? actions.filter((action) => action !== 'SKIP') : actions;
}

/** A request that names no actions takes all of them. */
function sensibleActions({ actions, options, schema, output }: Asked): readonly QuestionAction[] {
  if (actions.length > 0) return questionActions.filter((action) => actions.includes(action));
  if (options.length > 0) return [];
  if (output !== undefined) return ['APPROVE', 'MODIFY', 'REJECT'];
  return schema === undefined ? ['APPROVE', 'REJECT', 'SKIP'] : ['SUBMIT', 'SKIP', 'REJECT'];
}

/** Whether yes, or no, is an answer to this question. */
export function takesAction(asked: Asked, action: 'APPROVE' | 'REJECT'): boolean {
  return offeredActions(asked).includes(action) || asked.options.some((option) => option.action === action);
}
