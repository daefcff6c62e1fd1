import type { NewJobEvent } from '#jobs';

import { type ShownCall, toToolCallItem } from '../to-tool-call-item.js';

/** Notifies viewers that the state of a call has changed. */
export function callUpdated(call: ShownCall & { readonly round: number }): NewJobEvent {
  return {
    type: 'tool-call-updated',
    body: { round: call.round, internalStatus: call.status, call: toToolCallItem(call) },
  };
}
