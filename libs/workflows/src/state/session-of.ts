import type { ChatMessage } from '#models';
import { projectResult } from '#tools';

import { toWorkflowInput } from '../definitions/workflow-input.js';
import type { RunState, Spoken } from './run-state.repository.js';

/**
 * The conversation as the agents saw it: the earlier messages, the user's message, the agents' responses, including those in passes
 * of loops. `except`: a node that will respond again. Pure.
 */
export function sessionOf(state: RunState, except: string | null = null): readonly ChatMessage[] {
  const { history, prompt } = toWorkflowInput(state.input);
  const places = new Map(state.runs.map((run) => [run.nodeId, run]));
  const isHeard = ({ nodeId, path, isReused }: Spoken): boolean =>
    nodeId !== except &&
    !(isReused && state.session !== null) &&
    path.every((around) => places.get(around)?.type === 'whileLoop');
  // Responses in a loop enter the conversation when the loop is done.
  const placeOf = ({ ordinal, path: [around] }: Spoken): number =>
    around === undefined ? ordinal : (places.get(around)?.ordinal ?? ordinal);
  const heard = state.spoken.filter(isHeard).sort((a, b) => placeOf(a) - placeOf(b) || a.ordinal - b.ordinal);
  return [
    ...(state.session ?? [...history, { role: 'user', content: prompt }]),
    ...heard.map(({ text, bytes }) => ({ role: 'assistant', content: projectResult(text, 'ui', bytes) }) as const),
  ];
}

/** A conversation ends with what came out of it. Pure. */
export function closedWith(session: readonly ChatMessage[], finalOutput: string): readonly ChatMessage[] {
  const last = session.at(-1);
  const isInSession = last?.role === 'assistant' && last.content === finalOutput;
  return finalOutput === '' || isInSession ? session : [...session, { role: 'assistant', content: finalOutput }];
}
