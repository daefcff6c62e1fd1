import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';

import type { Principal } from '#auth';
import { isTerminal, type Job, SnapshotRepository } from '#jobs';
import { JobAccess } from '#jobs/api';
import { AppError, systemClock } from '#platform';

import { toCursor } from '../streams/cursor.js';
import { JobStreams } from '../streams/job-streams.js';
import { nativeEncoder } from '../streams/native-encoder.js';
import { or3Encoder } from '../streams/or3-encoder.js';
import type { StreamEncoder } from '../streams/stream-encoder.js';
import { type StatusQuery, statusQuery } from '../streams/to-status.js';

/** Where a stream begins, and its format. */
interface Start {
  readonly cursor: number | undefined;
  readonly encoder: StreamEncoder;
  readonly statesFrom: number | null;
}

/** Opens streams of jobs for the REST endpoint. */
@Injectable()
export class JobStream {
  constructor(
    private readonly access: JobAccess,
    private readonly snapshots: SnapshotRepository,
    private readonly streams: JobStreams,
  ) {}

  /**
   * Sends events until the job ends, the connection closes, or the right to read ends. Throws before it writes anything: `bad_request`,
   * `invalid_cursor`, `not_found`, `rate_limited`. A client that has all events of a finished job gets 204, after which it does not
   * reconnect.
   */
  async open(principal: Principal, request: Request<{ id: string }>, response: Response): Promise<void> {
    const cursor = toCursor(request.get('last-event-id'), request.query['after']);
    const isOr3 = toFormat(request.query['format']) === 'or3';
    const job = await this.access.read(principal, request.params.id);
    if (cursor === job.lastSeq && isTerminal(job.status)) {
      response.status(204).end();
      return;
    }
    if (request.method === 'HEAD') {
      // The client of a HEAD reads no body: a stream would only hold a slot until the job ends.
      response.type('text/event-stream').end();
      return;
    }
    const { workspaceId, id: jobId, kind, createdBy } = job;
    const start = isOr3 ? await this.or3Start(job, cursor, request.query) : nativeStart(cursor);
    await this.streams.serve({ principal, workspaceId, jobId, kind, createdBy, ...start }, response);
  }

  /** A client that resumes from an event number gets no snapshot first, so the encoder starts from the current state of the job. */
  private async or3Start(job: Job, cursor: number | undefined, query: Request['query']): Promise<Start> {
    if (cursor === undefined) return or3FromSnapshot(statusQuery.parse(query));
    const base = await this.snapshots.read(job.workspaceId, job.id);
    // An ended job has no further events: a snapshot with all of its text is the shortest way to its end.
    if (base === null || base.ended) return or3FromSnapshot({});
    // `base` may be newer than what the client has, until the client has received the events up to `base.seq`.
    return { cursor, encoder: or3Encoder({ query: {}, base }), statesFrom: base.seq };
  }
}

function or3FromSnapshot(query: StatusQuery): Start {
  return { cursor: undefined, encoder: or3Encoder({ query }), statesFrom: 0 };
}

function nativeStart(cursor: number | undefined): Start {
  return { cursor, encoder: nativeEncoder(() => systemClock.now()), statesFrom: null };
}

function toFormat(value: unknown): 'native' | 'or3' {
  if (value === undefined) return 'native';
  if (value === 'or3') return value;
  throw new AppError({ code: 'bad_request', message: 'Unknown format: leave it out, or use "or3"', field: 'format' });
}
