import type { ToolCallRecord } from '../../history/tool-call-record.js';

/** A call as a line of an export; with the true reasons of refusals only for those who may read the policy. */
export function toExportLine(call: ToolCallRecord, { withReasons }: { readonly withReasons: boolean }): string {
  const { createdAt, startedAt, finishedAt, error, ...rest } = call;
  const instant = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const times = { createdAt: instant(createdAt), startedAt: instant(startedAt), finishedAt: instant(finishedAt) };
  const failure = error === null || withReasons ? error : { ...error, reason: null };
  return `${JSON.stringify({ type: 'tool_call', ...rest, error: failure, ...times })}\n`;
}

/** The last line: an export that ends without it is not complete. */
export function toLastLine(count: number): string {
  return `${JSON.stringify({ type: 'end', count })}\n`;
}
