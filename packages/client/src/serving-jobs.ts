import { handlerOf } from './client-tool.js';
import type { Connection } from './connection.js';
import type { Interrupt } from './interrupt.js';
import type { ServeOptions } from './serve-options.js';

/** Registers that this client serves a job, until the returned function is called. */
export function noteServing({ serving }: Connection, jobId: string, options: ServeOptions): () => void {
  const all = serving.get(jobId) ?? new Set();
  serving.set(jobId, all.add(options));
  return () => {
    all.delete(options);
    if (all.size === 0 && serving.get(jobId) === all) serving.delete(jobId);
  };
}

/** Whether a handler for `jobId` handles a request of that job or of its sub-jobs. */
export function handles({ serving, deviceId }: Connection, jobId: string, asked: Interrupt): boolean {
  const { kind, tool, request, mayDecide } = asked;
  return [...(serving.get(jobId) ?? [])].some(({ tools, onApproval, onQuestion }) => {
    if (kind === 'TOOL_APPROVAL') return mayDecide && onApproval !== undefined;
    if (kind === 'HUMAN_INPUT') return mayDecide && onQuestion !== undefined;
    const device = (request as { readonly deviceId?: unknown } | null)?.deviceId; // docs/client-tools.md: what a request shows
    const isOurs = typeof device !== 'string' || device === deviceId;
    return (
      kind === 'CLIENT_TOOL' && asked.jobId === jobId && isOurs && handlerOf(tools ?? {}, tool ?? '') !== undefined
    );
  });
}
