import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { providerKeyOf, toIdempotencyKey, toProviderDown } from '#chat/api';
import { AppError, type Storable, toStorable } from '#platform';
import { invalidBody, invalidField, missing } from '#platform/api';
import { canonicalJson } from '#tools';

import type { KnownRun, StartWorkflow } from '../start/start-workflow.js';
import { toAttachments } from './to-attachments.js';
import { toHistory } from './to-history.js';
import { WorkflowFields } from './workflow-fields.js';

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
  const key = toIdempotencyKey(headers['idempotency-key'] ?? fields.text('admissionId'));
  return {
    workflowRef,
    version: null,
    prompt,
    threadRef,
    createThread: mayCreateThread,
    messageClientId,
    history: toHistory(fields.list('conversationHistory') ?? [], 'conversationHistory'),
    attachments: toAttachments(fields.list('attachments') ?? [], 'attachments'),
    whenBusy: null,
    idempotency: key === null ? null : { key, requestHash: hashOf(given) },
    providerKey: providerKeyOf(headers),
    ...toProviderDown(given),
    known: {
      ...(updatedAt === undefined ? {} : { updatedAt }),
      ...(version === undefined ? {} : { version }),
      ...(definition === undefined ? {} : { definition }),
    },
    resumeFrom: resumeFrom === undefined ? null : toKnownRun(resumeFrom),
  };
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
