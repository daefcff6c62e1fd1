import type { ToolCallRecord } from '#tools';

/** A call as a line of an export. */
export function toExportLine(call: ToolCallRecord): string {
  const { createdAt, startedAt, finishedAt, ...rest } = call;
  const instant = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const times = { createdAt: instant(createdAt), startedAt: instant(startedAt), finishedAt: instant(finishedAt) };
  return `${JSON.stringify({ type: 'tool_call', ...rest, ...times })}\n`;
}

/** The last line: an export that ends without it is not complete. */
export function toLastLine(count: number): string {
  return `${JSON.stringify({ type: 'end', count })}\n`;
}
