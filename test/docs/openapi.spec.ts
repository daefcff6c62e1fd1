import { readFileSync, writeFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

import { toDocument } from '../../apps/api/src/openapi/to-document.js';

const file = 'docs/openapi.json';
const document = toDocument();
const text = `${JSON.stringify(document, null, 2)}\n`;

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
