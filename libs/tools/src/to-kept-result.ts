import { toStorableText } from '#platform';

import { cutToBytes, RESULT_BYTES } from './project-result.js';

/** A result in its stored form: `durable` is in the ledger; `whole` has its own table if the result is too large for the ledger. */
export interface KeptResult {
  /**
   * At most the durable size. For a larger result: its beginning, which the model can see completely, and a note that explains how to read
   * on.
   */
  readonly durable: string;
  /** The complete text; null: `durable` is complete. */
  readonly whole: string | null;
  /** UTF-8 bytes of the whole result. */
  readonly bytes: number;
}

/** Maximum number of stored bytes of one result. The rest is lost, and a note in the result reports that. */
export const MAX_KEPT_BYTES = 8_388_608;

/**
 * Decides how a result is stored. Text over the durable size (256 KiB) is stored completely, up to 8 MiB. The ledger then gets a preview that
 * ends with a note on how to page through it (`read_tool_output` with the call's id) and `\n[truncated, <N> bytes in total]`. `callId` is the
 * id that the model uses. Pure.
 */
export function toKeptResult(text: string, callId: string): KeptResult {
  const clean = toStorableText(text);
  const bytes = Buffer.byteLength(clean);
  if (bytes <= RESULT_BYTES.durable) return { durable: clean, whole: null, bytes };
  const whole = cutToBytes(clean, MAX_KEPT_BYTES);
  return { durable: previewOf(whole, callId, bytes), whole, bytes };
}

function previewOf(whole: string, callId: string, bytes: number): string {
  const end = `\n[truncated, ${bytes} bytes in total]`;
  const room = RESULT_BYTES.model - Buffer.byteLength(end);
  // The note is part of the limit and names how many characters are shown, so its longest form determines the space.
  const longest = Buffer.byteLength(noteOf(callId, whole.length));
  const shown = cutToBytes(whole, room - longest);
  return shown + noteOf(callId, shown.length) + end;
}

function noteOf(callId: string, offset: number): string {
  return `\n[read on with read_tool_output ${JSON.stringify({ call_id: callId, offset })}]`;
}
