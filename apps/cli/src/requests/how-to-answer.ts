import type { Interrupt } from '@nightshift/client';

import { type CommandLine, quoted } from '../command-line.js';
import { oneLine } from '../terminal/plain-text.js';
import { type Asked, askedOf } from './asked.js';
import { offeredActions, type QuestionAction } from './offered-actions.js';

type Schema = Readonly<Record<string, unknown>>;

const MAX_LENGTH = 200;
const values: Readonly<Record<string, string>> = {
  number: '0',
  integer: '0',
  boolean: 'true',
  array: '[]',
  object: '{}',
  null: 'null',
};

/** An example answer to a form: `{"to": "…", "size": "S|M|L"}`; for a text, and where it does not fit on a line, `…`. */
function exampleOf(schema: unknown): string {
  if (!isSchema(schema)) return '…';
  const { type, properties } = schema;
  if (type === 'string') return '…';
  if (!isSchema(properties)) return typeof type === 'string' ? valueOf(schema) : '…';
  const members = Object.entries(properties).map(([name, field]) => `${JSON.stringify(name)}: ${valueOf(field)}`);
  const example = oneLine(`{${members.join(', ')}}`);
  return example.length > MAX_LENGTH ? '…' : example;
}

function valueOf(field: unknown): string {
  const { type, enum: choices } = isSchema(field) ? field : {};
  const texts = Array.isArray(choices) ? choices.filter((choice) => typeof choice === 'string') : [];
  if (texts.length > 0) return JSON.stringify(texts.join('|'));
  return (typeof type === 'string' ? values[type] : undefined) ?? '"…"';
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

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
    case 'PLUGIN_MISSING':
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
