import { describe, expect, it } from '@jest/globals';

import type { LostReason } from '#auth/api';
import type { FeedItem, FollowOptions } from '#jobs';
import { createLogger } from '#platform';
import type { CloseReason } from '#platform/api';

import { JobViewer } from './job-streams.js';
import type { SseWriter } from './sse-writer.js';
import type { ViewedItem } from './viewed-item.js';

/** A feed of numbered events: what it gives after each cursor is the test's to say. */
function scene(options: {
  readonly give: (after: number | undefined, signal: AbortSignal) => AsyncGenerator<number>;
  readonly check?: () => Promise<LostReason | null>;
  readonly congestedAfter?: number;
  readonly drained?: 'drained' | 'slow';
}) {
  const written: string[] = [];
  const follows: (number | undefined)[] = [];
  const sent: number[] = [];
  let congested = false;
  const feed = {
    async *follow({ after, signal }: FollowOptions) {
      follows.push(after);
      for await (const seq of options.give(after, signal))
        yield { type: 'events', events: [{ seq }] } as unknown as FeedItem; // the encoder below reads the number only
    },
  };
  const writer = {
    write: (text: string) => {
      written.push(text);
      congested = text === String(options.congestedAfter);
    },
    end: (text = '') => written.push(`end ${text}`),
    cut: (text: string) => written.push(`cut ${text}`),
    get isCongested() {
      return congested;
    },
    drained: () => {
      congested = false;
      return Promise.resolve(options.drained ?? 'drained');
    },
  };
  const encoder = {
    encode: (item: ViewedItem) => {
      const after = item.type === 'events' ? (item.events[0]?.seq ?? 0) : 0;
      return { text: String(after), after, needsSnapshot: after === 99 };
    },
  };
  const viewer = new JobViewer({
    ...{ workspaceId: 'w', jobId: 'j', cursor: undefined, encoder },
    feed,
    // A stand-in for what the viewer calls of it.
    writer: writer as unknown as SseWriter,
    access: { check: options.check ?? (() => Promise.resolve(null)) },
    logger: createLogger({ level: 'silent' }),
    sent: (count) => {
      sent.push(count);
    },
  });
  return { viewer, written, follows, sent };
}

async function* upTo(...numbers: number[]) {
  for (const seq of numbers) yield await Promise.resolve(seq);
}

const closed = (reason: CloseReason, after: number) =>
  `event: closed\ndata: {"reason":"${reason}","retryable":${['slow_viewer', 'shutdown'].includes(reason)},"after":${after}}\n\n`;

describe('JobViewer', () => {
  it('writes the output of the feed, and ends with it', async () => {
    const { viewer, written } = scene({ give: () => upTo(1, 2, 3) });
    await viewer.run();
    expect(written).toEqual(['1', '2', '3', 'end ']);
  });

  it('counts the events of each write, and no event that is not written', async () => {
    const lost = scene({ give: () => upTo(1), check: () => Promise.resolve('unauthorized') });
    await lost.viewer.run();
    expect(lost.sent).toEqual([]);
    const { viewer, sent } = scene({ give: () => upTo(1, 2) });
    await viewer.run();
    expect(sent).toEqual([1, 1]);
  });

  it('continues from the client’s position once a full socket has drained', async () => {
    const { viewer, written, follows } = scene({
      give: (after) => (after === undefined ? upTo(1, 2, 3, 4) : upTo(3, 4)),
      congestedAfter: 2,
    });
    await viewer.run();
    expect(follows).toEqual([undefined, 2]);
    expect(written).toEqual(['1', '2', '3', '4', 'end ']);
  });

  it('disconnects a client that does not drain', async () => {
    const { viewer, written } = scene({ give: () => upTo(1, 2, 3), congestedAfter: 2, drained: 'slow' });
    await viewer.run();
    expect(written).toEqual(['1', '2', `cut ${closed('slow_viewer', 2)}`]);
  });

  it('subscribes again for a snapshot when the encoder requires one', async () => {
    const { viewer, follows } = scene({ give: () => (follows.length === 1 ? upTo(1, 99) : upTo(100)) });
    await viewer.run();
    expect(follows).toEqual([undefined, undefined]);
  });

  it('checks access before each batch, and writes no more after it is lost', async () => {
    const answers: (LostReason | null)[] = [null, 'unauthorized'];
    const { viewer, written } = scene({
      give: () => upTo(1, 2, 3),
      check: () => Promise.resolve(answers.shift() ?? null),
    });
    await viewer.run();
    expect(written).toEqual(['1', `end ${closed('unauthorized', 1)}`]);
  });

  it('keeps the order of batches when an access check is slow', async () => {
    const gates = [Promise.withResolvers<null>(), Promise.withResolvers<null>()];
    let asked = 0;
    const { viewer, written } = scene({
      give: () => upTo(1, 2),
      check: () => gates[asked++]?.promise ?? Promise.resolve(null),
    });
    const running = viewer.run();
    gates[1]?.resolve(null);
    await Promise.resolve();
    expect(written).toEqual([]);
    gates[0]?.resolve(null);
    await running;
    expect(written).toEqual(['1', '2', 'end ']);
  });

  it('writes no batch that was read before the viewer was closed', async () => {
    const { viewer, written } = scene({
      give: () => upTo(1, 2),
      check: () => {
        viewer.close('token_expired');
        return Promise.resolve(null);
      },
    });
    await viewer.run();
    expect(written).toEqual([`end ${closed('token_expired', 0)}`]);
  });

  it('closes when reading the log or checking access fails', async () => {
    const broken = scene({ give: () => upTo(1), check: () => Promise.reject(new Error('the database is away')) });
    await broken.viewer.run();
    expect(broken.written).toEqual([`end ${closed('shutdown', 0)}`]);
  });

  it('sends the reason for closing only once', async () => {
    const { viewer, written } = scene({ give: () => upTo() });
    viewer.close('shutdown');
    viewer.close('unauthorized');
    await viewer.run();
    expect(written).toEqual([`end ${closed('shutdown', 0)}`]);
  });

  it('stops reading when the client disconnects, and writes nothing', async () => {
    const { viewer, written } = scene({
      async *give(_, signal) {
        yield 1;
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
      },
    });
    const running = viewer.run();
    await new Promise(setImmediate);
    viewer.dispose();
    await running;
    expect(written).toEqual(['1']);
  });
});
