/** One message of an event stream (HTML Standard, section 9.2.6). JSON escapes CR and LF, so `data` is always one line. */
export function sseFrame(frame: { readonly id?: number; readonly event?: string; readonly data: unknown }): string {
  const id = frame.id === undefined ? '' : `id: ${frame.id}\n`;
  const event = frame.event === undefined ? '' : `event: ${frame.event}\n`;
  return `${id}${event}data: ${JSON.stringify(frame.data)}\n\n`;
}
