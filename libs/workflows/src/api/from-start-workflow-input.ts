import { toIdempotency, toName, toProviderDown, toProviderKey } from '#chat/api';
import { AppError, toStorable } from '#platform';
import { missing } from '#platform/api';

import type { StartWorkflow } from '../start/start-workflow.js';
import { toAttachments } from './to-attachments.js';
import { toHistory } from './to-history.js';
import type { StartWorkflowInput } from './workflow.input.js';

/** Reads the input of `startWorkflow`. Throws `bad_request` naming the member at fault, `not_storable`. Pure. */
export function fromStartWorkflowInput(given: StartWorkflowInput): StartWorkflow {
  // Normalised once, here: what is hashed is what is stored. The shape stays; only texts change.
  const input = toStorable(given) as unknown as StartWorkflowInput;
  const { workflowId, version = null, prompt, threadId, clientMessageId, history, attachments, whenBusy } = input;
  if (workflowId === '') throw missing('workflowId');
  return {
    workflowRef: workflowId,
    version,
    prompt,
    threadRef: toName('threadId', threadId),
    createThread: true,
    messageClientId: toName('clientMessageId', clientMessageId),
    history: toHistory(toList(history), 'history'),
    attachments: toAttachments(attachments ?? [], 'attachments'),
    whenBusy: whenBusy ?? null,
    idempotency: toIdempotency(input.idempotencyKey, input),
    providerKey: input.providerKey == null ? null : toProviderKey(input.providerKey),
    ...toProviderDown(input),
    known: {},
    resumeFrom: null,
  };
}

function toList(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value))
    throw new AppError({ code: 'bad_request', message: 'history must be a list', field: 'history' });
  return value;
}
