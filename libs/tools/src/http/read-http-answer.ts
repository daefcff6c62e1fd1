import { STATUS_CODES } from 'node:http';

import type { OutboundAnswer } from '#platform';

import { decodeText, isText } from './decode-text.js';
import { answerRefused } from './http.errors.js';
import { parseJsonPath } from './parse-json-path.js';
import { selectJson } from './select-json.js';
import { selectedText } from './selected-text.js';

const LONGEST_EXCERPT = 500;
/** A secret that begins within an excerpt is redacted whole, in any form. */
const LONGEST_SECRET = 32_768;

/** How an answer is read. */
export interface AnswerReading {
  /** JSONPath of what the model is to see; absent: all of it. */
  readonly result?: string | undefined;
  /** Takes secrets out; runs before anything is cut. */
  readonly redact: (text: string) => string;
}

/** The beginning of what came, for people and error texts. */
export function excerptOf(answer: OutboundAnswer, redact: (text: string) => string, longest = LONGEST_EXCERPT): string {
  if (!isText(answer)) return `(${answer.body.length} bytes of ${answer.headers['content-type'] ?? 'unknown type'})`;
  const text = redact(decodeText(answer).slice(0, longest + LONGEST_SECRET)).trim();
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()} …`;
}

/**
 * What the model reads of an answer: the selected part of it as text or JSON, or its text. Throws `tool_answer_refused` with
 * the reason for any status but 2xx, for what is no text, and for what is no JSON though a part of it was to be selected.
 */
export function readHttpAnswer(answer: OutboundAnswer, { result, redact }: AnswerReading): string {
  const { status, body, isCut } = answer;
  if (status < 200 || status > 299) throw answerRefused(`${statusText(status)}${detail(answer, redact)}`);
  if (body.length === 0) return statusText(status);
  if (!isText(answer)) throw answerRefused(`its answer is not text: ${excerptOf(answer, redact)}`);
  const text = decodeText(answer);
  if (result === undefined) return redact(isCut ? `${text}\n[cut after ${body.length} bytes]` : text);
  if (isCut) throw answerRefused(`its answer is larger than ${body.length} bytes, so nothing can be selected from it`);
  return redact(selectFrom(text, result));
}

function selectFrom(text: string, result: string): string {
  const path = parseJsonPath(result);
  if (typeof path === 'string') throw answerRefused(`its JSON path cannot be used: ${path}`);
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch {
    throw answerRefused('its answer is not JSON');
  }
  try {
    return selectedText(selectJson(path, root));
  } catch {
    throw answerRefused('its answer is nested too deep'); // JSON.parse goes deeper than JSON.stringify
  }
}

function statusText(status: number): string {
  return `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trim();
}

function detail(answer: OutboundAnswer, redact: (text: string) => string): string {
  const { status, headers } = answer;
  if (status >= 300 && status <= 399)
    return `: it redirects to ${redact(headers['location'] ?? 'nowhere').slice(0, 200)}`;
  const excerpt = excerptOf(answer, redact);
  return excerpt === '' ? '' : `: ${excerpt}`;
}
