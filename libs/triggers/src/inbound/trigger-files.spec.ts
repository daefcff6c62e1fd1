import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { parseTriggerFiles, readTriggerFiles } from './trigger-files.js';

const trigger = { collection: 'messages', events: ['create'], url: 'https://example.com/hook' };
const json = (name: string, content: unknown) => ({ name, text: JSON.stringify(content) });

describe('parseTriggerFiles', () => {
  it('reads the old format, as a list or in an object', () => {
    const a = json('a.json', [{ ...trigger, triggerId: 'one' }]);
    const b = json('b.json', { triggers: [{ ...trigger, triggerId: 'two', tenant: 'acme' }] });
    const found = parseTriggerFiles([a, b]).map(({ database, triggerId }) => `${database}/${triggerId}`);
    expect(found).toEqual(['default/one', 'acme/two']);
  });

  it('reads the new format: the key and the database of the file take precedence, and its retry policy fills triggers without one', () => {
    const text = `
database: acme
retryPolicy: {maxAttempts: 7}
triggers:
  plain: {triggerId: other, database: elsewhere, collection: "users/*", events: [create, delete], url: /webhook/llm}
  own: {collection: users, events: [update], url: http://localhost:9/x, retryPolicy: {maxAttempts: 2}}
`;
    expect(parseTriggerFiles([{ name: 'acme.yml', text }])).toMatchObject([
      { triggerId: 'plain', database: 'acme', events: ['create', 'delete'], retryPolicy: { maxAttempts: 7 } },
      { triggerId: 'own', database: 'acme', retryPolicy: { maxAttempts: 2 } },
    ]);
  });

  it.each([
    ['a file without database', [json('a.json', { triggers: {} })], 'a.json: database field cannot be empty'],
    [
      'a second file of a database',
      [json('a.json', { database: 'x', triggers: {} }), json('b.json', { database: 'x', triggers: {} })],
      'b.json: duplicate database definition: database "x" defined in both a.json and b.json',
    ],
    [
      'a repeated id',
      [json('a.json', [{ ...trigger, triggerId: 'one' }]), json('b.json', [{ ...trigger, triggerId: 'one' }])],
      'b.json: duplicate trigger id: one (also in a.json)',
    ],
    [
      'a bad trigger, with its id',
      [json('a.json', [{ ...trigger, triggerId: 'one', events: ['read'] }])],
      'a.json: invalid event type: read (trigger one)',
    ],
    [
      'a field of a trigger that no trigger has',
      [json('a.json', [{ ...trigger, triggerId: 'one', condtion: 'true' }])],
      'a.json: unknown field: condtion (trigger one)',
    ],
    [
      'a field of a retry policy that no retry policy has',
      [
        {
          name: 'b.yml',
          text: 'database: x\nretryPolicy: {attempts: 3}\ntriggers:\n  one: {collection: a, events: [create], url: /x}',
        },
      ],
      'b.yml: unknown field: retryPolicy.attempts (trigger one)',
    ],
    [
      'a field of a start that no start has',
      [json('a.json', [{ ...trigger, url: undefined, triggerId: 'one', start: { prmopt: '1' } }])],
      'a.json: unknown field: start.prmopt (trigger one)',
    ],
    [
      'a field of a file that no file has',
      [json('a.json', { database: 'x', trigers: {} })],
      'a.json: unknown field: trigers',
    ],
    ['text that is not JSON', [{ name: 'a.json', text: '{' }], /^a\.json: /],
    ['a scalar', [{ name: 'a.yml', text: 'hello' }], 'a.yml: a trigger file must be a list or an object'],
  ])('refuses %s', (_, files, message) => {
    expect(() => parseTriggerFiles(files)).toThrow(message);
  });
});

describe('readTriggerFiles', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'triggers-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('reads the files of a directory by name, and none in its subdirectories', async () => {
    await mkdir(join(directory, 'deeper.json'));
    for (const name of ['b.yaml', 'a.json', 'c.yml', 'notes.txt', 'deeper.json/d.json'])
      await writeFile(join(directory, name), '[]');
    const names = (await readTriggerFiles(directory)).map(({ name }) => name);
    expect(names).toEqual(['a.json', 'b.yaml', 'c.yml'].map((name) => join(directory, name)));
  });

  it('names a file that does not exist', async () => {
    await expect(readTriggerFiles(join(directory, 'none.json'))).rejects.toThrow('none.json');
  });
});
