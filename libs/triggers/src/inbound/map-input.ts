import { type FileReference, isFileHash, toFileName } from '#files';
import { toStorableText } from '#platform';

import {
  compileExpression,
  type TriggerEvent,
  type TriggerValue,
  type TriggerValues,
  valuesOf,
} from './trigger-condition.js';
import type { TriggerStart } from './trigger-definition.js';

const longestPrompt = 200_000;
const longestThread = 256;
const maxAttachments = 20;
const longestType = 128;

/** The input of a job, or a clause that says why it cannot be computed. */
export type MappedInput = ({ readonly ok: true } & JobInput) | Unmapped;

interface JobInput {
  readonly prompt: string;
  /** Null: a new thread. */
  readonly thread: string | null;
  /** Files of the workspace; whether it has them is checked at the start of the job. */
  readonly attachments: readonly FileReference[];
}

interface Unmapped {
  readonly ok: false;
  readonly problem: string;
}

/** The name of the thread of a job, before its input is computed. Null: a new thread, or the name has no value. */
export function threadOf(start: TriggerStart, event: TriggerEvent): string | null {
  if (start.thread === null) return null;
  const thread = textOf('thread', start.thread, valuesOf(event));
  return thread.ok ? toStorableText(thread.text.slice(0, longestThread)) : null;
}

/** Evaluates the input mapping of a trigger. Without an expression, the prompt is the document as JSON. Pure. */
export function mapInput(start: TriggerStart, event: TriggerEvent): MappedInput {
  const values = valuesOf(event);
  const prompt = start.prompt === null ? asPrompt(event) : textOf('prompt', start.prompt, values);
  if (!prompt.ok) return prompt;
  const thread = start.thread === null ? ({ ok: true, text: null } as const) : textOf('thread', start.thread, values);
  if (!thread.ok) return thread;
  if (thread.text !== null && (thread.text === '' || thread.text.length > longestThread))
    return { ok: false, problem: `start.thread must give 1 to ${longestThread} characters` };
  const files = start.attachments == null ? noFiles : filesOf(start.attachments, values);
  if (!files.ok) return files;
  return { ok: true, prompt: prompt.text, thread: thread.text, attachments: files.attachments };
}

type MappedText = { readonly ok: true; readonly text: string } | Unmapped;
type MappedFiles = { readonly ok: true; readonly attachments: readonly FileReference[] } | Unmapped;

const noFiles: MappedFiles = { ok: true, attachments: [] };

function asPrompt({ document, before }: TriggerEvent): MappedText {
  return { ok: true, text: JSON.stringify(document ?? before ?? {}) };
}

function textOf(name: string, source: string, values: TriggerValues): MappedText {
  const found = valueOf(name, source, values);
  if (!found.ok) return found;
  const text = typeof found.value === 'string' ? found.value : toJson(found.value);
  if (text === undefined) return { ok: false, problem: `start.${name} must give a text or JSON` };
  return text.length > longestPrompt
    ? { ok: false, problem: `start.${name} gives more than ${longestPrompt} characters` }
    : { ok: true, text: toStorableText(text) };
}

/** `null` gives no files, so that an expression can handle documents without any. */
function filesOf(source: string, values: TriggerValues): MappedFiles {
  const found = valueOf('attachments', source, values);
  if (!found.ok) return found;
  if (found.value === null) return noFiles;
  if (!Array.isArray(found.value)) return { ok: false, problem: 'start.attachments must give a list' };
  if (found.value.length > maxAttachments)
    return { ok: false, problem: `start.attachments gives more than ${maxAttachments} files` };
  const attachments: FileReference[] = [];
  for (const [index, given] of found.value.entries()) {
    const file = toReference(given);
    if (typeof file === 'string') return { ok: false, problem: `start.attachments[${index}] ${file}` };
    attachments.push(file);
  }
  return { ok: true, attachments };
}

/** The reference to a file, or the problem with it. Other keys are ignored, because a file in a document may have more. */
function toReference(given: unknown): FileReference | string {
  if (typeof given !== 'object' || given === null) return 'must be a map with hash and mime';
  const { hash, mime, name }: Readonly<Record<string, unknown>> = { ...given };
  if (typeof hash !== 'string' || !isFileHash(hash)) return 'must have a hash that is a SHA-256 in lower-case hex';
  if (typeof mime !== 'string' || mime === '' || mime.length > longestType) return 'must have the mime of its file';
  if (name === undefined || name === null) return { hash, mime };
  const named = typeof name === 'string' ? toFileName(name) : null;
  return named === null ? 'must have a name of 1 to 255 characters, or none' : { hash, mime, name: named };
}

function valueOf(name: string, source: string, values: TriggerValues): TriggerValue {
  const compiled = compileExpression(source);
  const found = compiled.ok ? compiled.evaluate(values) : compiled;
  return found.ok ? found : { ok: false, problem: `start.${name}: ${found.problem}` };
}

function toJson(value: unknown): string | undefined {
  const json = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? Number(part) : part));
  return json; // undefined: the text is not JSON
}
