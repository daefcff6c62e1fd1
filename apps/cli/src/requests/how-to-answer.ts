import type { Interrupt } from '@nightshift/client';

import { oneLine } from '../terminal/plain-text.js';
import { type Asked, askedOf } from './asked.js';
import { exampleOf } from './example-of.js';
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
    case 'PROVIDER_UNAVAILABLE':
      return [`${command} --decision retry|give_up`];
    case 'WAIT':
      return asked.event === undefined ? [] : [`${command} --data '…'`];
    case 'CLIENT_TOOL':
      return [];
  }
}

function questionWords(asked: Asked): string[] {
  const own = asked.options.map(({ id, action }) =>
    action === 'CUSTOM' ? `--action custom --data ${quoted(oneLine(id))}` : wordsFor(action, asked),
  );
  return [...own, ...offeredActions(asked).map((action) => wordsFor(action, asked))];
}

function wordsFor(action: QuestionAction, { schema }: Asked): string {
  if (action === 'SUBMIT') return `--data ${quoted(exampleOf(schema))}`;
  return `--action ${action.toLowerCase()}${action === 'MODIFY' || action === 'CUSTOM' ? " --data '…'" : ''}`;
}

/** For a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
