import { describe, expect, it } from '@jest/globals';

import { toMediaType, typeProblem } from './file-type.js';

const bytes = (text: string) => Buffer.from(text, 'latin1');

describe('typeProblem', () => {
  it.each([
    ['image/png', '\x89PNG\r\n\x1a\n…'],
    ['image/jpeg', '\xff\xd8\xff\xe0'],
    ['image/gif', 'GIF89a'],
    ['image/webp', 'RIFF\x00\x00\x00\x00WEBPVP8 '],
    ['application/pdf', '%PDF-1.7'],
    ['text/plain', 'plain'],
    ['application/json', '{"a":1}'],
    ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'PK\x03\x04'],
    ['audio/mpeg', 'ID3\x04'],
  ])('accepts a content of type %s', (type, content) => {
    expect(typeProblem(type, bytes(content))).toBeNull();
  });

  it.each([
    ['text/plain', '%PDF-1.7', 'The content of the file is application/pdf, but its declared type is text/plain'],
    ['image/png', 'GIF89a', 'The content of the file is image/gif, but its declared type is image/png'],
    ['image/png', '<svg onload="x()">', 'The content of the file is not image/png'],
    [
      'application/pdf',
      'PK\x03\x04',
      'The content of the file is application/zip, but its declared type is application/pdf',
    ],
    ['text/csv', 'a\xff\xfe', 'The file is not UTF-8 text'],
    ['text/csv', 'a\x00b', 'The file is not UTF-8 text'],
  ])('rejects a content of another type than the declared %s', (type, content, problem) => {
    expect(typeProblem(type, bytes(content))).toBe(problem);
  });
});

it('toMediaType drops parameters and case', () => {
  expect(toMediaType('Text/Plain; charset=utf-8')).toBe('text/plain');
  expect(toMediaType('')).toBe('');
});
