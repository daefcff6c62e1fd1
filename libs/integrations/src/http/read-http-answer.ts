import { STATUS_CODES } from 'node:http';

import { type OutboundResponse, parseJson, type TextRedactor } from '#platform';

import { decodeText, isText } from './decode-text.js';
import { answerRefused } from './http.errors.js';
import { parseJsonPath } from './parse-json-path.js';
import { selectJson } from './select-json.js';
import { selectedText } from './selected-text.js';

const MAX_EXCERPT_LENGTH = 500;
/** Characters read beyond the excerpt, so that a secret that begins within the excerpt is redacted completely, in any form. */
const MAX_SECRET_LENGTH = 32_768;

/** Redacts secrets in a complete text, and in a truncated one, which may end within a secret. */
type Redaction = Pick<TextRedactor, 'redact' | 'redactCut'>;

/** The beginning of a response, for people and error messages. */
export function excerptOf(answer: OutboundResponse, redaction: Redaction, longest = MAX_EXCERPT_LENGTH): string {
  if (!isText(answer)) return `(${answer.body.length} bytes of ${answer.headers['content-type'] ?? 'unknown type'})`;
  const all = decodeText(answer);
  const isCut = answer.isCut || all.length > longest + MAX_SECRET_LENGTH;
  const text = (isCut ? redaction.redactCut(all.slice(0, longest + MAX_SECRET_LENGTH)) : redaction.redact(all)).trim();
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()} …`;
}

/**
 * What the model reads of a response: the part that the JSONPath `result` selects, as text or JSON, or the whole text. Throws
 * `tool_answer_refused` with the reason for a status other than 2xx, for a body that is not text, and, if a part is selected,
 * for a body that is not JSON.
 */
export function readHttpAnswer(answer: OutboundResponse, redaction: Redaction, result?: string): string {
  const { status, body, isCut } = answer;
  if (status < 200 || status > 299) throw answerRefused(`${statusText(status)}${detail(answer, redaction)}`);
  if (body.length === 0) return statusText(status);
  if (!isText(answer)) throw answerRefused(`its response is not text: ${excerptOf(answer, redaction)}`);
  const text = decodeText(answer);
  if (result === undefined && isCut) return `${redaction.redactCut(text)}\n[cut after ${body.length} bytes]`;
  if (result === undefined) return redaction.redact(text);
  if (isCut)
    throw answerRefused(`its response is larger than ${body.length} bytes, so nothing can be selected from it`);
  return redaction.redact(selectFrom(text, result));
}

function selectFrom(text: string, result: string): string {
  const path = parseJsonPath(result);
  if (typeof path === 'string') throw answerRefused(`its JSON path cannot be used: ${path}`);
  try {
    return selectedText(selectJson(path, parseJson(text)));
  } catch {
    throw answerRefused('its response is not JSON, or is nested too deep'); // JSON.parse allows deeper nesting than JSON.stringify
  }
}

function statusText(status: number): string {
  return `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trim();
}

function detail(answer: OutboundResponse, redaction: Redaction): string {
  const { status, headers } = answer;
  if (status >= 300 && status <= 399)
    return `: it redirects to ${redaction.redact(headers['location'] ?? 'nowhere').slice(0, 200)}`;
  const excerpt = excerptOf(answer, redaction);
  return excerpt === '' ? '' : `: ${excerpt}`;
}
