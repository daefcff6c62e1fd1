import type { Interrupt } from '@nightshift/client';

import { oneLine } from '../terminal/plain-text.js';
import { type Asked, askedOf } from './asked.js';
import { offeredActions, type QuestionAction } from './offered-actions.js';

/** The commands that answer a request, for where nobody can be asked; none where they would be somebody else's. */
export function howToAnswer(request: Interrupt): string[] {
  return request.mayDecide ? commandsFor(request) : [];
}

/** The commands that answer a request, whoever gives them. */
export function commandsFor(request: Interrupt): string[] {
  const command = `nightshift approve ${request.id}`;
  const asked = askedOf(request);
  switch (request.kind) {
    case 'TOOL_APPROVAL':
      return asked.isApprovable ? [`${command} --yes`, `${command} --deny`] : [`${command} --deny`];
    case 'HUMAN_INPUT':
      return [...new Set(questionWords(asked))].map((words) => `${command} ${words}`);
    case 'UNKNOWN_OUTCOME':
      return [`${command} --decision happened|did_not_happen|repeat|report`];
    case 'CLIENT_TOOL':
    case 'WAIT':
      return [];
  }
}

function questionWords(asked: Asked): string[] {
  const own = asked.options.map(({ id, action }) =>
    action === 'CUSTOM' ? `--action custom --data '${oneLine(id).replaceAll("'", `'\\''`)}'` : wordsFor(action),
  );
  return [...own, ...offeredActions(asked).map(wordsFor)];
}

function wordsFor(action: QuestionAction): string {
  if (action === 'SUBMIT') return "--data '…'";
  return `--action ${action.toLowerCase()}${action === 'MODIFY' || action === 'CUSTOM' ? " --data '…'" : ''}`;
}
