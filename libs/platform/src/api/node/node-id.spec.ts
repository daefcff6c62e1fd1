import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { newId } from '../../ids.js';
import { nodeTypes, parseNodeId, toNodeId } from './node-id.js';

describe('node id', () => {
  it('contains the type and the id of the row', () => {
    const id = newId();
    for (const type of nodeTypes) expect(parseNodeId(toNodeId(type, id))).toEqual({ type, id });
  });

  it('decodes any other text to null', () => {
    const of = (text: string) => Buffer.from(text).toString('base64url');
    for (const text of [
      '',
      newId(),
      of(`User:${newId()}`),
      of('Job:1'),
      of(`Job:${newId()}:x`),
      `${toNodeId('Job', newId())}=`,
    ]) {
      expect(parseNodeId(text)).toBeNull();
    }
    fc.assert(fc.property(fc.string(), (text) => parseNodeId(text) === null));
  });
});
