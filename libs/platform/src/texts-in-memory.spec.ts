import { describe, expect, it } from '@jest/globals';

import { assertReadable, countTextsFor, endTextsOfRequest, readBytes, TextsInMemory } from './texts-in-memory.js';

const mebibyte = 1_048_576;

describe('TextsInMemory', () => {
  it('adds up the texts of one request, and refuses the read that exceeds 64 MiB', () => {
    const request = new TextsInMemory().open('a user');
    request.run(() => {
      assertReadable(40 * mebibyte);
      expect(() => {
        assertReadable(25 * mebibyte);
      }).toThrow('more than 64 MiB');
      assertReadable(24 * mebibyte);
      expect(readBytes()).toBe(64 * mebibyte);
    });
    expect(readBytes()).toBe(0);
  });

  it('refuses a large read of a user until an earlier response of the same user has been sent', () => {
    const texts = new TextsInMemory();
    const earlier = texts.open('a user');
    earlier.run(() => {
      assertReadable(40 * mebibyte);
    });
    const read = (userId: string, bytes: number) => {
      const request = texts.open();
      request.run(() => {
        countTextsFor(userId);
        assertReadable(bytes);
      });
      request.end();
    };
    expect(() => {
      read('a user', 30 * mebibyte);
    }).toThrow('unsent_text_bytes_per_user');
    read('a user', mebibyte);
    read('another user', 30 * mebibyte);
    earlier.end();
    earlier.end();
    read('a user', 64 * mebibyte);
  });

  it('refuses large reads of every user while 512 MiB wait, and still allows small ones', () => {
    const texts = new TextsInMemory();
    const read = (userId: string, bytes: number) => {
      texts.open(userId).run(() => {
        assertReadable(bytes);
      });
    };
    for (let user = 0; user < 8; user += 1) read(`user ${user}`, 64 * mebibyte);
    expect(() => {
      read('one more', 2 * mebibyte);
    }).toThrow('unsent_text_bytes)');
    read('one more', mebibyte);
  });

  it('disconnects the client that has left a complete response unread for longest when 512 MiB wait', () => {
    const texts = new TextsInMemory();
    const disconnected: number[] = [];
    for (let user = 0; user < 8; user += 1) {
      const request = texts.open(`user ${user}`);
      request.run(() => {
        assertReadable(64 * mebibyte);
      });
      if (user > 0) request.complete(() => disconnected.push(user));
    }
    texts.open('one more').run(() => {
      assertReadable(64 * mebibyte);
      expect(disconnected).toEqual([1]);
    });
  });

  it('refuses every read of a request whose client has disconnected', () => {
    const request = new TextsInMemory().open('a user');
    request.end();
    expect(() => {
      request.run(() => {
        assertReadable(1);
      });
    }).toThrow('disconnected');
  });

  it('stops counting when the response becomes a stream', () => {
    const texts = new TextsInMemory();
    const stream = texts.open('a user');
    stream.run(() => {
      assertReadable(60 * mebibyte);
      endTextsOfRequest();
      assertReadable(60 * mebibyte);
    });
    texts.open('a user').run(() => {
      assertReadable(60 * mebibyte);
    });
  });
});
