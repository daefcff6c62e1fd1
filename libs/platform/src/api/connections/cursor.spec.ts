import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { newId } from '../../ids.js';
import { idOfCursor, positionOfCursor, toCursor } from './cursor.js';

describe('idOfCursor and positionOfCursor', () => {
  it('return the values that toCursor has encoded', () => {
    const id = newId();
    expect(idOfCursor(toCursor('jobs', id), 'jobs', 'after')).toBe(id);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999_999_999 }), (position) => {
        expect(positionOfCursor(toCursor('messages', position), 'messages', 'after')).toBe(position);
      }),
    );
  });

  it('reject a cursor of another list', () => {
    expect(() => idOfCursor(toCursor('threads', newId()), 'jobs', 'before')).toThrow(
      expect.objectContaining({ code: 'invalid_cursor', field: 'before' }),
    );
    expect(() => positionOfCursor(toCursor('jobs', newId()), 'messages', 'after')).toThrow(
      'does not belong to this list',
    );
  });

  it('reject text that is not a cursor', () => {
    const refuses = (text: string) => {
      expect(() => idOfCursor(text, 'jobs', 'after')).toThrow('does not belong to this list');
      expect(() => positionOfCursor(text, 'jobs', 'after')).toThrow('does not belong to this list');
    };
    for (const text of [
      '',
      'x',
      newId(),
      `${toCursor('jobs', newId())}=`,
      toCursor('jobs', "1' OR 1=1"),
      'x'.repeat(100_000),
    ])
      refuses(text);
    for (const number of ['0', '-1', '1.5', '01', '9999999999', 'NaN']) refuses(toCursor('jobs', number));
    fc.assert(fc.property(fc.string(), refuses));
  });
});
