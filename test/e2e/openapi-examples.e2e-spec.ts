import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';

import { type NightshiftProcess, serveEntry, startProcess } from '../harness/processes.js';

/** Routes that refuse their example on a fresh server, with what they need. */
const refused: Readonly<Record<string, string>> = {
  '/api/interrupts/decision': 'an id in the path',
  '/api/interrupts/{id}/decision': 'the id and hash of an open request',
  '/api/jobs/{id}/client-tool/claim': 'a call that waits for a client',
  '/api/jobs/{id}/client-tool/result': 'a claimed call',
  '/api/jobs/{id}/client-tool/validate': 'a claimed call',
  '/api/workflows/background': 'a published workflow',
  '/api/workflows/hitl': 'a job that waits for an answer',
  '/trigger/v1/databases/{database}/get': 'the token of a delivery',
  '/trigger/v1/databases/{database}/query': 'the token of a delivery',
  '/v1/tools/execute': 'an agent',
};

interface Content {
  readonly schema: { readonly $ref?: string };
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface OpenApi {
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          { readonly tags: readonly string[]; readonly requestBody?: { readonly content: Record<string, Content> } }
        >
      >
    >
  >;
  readonly components: { readonly schemas: Readonly<Record<string, { readonly example?: unknown }>> };
}

describe('the OpenAPI document of a fresh server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nightshift-e2e-'));
  let server: NightshiftProcess;
  let document: OpenApi;

  beforeAll(async () => {
    const flags = ['--data-dir', join(folder, 'data')];
    server = await startProcess({ role: 'all', flags, entry: serveEntry });
    document = (await (await fetch(`${server.url ?? ''}/openapi.json`)).json()) as OpenApi; // what is read below
  });

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The routes with a JSON body, each with its example. */
  function examples(): { readonly path: string; readonly schema: string; readonly example: unknown }[] {
    return Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.values(operations).flatMap(({ requestBody }) => {
        const content = requestBody?.content['application/json'];
        if (content === undefined) return [];
        const schema = content.schema.$ref ?? '';
        const [own] = Object.values(content.examples ?? {});
        const example = own?.value ?? document.components.schemas[schema.split('/').at(-1) ?? '']?.example;
        return [{ path, schema, example }];
      }),
    );
  }

  it('describes each group', () => {
    const used = Object.values(document.paths).flatMap((operations) =>
      Object.values(operations).flatMap(({ tags }) => tags),
    );
    const described = document.tags.filter(({ description = '' }) => description !== '').map(({ name }) => name);
    expect([...new Set(used)].toSorted()).toEqual(described.toSorted());
  });

  it('shows an example for each JSON body', () => {
    expect(examples().length).toBeGreaterThan(12);
    expect(examples().filter(({ example }) => example === undefined)).toEqual([]);
    expect(Object.keys(refused).filter((path) => document.paths[path] === undefined)).toEqual([]);
  });

  it('shows examples that the server accepts, unless they need rows', async () => {
    const key = readFileSync(join(folder, 'data', 'demo-api-key'), 'utf8').trim();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    for (const { path, example } of examples()) {
      if (refused[path] !== undefined) continue;
      const url = `${server.url ?? ''}${path.replaceAll('{database}', 'shop')}`;
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(example) });
      expect([path, response.ok || (await response.text())]).toEqual([path, true]);
    }
  });

  it('shows examples that match their schema where the server refuses them', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'openapi');
    for (const { path, schema, example } of examples().filter(({ path }) => refused[path] !== undefined)) {
      const check = ajv.getSchema(`openapi${schema}`);
      expect([path, check?.(example), check?.errors]).toEqual([path, true, null]);
    }
  });
});
