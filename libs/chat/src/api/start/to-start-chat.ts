import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { clientToolProblem } from '#approvals';
import { idempotencyKeyRule, parseKey } from '#jobs/api';
import type { ToolDefinition } from '#models';
import { AppError, defined, readInput, Secret, type Storable, toStorable } from '#platform';
import { invalidBody, invalidField, missing } from '#platform/api';
import { canonicalJson } from '#tools';

import { toChatMessage } from '../../history/to-chat-message.js';
import type { StartChat } from '../../input/start-chat.js';
import { attachTo } from './file-attachment.input.js';
import { controlFields, parameterNames, type StartBody, startBody } from './start-body.js';
import { toProviderDown } from './to-provider-down.js';
import { toToolApproval } from './to-tool-approval.js';

/** The start request, and what its caller is allowed to do. */
export interface StartInput {
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly mayCreateThread: boolean;
  /** The route of OR3 clients: it accepts only requests with `_background: true`. */
  readonly mustSayBackground: boolean;
}

type Fields = Readonly<Record<string, Storable>>;

/**
 * Reads a start request. Throws `bad_request`: `Missing <field>` (as the contract spells it), `Invalid request body` with the invalid field,
 * or a sentence about the key. Unknown fields are ignored. Pure.
 */
export function toStartChat({ body, headers, mayCreateThread, mustSayBackground }: StartInput): StartChat {
  const given = storableFields(body);
  const fields = withoutUnderscores(given);
  if (mustSayBackground && fields['background'] !== true) {
    throw new AppError({
      code: 'bad_request',
      message: 'Only background requests are served here',
      field: '_background',
    });
  }
  for (const name of ['threadId', 'messageId']) if (isAbsent(fields[name])) throw missing(`_${name}`);
  if (isAbsent(fields['messages'])) throw missing('messages');
  const start = parse(fields);
  const tools = (start.tools ?? []).map(toDefinition);
  const key = toIdempotencyKey(headers['idempotency-key'] ?? start.admissionId);
  return {
    threadRef: start.threadId,
    createThread: mayCreateThread,
    messageClientId: start.messageId,
    ...toAgent(start.agent),
    model: start.model ?? null,
    messages: toMessages(start),
    history: 'request',
    tools,
    toolRuntimes: start.toolRuntime ?? {},
    ...toClientSide(start, tools),
    ...toToolApproval(start.toolApproval, '_toolApproval'),
    ...toProviderDown(start),
    toolChoice: start.tool_choice ?? null,
    parameters: Object.fromEntries(Object.entries(start).filter(([name]) => parameterNames.includes(name))),
    whenBusy: start.whenBusy ?? null,
    ...(start.startAt === undefined ? {} : { startAt: Date.parse(start.startAt) }),
    ...defined({ labels: start.labels }),
    idempotency: key === null ? null : { key, requestHash: hashOf(given) },
    providerKey: providerKeyOf(headers),
    backgroundMode: start.backgroundMode ?? null,
  };
}

/** Normalizes the body once, so that the hash covers exactly what is stored. */
function storableFields(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidBody();
  try {
    return toStorable(body) as Fields; // `toStorable` returns an object for an object
  } catch (error) {
    throw error instanceof AppError ? invalidBody('it has a value that cannot be stored') : error;
  }
}

function withoutUnderscores(given: Fields): Fields {
  const fields = new Map(Object.entries(given).filter(([, value]) => value !== null));
  for (const name of controlFields) {
    const marked = fields.get(`_${name}`);
    if (marked !== undefined) fields.set(name, marked);
  }
  return Object.fromEntries(fields);
}

function isAbsent(value: Storable | undefined): boolean {
  return value === undefined || value === '';
}

function parse(fields: Fields): StartBody {
  const read = readInput(startBody, fields);
  if ('data' in read) return read.data;
  const { path, field, text } = read.problem;
  const [name] = path;
  if (typeof name !== 'string') throw invalidBody();
  const prefix = controlFields.some((control) => control === name) ? '_' : '';
  throw invalidField(`${prefix}${name}`, text, `${prefix}${field}`);
}

function toMessages({ messages, attachments }: StartBody): StartChat['messages'] {
  const all = messages.map((message, index) => {
    const read = toChatMessage(message.role, message);
    if (read === null) throw unreadableMessage(message.role, index);
    return read;
  });
  const last = all.at(-1);
  return last === undefined ? all : [...all.slice(0, -1), attachTo(last, attachments)];
}

/** `toChatMessage` refuses an unknown role, and content that it needs and does not get. */
function unreadableMessage(role: string, index: number): AppError {
  const isKnown = role === 'system' || role === 'developer' || role === 'user';
  return isKnown
    ? invalidField('messages', 'must be a text or a list of parts', `messages.${index}.content`)
    : invalidField('messages', 'must be system, developer, user, assistant or tool', `messages.${index}.role`);
}

function toDefinition({
  function: { name, description, parameters, strict },
}: NonNullable<StartBody['tools']>[number]): ToolDefinition {
  return {
    type: 'function',
    function: {
      name,
      ...defined({ description, parameters }),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
  };
}

function toAgent(agent: StartBody['agent']): Pick<StartChat, 'agent'> {
  if (agent === undefined) return {};
  return { agent: agent === 'auto' ? { type: 'auto' } : { type: 'agent', ref: agent } };
}

/** Checks that a client can run a tool that the server does not run. */
function toClientSide(
  { clientDeviceId = '', clientTools, toolRuntime = {} }: StartBody,
  tools: readonly ToolDefinition[],
): Pick<StartChat, 'client'> {
  if (clientDeviceId === '' && clientTools !== true) return {};
  const runtimes = new Map(Object.entries(toolRuntime));
  const problem = clientToolProblem(tools.filter(({ function: { name } }) => runtimes.get(name) !== 'server'));
  if (problem !== null) throw new AppError({ code: 'bad_request', message: problem, field: 'tools' });
  return { client: { deviceId: clientDeviceId === '' ? null : clientDeviceId, tools: {} } };
}

/** Throws `bad_request`. */
export function toIdempotencyKey(given: string | string[] | undefined): string | null {
  if (given === undefined) return null;
  const key = parseKey(given);
  if (key !== null) return key;
  throw new AppError({
    code: 'bad_request',
    message: `An idempotency key ${idempotencyKeyRule}`,
    field: '_admissionId',
  });
}

/** Hash of the whole body except `_backgroundMode`, which affects how a job is shown and not what it does. */
function hashOf(given: Fields): string {
  const covered = Object.entries(given).filter(([name]) => name !== 'backgroundMode' && name !== '_backgroundMode');
  return createHash('sha256')
    .update(canonicalJson(Object.fromEntries(covered)))
    .digest('hex');
}

/** The provider key in the headers of a request. Throws `bad_request`. */
export function providerKeyOf(headers: IncomingHttpHeaders): Secret | null {
  const given = [headers['x-or3-openrouter-key'], headers['x-provider-key']].find(
    (value) => value !== undefined && value !== '',
  );
  if (given === undefined) return null;
  if (typeof given === 'string' && /^[\x21-\x7e]{1,512}$/.test(given)) return new Secret(given);
  throw new AppError({ code: 'bad_request', message: 'Invalid model API key', field: 'x-provider-key' });
}
