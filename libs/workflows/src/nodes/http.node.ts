import { STATUS_CODES } from 'node:http';

import { parseJsonPath, selectedText, selectJson } from '#integrations';
import { isTransient, parseJson } from '#platform';

import { isJsonObject } from '../definition/json.js';
import { fillJson, fillText, type Lookup, parseTemplate } from '../definition/template.js';
import { NodeFailure } from '../engine/node-executor.js';
import { type ContextOf, defineNode } from './define-node.js';
import { handOn } from './settlements.js';
import { lookupOf } from './template-lookup.js';
import { codeOfStatus, refusal, toNodeError } from './to-node-error.js';

const defaultTimeoutMs = 30_000;
const longestExcerpt = 300;

/** Sends an HTTP request. Its output is the text of the response, or the selected part of it. */
export const httpNode = defineNode({
  type: 'http',
  run: async (context) => {
    const { select } = context.node.data;
    const { status, text } = await answerTo(context);
    if (status < 200 || status > 299) throw refused(context, status, text);
    return handOn(select === undefined ? text : selectFromText(text, select));
  },
});

async function answerTo(context: ContextOf<'http'>): ReturnType<ContextOf<'http'>['ports']['fetch']> {
  const { node, ports, signal } = context;
  const { method, url, headers, body, timeout = 0 } = node.data;
  const lookup = lookupOf(context);
  const filled = bodyOf(body, lookup);
  try {
    return await ports.fetch({
      method,
      url: fillUrl(url, lookup),
      headers: { ...(filled.isJson ? { 'content-type': 'application/json' } : {}), ...headersOf(headers, lookup) },
      body: filled.text,
      timeoutMs: timeout === 0 ? defaultTimeoutMs : timeout,
    });
  } catch (error) {
    signal.throwIfAborted();
    // The database is used only before the request is sent, so a transient failure of it releases the job.
    if (isRepeatable(method) || isTransient(error)) throw error;
    // It is unknown whether the request arrived, so it is not sent again.
    const { message, code } = toNodeError(error, node.id);
    throw new NodeFailure(message, code, { isFinal: true });
  }
}

/** An inserted text cannot leave its part of the URL, unless the URL begins with it. */
function fillUrl(url: string, lookup: Lookup): string {
  const [first, ...rest] = parseTemplate(url).parts;
  if (first === undefined) return '';
  const encoded: Lookup = (name) => {
    const value = lookup(name);
    if (value === undefined) return undefined;
    return encodeURIComponent((typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed());
  };
  return fillText({ parts: [first] }, lookup) + fillText({ parts: rest }, encoded);
}

function headersOf(headers: Readonly<Record<string, unknown>>, lookup: Lookup): Readonly<Record<string, string>> {
  const filled = Object.entries(headers).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return [name.toLowerCase(), fillText(parseTemplate(text), lookup)] as const;
  });
  return Object.fromEntries(filled);
}

function bodyOf(body: unknown, lookup: Lookup): { readonly text: string | null; readonly isJson: boolean } {
  if (body === undefined || body === null) return { text: null, isJson: false };
  if (typeof body === 'string') return { text: fillText(parseTemplate(body), lookup), isJson: false };
  return { text: JSON.stringify(fillJson(body, lookup)), isJson: isJsonObject(body) || Array.isArray(body) };
}

/** RFC 9110, 9.2.2: these methods may be repeated without another effect. */
function isRepeatable(method: string): boolean {
  return method !== 'POST' && method !== 'PATCH';
}

/** Both statuses mean that the server did nothing: RFC 6585, 4; RFC 9110, 15.6.4. */
const untouched: ReadonlySet<number> = new Set([429, 503]);

function refused({ node }: ContextOf<'http'>, status: number, text: string): NodeFailure {
  const excerpt = text.trim().slice(0, longestExcerpt).toWellFormed();
  const message = `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trim() + (excerpt === '' ? '' : `: ${excerpt}`);
  const code = codeOfStatus(status);
  if (code === undefined) return refusal(message);
  const isFinal = !isRepeatable(node.data.method) && !untouched.has(status);
  return new NodeFailure(message, code, { statusCode: status, isFinal });
}

/** The part of a JSON text that a JSONPath selects, as text. Throws when the path matches nothing or the text is not JSON. */
function selectFromText(text: string, select: string): string {
  const path = parseJsonPath(select);
  if (typeof path === 'string') throw refusal(`Invalid JSON path "${select}": ${path}`);
  try {
    const root: unknown = parseJson(text);
    return selectedText(selectJson(path, root));
  } catch {
    throw refusal('Invalid answer: nothing can be selected from it, it is not JSON, or nested too deep');
  }
}
