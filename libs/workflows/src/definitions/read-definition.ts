import { toStorableText } from '#platform';

import { contentHash } from '../definition/content-hash.js';
import { parseDocument, type WorkflowDocument } from '../definition/document.js';
import { extentOf, memberOf, toPointer } from '../definition/json.js';
import { LIMITS } from '../definition/limits.js';
import type { DraftFacts } from './workflow.js';
import { documentTooLarge, notADocument } from './workflows.errors.js';

/** Of nodes or edges. Far above the limits of a workflow: a definition within it gets the issues of the validation instead. */
const MAX_ENTRIES = 10_000;
const longestName = 200;
const longestClientId = 255;
const longestDescription = 10_000;

/** A definition as a client sent it, or as it was stored. */
export interface ReadDefinition extends DraftFacts {
  readonly json: unknown;
}

/**
 * Reads a definition: an object, or its JSON text, which is kept as it is. Does not check whether it can run. Throws
 * `bad_request` for a value that is not a document or has an invalid name, and `too_large`. Pure.
 */
export function readDefinition(given: unknown): ReadDefinition {
  const { text, json } = toJson(given);
  const parsed = parseDocument(json);
  if (!parsed.ok) {
    const [fault] = parsed.faults;
    throw notADocument(
      fault === undefined ? 'is not a workflow document' : `${toPointer(fault.path)} ${fault.message}`,
    );
  }
  const { name, description = '', id } = parsed.document.meta;
  return {
    text,
    json,
    hash: contentHash(json),
    name: toName(name),
    description: toStorableText(description).slice(0, longestDescription),
    clientId: id === undefined || id === '' ? null : toClientId(id),
  };
}

/** A definition that was read and stored before. */
export function readDocument(text: string): WorkflowDocument {
  const parsed = parseDocument(JSON.parse(text));
  if (!parsed.ok) throw notADocument('is not a workflow document');
  return parsed.document;
}

/** Any JSON value, or its text. Throws as `readDefinition`. */
export function toJson(given: unknown): { readonly text: string; readonly json: unknown } {
  if (typeof given !== 'string' && (typeof given !== 'object' || given === null))
    throw notADocument('must be an object, or JSON text');
  const text = toStorableText(typeof given === 'string' ? given : JSON.stringify(given));
  if (Buffer.byteLength(text) > LIMITS.documentBytes) throw documentTooLarge(LIMITS.documentBytes);
  const json = parse(text);
  const { depth, values } = extentOf(json, LIMITS.jsonDepth);
  if (depth > LIMITS.jsonDepth) throw notADocument(`is nested deeper than ${LIMITS.jsonDepth} levels`);
  if (values > LIMITS.values) throw notADocument(`has more than ${LIMITS.values} members and entries`);
  const long = ['nodes', 'edges'].find((field) => listAt(json, field).length > MAX_ENTRIES);
  if (long !== undefined) throw notADocument(`has more than ${MAX_ENTRIES} ${long}`);
  return { text, json };
}

function listAt(json: unknown, field: string): readonly unknown[] {
  const list = memberOf(json, field);
  return Array.isArray(list) ? list : [];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notADocument('is not JSON');
  }
}

function toName(given: string): string {
  const name = toStorableText(given).trim();
  if (name === '' || name.length > longestName)
    throw notADocument(`/meta/name must have 1 to ${longestName} characters`);
  return name;
}

function toClientId(given: string): string {
  const id = toStorableText(given);
  if (id.length > longestClientId) throw notADocument(`/meta/id must have at most ${longestClientId} characters`);
  return id;
}
