import type { MemberPrincipal } from '#auth';
import { newId } from '#platform';
import type { CloseReason, OpenStreams, StreamSlot } from '#platform/api';

import { serverBusy } from '../errors/to-openai-reply.js';
import { invalidKey } from './openai-principal.guard.js';

/**
 * Acquires a slot for a deferred or streamed response of `/v1`. These slots are separate from those for streams of jobs, and limited per
 * principal only. When the slot is revoked, `closing` aborts with the error to send. Throws as `OpenStreams.enter`.
 */
export function acquireStreamSlot(
  open: OpenStreams,
  { id, workspaceId }: MemberPrincipal,
  { closing, max }: { readonly closing: AbortController; readonly max: number },
): StreamSlot {
  const owner = { principal: `answers ${id}`, workspaceId, jobId: newId() };
  const close = (reason: CloseReason) => {
    closing.abort(reason === 'unauthorized' || reason === 'token_expired' ? invalidKey() : serverBusy());
  };
  const counts = 'open /v1 responses of a key or user';
  return open.enter(owner, close, { name: 'OPENAI_ANSWERS_PER_PRINCIPAL', value: max, raisedBy: 'operator', counts });
}
