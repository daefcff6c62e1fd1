import { readFileSync, writeFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';

const file = 'docs/openapi.json';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

let database: TestDatabase;
let test: TestApi;
let document: Document;
let text: string;

beforeAll(async () => {
  database = await createTestDatabase();
  test = await startTestApi(database, { takesJobs: false });
  document = (await test.call('GET', '/openapi.json')).body as Document; // what is looked at below
  text = `${JSON.stringify(document, null, 2)}\n`;
});

afterAll(async () => {
  await test.close();
  await database.close();
});

/** Every `$ref` in it. */
function referencesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === '$ref' && typeof member === 'string' ? [member] : referencesIn(member),
  );
}

function isThere(reference: string): boolean {
  const steps = reference.slice(2).split('/');
  return (
    steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document) !== undefined
  );
}

describe('OpenAPI document', () => {
  it('equals the committed file (else: UPDATE_DOCS=1)', () => {
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  it('refers only to its own components', () => {
    const references = referencesIn(document);
    expect(references.length).toBeGreaterThan(50);
    expect(references.filter((reference) => !reference.startsWith('#/') || !isThere(reference))).toEqual([]);
  });

  it('names each operation once', () => {
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted());
  });
});
