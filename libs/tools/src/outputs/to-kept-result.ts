import { toStorableText } from '#platform';

import { cutToBytes, RESULT_BYTES } from '../project-result.js';

/** A result as it is kept: `durable` in the ledger, `whole` beside it when it is too large for that. */
export interface KeptResult {
  /** At most the durable size. Of a larger result its beginning, small enough for the model to see all of it, and how to read on. */
  readonly durable: string;
  /** Null: `durable` is all of it. */
  readonly whole: string | null;
  /** UTF-8 bytes of the whole result. */
  readonly bytes: number;
}

/** The most that is stored of one result; the rest is lost, and a note in the result reports that. */
export const MOST_KEPT_BYTES = 8_388_608;

/**
 * Decides how a result is kept. Text over the durable size (256 KiB) is kept whole, up to 8 MiB, and the ledger gets a preview
 * that ends with how to page through it (`read_tool_output` with the call's id) and `\n[truncated, <N> bytes in total]`.
 * `callId` is the id by which the model knows the call. Pure.
 */
export function toKeptResult(text: string, callId: string): KeptResult {
  const clean = toStorableText(text);
  const bytes = Buffer.byteLength(clean);
  if (bytes <= RESULT_BYTES.durable) return { durable: clean, whole: null, bytes };
  const whole = cutToBytes(clean, MOST_KEPT_BYTES);
  return { durable: previewOf(whole, callId, bytes), whole, bytes };
}

function previewOf(whole: string, callId: string, bytes: number): string {
  const end = `\n[truncated, ${bytes} bytes in total]`;
  const room = RESULT_BYTES.model - Buffer.byteLength(end);
  // The note names how much is shown, and is itself part of the room: its longest form decides.
  const longest = Buffer.byteLength(noteOf(callId, whole.length));
  const shown = cutToBytes(whole, room - longest);
  return shown + noteOf(callId, shown.length) + end;
}

function noteOf(callId: string, offset: number): string {
  return `\n[read on with read_tool_output ${JSON.stringify({ call_id: callId, offset })}]`;
}
