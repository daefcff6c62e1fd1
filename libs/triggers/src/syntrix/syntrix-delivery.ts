import { createHash } from 'node:crypto';

import { parseJson } from '#platform';

import type { SyntrixDocument } from './syntrix-client.js';

/** The endpoint that a delivery was sent to. */
export type SyntrixRoute = 'llm' | 'tool';

/** Where a delivery was sent to. */
export interface SyntrixTarget {
  readonly route: SyntrixRoute;
  /** The id or name of the connection. */
  readonly connection: string;
}

/** The connection of paths that name none. */
export const defaultConnection = 'default';

/** Reads `/webhook/llm`, `/webhook/{connection}/tool` and the like. Null: another path. */
export function readWebhookPath(path: string): SyntrixTarget | null {
  const [, name = defaultConnection, route] = /^\/webhook(?:\/([^/?#]+))?\/(llm|tool)(?:[?#]|$)/.exec(path) ?? [];
  if (route !== 'llm' && route !== 'tool') return null;
  try {
    return { route, connection: decodeURIComponent(name) };
  } catch {
    return null;
  }
}

/** The chat of a document. */
export interface ChatPlace {
  /** Everything before the collection of the document. */
  readonly chatPath: string;
  readonly chatId: string;
  readonly userId: string;
}

/** A change of a chat's document, as a trigger of the database delivers it. */
export interface SyntrixDelivery {
  readonly chat: ChatPlace;
  readonly isToolCall: boolean;
  readonly documentPath: string;
  readonly documentId: string;
  readonly event: string;
  /** Sorts the deliveries of a chat by `seq`, then `lsn`, then `ts`. A delivery without one of them comes first. */
  readonly order: string;
  /** Null: the body has none; it is read from the database. */
  readonly document: SyntrixDocument | null;
  /** SHA-256 (hex) of the fields that identify the delivery: the same for repetitions. */
  readonly key: string;
  readonly preIssuedToken: string | null;
}

/** Why a body is not a delivery: the text of the reply. */
export type DeliveryProblem = 'Invalid payload' | 'Invalid path';

/** The work that a delivery requests. */
export type RequestedWork = 'answer' | 'call' | null;

type Body = Readonly<Record<string, unknown>>;

const minSegments = 5;
const toolCollections: ReadonlySet<string> = new Set(['toolcall', 'tool-calls']);

/** Reads a verified body. `webhookId`: the header, which identifies the delivery if it is given. */
export function readDelivery(
  bytes: Uint8Array,
  options: { readonly toolCollection: string; readonly webhookId?: string | undefined },
): SyntrixDelivery | DeliveryProblem {
  const body = parse(bytes);
  if (body === null) return 'Invalid payload';
  const document = documentOf(body);
  const place = placeOf(body, document);
  if (place === null || place.collection.length < minSegments) return 'Invalid path';
  const { collection, documentId } = place;
  const [name = ''] = collection.slice(-1);
  const isToolCall = name === options.toolCollection || toolCollections.has(name);
  if (!isToolCall && name !== 'messages') return 'Invalid path';
  const chat = collection.slice(0, -1);
  const documentPath = [...collection, documentId].join('/');
  const token = body['preIssuedToken'];
  return {
    chat: { chatPath: chat.join('/'), chatId: chat.at(-1) ?? '', userId: chat[1] ?? '' },
    isToolCall,
    documentPath,
    documentId,
    event: textIn(body, 'event'),
    order: [body['seq'], body['lsn'], instantOf(body['ts'])].map(sortable).join(' '),
    document: document === null ? null : { ...document, id: documentId },
    key: sha256(JSON.stringify(identityOf(body, { documentPath, document, webhookId: options.webhookId }))),
    preIssuedToken: typeof token === 'string' && token !== '' ? token : null,
  };
}

/** The work for a known document. Null: none. */
export function requestedWork(
  route: SyntrixRoute,
  { event, isToolCall }: Pick<SyntrixDelivery, 'event' | 'isToolCall'>,
  document: SyntrixDocument | null,
): RequestedWork {
  if (event === 'delete' || document === null) return null;
  const { role, status } = document;
  if (route === 'tool') return isToolCall && status === 'pending' ? 'call' : null;
  if (isToolCall) return status === 'success' || status === 'failed' ? 'answer' : null;
  return role === 'user' ? 'answer' : null;
}

/** The last segment is the id of a document in paths with an even number of segments. */
function placeOf(
  body: Body,
  document: Body | null,
): { readonly collection: readonly string[]; readonly documentId: string } | null {
  const [docKey, id, collection] = ['docKey', 'documentId', 'collection'].map((name) => textIn(body, name));
  const full = [docKey, id].find((path) => path?.includes('/') === true);
  const last = [docKey, id, textIn(document ?? {}, 'id')].find((name) => name !== undefined && name !== '');
  const path = full ?? (collection === '' || last === undefined ? '' : `${collection}/${last}`);
  const segments = path.split('/');
  if (segments.length % 2 !== 0 || segments.some((segment) => !isSegment(segment))) return null;
  return { collection: segments.slice(0, -1), documentId: segments.at(-1) ?? '' };
}

function isSegment(segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..' && segment.length <= 512;
}

/** The first of these that the delivery has. */
function identityOf(
  body: Body,
  known: {
    readonly documentPath: string;
    readonly document: Body | null;
    readonly webhookId: string | undefined;
  },
): readonly unknown[] {
  const { documentPath, document, webhookId } = known;
  const { deliveryId, lsn, seq } = body;
  if (webhookId !== undefined && webhookId !== '') return ['webhook-id', webhookId];
  if (isGiven(deliveryId)) return ['deliveryId', String(deliveryId)];
  const change = [textIn(body, 'triggerId'), documentPath, textIn(body, 'event')];
  if (isGiven(lsn)) return ['lsn', ...change, String(lsn)];
  if (isGiven(seq)) return ['seq', ...change, String(seq)];
  return ['ts', ...change, instantOf(body['ts']), sha256(JSON.stringify(document))];
}

function isGiven(value: unknown): value is string | number {
  return (typeof value === 'string' && value !== '') || typeof value === 'number';
}

const sortableDigits = 30;

/** Whole numbers and LSNs of Postgres, such as `16/B374D848`, as digits of equal length. Other values: empty, which sorts first. */
function sortable(value: unknown): string {
  const text = typeof value === 'number' ? String(Math.trunc(value)) : value;
  if (typeof text !== 'string') return '';
  const [, high, low] = /^([\da-f]{1,8})\/([\da-f]{1,8})$/i.exec(text) ?? [];
  if (high !== undefined && low !== undefined)
    return String((BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)).padStart(sortableDigits, '0');
  return /^\d+$/.test(text) && text.length <= sortableDigits ? text.padStart(sortableDigits, '0') : '';
}

/** Ms since the epoch of a number of seconds or ms, or of a date as text; 0 for others. */
export function instantOf(value: unknown): number {
  const number = typeof value === 'string' ? Date.parse(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return 0;
  return isSeconds(value) ? number * 1_000 : number;
}

export function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) < 1e11;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function documentOf(body: Body): Body | null {
  const { after, payload } = body;
  return isRecord(after) ? after : isRecord(payload) ? payload : null;
}

function textIn(body: Body, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : '';
}

function parse(bytes: Uint8Array): Body | null {
  try {
    const value: unknown = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
