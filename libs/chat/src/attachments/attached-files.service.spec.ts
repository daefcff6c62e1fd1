import { describe, expect, it } from '@jest/globals';

import type { StoredFile } from '#files';
import type { ChatMessage } from '#models';

import { filesToSend, toReadable } from './attached-files.service.js';
import { takeInlineFiles, toFilePart } from './file-parts.js';

const hashOf = (digit: string) => digit.repeat(64);
const file = (digit: string, mime: string, bytes: number): [string, StoredFile] => [
  hashOf(digit),
  { id: digit, hash: hashOf(digit), mime, bytes, name: `${digit}.bin`, createdBy: null, createdAt: 0 },
];
const asking = (...digits: string[]): ChatMessage => ({
  role: 'user',
  content: digits.map((digit) => toFilePart({ hash: hashOf(digit), mime: 'image/png' })),
});

describe('filesToSend', () => {
  const files = new Map([file('a', 'image/png', 60), file('b', 'image/png', 50), file('c', 'text/plain', 10)]);

  it('chooses the newest files that fit together', () => {
    const sent = filesToSend([asking('a'), asking('b', 'c')], files, { maxBytes: 100, isTextOnly: false });
    expect([...sent]).toEqual([hashOf('c'), hashOf('b')]);
  });

  it('counts a file as often as messages refer to it', () => {
    expect(filesToSend([asking('b'), asking('b')], files, { maxBytes: 99, isTextOnly: false }).size).toBe(0);
    expect(filesToSend([asking('b'), asking('b')], files, { maxBytes: 100, isTextOnly: false }).size).toBe(1);
  });

  it('leaves out images for a model that takes text only', () => {
    expect([...filesToSend([asking('b', 'c')], files, { maxBytes: 100, isTextOnly: true })]).toEqual([hashOf('c')]);
  });
});

it('toReadable replaces references by contents or notes', () => {
  const files = new Map([file('a', 'image/png', 1), file('b', 'application/pdf', 1), file('c', 'text/plain', 2)]);
  const contents = new Map([hashOf('a'), hashOf('b')].map((hash) => [hash, Buffer.from('x')] as const));
  contents.set(hashOf('c'), Buffer.from('hi'));
  const missing = new Map([...files, file('d', 'image/png', 7)]);
  const [message] = toReadable([asking('a', 'b', 'c', 'd', 'e')], missing, contents);
  expect(message?.content).toEqual([
    { type: 'image_url', image_url: { url: 'data:image/png;base64,eA==' } },
    { type: 'file', file: { filename: 'b.bin', file_data: 'data:application/pdf;base64,eA==' } },
    { type: 'text', text: 'File "c.bin":\nhi' },
    { type: 'text', text: '[The file "d.bin" (image/png, 7 bytes) is not part of this request.]' },
    { type: 'text', text: '[The file "unnamed" was removed.]' },
  ]);
});

it('takeInlineFiles replaces only base64 data URLs of accepted types', () => {
  const remote = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } } as const;
  const svg = { type: 'image_url', image_url: { url: 'data:image/svg+xml;base64,eA==' } } as const;
  const png = { type: 'image_url', image_url: { url: 'data:image/png;base64,eA==', detail: 'low' } } as const;
  const given: ChatMessage[] = [
    { role: 'user', content: [remote, svg, png] },
    { role: 'user', content: 'text' },
  ];
  const { messages, files } = takeInlineFiles(given, ['image/png']);
  const hash = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881';
  expect(messages[0]?.content).toEqual([
    remote,
    svg,
    { type: 'file', file: { file_id: hash, mime: 'image/png', detail: 'low' } },
  ]);
  expect(messages[1]).toBe(given[1]);
  expect(files).toEqual([{ hash, mime: 'image/png', name: null, content: Buffer.from('x') }]);
});
