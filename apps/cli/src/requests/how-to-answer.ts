import type { Interrupt } from '@nightshift/client';

import { type CommandLine, quoted } from '../command-line.js';
import { oneLine } from '../terminal/plain-text.js';
import { type Asked, askedOf } from './asked.js';
import { exampleOf } from './example-of.js';
import { offeredActions, type QuestionAction } from './offered-actions.js';

/** The commands that answer a request; none where the user may not decide it. */
export function howToAnswer(request: Interrupt, write: CommandLine): string[] {
  return request.mayDecide ? commandsFor(request, write) : [];
}

/** The commands that answer a request, for a user who may decide it. */
export function commandsFor(request: Interrupt, write: CommandLine): string[] {
  const command = write(`approve ${request.id}`);
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
