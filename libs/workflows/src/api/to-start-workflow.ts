import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { z } from 'zod';

import { providerKeyOf, toIdempotencyKey, toProviderDown } from '#chat/api';
import { toJobLabels } from '#jobs';
import { AppError, defined, type Storable, toStorable } from '#platform';
import { invalidBody, invalidField, missing } from '#platform/api';
import { canonicalJson } from '#tools';

import type { KnownRun, StartWorkflow } from '../start/start-workflow.js';
import { toAttachments } from './to-attachments.js';
import { toHistory } from './to-history.js';

type Fields = Readonly<Record<string, unknown>>;

/** Members of a body that must have a type when they are there. Null counts as absent, and so does an empty text. */
class WorkflowFields {
  constructor(
    private readonly fields: Fields,
    private readonly prefix = '',
  ) {}

  text(name: string): string | undefined {
    const value = this.given(name);
    if (value === undefined || value === '') return undefined;
    return typeof value === 'string' ? value : this.refuse(name, 'a string');
  }

  number(name: string): number | undefined {
    const value = this.given(name);
    if (value === undefined) return undefined;
    return typeof value === 'number' ? value : this.refuse(name, 'a number');
  }

  /** A number of ours, or the version of a document. */
  version(name: string): number | string | undefined {
    const value = this.given(name);
    if (value === undefined || value === '') return undefined;
    return typeof value === 'number' || typeof value === 'string' ? value : this.refuse(name, 'a number or a string');
  }

  object(name: string): Fields | undefined {
    const value = this.given(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return this.refuse(name, 'an object');
    return { ...value };
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.given(name);
    if (value === undefined) return undefined;
    return Array.isArray(value) ? (value as readonly unknown[]) : this.refuse(name, 'an array'); // of anything
  }

  texts(name: string): readonly string[] {
    const list = this.list(name) ?? [];
    const texts = list.filter((item) => typeof item === 'string');
    return texts.length === list.length ? texts : this.refuse(name, 'an array of strings');
  }

  private given(name: string): unknown {
    const value = Object.hasOwn(this.fields, name) ? this.fields[name] : undefined;
    return value ?? undefined;
  }

  private refuse(name: string, type: string): never {
    const field = `${this.prefix}${name}`;
    throw new AppError({ code: 'bad_request', message: `${field} must be ${type}`, field });
  }
}

/** The parsed start request, and what its caller is allowed to do. */
export interface StartWorkflowCall {
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly mayCreateThread: boolean;
}

/**
 * Reads the body of `POST /api/workflows/background`. Throws `bad_request`: `Missing <field>`, `<field> must be a …`, or
 * `Invalid request body` naming the field. Unknown fields are ignored, null counts as absent. Pure.
 */
export function toStartWorkflow({ body, headers, mayCreateThread }: StartWorkflowCall): StartWorkflow {
  const given = storableFields(body);
  const fields = new WorkflowFields(given);
  const [workflowRef, prompt, threadRef, messageClientId] = ['workflowId', 'prompt', 'threadId', 'messageId'].map(
    (name) => fields.text(name) ?? refuse(name),
  ) as [string, string, string, string]; // four names, four texts
  for (const [name, id] of Object.entries({ threadId: threadRef, messageId: messageClientId }))
    if (id.length > 256) throw invalidField(name, 'must be a text of at most 256 characters');
  fields.text('workflowName');
  const updatedAt = fields.number('workflowUpdatedAt');
  const version = fields.version('workflowVersion');
  const definition = fields.object('workflow');
  const resumeFrom = fields.object('resumeFrom');
  const startAt = toInstant(fields.text('startAt'));
  const key = toIdempotencyKey(headers['idempotency-key'] ?? fields.text('admissionId'));
  return {
    workflowRef,
    version: null,
    prompt,
    threadRef,
    createThread: mayCreateThread,
    messageClientId,
    history: toHistory(fields.list('conversationHistory') ?? [], 'conversationHistory'),
    historyField: 'conversationHistory',
    attachments: toAttachments(fields.list('attachments') ?? [], 'attachments'),
    whenBusy: null,
    ...defined({ startAt }),
    labels: toJobLabels(given['labels']),
    idempotency: key === null ? null : { key, requestHash: hashOf(given) },
    providerKey: providerKeyOf(headers),
    ...toProviderDown(given),
    known: {
      ...defined({ updatedAt, version, definition }),
    },
    resumeFrom: resumeFrom === undefined ? null : toKnownRun(resumeFrom),
  };
}

const instant = z.iso.datetime({ offset: true });

function toInstant(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!instant.safeParse(text).success)
    throw new AppError({
      code: 'bad_request',
      message: 'startAt must be an ISO 8601 date with time',
      field: 'startAt',
    });
  return Date.parse(text);
}

function refuse(name: string): never {
  throw missing(name);
}

/** Normalised once, here: what is hashed is what is stored. */
function storableFields(body: unknown): Readonly<Record<string, Storable>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidBody();
  try {
    return toStorable(body) as Readonly<Record<string, Storable>>; // an object in, an object out
  } catch (error) {
    throw error instanceof AppError ? invalidBody('it has a value that cannot be stored') : error;
  }
}

function hashOf(given: Readonly<Record<string, Storable>>): string {
  return createHash('sha256').update(canonicalJson(given)).digest('hex');
}

function toKnownRun(given: Readonly<Record<string, unknown>>): KnownRun {
  const fields = new WorkflowFields(given, 'resumeFrom.');
  const startNodeId = typeof given['startNodeId'] === 'string' ? given['startNodeId'] : '';
  if (startNodeId === '') {
    const message = 'resumeFrom requires a startNodeId';
    throw new AppError({ code: 'bad_request', message, field: 'resumeFrom' });
  }
  const messages = fields.list('sessionMessages');
  return {
    startNodeId,
    nodeOutputs: Object.fromEntries(
      Object.entries(fields.object('nodeOutputs') ?? {}).map(([id, output]) => [id, toText(output)]),
    ),
    executionOrder: fields.texts('executionOrder'),
    pendingNodes: fields.texts('pendingNodes'),
    sessionMessages: messages === undefined ? null : toHistory(messages, 'resumeFrom.sessionMessages'),
    resumeInput:
      given['resumeInput'] === undefined || given['resumeInput'] === null ? null : toText(given['resumeInput']),
  };
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
