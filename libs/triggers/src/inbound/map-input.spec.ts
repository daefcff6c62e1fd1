import { describe, expect, it } from '@jest/globals';

import { mapInput, threadOf } from './map-input.js';
import { parseTrigger, type TriggerStart } from './trigger-definition.js';

const hash = 'a'.repeat(64);
const file = { hash, mime: 'text/plain' };

/** Maps the files of a document by an expression. */
function attached(attachments: string, files: unknown) {
  const { start } = parseTrigger({ triggerId: 't', source: 'webhook', start: { attachments } }, { database: 'd' });
  const document = { files };
  return mapInput(start as TriggerStart, { type: 'webhook', timestamp: 0, path: '', document, before: null }); // it has one
}

describe('mapInput', () => {
  it('returns the attachments of the expression, without other members and without folders in names', () => {
    const given = [
      { ...file, name: 'a/b.txt', size: 3 },
      { ...file, name: null },
    ];
    expect(attached('files', given)).toMatchObject({ ok: true, attachments: [{ ...file, name: 'b.txt' }, file] });
    expect(attached(`[{'hash': files[0], 'mime': 'text/plain'}]`, [hash])).toMatchObject({ attachments: [file] });
  });

  it('returns no attachments without an expression, and for null', () => {
    expect(attached('files', null)).toMatchObject({ ok: true, attachments: [] });
    expect(attached('', null)).toMatchObject({ ok: true, attachments: [] });
  });

  it.each([
    ['a text', 'start.attachments must give a list'],
    [Array.from({ length: 21 }, () => file), 'start.attachments gives more than 20 files'],
    [[file, 'text'], 'start.attachments[1] must be a map'],
    [[{ ...file, hash: hash.toUpperCase() }], 'start.attachments[0] must have a hash'],
    [[{ hash }], 'start.attachments[0] must have the mime'],
    [[{ ...file, mime: 'x'.repeat(129) }], 'start.attachments[0] must have the mime'],
    [[{ ...file, name: 'x'.repeat(256) }], 'start.attachments[0] must have a name'],
    [[{ ...file, name: 7 }], 'start.attachments[0] must have a name'],
  ])('names the problem of the attachments %j', (files, problem) => {
    expect(attached('files', files)).toEqual({ ok: false, problem: expect.stringContaining(problem) });
  });

  it('replaces NUL in the prompt and the thread, which Postgres cannot store', () => {
    const expression = "'a\\u0000b'";
    const given = { triggerId: 't', source: 'webhook', start: { prompt: expression, thread: expression } };
    const start = parseTrigger(given, { database: 'd' }).start as TriggerStart; // it has one
    const event = { type: 'webhook', timestamp: 0, path: '', document: {}, before: null } as const;
    expect(mapInput(start, event)).toMatchObject({ prompt: 'a\uFFFDb', thread: 'a\uFFFDb' });
    expect(threadOf(start, event)).toBe('a\uFFFDb');
  });

  it('names the problem of an expression without a value', () => {
    expect(attached('missing', [])).toEqual({ ok: false, problem: expect.stringContaining('start.attachments: ') });
  });
});
