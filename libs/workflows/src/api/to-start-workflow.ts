import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { providerKeyOf, toIdempotencyKey, toProviderDown } from '#chat/api';
import { AppError, defined, type Storable, toStorable } from '#platform';
import { accept, invalidBody } from '#platform/api';
import { canonicalJson } from '#tools';

import type { KnownRun, StartWorkflow } from '../start/start-workflow.js';
import { toAttachments } from './to-attachments.js';
import { toHistory } from './to-history.js';
import { type StartWorkflowBody, workflowBodies } from './workflow-schemas.js';

type Fields = Readonly<Record<string, Storable>>;

/** The parsed start request, and what its caller is allowed to do. */
export interface StartWorkflowCall {
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly mayCreateThread: boolean;
}

/**
 * Reads the body of `POST /api/workflows/background`. Throws `bad_request`: `Missing <field>`, `<field> must be a …`, or
 * `Invalid request body` naming the field. Unknown fields are ignored; null and empty texts count as absent. Pure.
 */
export function toStartWorkflow({ body, headers, mayCreateThread }: StartWorkflowCall): StartWorkflow {
  const given = storableFields(body);
  const start = accept(workflowBodies.start, withoutAbsent(given));
  const { workflowUpdatedAt: updatedAt, workflowVersion: version, workflow: definition } = start;
  const key = toIdempotencyKey(headers['idempotency-key'] ?? start.admissionId);
  return {
    workflowRef: start.workflowId,
    version: null,
    prompt: start.prompt,
    threadRef: start.threadId,
    createThread: mayCreateThread,
    messageClientId: start.messageId,
    history: toHistory(start.conversationHistory ?? [], 'conversationHistory'),
    historyField: 'conversationHistory',
    attachments: toAttachments(start.attachments ?? [], 'attachments'),
    whenBusy: null,
    ...(start.startAt === undefined ? {} : { startAt: Date.parse(start.startAt) }),
    labels: start.labels ?? {},
    idempotency: key === null ? null : { key, requestHash: hashOf(given) },
    providerKey: providerKeyOf(headers),
    ...toProviderDown(start),
    known: defined({ updatedAt, version, definition }),
    resumeFrom: start.resumeFrom === undefined ? null : toKnownRun(start.resumeFrom),
  };
}

/** Removes null members, and empty texts of the body itself; they count as absent. */
function withoutAbsent(given: Fields): Fields {
  const present = Object.entries(given).filter(([, value]) => value !== null && value !== '');
  return Object.fromEntries(
    present.map(([name, value]) => [name, name === 'resumeFrom' ? withoutNulls(value) : value]),
  );
}

function withoutNulls(value: Storable): Storable {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

/** Normalizes the body once, so that the server hashes exactly what it stores. */
function storableFields(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidBody();
  try {
    return toStorable(body) as Fields; // `toStorable` keeps the type of an object
  } catch (error) {
    throw error instanceof AppError ? invalidBody('it has a value that cannot be stored') : error;
  }
}

function hashOf(given: Fields): string {
  return createHash('sha256').update(canonicalJson(given)).digest('hex');
}

function toKnownRun(given: NonNullable<StartWorkflowBody['resumeFrom']>): KnownRun {
  const { startNodeId, nodeOutputs = {}, executionOrder = [], pendingNodes = [], sessionMessages, resumeInput } = given;
  return {
    startNodeId,
    nodeOutputs: Object.fromEntries(Object.entries(nodeOutputs).map(([id, output]) => [id, toText(output)])),
    executionOrder,
    pendingNodes,
    sessionMessages: sessionMessages === undefined ? null : toHistory(sessionMessages, 'resumeFrom.sessionMessages'),
    resumeInput: resumeInput === undefined ? null : toText(resumeInput),
  };
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
