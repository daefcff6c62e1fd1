import { isId } from '../ids.js';
import type { Hint } from './pending-hints.js';

/** NOTIFY accepts fewer than 8,000 bytes; the difference is a reserve for a change of the format. */
export const PAYLOAD_BYTES = 7_900;

/** A message is sent as a short array: a letter for its topic, then its fields. `scope` is a workspace or a plugin. */
type Wire = readonly [
  letter: 'e' | 'r' | 'c' | 'a' | 'i' | 'q' | 't' | 's' | 'p',
  scope: string,
  ...fields: (string | number)[],
];

function toWire({ topic, message }: Hint): Wire {
  switch (topic) {
    case 'job-events':
      return message.status === undefined
        ? ['e', message.workspaceId, message.jobId, message.seq]
        : ['e', message.workspaceId, message.jobId, message.seq, message.status];
    case 'job-runnable':
      return ['r', message.workspaceId, message.jobId, message.kind];
    case 'job-cancel':
      return ['c', message.workspaceId, message.jobId, message.why];
    case 'sub-jobs':
      return ['s', message.workspaceId, message.jobId];
    case 'access-changed':
      return ['a', message.workspaceId];
    case 'interrupts-changed':
      return ['i', message.workspaceId];
    case 'tool-queue':
      return ['q', message.workspaceId, message.queue];
    case 'tool-cancel':
      return ['t', message.workspaceId, message.jobId, message.toolCallId];
    case 'plugin-loaded':
      return ['p', message.plugin, message.hash];
  }
}

/**
 * Validates without a schema library, which would cost several times as much as the parse. This function runs for every hint in every
 * process.
 */
function fromWire(entry: unknown): Hint | undefined {
  if (!Array.isArray(entry)) return undefined;
  const [letter, workspaceId, ...fields] = entry as unknown[]; // Array.isArray narrows to any[]
  if (letter === 'p') {
    const [hash] = fields;
    const isKnown = typeof workspaceId === 'string' && typeof hash === 'string';
    return isKnown ? { topic: 'plugin-loaded', message: { plugin: workspaceId, hash } } : undefined;
  }
  if (!isIdText(workspaceId)) return undefined;
  if (letter === 'a') return { topic: 'access-changed', message: { workspaceId } };
  if (letter === 'i') return { topic: 'interrupts-changed', message: { workspaceId } };
  const [jobId, value, status] = fields;
  if (letter === 'q') {
    const isKnown = jobId === 'requests' || jobId === 'results';
    return isKnown ? { topic: 'tool-queue', message: { workspaceId, queue: jobId } } : undefined;
  }
  if (!isIdText(jobId)) return undefined;
  if (letter === 's') return { topic: 'sub-jobs', message: { workspaceId, jobId } };
  if (letter === 'e' && typeof value === 'number' && Number.isSafeInteger(value)) {
    const move = typeof status === 'string' ? { status } : {};
    return { topic: 'job-events', message: { workspaceId, jobId, seq: value, ...move } };
  }
  if (typeof value !== 'string') return undefined;
  if (letter === 't') {
    return isIdText(value) ? { topic: 'tool-cancel', message: { workspaceId, jobId, toolCallId: value } } : undefined;
  }
  if (letter === 'r') return { topic: 'job-runnable', message: { workspaceId, jobId, kind: value } };
  return letter === 'c' ? { topic: 'job-cancel', message: { workspaceId, jobId, why: value } } : undefined;
}

function isIdText(value: unknown): value is string {
  return typeof value === 'string' && isId(value);
}

/** Packs hints, in order, into as few payloads as possible. A hint that is too long for a payload is left out. */
export function encodeHints(hints: readonly Hint[]): string[] {
  const payloads: string[] = [];
  let open: string[] = [];
  let bytes = 2;
  for (const hint of hints) {
    const text = JSON.stringify(toWire(hint));
    const size = Buffer.byteLength(text) + 1;
    if (size + 2 > PAYLOAD_BYTES) continue;
    if (bytes + size > PAYLOAD_BYTES) {
      payloads.push(`[${open.join(',')}]`);
      open = [];
      bytes = 2;
    }
    open.push(text);
    bytes += size;
  }
  if (open.length > 0) payloads.push(`[${open.join(',')}]`);
  return payloads;
}

/** The hints of a payload. Skips entries that this build cannot parse: topics of a newer build, or a NOTIFY of another program. */
export function decodeHints(payload: string): Hint[] {
  const parsed = parse(payload);
  if (!Array.isArray(parsed)) return [];
  return parsed.flatMap((entry: unknown) => fromWire(entry) ?? []);
}

function parse(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}
