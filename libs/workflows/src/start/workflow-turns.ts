import { turnRows } from '#chat';
import type { PartRow, Turn, TurnStarter } from '#jobs';
import type { ChatMessage } from '#models';

import { toWorkflowInput, type WorkflowInput } from '../definitions/workflow-input.js';
import { toPart } from '../nodes/attachments.js';

/** When a workflow job's turn in its thread begins, adds the user's message and the response placeholder to the thread. */
export const workflowTurns: TurnStarter = {
  kind: 'workflow',
  rows: (turn: Turn): readonly PartRow[] => turnRows(turn, messagesOf(toWorkflowInput(turn.input))),
};

/** A run that continues or repeats an earlier one adds no user message. */
function messagesOf({ prompt, attachments, resumeFrom, retryOf }: WorkflowInput): readonly ChatMessage[] {
  if (resumeFrom !== undefined || retryOf !== undefined) return [];
  const parts = attachments.flatMap((attachment) => toPart(attachment) ?? []);
  return [{ role: 'user', content: parts.length === 0 ? prompt : [{ type: 'text', text: prompt }, ...parts] }];
}
