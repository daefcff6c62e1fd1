import type { NewInterrupt } from '#jobs';
import { newId } from '#platform';
import { readArguments } from '#tools';

import { previewArguments } from '../requests/preview-arguments.js';
import { hideArguments } from '../requests/redact-arguments.js';

/** The call with an unknown outcome. */
export interface LostCall {
  readonly toolCallId: string;
  readonly callId: string;
  readonly name: string;
  /** The arguments that the call ran with, as JSON text. */
  readonly arguments: string;
  readonly sensitiveFields?: readonly string[];
  /** Ms since the epoch; null: unknown. */
  readonly startedAt?: number | null;
}

interface LostJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string | null;
  readonly createdBy: string | null;
}

const waitMs = 7 * 86_400_000;

/**
 * Creates the request to a person about a call that started and whose outcome is unknown. `worker`: who ran it, if known; `verification`:
 * what the tool reports about the call.
 */
export function unknownOutcomeRequest(
  job: LostJob,
  call: LostCall,
  about: { readonly worker: string | null; readonly verification: string | null },
): NewInterrupt {
  const parsed = readArguments(call.arguments);
  const hidden = parsed.ok ? hideArguments(parsed.value, call.sensitiveFields ?? []) : null;
  const preview =
    hidden === null ? { text: '(the arguments cannot be shown)', truncated: true } : previewArguments(hidden.shown);
  return {
    id: newId(),
    kind: 'unknown_outcome',
    title: `Did ${call.name} happen?`,
    toolCallId: call.toolCallId,
    callId: call.callId,
    tool: call.name,
    threadId: job.threadId,
    requester: job.createdBy,
    expireAction: 'report',
    expiresAt: Date.now() + waitMs,
    request: {
      tool: call.name,
      requester: job.createdBy,
      argumentsPreview: preview.text,
      argumentsTruncated: preview.truncated || hidden?.isGuessed === true,
      startedAt: call.startedAt ?? null,
      worker: about.worker,
      verification: about.verification,
      decisions: ['happened', 'did_not_happen', 'repeat', 'report'],
    },
  };
}
